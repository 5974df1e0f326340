"""The steps between explored states, each as its target and its label, in blocks, so that no array is ever copied."""

from __future__ import annotations

from typing import Final, final

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
