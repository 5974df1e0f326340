"""What a paper claims, drawn beside our ratios: the range that counts as reproduced, and the paper's own number in it.

A range for some values of the parameter is a band there; one that is about the least or the largest ratio only,
wherever that is, has no fill. A range that is open on one side is shaded lightly, up to the edge of the panel.
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
NUMBER = re.compile(r"(?:around )?(\d+(?:\.\d+)?)")

Said = tuple[str, Range]
"""What the paper says, in words, and the range that we made of it."""


def ranges_of(claims: Sequence[Claim], figure: str, metric: str, values: Sequence[Value]) -> list[Said]:
    return [
        (claim.paper, found) for claim in claims for found in claim.criterion.ranges(figure, metric, values)
    ]  # fmt: skip


def is_open(found: Range) -> bool:
    return found.low <= 0 or isinf(found.high)


def draw_ranges(axes: Axes, ranges: Sequence[Said], values: Sequence[Value]) -> list[float]:
    """Draw the ranges that have two ends, and return these ends."""
    ends: list[float] = []
    for words, found in ranges:
        if is_open(found):
            continue
        ends += [found.low, found.high]
        number = NUMBER.fullmatch(words)
        said = [float(number[1])] if number else []
        x = [position(values, value) for value in found.values]
        if not x:
            axes.axhspan(found.low, found.high, facecolor="none", edgecolor=COLOUR, linestyle="--", zorder=1)
        elif len(x) == 1:
            axes.plot([x[0]] * 2, [found.low, found.high], color=COLOUR, alpha=0.45, linewidth=8, solid_capstyle="butt",
                      zorder=1)  # fmt: skip
        else:
            axes.fill_between(x, found.low, found.high, color=COLOUR, alpha=0.3, linewidth=0, zorder=1)
        for height in said:
            if len(x) == 1:
                axes.plot(x, [height], "_", color=COLOUR, markersize=11, markeredgewidth=1.8, zorder=2)
            elif x:
                axes.plot([x[0], x[-1]], [height] * 2, color=COLOUR, linewidth=1.4, zorder=2)
            else:
                axes.axhline(height, color=COLOUR, linewidth=1.4, zorder=2)
    return ends


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
    note = f"the paper: {trends[0]}" if trends else "" if ranges else "the paper gives no number"
    axes.set_title(note, loc="right", fontsize=8, color="#8A5F00")


def claims_key() -> Artist:
    """For the legend."""
    from matplotlib.patches import Patch

    return Patch(facecolor=COLOUR, alpha=0.35, edgecolor=COLOUR)
