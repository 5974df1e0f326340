"""The papers whose experiments can be repeated, by name."""

from congenial.lab.papers.paper import Figure, Paper
from congenial.lab.papers.token_gme import TOKEN_GME

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (TOKEN_GME,)}

__all__ = ["PAPERS", "Figure", "Paper"]
