"""The papers whose experiments can be repeated, by name."""

from congenial.lab.papers.paper import Chart, Exhibit, Figure, Paper, Table
from congenial.lab.papers.token_gme import TOKEN_GME

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (TOKEN_GME,)}

__all__ = ["PAPERS", "Chart", "Exhibit", "Figure", "Paper", "Table"]
