"""The states that wait to be expanded, level by level, as short words in blocks.

Up to half of all states found may wait at a time, and each takes more room than all that is kept of a state that was
expanded. So a block is freed when all states in it have been taken.
"""

from __future__ import annotations

from typing import Final, TypeAlias, final

from librt.vecs import vec
from mypy_extensions import i32, i64

State: TypeAlias = "vec[i64]"
"""A state of the whole system; `congenial.checker.world` says of what. It is never changed once it is made."""

BLOCK: Final = 1 << 16  # words
END: Final = -1  # in the place of a length: the rest of the block is empty


@final
class Frontier:
    """States in the order in which they were added, each as its length and its words, in one block."""

    def __init__(self) -> None:
        self._full: list[vec[i32]] = []  # blocks behind the one that is read, except the one that is written
        self._next: i64 = 0  # among these
        self._read = vec[i32]([i32(0)] * BLOCK)
        self._written = self._read
        self._at: i64 = 0
        self._end: i64 = 0
        self.count: i64 = 0

    def add(self, state: State) -> None:
        size: i64 = len(state)
        at = self._end
        if at + size + 1 >= i64(len(self._written)):
            self._begin_block(size)
            at = 0
        words = self._written
        words[at] = i32(size)
        i: i64 = 0
        while i < size:
            words[at + 1 + i] = i32(state[i])
            i += 1
        self._end = at + size + 1
        self.count += 1

    def _begin_block(self, size: i64) -> None:
        self._written[self._end] = END
        self._written = vec[i32]([i32(0)] * max(BLOCK, size + 2))
        self._full.append(self._written)
        self._end = 0

    @property
    def is_empty(self) -> bool:
        return self.count == 0

    def take(self) -> State:
        """The next state."""
        if self._read[self._at] == END:
            self._read = self._full[self._next]
            self._full[self._next] = vec[i32]()
            self._next += 1
            self._at = 0
        words = self._read
        at = self._at + 1
        size = i64(words[self._at])
        state = vec[i64]([i64(0)] * size)
        i: i64 = 0
        while i < size:
            state[i] = i64(words[at + i])
            i += 1
        self._at = at + size
        self.count -= 1
        return state

    def clear(self) -> None:
        """Make room for the states of another level; all have been taken."""
        self._full = []
        self._next = 0
        self._written = self._read
        self._at = 0
        self._end = 0
