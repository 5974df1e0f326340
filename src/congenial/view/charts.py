"""Small line charts as SVG, without any library: for a notebook.

Colours are those of Okabe & Ito, which colour-blind readers can distinguish; marks differ as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#777777")
MARKS = (
    "M-3,0a3,3 0 1,0 6,0a3,3 0 1,0 -6,0",
    "M-3,-3h6v6h-6z",
    "M0,-4L4,0L0,4L-4,0z",
    "M0,-4L4,3L-4,3z",
    "M0,4L4,-3L-4,-3z",
)
WIDTH, HEIGHT = 360, 230
LEFT, RIGHT, TOP, BOTTOM = 48, 14, 26, 40
WIDE = 20  # the ratio of the largest value to the smallest from which an axis is logarithmic
MOST_TICKS = 6


@dataclass(frozen=True)
class Spot:
    """A value at a place, with half its interval."""

    x: float | str
    y: float
    half: float = 0.0


@dataclass(frozen=True)
class Curve:
    name: str
    number: int  # gives colour and mark
    spots: Sequence[Spot]


def mark(number: int) -> str:
    """A curve's mark, for a legend."""
    shape = MARKS[number % len(MARKS)]
    return (
        f'<svg width="24" height="10" viewBox="0 -5 24 10"><path d="M0,0H24" stroke="{_colour(number)}" '
        f'stroke-width="2"/><path d="{shape}" transform="translate(12,0)" fill="{_colour(number)}"/></svg>'
    )


def chart(title: str, x_label: str, curves: Sequence[Curve]) -> str:
    """Curves with bars for their intervals. An axis on which values differ much is logarithmic, and says so."""
    spots = [spot for curve in curves for spot in curve.spots]
    names = list(dict.fromkeys([spot.x for spot in spots]))
    numeric = [float(name) for name in names if not isinstance(name, str)]
    across = _Scale(numeric, LEFT + 8, WIDTH - RIGHT - 8, False) if len(numeric) == len(names) else None
    up = _Scale(
        [value for spot in spots for value in (spot.y - spot.half, spot.y + spot.half)], HEIGHT - BOTTOM, TOP, True
    )
    x: Callable[[float | str], float]
    if across is not None:
        line = across
        x = lambda value: line.place(float(value))  # noqa: E731
        named = [(line.place(value), f"{value:g}") for value in sorted(numeric)]
    else:
        step = (WIDTH - LEFT - RIGHT) / max(1, len(names))
        x = lambda value: LEFT + step * (names.index(value) + 0.5)  # noqa: E731
        named = [(x(name), str(name)) for name in names]
    log = f" ({', '.join([axis for axis, scale in (('x', across), ('y', up)) if scale is not None and scale.log])} log)"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="11" fill="currentColor">',
        f'<text x="8" y="14" font-weight="bold">{escape(title)}{log if log != " ( log)" else ""}</text>',
    ]
    for at, text in up.ticks():
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#88888855"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{text}</text>')
    last = -100.0
    for at, text in named:
        if at - last > 16 + 5 * len(text):
            parts.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{escape(text)}</text>')
            last = at
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_label)}</text>')
    for curve in curves:
        parts += _drawn(curve, x, up)
    return "".join([*parts, "</svg>"])


def _drawn(curve: Curve, x: Callable[[float | str], float], up: _Scale) -> list[str]:
    colour = _colour(curve.number)
    places = [(x(spot.x), up.place(spot.y), spot) for spot in curve.spots if spot.y > 0 or not up.log]
    path = "".join([f"{'L' if number else 'M'}{px:.1f},{py:.1f}" for number, (px, py, _) in enumerate(places)])
    parts = [f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>'] if path else []
    for px, py, spot in places:
        low, high = up.place(spot.y - spot.half), up.place(spot.y + spot.half)
        told = f"{curve.name}: {spot.y:.4g}" + (f" ± {spot.half:.2g}" if spot.half else "")
        parts.append(
            f'<g fill="{colour}" stroke="{colour}"><title>{escape(told)}</title>'
            f'<path d="M{px:.1f},{low:.1f}V{high:.1f}"/>'
            f'<path d="{MARKS[curve.number % len(MARKS)]}" transform="translate({px:.1f},{py:.1f})"/></g>'
        )
    return parts


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


class _Scale:
    """From values to places. With `zero`, a linear axis begins there."""

    def __init__(self, values: Sequence[float], start: float, end: float, zero: bool) -> None:
        positive = [value for value in values if value > 0]
        self.log = len(positive) == len(values) > 0 and max(values) > WIDE * min(values)
        self.start, self.end = start, end
        self.low = min(values, default=0.0)
        self.high = max(values, default=1.0)
        if zero and not self.log:
            self.low = min(0.0, self.low)
        if self.low == self.high:
            self.low, self.high = self.low - 0.5, self.high + 0.5
            self.log = False

    def place(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            value, low, high = log10(max(value, low / 2)), log10(low), log10(high)
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        if self.log:
            powers = range(floor(log10(self.low)), floor(log10(self.high)) + 1)
            values = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
            inside = [value for value in values if self.low <= value <= self.high]
            if len(inside) > MOST_TICKS:
                inside = [value for value in inside if f"{value:e}".startswith("1")]
        else:
            step = _step((self.high - self.low) / (MOST_TICKS - 1))
            count = floor(self.high / step + 1e-9) - floor(self.low / step - 1e-9)
            first = -floor(-self.low / step + 1e-9)
            inside = [(first + number) * step for number in range(count + 1)]
            inside = [value for value in inside if value <= self.high + 1e-9 * step]
        return [(self.place(value), f"{value:g}") for value in inside]


def _step(least: float) -> float:
    """1, 2 or 5 times a power of ten."""
    power = 10.0 ** floor(log10(least))
    return next((factor * power for factor in (1, 2, 5) if factor * power >= least), 10 * power)
