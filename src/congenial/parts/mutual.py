"""Which of some processes should stay together: a set in which all hear each other.

A cut is a pair of processes of which at least one does not hear the other. Where there are cuts, some processes must
go. Those that hear the fewest others go first, so that one process with a broken cable goes, not all the others.
"""

from __future__ import annotations

from collections import Counter

Cut = tuple[int, int]  # the smaller number first


def cut_between(one: int, other: int) -> Cut:
    return (one, other) if one < other else (other, one)


def without_cuts(processes: list[int], cuts: set[Cut], dear: tuple[int, ...]) -> list[int]:
    """As many of the processes as a simple rule can keep, sorted, with no cut between two of them.

    The process with the most cuts goes, then the next, until there are none. Cuts to processes outside count as well:
    they tell which end of a cut it is that hears nobody. Of several processes with equally many cuts, one that is not
    `dear` goes first, and then the one with the largest number. So all that know the same cuts choose alike.
    """
    kept = set(processes)
    left = sorted(cuts)
    while True:
        inner = [cut for cut in left if cut[0] in kept and cut[1] in kept]
        if not inner:
            return sorted(kept)
        counts = Counter([end for cut in left for end in cut])
        gone = max([end for cut in inner for end in cut], key=lambda end: (counts[end], end not in dear, end))
        kept.remove(gone)
        left = [cut for cut in left if gone not in cut]
