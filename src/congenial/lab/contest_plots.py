"""The picture of a contest: a dozen curves in each panel, so every curve is named where it ends.

A colour for each family of algorithms; markers and dashes tell its members apart. Intervals are left to the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from congenial.lab.papers.paper import Contest
from congenial.lab.plots import DASHES, MARKERS, OKABE_ITO, curve_of, position, saved, scale_x
from congenial.lab.sweep import METRICS, PARAMETERS
from congenial.lab.tables import Outcome
from congenial.sim.statistics import mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (*OKABE_ITO[:3], OKABE_ITO[3], OKABE_ITO[4], "#777777")
NAME = 7.0  # points: the size of a name
WIDE = 12  # the largest value over the smallest, from which on an axis is logarithmic
APART = 0.057  # of a panel's height: the least distance of two names


def plot_contest(contest: Contest, outcome: Outcome, title: str, path: Path) -> list[Path]:
    """As path.png and path.svg."""
    return saved(path, lambda figure: _draw(figure, contest, outcome, title))


def _draw(figure: Figure, contest: Contest, outcome: Outcome, title: str) -> None:
    metrics = outcome.sweep.metrics
    rows = -(-len(metrics) // 2)
    figure.set_size_inches(11.0, 0.6 + 3.1 * rows)
    grid = figure.subplots(rows, 2, squeeze=False)
    for place, axes in enumerate(grid.flat):
        if place < len(metrics):
            _panel(axes, contest, outcome, metrics[place])
        else:
            axes.set_axis_off()
    figure.suptitle(title, fontsize=12)


def _panel(axes: Axes, contest: Contest, outcome: Outcome, metric: str) -> None:
    (parameter,) = outcome.sweep.vary
    values = outcome.sweep.vary[parameter]
    heights: list[float] = []
    ends: list[tuple[float, str, str]] = []
    for colour, names in zip(_colours(contest), contest.families.values(), strict=True):
        for number, algorithm in enumerate(names):
            curve = curve_of(outcome, "absolute", algorithm, metric)
            x = [position(values, value) for value, _ in curve]
            y = [estimate.value for _, estimate in curve]
            heights += y
            marker, dash = MARKERS[number % len(MARKERS)], DASHES[number % len(DASHES)]
            axes.plot(x, y, dash, color=colour, marker=marker, markersize=3.5, linewidth=1.1)
            ends.append((y[-1], algorithm, colour))
    axes.set_title(METRICS[metric], loc="left", fontsize=10)
    axes.set_xlabel(PARAMETERS[parameter])
    scale_x(axes, values)
    if metric == "fairness":
        axes.margins(y=0.05)
    else:
        _scale_y(axes, heights)
    _name_ends(axes, ends)


def _colours(contest: Contest) -> Sequence[str]:
    """Yardsticks are grey."""
    bright = iter(COLOURS[:-1])
    return [COLOURS[-1] if family in contest.outside else next(bright) for family in contest.families]


def _scale_y(axes: Axes, heights: list[float]) -> None:
    """Logarithmic where the smallest would else not be seen, with numbers at 1, 2 and 5."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    positive = [height for height in heights if height > 0]
    if not positive or max(positive) / min(positive) <= WIDE:
        axes.set_ylim(bottom=0)
        return
    if len(positive) == len(heights):
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0)))
    else:
        axes.set_yscale("symlog", linthresh=min(positive), linscale=0.4)
        axes.set_ylim(0, 1.3 * max(positive))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda height, _: f"{height:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _name_ends(axes: Axes, ends: list[tuple[float, str, str]]) -> None:
    """Names beside the panel, in the order of the curves' ends."""
    axes.autoscale_view()
    to_panel = axes.transScale + axes.transLimits  # from values to shares of the panel's height
    wanted = sorted([(float(to_panel.transform((1.0, height))[1]), name, colour) for height, name, colour in ends])
    places = spread([share for share, _, _ in wanted])
    for (share, name, colour), place in zip(wanted, places, strict=True):
        axes.annotate(
            name,
            xy=(1.0, share),
            xytext=(1.07, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            fontsize=NAME,
            color=colour,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "relpos": (0.0, 0.5)},
        )


def spread(shares: list[float]) -> list[float]:
    """As near as can be to these, which are sorted, but within 0..1, and none nearer to the next than `APART`.

    Names that would overlap form a block, in the middle of where they want to be; blocks that touch become one.
    """
    blocks: list[list[float]] = []  # for each name in the block, where its lowest one would be if this one had its way
    for number, share in enumerate(shares):
        blocks.append([share - number * APART])
        while len(blocks) > 1 and mean(blocks[-2]) >= mean(blocks[-1]):
            above = blocks.pop()
            blocks[-1] += above
    room = max(0.0, 1.0 - (len(shares) - 1) * APART)
    lowest = [min(max(mean(block), 0.0), room) for block in blocks for _ in block]
    return [place + number * APART for number, place in enumerate(lowest)]
