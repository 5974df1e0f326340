"""The picture of a chart: one measure over the number of processes, on logarithmic axes, many curves.

Sweeps that begin with the same number of processes share a panel. Every curve is named beside it, and an algorithm has
the same colour in all panels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from congenial.lab.axis_plots import number_axis
from congenial.lab.contest_plots import End, name_ends
from congenial.lab.parameters import METRICS, PARAMETERS
from congenial.lab.plots import DASHES, MARKERS, curve_of, palette, panels_of, saved
from congenial.lab.results import SweepResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 2


def plot_chart(panels: Mapping[str, Sequence[SweepResult]], title: str, path: Path) -> list[Path]:
    """Draw the first metric of several sweeps, by load, as path.png and path.svg."""
    return saved(path, lambda figure: _draw(figure, panels, title))


def _draw(figure: Figure, panels: Mapping[str, Sequence[SweepResult]], title: str) -> None:
    parts = [(load, part) for load, results in panels.items() for part in by_first_size(results)]
    algorithms: dict[str, int] = {}
    for _, part in parts:
        for result in part:
            for algorithm in result.sweep.algorithms:
                algorithms.setdefault(algorithm, len(algorithms))
    colours = dict(zip(algorithms, palette(len(algorithms)), strict=True))
    columns = min(COLUMNS, len(parts))
    figure.set_size_inches(6.6 * columns, 0.6 + 4.6 * -(-len(parts) // columns))
    for axes, (load, part) in zip(panels_of(figure, len(parts), columns), parts, strict=True):
        _panel(axes, load, part, colours, algorithms)
    figure.suptitle(title, fontsize=12)


def by_first_size(results: Sequence[SweepResult]) -> list[list[SweepResult]]:
    """The sweeps, together if they begin with the same number of processes."""
    parts: dict[float, list[SweepResult]] = {}
    for result in results:
        parts.setdefault(float(result.sweep.vary["nodes"][0]), []).append(result)
    return list(parts.values())


def _panel(
    axes: Axes, load: str, results: Sequence[SweepResult], colours: Mapping[str, str], numbers: Mapping[str, int]
) -> None:
    metric = results[0].sweep.metrics[0]
    ends: list[End] = []
    for result in results:
        for algorithm in result.sweep.algorithms:
            curve = curve_of(result, "absolute", algorithm, metric)
            drawn = [(float(value), estimate.value) for value, estimate in curve if estimate.value > 0]
            x, y = [value for value, _ in drawn], [cost for _, cost in drawn]
            number = numbers[algorithm]
            marker, dash = MARKERS[number % len(MARKERS)], DASHES[number % len(DASHES)]
            axes.plot(x, y, dash, color=colours[algorithm], marker=marker, markersize=3.5, linewidth=1.1)
            if drawn:
                ends.append(End(x[-1], y[-1], algorithm, colours[algorithm]))
    axes.set_xscale("log")
    axes.set_yscale("log")
    sizes = sorted({float(size) for result in results for size in result.sweep.vary["nodes"]})
    axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
    axes.minorticks_off()
    number_axis(axes.yaxis, axes.get_ylim())
    axes.set_xlabel(PARAMETERS["nodes"])
    axes.set_ylabel(METRICS[metric])
    axes.set_title(f"{load} load, {sizes[0]:g} to {sizes[-1]:g} processes", loc="left", fontsize=10)
    name_ends(axes, ends)
