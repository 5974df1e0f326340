"""What a witness has seen of one lock, judged by the judge that simulator and checker use, too.

A report has names, of holders and groups, where the judge has numbers. And a report comes a little later than the entry
itself, so that the order of reports within a session says nothing about the order of fences.
"""

from __future__ import annotations

import math

from congenial.kernel.errors import ContractError, SafetyViolation
from congenial.kernel.judge import Judge
from congenial.kernel.problem import Problem
from congenial.net.roster import FENCE_BITS

OUTDATED = "outdated"


class ReportedExclusion(Problem):
    """What a lock promises to outsiders: one group inside, or at most `capacity` holders. Members of a group report
    their entries one by one, so within a session fences may come in any order from the `floor` on."""

    def __init__(self) -> None:
        super().__init__("reported", groups=True, concurrent_entry=False)
        self.floor = 0  # the fence of the session's first entry; 0: no session is open

    def admits(self, inside: int, current: int, group: int) -> bool:
        return inside < self.capacity if self.capacity else inside == 0 or group == current

    def may_follow(self, last_fence: int, last_group: int, fence: int, group: int) -> bool:
        if self.capacity:
            return True  # permits of a semaphore are given independently
        return fence >= self.floor if self.floor else super().may_follow(last_fence, last_group, fence, group)

    def era(self, fence: int) -> int:
        return fence >> FENCE_BITS


class Scene:
    """What the witness has seen of one lock. The judge decides; the scene knows names and keeps count."""

    def __init__(self) -> None:
        self.problem = ReportedExclusion()
        self.judge = Judge(self.problem, 0)
        self.processes: dict[str, int] = {}  # the judge's number of each holder
        self.leases: dict[str, float] = {}  # of the holders that have said until when no other can hold the lock
        self.groups: dict[str, int] = {}  # the judge's number of each group, an even one
        self.loners = 0  # holders without a group so far
        self.intruders: set[str] = set()  # should not have entered, and have yet to leave
        self.superseded: list[str] = []
        self.met: list[str] = []  # the holders that the last intruder found inside
        self.refused = 0
        self.value = 0
        self.fence = 0  # the largest that the resource has seen
        self.entries = 0
        self.sessions = 0
        self.most = 0  # inside at the same time

    @property
    def inside(self) -> list[str]:
        """The holders that are inside and not superseded."""
        names = list(self.processes)
        return [names[process] for process in self.judge.holders()]

    def enter(
        self, who: str, group: str | None, fence: int, limit: int, until: float = -math.inf, now: float = math.inf
    ) -> str:
        """Record an entry at a time, with a lease until another time; what is wrong with it, or nothing."""
        judge = self.judge
        era = self.problem.era(fence)
        process = self._process(who)
        number = self._group(group)
        early = ""  # a holder that should have been waited for
        if era > judge.era:
            self.superseded += self.inside
            early = next((name for name in self.inside if not limit and self._has_lease(name, number, now)), "")
        if judge.holds[process] >= 0 and judge.eras[process] < max(era, judge.era):
            judge.leave(process)  # it was superseded, and comes back without having said that it has left
        opens = judge.inside == 0 or era > judge.era
        if opens:
            self.problem.floor = 0
        self.problem.capacity = limit
        try:
            judge.ask(process, (number,))
            judge.enter(process, number, fence)
        except ContractError:
            return f"{who} enters twice"
        except SafetyViolation:
            self.met = self.inside
            judge.crash(process)  # it does not wait for another chance
            self.intruders.add(who)
            return self._why(who, group, number, fence)
        if era < judge.era:
            self.refused += 1
            return OUTDATED
        if opens:
            self.sessions += 1
            self.problem.floor = fence
        self.fence = max(self.fence, fence)
        self.entries += 1
        self.most = max(self.most, judge.inside)
        self.leases[who] = until
        return f"{who} enters while the lease of {early} lasts" if early else ""

    def _has_lease(self, name: str, newcomer: int, now: float) -> bool:
        """True if no other group may be inside yet, because of this holder."""
        return self.judge.holds[self.processes[name]] != newcomer and self.leases.get(name, now) > now

    def leave(self, who: str) -> str:
        """Record that a holder leaves; what is wrong with it, or nothing."""
        self.leases.pop(who, None)
        if who in self.intruders:
            self.intruders.remove(who)
            return ""
        try:
            self.judge.leave(self._process(who))
        except ContractError:
            return f"{who} leaves without being inside"
        return ""

    def use(self, who: str, fence: int, value: int | None, until: float = -math.inf, now: float = math.inf) -> str:
        """Read the number (None), or write one; what is wrong, or nothing. This is the resource, not the judge: it
        looks at fences alone, not at who is inside."""
        if fence < self.fence:
            self.refused += 1
            return f"{who} is outdated while its lease lasts" if now < until else OUTDATED
        self.fence = fence
        if value is not None:
            if value != self.value + 1:
                return f"{who} writes {value} over {self.value}: what others wrote is lost"
            self.value = value
        return ""

    def _process(self, who: str) -> int:
        if who not in self.processes:
            self.processes[who] = self.judge.add_process()
        return self.processes[who]

    def _group(self, group: str | None) -> int:
        """The judge's number of a group. A holder without one is, each time, a group of its own."""
        if group is None:
            self.loners += 1
            return 2 * self.loners + 1
        return self.groups.setdefault(group, 2 * len(self.groups))

    def _why(self, who: str, group: str | None, number: int, fence: int) -> str:
        """Why the judge objects, by name."""
        judge = self.judge
        if not self.problem.admits(judge.inside, judge.current, number):
            if self.problem.capacity:
                return f"{who} is one too many for {self.problem.capacity}"
            current = next((name for name, number in self.groups.items() if number == judge.current), None)
            return f"{who} enters {group!r} while {', '.join(self.inside)} are inside for {current!r}"
        if self.problem.floor:
            return f"{who} has fence {fence}, below its session's {self.problem.floor}"
        return f"{who} has fence {fence}, not above {judge.fence} of an earlier session"
