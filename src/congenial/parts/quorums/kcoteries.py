"""k-coteries: sets of quorums of which at most k, and always k, can be held at the same time.

A k-coterie (Kakugawa, Fujita, Yamashita & Ae 1993) satisfies three conditions:

- intersection: of any k+1 quorums two have a member in common, so at most k can be held together;
- non-intersection: for any fewer than k disjoint quorums there is another that is disjoint from all of them, so a
  process that can choose is never kept out by fewer than k;
- minimality: no quorum contains another.

Velazquez 1993, section 6, gives the second as "there exists another quorum that has a null intersection with one of
these h quorums", which is too weak: it must be with all of them (see the errata).

| name | quorums | for |
| --- | --- | --- |
| blocks | k blocks of n/k processes, each with a coterie of its own: a plane or a grid | k <= n |
| majority | all sets of s = floor(n/(k+1)) + 1 processes (the k-majority coterie) | n >= k*s, and not too many sets |
| square | the rows and the columns of a k by k square; k = 2 is the survey's example | n = k*k |
| servers | each of the processes 0..k-1 alone (k central servers, for comparison) | k <= n |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb

from congenial.kernel.errors import ConfigError
from congenial.parts.quorums.constructions import auto

MOST_QUORUMS = 2000  # to be listed one by one


class KCoterie:
    """A k-coterie over processes 0..n-1; one that breaks a condition is refused. `home` is each process's first choice:
    a smallest quorum of which it is a member, if there is any."""

    def __init__(self, name: str, n: int, k: int, sets: Sequence[Sequence[int]]) -> None:
        self.name = name
        self.quorums: tuple[tuple[int, ...], ...] = tuple(sorted({tuple(sorted(set(members))) for members in sets}))
        verify(f"{name} for n = {n}, k = {k}", n, k, self.quorums)
        containing: list[list[int]] = [[] for _ in range(n)]
        for index, members in enumerate(self.quorums):
            for member in members:
                containing[member].append(index)
        self.containing = tuple([tuple(indices) for indices in containing])  # the quorums that each process is in
        least = [n + 1] * n
        choices: list[list[int]] = [[] for _ in range(n)]
        for index, members in enumerate(self.quorums):
            for member in members:
                if len(members) < least[member]:
                    least[member] = len(members)
                    choices[member] = []
                if len(members) == least[member]:
                    choices[member].append(index)
        self.home = [
            own[process % len(own)] if own else process % len(self.quorums) for process, own in enumerate(choices)
        ]

    def sizes(self) -> dict[str, int]:
        """The variables of the cost laws that this structure sets."""
        sizes = [len(members) for members in self.quorums]
        return {"q": max(sizes), "q_min": min(sizes)}


# -- the three conditions ------------------------------------------------------------------------------------


def verify(name: str, n: int, k: int, quorums: tuple[tuple[int, ...], ...]) -> None:
    """Intersection and non-intersection together say: if a process takes disjoint quorums, one after the other as long
    as there is one, it ends with k of them. Quorums that are not connected by common members, directly or through other
    quorums, can be counted separately."""
    if not quorums or min([len(members) for members in quorums]) == 0:
        raise ConfigError(f"{name} is no k-coterie: it needs quorums, and each of them members")
    if quorums[0][0] < 0 or max([members[-1] for members in quorums]) >= n:
        raise ConfigError(f"{name} is no k-coterie: its quorums name processes outside of 0..{n - 1}")
    contained = superset_pair(n, quorums)
    if contained is not None:
        inner, outer = contained
        raise ConfigError(f"{name} is no k-coterie: {quorums[outer]} contains {quorums[inner]} (minimality)")
    fewest = most = 0
    for part in parts_of(n, quorums):
        few, many = packings(n, part)
        fewest += few
        most += many
    if most > k:
        raise ConfigError(f"{name} is no k-coterie: {most} of its quorums are disjoint (intersection)")
    if fewest < k:
        raise ConfigError(f"{name} is no k-coterie: {fewest} quorums can keep everybody else out (non-intersection)")


def superset_pair(n: int, quorums: tuple[tuple[int, ...], ...]) -> tuple[int, int] | None:
    """A quorum and another that contains it: one that contains all its members."""
    containing = [0] * n  # containing[p]: the quorums that p is a member of, as a bit mask
    for index, members in enumerate(quorums):
        for member in members:
            containing[member] |= 1 << index
    for index, members in enumerate(quorums):
        around = ((1 << len(quorums)) - 1) ^ (1 << index)
        for member in members:
            around &= containing[member]
        if around:
            return index, around.bit_length() - 1
    return None


def parts_of(n: int, quorums: tuple[tuple[int, ...], ...]) -> list[list[tuple[int, ...]]]:
    """The quorums, grouped: those that share members are in one group."""
    leader = list(range(n))

    def find(process: int) -> int:
        while leader[process] != process:
            leader[process] = leader[leader[process]]
            process = leader[process]
        return process

    for members in quorums:
        for member in members:
            leader[find(member)] = find(members[0])
    parts: dict[int, list[tuple[int, ...]]] = {}
    for members in quorums:
        parts.setdefault(find(members[0]), []).append(members)
    return [parts[root] for root in sorted(parts)]


def packings(n: int, quorums: list[tuple[int, ...]]) -> tuple[int, int]:
    """How many disjoint quorums can be taken before none is left: at least, and at most."""
    if all_meet(n, quorums):
        return 1, 1
    if len(quorums) > MOST_QUORUMS:
        raise ConfigError(f"{len(quorums)} quorums that do not all meet are too many to verify")
    masks = [sum([1 << member for member in members]) for members in quorums]
    known: dict[int, tuple[int, int]] = {}

    def count(taken: int) -> tuple[int, int]:
        if taken not in known:
            rest = [count(taken | mask) for mask in masks if mask & taken == 0]
            few = 1 + min([after[0] for after in rest]) if rest else 0
            many = 1 + max([after[1] for after in rest]) if rest else 0
            known[taken] = (few, many)
        return known[taken]

    return count(0)


def all_meet(n: int, quorums: list[tuple[int, ...]]) -> bool:
    """True if any two of the quorums have a member in common."""
    containing = [0] * n
    for index, members in enumerate(quorums):
        for member in members:
            containing[member] |= 1 << index
    everything = (1 << len(quorums)) - 1
    for members in quorums:
        met = 0
        for member in members:
            met |= containing[member]
        if met != everything:
            return False
    return True


# -- constructions -------------------------------------------------------------------------------------------


def blocks(n: int, k: int) -> KCoterie:
    """One quorum in every block makes k; two in one block meet."""
    sets: list[list[int]] = []
    start = 0
    for block in range(k):
        size = n // k + (1 if block < n % k else 0)
        for members in smallest(auto(size).sets):
            sets.append([start + member for member in members])
        start += size
    return KCoterie("blocks", n, k, sets)


def smallest(sets: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The sets without those that contain another."""
    kept = tuple(sorted(set(sets)))
    while True:
        n = max([members[-1] for members in kept]) + 1
        found = superset_pair(n, kept)
        if found is None:
            return list(kept)
        kept = tuple([members for index, members in enumerate(kept) if index != found[1]])


def majority(n: int, k: int) -> KCoterie:
    size = n // (k + 1) + 1
    if k * size > n:
        raise ConfigError(
            f"there is no k-majority coterie for n = {n}, k = {k}: {k} sets of {size} need {k * size} processes; "
            "use coterie=blocks"
        )
    if comb(n, size) > MOST_QUORUMS:
        raise ConfigError(
            f"the k-majority coterie for n = {n}, k = {k} has {comb(n, size)} quorums, too many to be listed "
            f"(at most {MOST_QUORUMS}); use coterie=blocks"
        )
    return KCoterie("majority", n, k, [list(members) for members in combinations(range(n), size)])


def square(n: int, k: int) -> KCoterie:
    """Every row meets every column, so quorums that are held together are all rows, or all columns."""
    if n != k * k:
        raise ConfigError(f"a square coterie needs n = k*k = {k * k} processes, not {n}; use coterie=blocks")
    rows = [list(range(k * row, k * row + k)) for row in range(k)]
    columns = [list(range(column, n, k)) for column in range(k)]
    return KCoterie("square", n, k, rows + columns)


def servers(n: int, k: int) -> KCoterie:
    return KCoterie("servers", n, k, [[server] for server in range(k)])


KCOTERIES = {"blocks": blocks, "majority": majority, "square": square, "servers": servers}


def build_kcoterie(name: str, n: int, k: int) -> KCoterie:
    """The k-coterie of that name; more entries than processes count as n."""
    if name not in KCOTERIES:
        raise ConfigError(f"unknown k-coterie {name!r}: choose from {', '.join(KCOTERIES)}")
    return KCOTERIES[name](n, min(k, n))


class KCoterieName:
    """A k-coterie before k is known, which is another option."""

    def __init__(self, name: str, n: int) -> None:
        if name not in KCOTERIES:
            raise ConfigError(f"unknown k-coterie {name!r}: choose from {', '.join(KCOTERIES)}")
        self.name = name

    def settled(self, sizes: Mapping[str, int]) -> KCoterie:
        return build_kcoterie(self.name, sizes["n"], sizes["k"])
