"""The papers whose experiments can be repeated, by name."""

from congenial.lab.papers.paper import Chart, Exhibit, Figure, Paper, Table
from congenial.lab.papers.survey import SURVEY
from congenial.lab.papers.token_gme import TOKEN_GME

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (TOKEN_GME, SURVEY)}

__all__ = ["PAPERS", "Chart", "Exhibit", "Figure", "Paper", "Table"]
