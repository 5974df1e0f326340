"""Axes: logarithmic where values differ much, with round numbers on them."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10
from typing import TYPE_CHECKING

from congenial.lab.parameters import show_value
from congenial.lab.replication import Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

LETTER = 0.0028  # of an axis, for each point of a letter's size: how wide a digit is
GAP = 0.012  # of an axis: the least space between two labels
LABEL = 10.0  # points
SMALL = 8.0  # the same, on an axis with many values
MARGIN = 0.05  # of what an axis shows, to both sides of it
MOST_LABELS = 6  # on a logarithmic axis
WIDE = 20  # the ratio of the largest value to the smallest from which an axis is logarithmic


def position(values: Sequence[Value], value: Value) -> float:
    """Numbers are placed by value, texts one after the other."""
    if _numeric(values):
        return float(value)
    return float(values.index(value))


def _numeric(values: Sequence[Value]) -> bool:
    return all([isinstance(value, (int, float)) and not isinstance(value, bool) for value in values])


def scale_x(axes: Axes, values: Sequence[Value], room: float = 0.0) -> None:
    """Place the values on the axis, with room for a share of it at the right end."""
    from matplotlib.ticker import NullFormatter, NullLocator

    positions = [position(values, value) for value in values]
    if _numeric(values) and len(values) > 2:
        positive = [position for position in positions if position > 0]
        if positive and max(positive) / min(positive) > WIDE:
            if min(positions) > 0:
                axes.set_xscale("log")
            else:
                axes.set_xscale("symlog", linthresh=min(positive))
    _fit(axes, positions, room)
    small = len(values) > 6
    axes.set_xticks(positions, _tick_names(axes, positions, [show_value(value) for value in values], small))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    if small:
        axes.tick_params(axis="x", labelsize=SMALL)


def _fit(axes: Axes, positions: list[float], room: float) -> None:
    """Let the axis go a little further than the values to both sides, as the eye sees it."""
    ends = [float(axes.transScale.transform((end, 1.0))[0]) for end in (min(positions), max(positions))]
    width = ends[1] - ends[0] or 10.0
    back = axes.transScale.inverted()
    limits = (ends[0] - MARGIN * width, ends[1] + (MARGIN + room) * width)
    axes.set_xlim(*[float(back.transform((limit, 0.0))[0]) for limit in limits])


def _tick_names(axes: Axes, positions: list[float], names: list[str], small: bool) -> list[str]:
    """The names, without those that would touch the next one that stays. The last one stays."""
    across = [float(axes.transScale.transform((position, 1.0))[0]) for position in positions]
    width = across[-1] - across[0] or 1.0
    letter = LETTER * (SMALL if small else LABEL)
    kept = list(names)
    right = float("inf")  # where the label to the right begins
    for number in reversed(range(len(names))):
        middle, half = across[number] / width, letter * len(names[number]) / 2
        if middle + half + GAP > right:
            kept[number] = ""
        else:
            right = middle - half
    return kept


def number_axis(axis: Axis, limits: tuple[float, float]) -> None:
    """Plain round numbers on a logarithmic axis, not powers."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    axis.set_major_locator(FixedLocator(round_values(*limits)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def round_values(low: float, high: float) -> list[float]:
    """Values to label between two limits: 1, 2 and 5 times powers of ten, or more or fewer of them.

    >>> round_values(3.0, 60.0), round_values(130.0, 480.0), round_values(8.0, 20_000.0)
    ([5.0, 10.0, 20.0, 50.0], [150.0, 200.0, 300.0], [10.0, 100.0, 1000.0, 10000.0])
    >>> round_values(2.0, 500.0)
    [3.0, 10.0, 30.0, 100.0, 300.0]
    """
    powers = [10.0**power for power in range(floor(log10(low)), floor(log10(high)) + 1)]
    values: list[float] = []
    for factors in ((1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        values = [factor * power for power in powers for factor in factors if low <= factor * power <= high]
        if len(values) <= MOST_LABELS:
            break
    return values
