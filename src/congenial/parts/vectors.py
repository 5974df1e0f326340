"""Vectors of growing numbers, one per process, that travel with messages; in full, or only what changed.

Singhal and Kshemkalyani's compression (1992) sends to each process only the entries that have changed since the last
message to it, first their places, then their values. It needs FIFO channels and receivers that use every message, so
that a receiver always knows what it would have known from full vectors. Where places and values together would be no
shorter, the full vector is sent.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64, mypyc_attr

from congenial.kernel.errors import ConfigError

LONG: Final = 16  # from this length on, work is put off and remembered; the checker has fewer states without
PUT_OFF: Final = 8  # so many vectors at most


@mypyc_attr(allow_interpreted_subclasses=True)
class Vector:
    """The vector of one process out of n."""

    def __init__(self, n: int, compressed: bool) -> None:
        self.compressed = compressed
        self.values: list[i64] = [0] * n
        self.copy: tuple[int, ...] = ()  # of the values, if it was made since they last changed
        self.version = 0  # counts changes
        self.changed: list[i64] = [0] * n  # the version in which each entry last changed
        self.told = [0] * n  # the version last sent to each process
        self.outdated = -1  # half of the entries have changed since this version, or more

    def raise_to(self, place: i64, value: i64) -> None:
        if value > self.values[place]:
            self.values[place] = value
            self.copy = ()
            if self.compressed:
                self.version += 1
                self.changed[place] = self.version

    def full(self) -> tuple[int, ...]:
        if self.copy:
            return self.copy
        copy = tuple(self.values)
        if len(copy) >= LONG:
            self.copy = copy
        return copy

    def pack(self, receiver: int) -> tuple[int, ...]:
        """What to send to a process."""
        if not self.compressed:
            return self.full()
        since = self.told[receiver]
        if since == self.version:
            return ()
        self.told[receiver] = self.version
        if since <= self.outdated:
            return self.full()
        places: list[int] = []
        latest: i64 = since
        place: i64 = 0
        for version in self.changed:
            if version > latest:
                places.append(place)
            place += 1
        if 2 * len(places) >= len(self.changed):
            if len(self.changed) >= LONG:
                self.outdated = since
            return self.full()
        values = self.values
        return tuple(places + [values[place] for place in places])

    def merge(self, packed: tuple[i64, ...]) -> None:
        """Learn what another process sent."""
        values = self.values
        place: i64 = 0
        if len(packed) == len(values):
            for value in packed:
                if value > values[place]:
                    self.raise_to(place, value)
                place += 1
        else:
            count: i64 = len(packed) // 2
            at = count
            for place in packed[:count]:
                value = packed[at]
                if value > values[place]:
                    self.raise_to(place, value)
                at += 1


@mypyc_attr(allow_interpreted_subclasses=True)
class Clock(Vector):
    """A vector that counts events of each process, and travels with the messages that announce them.

    A process that knows of an event knows all that the event's process knew then. So a vector need not be looked at if
    its event is known from a later one. This is why full vectors are put off until the values are needed: most of them
    are overtaken before that, and the cost of a message does not grow with n.
    """

    def __init__(self, n: int, compressed: bool) -> None:
        super().__init__(n, compressed)
        self.sources: list[int] = []  # of the vectors that are put off
        self.numbers: list[int] = []  # their events
        self.vectors: list[tuple[int, ...]] = []

    def hear(self, source: int, number: int, packed: tuple[int, ...]) -> None:
        """A process announces its latest event, with the vector that belongs to it."""
        if number <= self.values[source]:
            return
        n = len(self.values)
        if n < LONG or len(packed) != n:
            self.merge(packed)
            return
        keep = 0
        for at in range(len(self.sources)):
            if self.vectors[at][source] >= number:
                return  # then nothing that is put off is overtaken
            if packed[self.sources[at]] < self.numbers[at]:
                self.sources[keep] = self.sources[at]
                self.numbers[keep] = self.numbers[at]
                self.vectors[keep] = self.vectors[at]
                keep += 1
        if keep < len(self.sources):
            del self.sources[keep:]
            del self.numbers[keep:]
            del self.vectors[keep:]
        elif keep == PUT_OFF:
            self.settle()
        self.sources.append(source)
        self.numbers.append(number)
        self.vectors.append(packed)

    def settle(self) -> None:
        """Merge what was put off."""
        for vector in self.vectors:
            self.merge(vector)
        self.sources = []
        self.numbers = []
        self.vectors = []

    def count(self, place: int) -> int:
        """One more event of a process itself: returns its number."""
        self.settle()
        self.raise_to(place, self.values[place] + 1)
        return self.values[place]


def build_compression(text: str, n: int) -> bool:
    """True if vectors are compressed, as a user writes it."""
    if text not in ("full", "compressed"):
        raise ConfigError(f"vectors must be full or compressed, not {text!r}")
    return text == "compressed"
