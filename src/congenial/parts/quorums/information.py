"""Information structures: which processes to ask, and which to inform (Sanders 1987; Velazquez 1993, section 5).

They describe what many permission algorithms have in common. Every process i has three sets:

- its request set R_i: the processes whose permission it needs to enter;
- its inform set I_i: those of them that it tells when it has left. From their permission to that message they know that
  it may be inside, and meanwhile give their permission to no other process;
- its status set S_i: the processes about which i is informed, that is all j with i in I_j.

An algorithm that uses a structure excludes if I_i is within R_i for every i, and for any two processes i and j

- I_i and I_j have a member in common, which admits only one of the two at a time, or
- each asks the other (i in R_j, j in R_i) and is informed about itself (i in I_i, j in I_j).

All other structures are refused. (The survey leaves the last clause out; Sanders has i in I_i for all i. We require it
only where it is needed, so that quorum systems are information structures as they stand.)

| name | I_i | R_i | messages per entry |
| --- | --- | --- | --- |
| ricart-agrawala | i | everybody | 2(n-1) |
| maekawa:QUORUMS | quorum of i | quorum of i | 3(q-1), more under contention |
| centralised | process 0 | process 0 | 3, nothing for process 0 |
| everybody | everybody | everybody | 3(n-1), more under contention |
| clusters, clusters:COUNT | i, the head of its cluster | the same, and all other clusters | 3 + 2(n - size) |
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

from congenial.kernel.errors import ConfigError
from congenial.parts.quorums.constructions import build_quorums

Sets = Sequence[Sequence[int]]


class Information:
    """The sets of all processes, verified. Members are in ascending order; sets given as one object stay one."""

    def __init__(self, name: str, inform_sets: Sets, request_sets: Sets) -> None:
        self.name = name
        self.n = len(inform_sets)
        if len(request_sets) != self.n:
            raise ConfigError(f"{name}: {self.n} inform sets, but {len(request_sets)} request sets")
        self.inform_sets = self._in_order("inform", inform_sets)
        self.request_sets = self.inform_sets if request_sets is inform_sets else self._in_order("request", request_sets)
        self._verify()
        self.status_sets: list[list[int]] = [[] for _ in range(self.n)]
        for process, members in enumerate(self.inform_sets):
            for member in members:
                self.status_sets[member].append(process)
        self.solitary = frozenset([process for process in range(self.n) if self.inform_sets[process] == (process,)])

    def informs(self, process: int) -> tuple[int, ...]:
        """I_i."""
        return self.inform_sets[process]

    def asks(self, process: int) -> tuple[int, ...]:
        """R_i."""
        return self.request_sets[process]

    def status(self, process: int) -> frozenset[int]:
        """S_i."""
        return frozenset(self.status_sets[process])

    def sizes(self) -> dict[str, int]:
        """The variables of the cost laws: the largest and smallest sets, without the process they belong to."""
        informed = [len(members) - (process in members) for process, members in enumerate(self.inform_sets)]
        asked = [len(members) - (process in members) for process, members in enumerate(self.request_sets)]
        return {"i": max(informed), "i_min": min(informed), "r": max(asked), "r_min": min(asked)}

    def _in_order(self, kind: str, sets: Sets) -> list[tuple[int, ...]]:
        made: dict[int, tuple[int, ...]] = {}  # by the identity of the given set: processes may share one
        for process, members in enumerate(sets):
            if id(members) not in made:
                made[id(members)] = tuple(sorted(set(members)))
                for member in made[id(members)]:
                    if not 0 <= member < self.n:
                        raise ConfigError(
                            f"{self.name}: the {kind} set of process {process} names process {member}; "
                            f"there are only 0..{self.n - 1}"
                        )
        return [made[id(members)] for members in sets]

    def _verify(self) -> None:
        """Both conditions, with sets of processes as bit masks: an OR per member, not a test per pair."""
        everyone = (1 << self.n) - 1
        informed_by = holders_of(self.inform_sets)  # informed_by[p]: the processes that inform p
        asked_by: list[int] = []  # the same for request sets; not needed where all inform sets intersect
        masks: dict[int, int] = {}  # of request sets, by their identity
        knowing = 0  # the processes that are informed about themselves
        for process in range(self.n):
            knowing |= informed_by[process] & (1 << process)
        for process, members in enumerate(self.inform_sets):
            asked = self.request_sets[process]
            if asked is not members and id(asked) not in masks:
                masks[id(asked)] = mask_of(asked, self.n)
            stray = mask_of(members, self.n) & ~masks[id(asked)] if asked is not members else 0
            if stray:
                raise ConfigError(
                    f"{self.name} is no information structure: process {process} informs {lowest(stray)} without "
                    f"asking it (an inform set must be within the request set)"
                )
            met = 1 << process
            for member in members:
                met |= informed_by[member]
            missed = everyone & ~met
            if missed and asked is not members and knowing >> process & 1:
                asked_by = asked_by or holders_of(self.request_sets)
                missed &= ~(masks[id(asked)] & asked_by[process] & knowing)
            if missed:
                raise ConfigError(
                    f"{self.name} is no information structure: processes {process} and {lowest(missed)} inform nobody "
                    f"in common, and do not both ask each other and inform themselves"
                )


def mask_of(members: tuple[int, ...], n: int) -> int:
    bits = bytearray(n // 8 + 1)
    for member in members:
        bits[member >> 3] |= 1 << (member & 7)
    return int.from_bytes(bits, "little")


def holders_of(sets: list[tuple[int, ...]]) -> list[int]:
    """For each process, as a bit mask, the processes whose sets it is in."""
    owners: dict[int, int] = {}  # of each set, by its identity
    distinct: list[tuple[int, ...]] = []
    for process, members in enumerate(sets):
        if id(members) not in owners:
            distinct.append(members)
            owners[id(members)] = 0
        owners[id(members)] |= 1 << process
    holders = [0] * len(sets)
    for members in distinct:
        for member in members:
            holders[member] |= owners[id(members)]
    return holders


def lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


# -- constructions -----------------------------------------------------------------------------------------


def ricart_agrawala(n: int, argument: str) -> Information:
    """Everybody is asked, nobody informed."""
    everybody = range(n)
    return Information("ricart-agrawala", [[process] for process in range(n)], [everybody] * n)


def maekawa(n: int, argument: str) -> Information:
    """A quorum is asked and informed; any quorum system will do."""
    quorums = build_quorums(argument or "auto", n)
    return Information(f"maekawa:{quorums.name}", quorums.sets, quorums.sets)


def centralised(n: int, argument: str) -> Information:
    """Process 0 decides alone."""
    server = [[0]] * n
    return Information("centralised", server, server)


def everybody(n: int, argument: str) -> Information:
    """Everybody is asked and informed."""
    sets = [range(n)] * n
    return Information("everybody", sets, sets)


def clusters(n: int, argument: str) -> Information:
    """Within a cluster the head decides, as if it were centralised; between clusters all ask each other, as in Ricart
    and Agrawala's algorithm. About sqrt(n) clusters, unless their number is given."""
    count = isqrt(n - 1) + 1 if not argument else int(argument) if argument.isdigit() else 0
    if not 1 <= count <= n:
        raise ConfigError(f"clusters:{argument}: the number of clusters must be between 1 and {n}")
    size = (n + count - 1) // count
    informs: list[list[int]] = []
    asks: list[list[int]] = []
    for process in range(n):
        head = process - process % size
        informs.append([head, process])
        asks.append([head, process, *range(head), *range(head + size, n)])
    return Information("clusters", informs, asks)


STRUCTURES = {
    "clusters": clusters,
    "ricart-agrawala": ricart_agrawala,
    "maekawa": maekawa,
    "centralised": centralised,
    "everybody": everybody,
}


def build_information(text: str, n: int) -> Information:
    """A structure as users write it: its name, for some with an argument after a colon, as in maekawa:grid."""
    name, _, argument = text.partition(":")
    if name not in STRUCTURES:
        raise ConfigError(f"unknown information structure {name!r}: choose from {', '.join(STRUCTURES)}")
    if argument and name not in ("maekawa", "clusters"):
        raise ConfigError(f"{name} takes no argument, not {argument!r}")
    return STRUCTURES[name](n, argument)
