"""Group mutual exclusion: processes inside together are all of one group (Joung 2000)."""

from __future__ import annotations

from typing import Final

from congenial.kernel.problem import Problem


class GroupMutex(Problem):
    """Any number of processes of one group may be inside together.

    >>> GROUP.admits(inside=2, current=7, group=7), GROUP.admits(inside=2, current=7, group=8)
    (True, False)
    """

    def __init__(self) -> None:
        super().__init__("group", groups=True, concurrent_entry=True)

    def admits(self, inside: int, current: int, group: int) -> bool:
        return inside == 0 or group == current


GROUP: Final = GroupMutex()
