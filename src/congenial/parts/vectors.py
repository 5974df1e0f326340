"""Vectors of growing numbers, one per process, that travel with messages; whole, or only what changed.

Who receives one takes the larger of every two entries. Singhal and Kshemkalyani's compression (1992) sends to each
process only the entries that have changed since the last sending to it, as pairs of place and value; it needs FIFO
channels for the receiver to know at every moment what it would have known from whole vectors. Where the pairs would be
no shorter than the vector, the whole vector is sent.
"""

from __future__ import annotations

from congenial.kernel.errors import ConfigError


class Vector:
    """The vector of one process out of n."""

    def __init__(self, n: int, compressed: bool) -> None:
        self.compressed = compressed
        self.values = [0] * n
        self.tick = 0  # counts my sendings
        self.changed = [0] * n if compressed else []  # the tick at which each entry last changed
        self.told = [0] * n if compressed else []  # the tick at which I last sent to each process

    def raise_to(self, place: int, value: int) -> None:
        if value > self.values[place]:
            self.values[place] = value
            if self.compressed:
                self.changed[place] = self.tick

    def pack(self, receiver: int) -> tuple[int, ...]:
        """What to send to a process."""
        if not self.compressed:
            return tuple(self.values)
        since = self.told[receiver]
        self.tick += 1
        self.told[receiver] = self.tick
        pairs: list[int] = []
        for place, changed in enumerate(self.changed):
            if changed >= since and self.values[place]:
                pairs.append(place)
                pairs.append(self.values[place])
        return tuple(pairs) if len(pairs) < len(self.values) else tuple(self.values)

    def merge(self, packed: tuple[int, ...]) -> None:
        """Learn from what another process sent."""
        if len(packed) == len(self.values):
            for place, value in enumerate(packed):
                self.raise_to(place, value)
        else:
            for at in range(0, len(packed), 2):
                self.raise_to(packed[at], packed[at + 1])


def build_compression(text: str, n: int) -> bool:
    """Whether vectors are compressed, as a user writes it."""
    if text not in ("full", "compressed"):
        raise ConfigError(f"vectors must be full or compressed, not {text!r}")
    return text == "compressed"
