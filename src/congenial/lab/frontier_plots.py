"""The picture of a frontier: messages against waiting, a panel for each load, a mark for each algorithm.

Both axes are logarithmic, and less is better on both: the lower left corner is where to be. A line joins the algorithms
of the front. Those are named; the others have the colour of their family. The shaded corner is what was aimed at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from congenial.lab.axis_plots import number_axis
from congenial.lab.contest_plots import NAME_SIZE, Families, colours_of
from congenial.lab.dominance import front
from congenial.lab.plots import panels_of, saved

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OURS = "#000000"
COLUMNS = 3
OTHERS = "osD^vPXp"  # the star is ours
NEAR = 1.8  # times as much: of two marks of one family that are closer, only one is named


@dataclass(frozen=True)
class Panel:
    """One load: for every algorithm its messages and its waiting time; the most of both that was aimed at."""

    title: str
    places: Mapping[str, tuple[float, float]]
    aim: tuple[float, float]


@dataclass(frozen=True)
class Look:
    """How an algorithm is drawn."""

    family: str
    colour: str
    marker: str
    size: float


def plot_frontier(
    panels: Sequence[Panel],
    families: Families,
    yardsticks: Sequence[str],
    ours: str,
    axes: tuple[str, str],
    title: str,
    path: Path,
) -> list[Path]:
    """As path.png and path.svg; the families named in `yardsticks` are grey, `ours` is black. `axes` are the names of
    the two measures."""
    looks = looks_of(families, yardsticks, ours)
    return saved(path, lambda figure: _draw(figure, panels, families, looks, axes, title))


def looks_of(families: Families, yardsticks: Sequence[str], ours: str) -> dict[str, Look]:
    """A colour for each family, of which each member has a shade, and a marker of its own."""
    colours = colours_of({family: names for family, names in families.items() if ours not in names}, yardsticks)
    made: dict[str, Look] = {}
    for family, names in families.items():
        alone = ours in names
        for number, name in enumerate(names):
            marker = "*" if name == ours else OTHERS[number % len(OTHERS)]
            made[name] = Look(family, OURS if alone else colours[name], marker, 11 if alone else 5)
    return made


def _draw(
    figure: Figure,
    panels: Sequence[Panel],
    families: Families,
    looks: Mapping[str, Look],
    axes: tuple[str, str],
    title: str,
) -> None:
    rows = -(-len(panels) // COLUMNS)
    figure.set_size_inches(11.0, 1.4 + 3.0 * rows)
    places = panels_of(figure, len(panels), COLUMNS)
    for place, panel in zip(places, panels, strict=True):
        _panel(place, panel, looks, axes)
    handles, labels = _legend(places[0], families, looks)
    figure.suptitle(title, fontsize=12)
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=NAME_SIZE)


def _panel(axes: Axes, panel: Panel, looks: Mapping[str, Look], names: tuple[str, str]) -> None:
    from matplotlib.patheffects import withStroke

    places = {name: place for name, place in panel.places.items() if min(place) > 0}  # zero has no place on the axes
    axes.set_xscale("log")
    axes.set_yscale("log")
    best = front(places)
    for name, (messages, waiting) in places.items():
        look = looks[name]
        axes.plot([waiting], [messages], look.marker, color=look.colour, markersize=look.size,
                  alpha=1.0 if name in best else 0.6, zorder=3)  # fmt: skip
    steps = [places[name] for name in best]
    axes.step([place[1] for place in steps], [place[0] for place in steps], where="pre", color="#555555", linewidth=0.9,
              zorder=2)  # fmt: skip
    halo = [withStroke(linewidth=2.0, foreground="white")]  # names are read where there are points behind them, too
    for name in worth_naming(best, places, looks):
        cheapest = name == best[0] and len(best) > 1  # it is the slowest, at the lower right end of the line
        axes.annotate(name, xy=(places[name][1], places[name][0]), xytext=(0, -12) if cheapest else (6, 4),
                      fontsize=NAME_SIZE, textcoords="offset points", ha="center" if cheapest else "left",
                      color=looks[name].colour, zorder=4, path_effects=halo)  # fmt: skip
    axes.margins(0.12)
    axes.autoscale_view()
    left, low = axes.get_xlim()[0], axes.get_ylim()[0]
    axes.fill_between([left, panel.aim[1]], [low, low], [panel.aim[0]] * 2, color="#009E73", alpha=0.13, linewidth=0,
                      zorder=1)  # fmt: skip
    axes.set_xlim(left=left)
    axes.set_ylim(bottom=low)
    axes.set_title(panel.title, loc="left", fontsize=10)
    axes.set_ylabel(names[0], fontsize=8)
    axes.set_xlabel(names[1], fontsize=8)
    number_axis(axes.xaxis, axes.get_xlim())
    number_axis(axes.yaxis, axes.get_ylim())
    axes.tick_params(labelsize=8)


def worth_naming(
    best: Sequence[str], places: Mapping[str, tuple[float, float]], looks: Mapping[str, Look]
) -> list[str]:
    """The names of the front, without those that a name of the same family would overlap."""
    named: list[str] = []
    for name in reversed(best):  # the quickest first
        close = [
            other
            for other in named
            if looks[other].family == looks[name].family
            and all([max(a, b) <= NEAR * min(a, b) for a, b in zip(places[other], places[name], strict=True)])
        ]
        if not close:
            named.append(name)
    return named


def _legend(axes: Axes, families: Families, looks: Mapping[str, Look]) -> tuple[list[Artist], list[str]]:
    """All algorithms, family by family."""
    handles: list[Artist] = []
    names = [name for members in families.values() for name in members]
    for name in names:
        look = looks[name]
        handles += axes.plot([], [], look.marker, color=look.colour, markersize=min(look.size, 8))
    return handles, names
