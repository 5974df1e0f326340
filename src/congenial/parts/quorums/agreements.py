"""Quorum agreements: a request set and an acquired set for every process; every request set meets every acquired set.

If a process that asks tells its request set, and a process that gets the token tells its acquired set, then some
process learns of both.

| name | request set | acquired set | for |
| --- | --- | --- | --- |
| grid | a column, about sqrt(2n) | a row, about sqrt(n/2) | every n |
| plane | a line of a projective plane, q+1 where n = q^2+q+1 | the same line | n = 3, 7, 13, 21, 31, 57, 73, 91, ... |
| tree | a path from the root to a leaf, about log2(n) | the same path | every n |
| everyone | everyone | the process alone | every n |

The first two and the last are minimal: without any one member some set would no longer meet all others. Of a path the
root alone would do, since all paths share it. The other members are those that could replace it (Agrawal & El Abbadi
1991).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from congenial.kernel.errors import ConfigError
from congenial.parts.quorums import constructions

Members = tuple[int, ...]


class Agreement:
    """Request set and acquired set i belong to process i. Sets that do not meet are refused; so are sets with
    superfluous members, if `minimal` is set."""

    def __init__(
        self, name: str, requests: Sequence[Sequence[int]], acquired: Sequence[Sequence[int]], minimal: bool = False
    ) -> None:
        self.name = name
        self.requests: list[Members] = [tuple(sorted(members)) for members in requests]
        self.acquired: list[Members] = [tuple(sorted(members)) for members in acquired]
        if len(self.requests) != len(self.acquired):
            raise ConfigError(f"{name}: {len(self.requests)} request sets, but {len(self.acquired)} acquired sets")
        asked, told = distinct(self.requests), distinct(self.acquired)
        asking = memberships(name, asked, len(self.requests))
        telling = memberships(name, told, len(self.requests))
        self._verify(asked, told, telling, minimal)
        if minimal:
            self._verify(told, asked, asking, minimal)

    def _verify(self, sets: list[Members], others: list[Members], containing: list[int], minimal: bool) -> None:
        """Check that each of `sets` meets each of `others`, and, if `minimal` is set, needs every member for that.

        As with quorums, sets of sets are bit masks: one OR per member, not one test per pair. `containing[p]` are
        those of the others that process p is a member of.
        """
        everything = (1 << len(others)) - 1
        for members in sets:
            met = 0
            met_twice = 0
            for member in members:
                met_twice |= met & containing[member]
                met |= containing[member]
            missed = everything & ~met
            if missed:
                lonely = others[missed.bit_length() - 1]
                raise ConfigError(
                    f"{self.name} is no quorum agreement: {members} and {lonely} have no member in common"
                )
            if minimal:
                for member in members:
                    if not containing[member] & ~met_twice:
                        raise ConfigError(f"{self.name} is not minimal: {members} does not need {member}")

    def sizes(self) -> dict[str, int]:
        """The variables of the cost laws that this structure sets: the largest sets, without their owners."""
        return {"r": largest(self.requests), "a": largest(self.acquired)}


def distinct(sets: list[Members]) -> list[Members]:
    return list(dict.fromkeys(sets))


def memberships(name: str, sets: list[Members], n: int) -> list[int]:
    """For every process, the sets that it is a member of, as a bit mask."""
    containing = [0] * n
    for number, members in enumerate(sets):
        for member in members:
            if not 0 <= member < n:
                raise ConfigError(f"{name}: the set {members} names process {member}; there are only 0..{n - 1}")
            containing[member] |= 1 << number
    return containing


def largest(sets: list[Members]) -> int:
    return max([len(members) - (1 if owner in members else 0) for owner, members in enumerate(sets)])


def grid(n: int) -> Agreement:
    """The columns and rows of a grid that is about twice as high as wide.

    A process tells r-1 others that it asks and a-1 that it has the token, and each of the latter may answer. For
    n = r*a the sum r + 2a is smallest where r = 2a. Row and column have one member in common. If the last row is short
    its missing places are filled from the row before.
    """
    width = max(1, round(sqrt(n / 2)))
    columns = [tuple(range(column, n, width)) for column in range(width)]
    rows = [tuple(range(start, start + width)) for start in range(0, n - width + 1, width)]
    if n % width:
        rows.append(tuple(range(n - width, n)))  # one of each column, too
    requests = [columns[process % width] for process in range(n)]
    return Agreement("grid", requests, [rows[process // width] for process in range(n)], minimal=True)


def plane(n: int) -> Agreement:
    """The lines of a finite projective plane: any two have exactly one common point."""
    if n > 1 and constructions.plane_order(n) < 0:
        raise ConfigError(
            f"no projective plane with {n} points is known here: n must be q*q+q+1 for a prime power q (7, 13, 21, 31, "
            f"57, 73, 91, ...); use the agreement 'grid'"
        )
    lines = constructions.plane(n).sets if n > 1 else [(0,)]
    return Agreement("plane", lines, lines, minimal=True)


def tree(n: int) -> Agreement:
    """Paths in the binary tree in which the children of p are 2p+1 and 2p+2: from the root to p, and on to a leaf."""
    paths = []
    for process in range(n):
        path = [process]
        while path[0] > 0:
            path.insert(0, (path[0] - 1) // 2)
        while 2 * path[-1] + 1 < n:
            path.append(2 * path[-1] + 1)
        paths.append(path)
    return Agreement("tree", paths, paths)


def everyone(n: int) -> Agreement:
    """All processes are asked, and none is told where the token is: the algorithm is then Suzuki and Kasami's."""
    return Agreement("everyone", [tuple(range(n))] * n, [(process,) for process in range(n)], minimal=True)


AGREEMENTS = {"grid": grid, "plane": plane, "tree": tree, "everyone": everyone}


def build_agreement(name: str, n: int) -> Agreement:
    if name not in AGREEMENTS:
        raise ConfigError(f"unknown quorum agreement {name!r}: choose from {', '.join(AGREEMENTS)}")
    return AGREEMENTS[name](n)
