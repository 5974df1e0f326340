"""The steps between explored states, each as its target and its label, in blocks, so that no array is ever copied."""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i64_le
from librt.vecs import append, vec
from mypy_extensions import i64

BLOCK_BITS: Final = 16
BLOCK: Final = 1 << BLOCK_BITS
TARGET: Final = 32  # an edge is target << 32 | number of its label
LABEL: Final = (1 << TARGET) - 1


@final
class Edges:
    """The edges of state i are those from firsts[i] to firsts[i+1]."""

    def __init__(self) -> None:
        self.count: i64 = 0
        self.firsts = vec[i64]()
        self.labels = vec[i64]()  # by number
        self._numbers: dict[int, int] = {}
        self._blocks: list[vec[i64]] = []
        self._last = vec[i64]()

    def begin(self) -> None:
        """What is added from now on are edges of the next state."""
        self.firsts = append(self.firsts, self.count)

    def add(self, target: i64, label: i64) -> None:
        at = self.count & (BLOCK - 1)
        if at == 0:
            self._last = vec[i64]([i64(0)] * BLOCK)
            self._blocks.append(self._last)
        self._last[at] = target << TARGET | label
        self.count += 1

    @property
    def blocks(self) -> list[vec[i64]]:
        """All edges, packed, in blocks; the last is not full."""
        return self._blocks

    def add_packed(self, block: bytes, count: i64) -> None:
        """Add the first edges of a block, as bytes."""
        i: i64 = 0
        while i < count:
            packed = read_i64_le(block, i * 8)
            self.add(packed >> TARGET, packed & LABEL)
            i += 1

    def renumbered(self, other: Edges) -> vec[i64]:
        """The numbers here of the labels that are numbered elsewhere."""
        found = vec[i64]()
        for label in other.labels:
            found = append(found, self.number_of(label))
        return found

    def add_all(self, other: Edges, place: i64, labels: vec[i64]) -> None:
        """Add the edges of a state that are kept elsewhere, with other numbers of labels."""
        edge = other.firsts[place]
        end = other.firsts[place + 1]
        while edge < end:
            block: vec[i64] = other._blocks[edge >> BLOCK_BITS]
            packed = block[edge & (BLOCK - 1)]
            self.add(packed >> TARGET, labels[packed & LABEL])
            edge += 1

    def set_target(self, edge: i64, target: i64) -> None:
        """Say where an edge leads that was added before that was known."""
        block: vec[i64] = self._blocks[edge >> BLOCK_BITS]
        at = edge & (BLOCK - 1)
        block[at] = target << TARGET | (block[at] & LABEL)

    def number_of(self, label: i64) -> i64:
        """The number of a label: event | process | messages sent."""
        known = self._numbers.get(label)
        if known is None:
            known = self._numbers[label] = len(self.labels)
            self.labels = append(self.labels, label)
        return known

    def target(self, edge: i64) -> i64:
        block: vec[i64] = self._blocks[edge >> BLOCK_BITS]
        return block[edge & (BLOCK - 1)] >> TARGET

    def label(self, edge: i64) -> i64:
        block: vec[i64] = self._blocks[edge >> BLOCK_BITS]
        return self.labels[block[edge & (BLOCK - 1)] & LABEL]
