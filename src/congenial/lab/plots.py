"""Plots: one small panel for each metric, a curve and its confidence band for each algorithm.

Colours are those of Okabe & Ito, which colour-blind readers can distinguish; markers and dashes differ as well. Equal
results give equal files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
NEAR = 0.04  # of an axis: of two values that are closer, only one is labelled
WIDE = 20  # the ratio of the largest value to the smallest from which an axis is logarithmic

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


def plot(result: SweepResult, kind: str, title: str, path: Path) -> list[Path]:
    """Draw the curves of a sweep, `kind` 'absolute' or 'ratio', as path.png and path.svg."""
    return saved(path, lambda figure: _draw(figure, result, kind, title))


def plot_chart(panels: Mapping[str, Sequence[SweepResult]], title: str, path: Path) -> list[Path]:
    """Draw the first metric of several sweeps over the number of processes, on logarithmic axes, a panel per load."""
    return saved(path, lambda figure: _draw_chart(figure, panels, title))


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


def _draw_chart(figure: Figure, panels: Mapping[str, Sequence[SweepResult]], title: str) -> None:
    from matplotlib.ticker import FuncFormatter

    plain = FuncFormatter(lambda value, _: f"{value:g}")
    figure.set_size_inches(5.5 * len(panels), 8.0)
    grid = figure.subplots(1, len(panels), squeeze=False, sharey=True)
    numbers: dict[str, int] = {}  # an algorithm looks the same in all panels
    for axes, (name, results) in zip(grid.flat, panels.items(), strict=True):
        for result in results:
            metric = result.sweep.metrics[0]
            for algorithm in result.sweep.algorithms:
                number = numbers.setdefault(algorithm, len(numbers))
                curve = curve_of(result, "absolute", algorithm, metric)
                drawn = [(float(value), estimate.value) for value, estimate in curve if estimate.value > 0]
                # every algorithm has a colour and a marker of its own: their numbers have no common factor
                colour, marker = OKABE_ITO[number % 7], MARKERS[number % len(MARKERS)]
                x, y = [value for value, _ in drawn], [cost for _, cost in drawn]
                axes.plot(x, y, DASHES[number // 7 % 4], color=colour, marker=marker, markersize=4, label=algorithm)
            axes.set_ylabel(METRICS[metric])
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(plain)
        axes.yaxis.set_major_formatter(plain)
        axes.set_xlabel(PARAMETERS["nodes"])
        axes.set_title(name, loc="left", fontsize=10)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.suptitle(title, fontsize=12)
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=8)


def _draw(figure: Figure, result: SweepResult, kind: str, title: str) -> None:
    sweep = result.sweep
    seconds: Sequence[Value | None] = list(sweep.vary.values())[1] if len(sweep.vary) == 2 else [None]
    metrics = sweep.metrics
    # with one varied parameter a block of panels; with two, a row for each metric, a column for each second value
    columns = len(seconds) if len(seconds) > 1 else min(2, len(metrics))
    rows = len(metrics) if len(seconds) > 1 else -(-len(metrics) // columns)
    figure.set_size_inches(max(5.0, 4.2 * columns), 1.0 + 2.9 * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    panels = [(metric, second) for metric in metrics for second in seconds]
    for place, axes in enumerate(grid.flat):
        if place >= len(panels):
            axes.set_axis_off()
            continue
        metric, second = panels[place]
        _panel(axes, result, kind, metric, second)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.suptitle(title, fontsize=12)
    figure.legend(handles, labels, loc="outside lower center", ncols=min(3, len(labels)), frameon=False)


def _panel(axes: Axes, result: SweepResult, kind: str, metric: str, second: Value | None) -> None:
    sweep = result.sweep
    first = next(iter(sweep.vary))
    values = sweep.vary[first]
    algorithms = sweep.algorithms if kind == "absolute" else sweep.algorithms[:-1]
    heights: list[float] = []
    for number, algorithm in enumerate(algorithms):
        curve = curve_of(result, kind, algorithm, metric, second)
        if not curve:
            continue
        x = [position(values, value) for value, _ in curve]
        y = [estimate.value for _, estimate in curve]
        heights += y
        colour = OKABE_ITO[number % len(OKABE_ITO)]
        label = algorithm if kind == "absolute" else f"{algorithm} / {sweep.baseline}"
        marker, dash = MARKERS[number % len(MARKERS)], DASHES[number % len(DASHES)]
        axes.plot(x, y, dash, color=colour, marker=marker, markersize=4.5, label=label, zorder=3)
        low, high = [estimate.low for _, estimate in curve], [estimate.high for _, estimate in curve]
        axes.fill_between(x, low, high, color=colour, alpha=0.22, linewidth=0, zorder=2)
    name = METRICS[metric] if second is None else f"{METRICS[metric]}\n{list(sweep.vary)[1]} = {show_value(second)}"
    axes.set_title(name, loc="left", fontsize=10)
    axes.set_xlabel(PARAMETERS[first])
    if kind == "ratio":
        axes.axhline(1.0, color="#555555", linewidth=0.9, zorder=1)
        axes.set_ylabel("ratio")
    scale_x(axes, values)
    _scale_y(axes, heights, kind)


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


def position(values: Sequence[Value], value: Value) -> float:
    """Numbers are placed by value, texts one after the other."""
    if _numeric(values):
        return float(value)
    return float(values.index(value))


def _numeric(values: Sequence[Value]) -> bool:
    return all([isinstance(value, (int, float)) and not isinstance(value, bool) for value in values])


def scale_x(axes: Axes, values: Sequence[Value]) -> None:
    from matplotlib.ticker import NullFormatter, NullLocator

    positions = [position(values, value) for value in values]
    if _numeric(values) and len(values) > 2:
        positive = [position for position in positions if position > 0]
        if positive and max(positive) / min(positive) > WIDE:
            if min(positions) > 0:
                axes.set_xscale("log")
            else:
                axes.set_xscale("symlog", linthresh=min(positive))
    axes.set_xticks(positions, _tick_names(axes, positions, [show_value(value) for value in values]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    if len(values) > 6:
        axes.tick_params(axis="x", labelsize=8)


def _tick_names(axes: Axes, positions: list[float], names: list[str]) -> list[str]:
    """The names, without those that would overlap the next one."""
    if len(positions) < 2:
        return names
    across = [float(axes.transScale.transform((position, 1.0))[0]) for position in positions]
    near = NEAR * (across[-1] - across[0])
    crowded = [second - first < near for first, second in pairwise(across)] + [False]
    return ["" if close else name for close, name in zip(crowded, names, strict=True)]


def _scale_y(axes: Axes, heights: list[float], kind: str) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    if heights and min(heights) > 0 and max(heights) / min(heights) > WIDE:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda height, _: f"{height:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    elif kind == "absolute":
        axes.set_ylim(bottom=0)
