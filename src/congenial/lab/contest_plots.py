"""The picture of a contest: a dozen curves in each panel, so every curve is named where it ends.

Each family of algorithms has a colour; its members have shades of it, markers and dashes of their own. Names of pale
curves are darker than these. Intervals are
left to the tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from congenial.lab.axis_plots import number_axis, position, scale_x
from congenial.lab.parameters import METRICS, PARAMETERS
from congenial.lab.plots import DASHES, MARKERS, OKABE_ITO, curve_of, panels_of, saved, shades
from congenial.lab.results import SweepResult
from congenial.sim.statistics import mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (*OKABE_ITO[:3], OKABE_ITO[3], OKABE_ITO[4], "#777777")
NAME_SIZE = 7.0  # points
WIDE = 12  # the ratio of the largest value to the smallest from which an axis is logarithmic
CONTRAST = 4.5  # of small letters and white, at least: WCAG 2, criterion 1.4.3
APART = 0.057  # the least distance between two names, as a share of a panel's height

Families = Mapping[str, Sequence[str]]
"""Algorithms, by family."""


@dataclass(frozen=True)
class End:
    """Where a curve ends, and how it is named."""

    x: float
    y: float
    name: str
    colour: str


def plot_contest(
    result: SweepResult, families: Families, yardsticks: Sequence[str], title: str, path: Path
) -> list[Path]:
    """As path.png and path.svg; the families named in `yardsticks` are grey."""
    return saved(path, lambda figure: _draw(figure, result, families, yardsticks, title))


def _draw(figure: Figure, result: SweepResult, families: Families, yardsticks: Sequence[str], title: str) -> None:
    metrics = result.sweep.metrics
    rows = -(-len(metrics) // 2)
    figure.set_size_inches(11.0, 0.6 + 3.1 * rows)
    colours = colours_of(families, yardsticks)
    for axes, metric in zip(panels_of(figure, len(metrics), 2), metrics, strict=True):
        _panel(axes, result, families, colours, metric)
    figure.suptitle(title, fontsize=12)


def colours_of(families: Families, yardsticks: Sequence[str]) -> dict[str, str]:
    """The colour of each algorithm: a shade of its family's; yardsticks are grey."""
    bright = iter(COLOURS[:-1])
    made: dict[str, str] = {}
    for family, names in families.items():
        colour = COLOURS[-1] if family in yardsticks else next(bright)
        made.update(zip(names, shades(colour, len(names)), strict=True))
    return made


def _panel(axes: Axes, result: SweepResult, families: Families, colours: Mapping[str, str], metric: str) -> None:
    (parameter,) = result.sweep.vary
    values = result.sweep.vary[parameter]
    heights: list[float] = []
    ends: list[End] = []
    for names in families.values():
        for number, algorithm in enumerate(names):
            curve = curve_of(result, "absolute", algorithm, metric)
            x = [position(values, value) for value, _ in curve]
            y = [estimate.value for _, estimate in curve]
            heights += y
            marker, dash = MARKERS[number % len(MARKERS)], DASHES[number % len(DASHES)]
            colour = colours[algorithm]
            axes.plot(x, y, dash, color=colour, marker=marker, markersize=3.5, linewidth=1.1)
            ends.append(End(x[-1], y[-1], algorithm, colour))
    axes.set_title(METRICS[metric], loc="left", fontsize=10)
    axes.set_xlabel(PARAMETERS[parameter])
    scale_x(axes, values)
    if metric == "fairness":
        axes.margins(y=0.05)
    else:
        _scale_y(axes, heights)
    name_ends(axes, ends)


def _scale_y(axes: Axes, heights: list[float]) -> None:
    """Logarithmic where the smallest value could not be seen otherwise."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    positive = [height for height in heights if height > 0]
    if not positive or max(positive) / min(positive) <= WIDE:
        axes.set_ylim(bottom=0)
        return
    if len(positive) == len(heights):
        axes.set_yscale("log")
        number_axis(axes.yaxis, axes.get_ylim())
        return
    axes.set_yscale("symlog", linthresh=min(positive), linscale=0.4)
    axes.set_ylim(0, 1.3 * max(positive))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda height, _: f"{height:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def name_ends(axes: Axes, ends: Sequence[End]) -> None:
    """Names beside the panel, in the order of the curves' ends."""
    axes.autoscale_view()
    to_panel = axes.transScale + axes.transLimits  # from values to shares of the panel
    shares = [(to_panel.transform((end.x, end.y)), end) for end in ends]
    wanted = sorted([(float(y), float(x), end.name, end.colour) for (x, y), end in shares])
    places = spread([share for share, *_ in wanted])
    for (share, across, name, colour), place in zip(wanted, places, strict=True):
        axes.annotate(
            name,
            xy=(across, share),
            xytext=(1.07, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            fontsize=NAME_SIZE,
            color=legible(colour),
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "relpos": (0.0, 0.5)},
        )


def legible(colour: str) -> str:
    """The colour, or so dark a shade of it that small letters can be read on white.

    >>> legible("#000000"), legible("#F0E442")
    ('#000000', '#7b7522')
    """
    from matplotlib.colors import to_hex, to_rgb

    red, green, blue = to_rgb(colour)
    while 1.05 / (luminance(to_hex((red, green, blue))) + 0.05) < CONTRAST:
        red, green, blue = 0.95 * red, 0.95 * green, 0.95 * blue
    return to_hex((red, green, blue))


def luminance(colour: str) -> float:
    """From 0, black, to 1, white, as the Web Content Accessibility Guidelines define it."""
    from matplotlib.colors import to_rgb

    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
    return sum([share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True)])


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
