"""Vectors of growing numbers, one per process, that travel with messages; in full, or only what changed.

The vector is sent as it was when it was last published, so that many messages share one copy. Singhal and
Kshemkalyani's compression (1992) sends to each process only the entries that have changed since the last message to it,
first their places, then their values. It needs FIFO channels, so that the receiver always knows what it would have
known from full vectors. Where places and values together would be no shorter, the full vector is sent.
"""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from congenial.kernel.errors import ConfigError


@mypyc_attr(allow_interpreted_subclasses=True)
class Vector:
    """The vector of one process out of n."""

    def __init__(self, n: int, compressed: bool) -> None:
        self.compressed = compressed
        self.values = [0] * n
        self.published = (0,) * n
        self.version = 0  # counts publications
        self.changed = [0] * n if compressed else []  # the version in which each entry last changed
        self.told = [0] * n if compressed else []  # the version last sent to each process

    def raise_to(self, place: int, value: int) -> None:
        if value > self.values[place]:
            self.values[place] = value

    def publish(self) -> None:
        if self.compressed:
            self.version += 1
            for place in range(len(self.values)):
                if self.values[place] != self.published[place]:
                    self.changed[place] = self.version
        self.published = tuple(self.values)

    def pack(self, receiver: int) -> tuple[int, ...]:
        """What to send to a process."""
        if not self.compressed:
            return self.published
        since = self.told[receiver]
        if since == self.version:
            return ()
        self.told[receiver] = self.version
        changed = self.changed
        places = [place for place in range(len(changed)) if changed[place] > since]
        if 2 * len(places) >= len(changed):
            return self.published
        return tuple(places + [self.published[place] for place in places])

    def merge(self, packed: tuple[int, ...], labels: list[int], label: int) -> None:
        """Learn from what another process sent, but only about the processes with the given label."""
        values = self.values
        if len(packed) == len(values):
            for place in range(len(values)):
                if labels[place] == label and packed[place] > values[place]:
                    values[place] = packed[place]
        else:
            count = len(packed) // 2
            for at in range(count):
                if labels[packed[at]] == label:
                    self.raise_to(packed[at], packed[count + at])


def build_compression(text: str, n: int) -> bool:
    """Whether vectors are compressed, as a user writes it."""
    if text not in ("full", "compressed"):
        raise ConfigError(f"vectors must be full or compressed, not {text!r}")
    return text == "compressed"
