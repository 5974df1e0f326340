"""What a problem is: what may be asked, and who may be inside together.

The problems themselves stand in `congenial.problems`; drivers know them only through `Problem`, and keep
their books in an `Occupancy`, which is where safety is judged, for every problem and every driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from mypy_extensions import mypyc_attr

from congenial.kernel.errors import ContractError, SafetyViolation

Groups: TypeAlias = tuple[int, ...]
"""What an application asks for: any one of these groups will do. Mutual exclusion ignores it."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Problem:
    """A kind of exclusion. `groups` says whether requests name groups, `capacity` how many may be inside together (0:
    all who like), and `concurrent_entry` whether, as long as those inside admit more, with all requests for one group,
    nobody may be kept waiting by somebody who stays inside."""

    def __init__(self, name: str, groups: bool, concurrent_entry: bool, capacity: int = 0) -> None:
        self.name = name
        self.groups = groups
        self.concurrent_entry = concurrent_entry
        self.capacity = capacity
        self.operations = False  # may who is inside issue operations on a replicated resource?

    def sized(self, sizes: Mapping[str, int]) -> Problem:
        """The problem as it is for a system of these sizes (the variables of the cost laws)."""
        return self

    def admits(self, inside: int, current: int, group: int) -> bool:
        """May a process enter for `group` while `inside` processes are in, all of them for `current`?"""
        raise NotImplementedError

    def may_follow(self, last_fence: int, last_group: int, fence: int, group: int) -> bool:
        """May an entry for `group` with `fence` come after the last one?"""
        return fence > last_fence or (self.groups and group == last_group and fence == last_fence)

    def era(self, fence: int) -> int:
        """Who enters in a later era supersedes all who are inside since an earlier one: they have lost what they hold,
        even if they do not know it yet. Where exclusion is not weak there is one era only."""
        return 0


@mypyc_attr(allow_interpreted_subclasses=True)
class Occupancy:
    """Who waits for what, who is inside, and whether that is allowed.

    Every entry must have been asked for, be of a group that was asked for, and be compatible with all who are
    inside. Fences, where an algorithm gives them (0: none), must grow from entry to entry; entries of one group, one
    after the other, may share a fence. Whoever is superseded, or enters although it is, does not count.
    """

    def __init__(self, problem: Problem, n: int) -> None:
        self.problem = problem
        self.inside = 0  # how many, in this era
        self.current = -1  # the group of the present session, or of the last one
        self.waiting = 0  # how many
        self.wants: list[Groups | None] = [None] * n  # what each waiting process asked for
        self.holds: list[int] = [-1] * n  # the group each process inside has entered for
        self.eras: list[int] = [0] * n  # since which era each process is inside
        self.era = 0  # the present one
        self.fence = 0  # the last one given in it

    def ask(self, process: int, groups: Groups) -> None:
        if self.wants[process] is not None or self.holds[process] >= 0:
            raise ContractError(f"process {process} asks again before it has left")
        self.wants[process] = groups
        self.waiting += 1

    def enter(self, process: int, group: int, fence: int) -> int:
        """Record an entry and return its group; raise `SafetyViolation` if it must not be."""
        wants = self.wants[process]
        if wants is None:
            raise SafetyViolation(f"process {process} enters without having asked")
        if not self.problem.groups:
            group = wants[0]
        elif group not in wants:
            raise SafetyViolation(f"process {process} enters group {group}, but asked for {listed(wants)}")
        era = self.problem.era(fence)
        if era < self.era:
            return self._admit(process, group, era)
        if era > self.era:
            self.era = era
            self.inside = 0
        if not self.problem.admits(self.inside, self.current, group):
            raise SafetyViolation(self._crowd(process, group))
        if fence:
            if not self.problem.may_follow(self.fence, self.current, fence, group):
                raise SafetyViolation(f"process {process} enters with fence {fence} after one with fence {self.fence}")
            self.fence = fence
        self.inside += 1
        self.current = group
        return self._admit(process, group, era)

    def _admit(self, process: int, group: int, era: int) -> int:
        self.wants[process] = None
        self.waiting -= 1
        self.holds[process] = group
        self.eras[process] = era
        return group

    def leave(self, process: int) -> None:
        if self.holds[process] < 0:
            raise ContractError(f"process {process} leaves without being inside")
        self.holds[process] = -1
        if self.eras[process] == self.era:
            self.inside -= 1

    def crash(self, process: int) -> None:
        """A crashed process neither waits nor holds."""
        if self.wants[process] is not None:
            self.wants[process] = None
            self.waiting -= 1
        elif self.holds[process] >= 0:
            self.leave(process)

    def waiters(self) -> list[int]:
        return [process for process, wants in enumerate(self.wants) if wants is not None]

    def _crowd(self, process: int, group: int) -> str:
        holders = [holder for holder, held in enumerate(self.holds) if held >= 0 and self.eras[holder] == self.era]
        verb = "is" if len(holders) == 1 else "are"
        who = f"process{'' if len(holders) == 1 else 'es'} {listed(holders)} {verb} inside"
        if self.problem.groups:
            return f"process {process} enters group {group} while {who} for group {self.current}"
        return f"process {process} enters while {who}"


def listed(numbers: list[int] | Groups) -> str:
    return ", ".join([str(number) for number in numbers])
