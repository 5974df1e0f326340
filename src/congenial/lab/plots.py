"""Plots: one small panel for each metric, a curve and its confidence band for each algorithm.

Colours are those of Okabe & Ito, which colour-blind readers can distinguish; markers and dashes differ as well. Equal
results give equal files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from congenial.lab.axis_plots import WIDE, number_axis, position, scale_x
from congenial.lab.claim_plots import EDGE, at_the_edge, draw_ranges, key, note_on_claims, ranges_of, shade_open_ranges
from congenial.lab.claims import Claim
from congenial.lab.extras import require
from congenial.lab.parameters import METRICS, PARAMETERS, show_value
from congenial.lab.replication import Value
from congenial.lab.results import Estimate, SweepResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
MARKERS = "osD^vPX*"
DASHES = ("-", "--", "-.", ":")
LETTERS = 9  # of a legend, side by side, in an inch
SPAN = 1.1  # of shades: how far the darkest and the lightest are from their colour

STYLE: dict[str, Any] = {
    "font.size": 10,
    "font.family": "DejaVu Sans",  # comes with matplotlib, so pictures are the same on every machine
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "svg.hashsalt": "congenial",
    "svg.fonttype": "path",
    "figure.dpi": 100,
    "savefig.dpi": 150,
}

Curve = list[tuple[Value, Estimate]]


def plot(
    result: SweepResult, kind: str, title: str, path: Path, name: str = "", claims: Sequence[Claim] = ()
) -> list[Path]:
    """Draw the curves of a sweep, `kind` 'absolute' or 'ratio', as path.png and path.svg; and what is claimed about the
    ratios in the figure of this name."""
    return saved(path, lambda figure: _draw(figure, result, kind, title, name, claims))


def palette(count: int) -> list[str]:
    """So many colours, all different; more than eight are shades."""
    if count <= len(OKABE_ITO):
        return list(OKABE_ITO[:count])
    hues = OKABE_ITO[:6]  # black and yellow have no useful shades
    each = -(-count // len(hues))
    return [shades(hues[number % len(hues)], each)[number // len(hues)] for number in range(count)]


def shades(colour: str, count: int) -> list[str]:
    """So many shades of a colour, from dark to light; one is the colour itself."""
    from matplotlib.colors import to_hex, to_rgb

    made: list[str] = []
    for number in range(count):
        light = (number + 0.5) / count - 0.5  # from -0.5 to 0.5
        towards = 1.0 if light > 0 else 0.0
        share = abs(light) * SPAN
        made.append(to_hex([part + share * (towards - part) for part in to_rgb(colour)]))
    return made


def panels_of(figure: Figure, count: int, columns: int) -> list[Axes]:
    """So many panels, row by row. If they do not fill the last row, the last of them is wider."""
    rows = -(-count // columns)
    grid = figure.add_gridspec(rows, columns)
    last = count - 1
    made = [figure.add_subplot(grid[number // columns, number % columns]) for number in range(last)]
    return [*made, figure.add_subplot(grid[last // columns, last % columns :])]


def saved(path: Path, draw: Callable[[Figure], None]) -> list[Path]:
    """Draw and save as path.png and path.svg."""
    require("lab")
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context({**matplotlib.rcParamsDefault, "backend": "agg", **STYLE}):
        figure = Figure(layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        png, svg = path.with_suffix(".png"), path.with_suffix(".svg")
        figure.savefig(png, metadata={"Software": None})
        figure.set_layout_engine("none")  # keep the layout that the PNG has
        figure.savefig(svg, metadata={"Date": None, "Creator": None})
    return [png, svg]


def _draw(figure: Figure, result: SweepResult, kind: str, title: str, name: str, claims: Sequence[Claim]) -> None:
    sweep = result.sweep
    seconds: Sequence[Value | None] = list(sweep.vary.values())[1] if len(sweep.vary) == 2 else [None]
    panels = [(metric, second) for metric in sweep.metrics for second in seconds]
    # with one varied parameter a block of panels; with two, a row for each metric, a column for each second value
    block = 3 if len(panels) % 2 and len(panels) % 3 == 0 else min(2, len(panels))
    columns = len(seconds) if len(seconds) > 1 else block
    figure.set_size_inches(max(5.0, 4.2 * columns), 1.0 + 2.9 * -(-len(panels) // columns))
    made = panels_of(figure, len(panels), columns)
    for axes, (metric, second) in zip(made, panels, strict=True):
        _panel(axes, result, kind, metric, second, name, claims)
    handles, labels = made[0].get_legend_handles_labels()
    if kind == "ratio" and claims:
        first = next(iter(sweep.vary.values()))
        ranges = [found for metric in sweep.metrics for found in ranges_of(claims, name, metric, first)]
        patch, words = key(ranges)
        handles, labels = [*handles, patch], [*labels, words]
    figure.suptitle(title, fontsize=12)
    room = LETTERS * figure.get_size_inches()[0]
    widths = [max([len(line) for line in label.splitlines()]) for label in labels]
    ncols = min(3, len(labels)) if sum(widths) < room else 1
    figure.legend(handles, labels, loc="outside lower center", ncols=ncols, frameon=False)


def _panel(
    axes: Axes, result: SweepResult, kind: str, metric: str, second: Value | None, name: str, claims: Sequence[Claim]
) -> None:
    sweep = result.sweep
    first = next(iter(sweep.vary))
    values = sweep.vary[first]
    algorithms = sweep.algorithms if kind == "absolute" else sweep.algorithms[:-1]
    heights: list[float] = [1.0] if kind == "ratio" else []
    colours = palette(len(algorithms))
    for number, algorithm in enumerate(algorithms):
        curve = curve_of(result, kind, algorithm, metric, second)
        if not curve:
            continue
        x = [position(values, value) for value, _ in curve]
        y = [estimate.value for _, estimate in curve]
        heights += y
        colour = colours[number]
        label = algorithm if kind == "absolute" else f"{algorithm} / {sweep.baseline}"
        marker, dash = MARKERS[number % len(MARKERS)], DASHES[number % len(DASHES)]
        axes.plot(x, y, dash, color=colour, marker=marker, markersize=4.5, label=label, zorder=3)
        low, high = [estimate.low for _, estimate in curve], [estimate.high for _, estimate in curve]
        axes.fill_between(x, low, high, color=colour, alpha=0.22, linewidth=0, zorder=2)
    what = METRICS[metric] if second is None else f"{METRICS[metric]}\n{list(sweep.vary)[1]} = {show_value(second)}"
    axes.set_title(what, loc="left", fontsize=10)
    axes.set_xlabel(PARAMETERS[first])
    if kind == "ratio":
        axes.axhline(1.0, color="#555555", linewidth=0.9, zorder=1)
        axes.set_ylabel("ratio")
    ranges = ranges_of(claims, name, metric, values)
    if kind == "ratio" and claims:
        heights += draw_ranges(axes, ranges, values)
        note_on_claims(axes, ranges, claims, name, metric)
    scale_x(axes, values, 2 * EDGE * at_the_edge(ranges) if kind == "ratio" else 0.0)
    _scale_y(axes, heights, kind)
    if kind == "ratio":
        shade_open_ranges(axes, ranges, values)


def curve_of(result: SweepResult, kind: str, algorithm: str, metric: str, second: Value | None = None) -> Curve:
    """Values along the first varied parameter, with the second, if there is one, at `second`."""
    curve: Curve = []
    for point in result.runs:
        if second is not None and point[1] != second:
            continue
        made = result.mean if kind == "absolute" else result.ratio
        estimate = made(point, algorithm, metric)
        if estimate is not None:
            curve.append((point[0], estimate))
    return curve


def _scale_y(axes: Axes, heights: list[float], kind: str) -> None:
    if heights and min(heights) > 0 and max(heights) / min(heights) > WIDE:
        axes.set_yscale("log")
        number_axis(axes.yaxis, axes.get_ylim())
    elif kind == "absolute":
        axes.set_ylim(bottom=0)
