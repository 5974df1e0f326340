"""The steps between explored states, each as its target and its label, in blocks, so that no array is ever copied."""

from __future__ import annotations

from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i16, i32, i64

from congenial.kernel.errors import ConfigError

BLOCK_BITS: Final = 12
BLOCK: Final = 1 << BLOCK_BITS
MOST_EDGES: Final = (1 << 31) - 1
SHORT: Final = (1 << 15) - BLOCK  # labels; with more of them, those of a block may not fit into 16 bits


@final
class Edges:
    """The edges of state i are those from first(i) to first(i + 1)."""

    def __init__(self) -> None:
        self.count: i64 = 0
        self.labels = vec[i64]()  # by number
        self._firsts = vec[i32]()
        self._numbers: dict[int, int] = {}
        self._targets: list[vec[i32]] = []  # in blocks, as are the numbers of their labels: first short ones, then long
        self._short: list[vec[i16]] = []
        self._long: list[vec[i32]] = []
        self._last_targets = vec[i32]()
        self._last_short = vec[i16]()
        self._last_long = vec[i32]()

    def begin(self) -> None:
        """What is added from now on are edges of the next state."""
        if self.count > MOST_EDGES:
            raise ConfigError("too many steps between states to number them; set a limit")
        self._firsts = append(self._firsts, i32(self.count))

    def first(self, state: i64) -> i64:
        return i64(self._firsts[state])

    @property
    def states(self) -> int:
        """The states whose edges are known, once all are."""
        return len(self._firsts) - 1

    def add(self, target: i64, label: i64) -> None:
        at = self.count & (BLOCK - 1)
        if at == 0:
            self._begin_block()
        self._last_targets[at] = i32(target)
        if len(self._last_long) == 0:
            self._last_short[at] = i16(label)
        else:
            self._last_long[at] = i32(label)
        self.count += 1

    def _begin_block(self) -> None:
        self._last_targets = vec[i32]([i32(0)] * BLOCK)
        self._targets.append(self._last_targets)
        if len(self._last_long) == 0 and len(self.labels) <= SHORT:
            self._last_short = vec[i16]([i16(0)] * BLOCK)
            self._short.append(self._last_short)
        else:
            self._last_long = vec[i32]([i32(0)] * BLOCK)
            self._long.append(self._last_long)

    def number_of(self, label: i64) -> i64:
        """The number of a label: event | process | messages sent."""
        known = self._numbers.get(label)
        if known is None:
            known = self._numbers[label] = len(self.labels)
            self.labels = append(self.labels, label)
        return known

    def target(self, edge: i64) -> i64:
        block: vec[i32] = self._targets[edge >> BLOCK_BITS]
        return i64(block[edge & (BLOCK - 1)])

    def label(self, edge: i64) -> i64:
        number = edge >> BLOCK_BITS
        at = edge & (BLOCK - 1)
        if number < i64(len(self._short)):
            short: vec[i16] = self._short[number]
            return self.labels[i64(short[at])]
        long: vec[i32] = self._long[number - i64(len(self._short))]
        return self.labels[i64(long[at])]
