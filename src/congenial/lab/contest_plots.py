"""The picture of a contest: a dozen curves in each panel, so every curve is named where it ends.

Each family of algorithms has a colour; markers and dashes distinguish its members. Intervals are left to the tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from congenial.lab.parameters import METRICS, PARAMETERS
from congenial.lab.plots import DASHES, MARKERS, OKABE_ITO, curve_of, position, saved, scale_x
from congenial.lab.results import SweepResult
from congenial.sim.statistics import mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (*OKABE_ITO[:3], OKABE_ITO[3], OKABE_ITO[4], "#777777")
NAME_SIZE = 7.0  # points
WIDE = 12  # the ratio of the largest value to the smallest from which an axis is logarithmic
APART = 0.057  # the least distance between two names, as a share of a panel's height

Families = Mapping[str, Sequence[str]]
"""Algorithms, by family."""


def plot_contest(
    result: SweepResult, families: Families, yardsticks: Sequence[str], title: str, path: Path
) -> list[Path]:
    """As path.png and path.svg; the families named in `yardsticks` are grey."""
    return saved(path, lambda figure: _draw(figure, result, families, yardsticks, title))


def _draw(figure: Figure, result: SweepResult, families: Families, yardsticks: Sequence[str], title: str) -> None:
    metrics = result.sweep.metrics
    rows = -(-len(metrics) // 2)
    figure.set_size_inches(11.0, 0.6 + 3.1 * rows)
    grid = figure.subplots(rows, 2, squeeze=False)
    bright = iter(COLOURS[:-1])
    colours = [COLOURS[-1] if family in yardsticks else next(bright) for family in families]
    for place, axes in enumerate(grid.flat):
        if place < len(metrics):
            _panel(axes, result, families, colours, metrics[place])
        else:
            axes.set_axis_off()
    figure.suptitle(title, fontsize=12)


def _panel(axes: Axes, result: SweepResult, families: Families, colours: Sequence[str], metric: str) -> None:
    (parameter,) = result.sweep.vary
    values = result.sweep.vary[parameter]
    heights: list[float] = []
    ends: list[tuple[float, str, str]] = []
    for colour, names in zip(colours, families.values(), strict=True):
        for number, algorithm in enumerate(names):
            curve = curve_of(result, "absolute", algorithm, metric)
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


def _scale_y(axes: Axes, heights: list[float]) -> None:
    """Logarithmic where the smallest value could not be seen otherwise, with numbers at 1, 2 and 5."""
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
            fontsize=NAME_SIZE,
            color=colour,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "relpos": (0.0, 0.5)},
        )


def spread(shares: list[float]) -> list[float]:
    """Places as near as possible to these, which are sorted, but within 0..1 and at least `APART` from each other.

    Names that would overlap form a block around the mean of their places; blocks that touch become one.
    """
    blocks: list[list[float]] = []  # for each name in a block: where the block begins if this name is at its place
    for number, share in enumerate(shares):
        blocks.append([share - number * APART])
        while len(blocks) > 1 and mean(blocks[-2]) >= mean(blocks[-1]):
            above = blocks.pop()
            blocks[-1] += above
    room = max(0.0, 1.0 - (len(shares) - 1) * APART)
    lowest = [min(max(mean(block), 0.0), room) for block in blocks for _ in block]
    return [place + number * APART for number, place in enumerate(lowest)]
