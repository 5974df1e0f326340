"""The kinds of figures and tables that papers show. Each knows its runs, its claims, its files and its page."""

from congenial.lab.exhibits.chart import Chart
from congenial.lab.exhibits.contest import Contest
from congenial.lab.exhibits.costs import CostRow, CostTable
from congenial.lab.exhibits.exhibit import Evidence, Exhibit
from congenial.lab.exhibits.figure import Figure
from congenial.lab.exhibits.frontier import Frontier
from congenial.lab.exhibits.readings import Reading, Readings
from congenial.lab.exhibits.schemes import Schemes
from congenial.lab.exhibits.sizes import Sizes
from congenial.lab.exhibits.steps import StepTable

__all__ = [
    "Chart",
    "Contest",
    "CostRow",
    "CostTable",
    "Evidence",
    "Exhibit",
    "Figure",
    "Frontier",
    "Reading",
    "Readings",
    "Schemes",
    "Sizes",
    "StepTable",
]
