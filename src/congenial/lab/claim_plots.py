"""What a paper claims, drawn beside our ratios: the range that counts as reproduced, and the paper's own number in it.

A range for some values of the parameter is a band there; one that is about the least or the largest ratio only,
wherever that is, stands at the right edge. A range that is open on one side is shaded lightly, up to the edge of the
panel.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isinf
from typing import TYPE_CHECKING

from congenial.lab.axis_plots import position
from congenial.lab.claims import Claim, Range
from congenial.lab.criteria import Trend
from congenial.lab.replication import Value

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

COLOUR = "#E69F00"
NUMBER = r"(?:around )?(\d+(?:\.\d+)?)"
NUMBERS = re.compile(f"{NUMBER}(?:, and {NUMBER})?")
EDGE = 0.022  # of a panel's width, for a range at its right edge

Said = tuple[str, Range]
"""What the paper says, in words, and the range that we made of it."""


def ranges_of(claims: Sequence[Claim], figure: str, metric: str, values: Sequence[Value]) -> list[Said]:
    return [
        (claim.paper, found) for claim in claims for found in claim.criterion.ranges(figure, metric, values)
    ]  # fmt: skip


def is_open(found: Range) -> bool:
    return found.low <= 0 or isinf(found.high)


def at_the_edge(ranges: Sequence[Said]) -> int:
    """How many of the ranges stand at the right edge."""
    return len([found for _, found in ranges if not found.values and not is_open(found)])


def draw_ranges(axes: Axes, ranges: Sequence[Said], values: Sequence[Value]) -> list[float]:
    """Draw the ranges that have two ends, and return these ends."""
    ends: list[float] = []
    right = 1.0
    for words, found in ranges:
        if is_open(found):
            continue
        ends += [found.low, found.high]
        x = [position(values, value) for value in found.values]
        said = numbers_in(words, found)
        if not x:
            axes.axhspan(found.low, found.high, right - EDGE, right, color=COLOUR, alpha=0.45, linewidth=0, zorder=1)
            for height in said:
                axes.axhline(height, right - 1.5 * EDGE, right, color=COLOUR, linewidth=1.8, zorder=2)
            right -= 2 * EDGE
        elif len(x) == 1:
            axes.plot([x[0]] * 2, [found.low, found.high], color=COLOUR, alpha=0.45, linewidth=8, solid_capstyle="butt",
                      zorder=1)  # fmt: skip
            axes.plot(x * len(said), said, "_", color=COLOUR, markersize=11, markeredgewidth=1.8, zorder=2)
        else:
            axes.fill_between(x, found.low, found.high, color=COLOUR, alpha=0.3, linewidth=0, zorder=1)
            for height in said:
                axes.plot([x[0], x[-1]], [height] * 2, color=COLOUR, linewidth=1.4, zorder=2)
    return ends


def numbers_in(words: str, found: Range) -> list[float]:
    """The paper's own number in a range, if it gives one.

    >>> numbers_in("around 0.05", Range(0.04, 0.06)), numbers_in("1.39, and 0.65", Range(0.58, 0.72))
    ([0.05], [0.65])
    >>> numbers_in("slightly below 1", Range(0.85, 1.0))
    []
    """
    match = NUMBERS.fullmatch(words)
    numbers = [float(number) for number in match.groups() if number] if match else []
    return [number for number in numbers if found.low <= number <= found.high]


def shade_open_ranges(axes: Axes, ranges: Sequence[Said], values: Sequence[Value]) -> None:
    """Shade the ranges with one end, when the axes are as they will be."""
    low, high = axes.get_ylim()
    left, right = axes.get_xlim()
    for _, found in ranges:
        if is_open(found) and low < found.high and found.low < high:
            bottom, top = max(low, found.low), min(high, found.high)
            x = [position(values, value) for value in found.values]
            if len(x) == 1:
                axes.plot([x[0]] * 2, [bottom, top], color=COLOUR, alpha=0.25, linewidth=8, solid_capstyle="butt",
                          zorder=0)  # fmt: skip
            else:
                axes.fill_between(x or [left, right], bottom, top, color=COLOUR, alpha=0.12, linewidth=0, zorder=0)
    axes.set_ylim(low, high)
    axes.set_xlim(left, right)


def note_on_claims(axes: Axes, ranges: Sequence[Said], claims: Sequence[Claim], figure: str, metric: str) -> None:
    """Say in words what has no range: a trend, or that nothing is claimed."""
    trends = [
        claim.paper for claim in claims if isinstance(claim.criterion, Trend) and claim.criterion.about(figure, metric)
    ]
    words = trends[0].partition(" with ")[0] if trends else ""  # 'falls with the time inside': the axis says of what
    note = f"the paper: {words}" if words else "" if ranges else "the paper gives no number"
    axes.set_title(note, loc="right", fontsize=8, color="#8A5F00")


def key(ranges: Sequence[Said]) -> tuple[Artist, str]:
    """For the legend."""
    from matplotlib.patches import Patch

    words = "the paper's value, or what counts as it"
    if at_the_edge(ranges):
        words += "\n(at the right edge: of the largest difference, whichever figure shows it)"
    return Patch(facecolor=COLOUR, alpha=0.35, edgecolor=COLOUR), words
