"""Mutual exclusion: at most one process inside."""

from __future__ import annotations

from typing import Final

from congenial.kernel.problem import Problem


class Mutex(Problem):
    """One process may be inside.

    >>> MUTEX.admits(inside=0, current=-1, group=0), MUTEX.admits(inside=1, current=0, group=0)
    (True, False)
    """

    def __init__(self) -> None:
        super().__init__("mutex", groups=False, concurrent_entry=False, capacity=1)

    def admits(self, inside: int, current: int, group: int) -> bool:
        return inside == 0


MUTEX: Final = Mutex()
