"""How often something took how long."""

from __future__ import annotations

from typing import Final

BUCKETS: Final[tuple[float, ...]] = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # seconds
LONG_BUCKETS: Final[tuple[float, ...]] = (
    0.001,
    0.01,
    0.1,
    1.0,
    10.0,
    60.0,
    600.0,
    3600.0,
)  # seconds; locks may be held for long


class Histogram:
    """`counts` has how many were at most as long as each of the `bounds`, and how many were longer than all."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...] = BUCKETS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        self.total += seconds
        at = 0
        for bound in self.bounds:  # few, and most are short: quicker than a search
            if seconds <= bound:
                break
            at += 1
        self.counts[at] += 1

    @property
    def count(self) -> int:
        return sum(self.counts)
