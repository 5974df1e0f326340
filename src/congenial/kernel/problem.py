"""What a problem is: what may be asked for, and which processes may be inside together.

The problems themselves are in `congenial.problems`. Drivers know them only through `Problem`; the judge
(`congenial.kernel.judge`) says when a problem's promise is broken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from mypy_extensions import mypyc_attr

Groups: TypeAlias = tuple[int, ...]
"""What an application asks for: any one of these groups will do. Mutual exclusion ignores it."""

NO_GROUP: Final = -1  # in the place of the group that a process is inside for, if it is not inside


@mypyc_attr(allow_interpreted_subclasses=True)
class Problem:
    """A kind of exclusion. `groups` says whether requests name groups, and `capacity` how many processes may be inside
    together (0: any number). `concurrent_entry` promises that a process does not wait for one that stays inside, as
    long as there is room and all requests are for one group.

    >>> class Pairs(Problem):
    ...     def admits(self, inside, current, group):
    ...         return inside < 2
    >>> Pairs("pairs", groups=False, concurrent_entry=True, capacity=2).admits(1, 0, 0)
    True
    """

    def __init__(self, name: str, groups: bool, concurrent_entry: bool, capacity: int = 0) -> None:
        self.name = name
        self.groups = groups
        self.concurrent_entry = concurrent_entry
        self.capacity = capacity
        self.operations = False  # may a process that is inside issue operations on a replicated resource?

    def sized(self, sizes: Mapping[str, int]) -> Problem:
        """The problem as it is for a system of these sizes (the variables of the cost laws)."""
        return self

    def admits(self, inside: int, current: int, group: int) -> bool:
        """True if a process may enter for `group` while `inside` processes are in, all of them for `current`."""
        raise NotImplementedError

    def may_follow(self, last_fence: int, last_group: int, fence: int, group: int) -> bool:
        """True if an entry for `group` with `fence` may come after the last one."""
        return fence > last_fence or (self.groups and group == last_group and fence == last_fence)

    def era(self, fence: int) -> int:
        """The era of a fence. An entry in a later era supersedes all processes that are inside since an earlier one:
        they have lost what they hold, even if they do not know it yet. Where exclusion is not weak there is one era."""
        return 0
