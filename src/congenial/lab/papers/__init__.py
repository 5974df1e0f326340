"""The papers whose experiments can be repeated, by name; and experiments of our own."""

from congenial.lab.papers.comparison import COMPARISON
from congenial.lab.papers.drs_gme import DRS_GME
from congenial.lab.papers.frontier import FRONTIER
from congenial.lab.papers.paper import Paper
from congenial.lab.papers.surrogate import SURROGATE
from congenial.lab.papers.survey import SURVEY
from congenial.lab.papers.token_gme import TOKEN_GME
from congenial.lab.papers.wme import WME

PAPERS: dict[str, Paper] = {
    paper.name: paper for paper in (TOKEN_GME, SURVEY, SURROGATE, DRS_GME, WME, COMPARISON, FRONTIER)
}

__all__ = ["PAPERS", "Paper"]
