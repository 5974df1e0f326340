"""Surficial quorums: one for every process and group; those of different groups meet, those of one group need not.

Joung 2003 puts the processes on the faces of a solid. In the plane: for every two of the m groups there is a square of
k times k processes, of which the first group owns the rows and the second the columns. A group's quorum number r is
line r in each of its m-1 squares. Two groups meet where a row of the one crosses a column of the other in the square
they share; a group's own k quorums are disjoint (k is the degree). That takes m(m-1)/2 * k*k processes.

For other numbers of processes we do as Atreya, Mittal & Peri 2007, section VII: logical processes are added until the
degree sqrt(2n/(m(m-1))) is an integer, and mapped round-robin onto the real ones: p stands for p mod n. Quorums that
met before still meet. But quorums of one group may now have common members, and a process need not be in its own
quorum.

The number of groups is fixed, which is a weakness of the papers. All further groups, numbers m and above, share one
more set: the diagonals of the squares of groups (0, 1), (2, 3), ... A diagonal crosses every row and every column, so
this set meets every quorum; and it is no larger. So safety never depends on m.
"""

from __future__ import annotations

from math import isqrt

from mypy_extensions import mypyc_attr

from congenial.kernel.errors import ConfigError

MOST_LOGICAL = 1_000_000  # processes, which take seconds to verify


@mypyc_attr(allow_interpreted_subclasses=True)
class Surficial:
    """The quorums of n processes for m groups, verified to meet. It holds three numbers only: quorums are computed when
    they are asked for."""

    def __init__(self, n: int, groups: int) -> None:
        if n < 1 or groups < 1:
            raise ConfigError(f"surficial quorums need processes and groups, not {n} and {groups}: use groups=2")
        self.n = n
        self.groups = max(2, groups)  # m; one group by itself has nobody to meet
        squares = self.groups * (self.groups - 1) // 2
        self.degree = isqrt((n - 1) // squares) + 1  # k, the least with squares * k * k >= n
        if squares * self.degree * self.degree > MOST_LOGICAL:
            raise ConfigError(
                f"surficial quorums for {self.groups} groups take {squares * self.degree * self.degree} logical "
                f"processes, more than {MOST_LOGICAL}: use fewer (groups=...); groups beyond them share a quorum"
            )
        verify([*[self._family(group) for group in range(self.groups)], [self.common()]])

    def of(self, process: int, group: int) -> tuple[int, ...]:
        """The members whose consent `process` needs for `group`, any number from 0 on."""
        return self.quorum(group, process % self.degree) if group < self.groups else self.common()

    def quorum(self, group: int, line: int) -> tuple[int, ...]:
        """Quorum number `line` of one of the m groups: that line in each square of the group."""
        k = self.degree
        members: set[int] = set()
        for other in range(self.groups):
            if other != group:
                start = self._square(min(group, other), max(group, other))
                for step in range(k):
                    members.add((start + (line * k + step if group < other else step * k + line)) % self.n)
        return tuple(sorted(members))

    def common(self) -> tuple[int, ...]:
        """The quorum that all groups from m on share: for every group a diagonal that crosses all its lines."""
        members: set[int] = set()
        for group in range(0, self.groups, 2):
            first = min(group, self.groups - 2)  # with an odd number the last group is paired again
            start = self._square(first, first + 1)
            for step in range(self.degree):
                members.add((start + step * self.degree + step) % self.n)
        return tuple(sorted(members))

    def sizes(self) -> dict[str, int]:
        """The variables of the cost laws that this structure sets; b is for one group, of the m."""
        common = len(self.common())
        largest = smallest = common
        most = 0
        for group in range(self.groups):
            asked_by: dict[int, int] = {}
            for line, members in enumerate(self._family(group)):
                askers = len(range(line, self.n, self.degree))
                largest = max(largest, len(members))
                smallest = min(smallest, len(members))
                for member in members:
                    asked_by[member] = asked_by.get(member, 0) + askers
            most = max(most, *asked_by.values(), 0)
        return {"q": largest, "q_min": smallest, "b": most, "m": self.groups}

    def _family(self, group: int) -> list[tuple[int, ...]]:
        return [self.quorum(group, line) for line in range(self.degree)]

    def _square(self, first: int, second: int) -> int:
        """The first logical process of the square that two groups share."""
        before = first * (2 * self.groups - first - 1) // 2  # squares of pairs with a smaller first group
        return (before + second - first - 1) * self.degree * self.degree


def verify(families: list[list[tuple[int, ...]]]) -> None:
    """Refuse quorums of different groups that do not meet; `families` are the quorums of each group.

    For each quorum, those that contain a member of it must be all there are, but for its own group's. Sets of quorums
    are bit masks, as in `disjoint_pair`.
    """
    containing: dict[int, int] = {}
    everything = 0
    bit = 1
    for family in families:
        for members in family:
            for member in members:
                containing[member] = containing.get(member, 0) | bit
            everything |= bit
            bit <<= 1
    first = 0  # the number of a family's first quorum
    for group, family in enumerate(families):
        foreign = everything & ~(((1 << len(family)) - 1) << first)
        first += len(family)
        for members in family:
            met = 0
            for member in members:
                met |= containing[member]
            if foreign & ~met:
                raise ConfigError(
                    f"quorum {members} of group {group} has no member in common with one of another group"
                )


def build_surficial(text: str, n: int) -> Surficial:
    """Surficial quorums for the number of groups that a user writes."""
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"groups must be a number of groups from 1 on, not {text!r}")
    return Surficial(n, int(text))
