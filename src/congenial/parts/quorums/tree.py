"""Tree quorums: a path from the root of a binary tree to a leaf, rebuilt around processes that have failed.

The children of process p are 2p+1 and 2p+2. A quorum of a subtree consists of its root and a quorum of one child's
subtree; or, if the root has failed, of a quorum of every child's subtree (Agrawal & El Abbadi 1991). Any two quorums of
a subtree meet: both contain its root; or one contains the root and continues in a child's subtree, where the other has
a quorum as well; or both have quorums in all of them. A leaf that has failed cannot be replaced.

Without failures a quorum has log2(n) members; with them up to (n+1)/2, all the leaves of a full tree. Where n is even
one process has a single child, and a quorum around it is a path without it: still safe, though no longer minimal.
"""

from __future__ import annotations

from collections.abc import Sequence


def tree_quorum(n: int, process: int, failed: Sequence[int] = ()) -> tuple[int, ...]:
    """A quorum without the failed processes, empty if there is none. It contains `process` where that is possible."""
    return tuple(sorted(below(0, n, line_to(process), process, failed)))


def line_to(process: int) -> list[int]:
    """The processes from `process` up to the root."""
    line = [process]
    while line[-1] > 0:
        line.append((line[-1] - 1) // 2)
    return line


def below(root: int, n: int, wanted: list[int], turn: int, failed: Sequence[int]) -> list[int]:
    """A quorum of the subtree of `root`, empty if there is none. It prefers children that are up, then `wanted` ones;
    which of two equal ones it takes depends on `turn`, so that the load is spread."""
    children = [child for child in (2 * root + 1, 2 * root + 2) if child < n]
    if root in failed:
        if not children:
            return []
        around: list[int] = []
        for child in children:
            part = below(child, n, wanted, turn, failed)
            if not part:
                return []
            around += part
        return around
    if not children:
        return [root]
    ranked = sorted([(child in failed, child not in wanted, (child + turn) % 2, child) for child in children])
    for _, _, _, child in ranked:
        part = below(child, n, wanted, turn, failed)
        if part:
            return [root, *part]
    return []
