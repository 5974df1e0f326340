"""A quorum system, verified when it is made."""

from __future__ import annotations

from collections.abc import Sequence

from congenial.kernel.errors import ConfigError


class Quorums:
    """Quorum i belongs to process i. Any two quorums must intersect; others are refused."""

    def __init__(self, name: str, sets: Sequence[Sequence[int]]) -> None:
        self.name = name
        self.sets: list[tuple[int, ...]] = [tuple(sorted(set(members))) for members in sets]
        lonely = disjoint_pair(self.sets)
        if lonely is not None:
            first, second = lonely
            raise ConfigError(
                f"{name} is no quorum system: {self.sets[first]} of process {first} "
                f"and {self.sets[second]} of process {second} have no member in common"
            )

    def of(self, process: int) -> tuple[int, ...]:
        return self.sets[process]

    def sizes(self) -> dict[str, int]:
        """The variables of the cost laws that this structure sets."""
        sizes = [len(members) for members in self.sets]
        asked_by = [0] * len(self.sets)
        for members in self.sets:
            for member in members:
                asked_by[member] += 1
        return {"q": max(sizes), "q_min": min(sizes), "b": max(asked_by)}


def disjoint_pair(sets: list[tuple[int, ...]]) -> tuple[int, int] | None:
    """Two quorums without a common member, if there are any.

    Quorum i meets every other one exactly when the quorums that contain a member of i are all of them. With
    sets of quorums as bit masks that takes one OR per member, not one test per pair.
    """
    n = len(sets)
    containing = [0] * n  # containing[p]: the quorums that p is a member of
    for owner, members in enumerate(sets):
        for member in members:
            if not 0 <= member < n:
                raise ConfigError(f"quorum of process {owner} names process {member}; there are only 0..{n - 1}")
            containing[member] |= 1 << owner
    everything = (1 << n) - 1
    for owner, members in enumerate(sets):
        met = 0
        for member in members:
            met |= containing[member]
        missed = everything & ~met
        if missed:
            return owner, missed.bit_length() - 1
    return None
