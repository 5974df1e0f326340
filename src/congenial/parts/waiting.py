"""Requests that wait for one of the next sessions, oldest first, and which group to serve next (`parts.selection`).

What the default policy compares, the priority of every group, is kept up to date: a home is asked for it with most
messages that it receives, and to weigh all requests each time would cost more than everything else.
"""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from congenial.kernel.part import Part
from congenial.kernel.problem import Groups
from congenial.parts.selection import select_group


@mypyc_attr(allow_interpreted_subclasses=True)
class Waiting(Part):
    def __init__(self, selection: str) -> None:
        self.selection = selection
        self.processes: list[int] = []
        self.wanted: list[Groups] = []
        self.ages: list[int] = []  # sessions planned since each was queued
        self.sizes: dict[int, int] = {}  # requests, by group
        self.priorities: dict[int, int] = {}  # as in `parts.selection`
        self.largest = 0  # of the sizes
        self.highest = 0  # of the priorities

    def __bool__(self) -> bool:
        """True if any request waits."""
        return len(self.processes) > 0

    def add(self, process: int, groups: Groups) -> None:
        self.processes.append(process)
        self.wanted.append(groups)
        self.ages.append(0)
        for group in groups:
            self._weigh(group, self.sizes.get(group, 0) + 1, self.priorities.get(group, 0) + 1)

    def _weigh(self, group: int, size: int, priority: int) -> None:
        self.sizes[group] = size
        self.priorities[group] = priority
        self.largest = max(self.largest, size)
        self.highest = max(self.highest, priority)

    def select(self) -> int:
        """The group to be served next."""
        if self.selection != "priority":
            return select_group(self.selection, self.wanted, self.ages)
        for groups in self.wanted:  # of equal ones, that of the oldest request
            for group in groups:
                if self.priorities[group] == self.highest:
                    return group
        raise AssertionError("somebody waits")

    def take(self, group: int) -> list[int]:
        """Take out the processes that wait for a group. The others are older by one session."""
        taken: list[int] = []
        processes: list[int] = []
        wanted: list[Groups] = []
        ages: list[int] = []
        for at in range(len(self.processes)):
            groups = self.wanted[at]
            if group in groups:
                taken.append(self.processes[at])
                self._discount(groups, 1 + self.ages[at])
            else:
                processes.append(self.processes[at])
                wanted.append(groups)
                ages.append(self.ages[at] + 1)
        self.processes = processes
        self.wanted = wanted
        self.ages = ages
        self.largest = self.highest = 0
        for other, size in self.sizes.items():
            self._weigh(other, size, self.priorities[other] + size)
        return taken

    def _discount(self, groups: Groups, weight: int) -> None:
        for group in groups:
            self.sizes[group] -= 1
            self.priorities[group] -= weight
            if self.sizes[group] == 0:
                del self.sizes[group]
                del self.priorities[group]
