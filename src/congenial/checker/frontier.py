"""The states that wait to be expanded, level by level, in one array of short words."""

from __future__ import annotations

from typing import TypeAlias, final

from librt.vecs import append, vec
from mypy_extensions import i32, i64

State: TypeAlias = "vec[i64]"
"""A state of the whole system; `congenial.checker.world` says of what. It is never changed once it is made."""


@final
class Frontier:
    """States in the order in which they were added, each as its length and its words."""

    def __init__(self) -> None:
        self._words = vec[i32]()
        self._end: i64 = 0
        self._at: i64 = 0

    def add(self, state: State) -> None:
        words = self._words
        size: i64 = len(state)
        at = self._end
        self._end = at + size + 1
        while i64(len(words)) < self._end:
            words = append(words, i32(0))
        self._words = words
        words[at] = i32(size)
        i: i64 = 0
        while i < size:
            words[at + 1 + i] = i32(state[i])
            i += 1

    @property
    def is_empty(self) -> bool:
        return self._at == self._end

    def take(self) -> State:
        """The next state."""
        words = self._words
        size = i64(words[self._at])
        at = self._at + 1
        state = vec[i64]([i64(0)] * size)
        i: i64 = 0
        while i < size:
            state[i] = i64(words[at + i])
            i += 1
        self._at = at + size
        return state

    def clear(self) -> None:
        self._end = 0
        self._at = 0
