"""Trees that connect the processes, by name: star, line, balanced (binary), random."""

from __future__ import annotations

from collections.abc import Sequence

from librt.random import Random

from congenial.kernel.errors import ConfigError


def distances_from(start: int, adjacent: Sequence[Sequence[int]]) -> dict[int, int]:
    """How many edges lie between `start` and each process that can be reached from it, nearest first."""
    distance = {start: 0}
    order = [start]
    for process in order:
        for other in adjacent[process]:
            if other not in distance:
                distance[other] = distance[process] + 1
                order.append(other)
    return distance


class Tree:
    """An undirected tree over processes 0..n-1: connected, without a cycle; anything else is refused."""

    def __init__(self, name: str, n: int, edges: Sequence[tuple[int, int]]) -> None:
        self.name = name
        self.n = n
        adjacent: list[list[int]] = [[] for _ in range(n)]
        for a, b in edges:
            if not (0 <= a < n and 0 <= b < n):
                raise ConfigError(f"{name} tree: edge {a}-{b} leaves 0..{n - 1}")
            adjacent[a].append(b)
            adjacent[b].append(a)
        self.adjacent = [tuple(sorted(neighbours)) for neighbours in adjacent]
        reached = len(self.distances(0))
        if reached != n or len(edges) != n - 1:
            raise ConfigError(f"{name} is no tree: {reached} of {n} processes reached by {len(edges)} edges")
        self.toward_root = self._toward_root()  # each process's neighbour on the way to 0; 0 for 0 itself

    def neighbours(self, process: int) -> tuple[int, ...]:
        return self.adjacent[process]

    def distances(self, root: int) -> dict[int, int]:
        """How many edges lie between `root` and each process that can be reached from it, nearest first."""
        return distances_from(root, self.adjacent)

    def _toward_root(self) -> list[int]:
        distance = self.distances(0)
        steps = [0] * self.n
        for process in range(self.n):
            for other in self.adjacent[process]:
                if distance[other] < distance[process]:
                    steps[process] = other
        return steps

    def diameter(self) -> int:
        """The length of the longest path, which starts at a process farthest from process 0."""
        far = list(self.distances(0))[-1]
        return max(self.distances(far).values())

    def sizes(self) -> dict[str, int]:
        """The variable of the cost laws that this structure sets."""
        return {"D": self.diameter()}


def star(n: int) -> Tree:
    return Tree("star", n, [(0, leaf) for leaf in range(1, n)])


def line(n: int) -> Tree:
    return Tree("line", n, [(p - 1, p) for p in range(1, n)])


def balanced(n: int) -> Tree:
    """The children of p are 2p+1 and 2p+2."""
    return Tree("balanced", n, [((p - 1) // 2, p) for p in range(1, n)])


def random(n: int) -> Tree:
    """Every process but 0 is the child of a random earlier one; the depth grows as log n. The same for equal n."""
    rng = Random(n)
    return Tree("random", n, [(rng.randrange(p), p) for p in range(1, n)])


TREES = {"balanced": balanced, "star": star, "line": line, "random": random}


def build_tree(name: str, n: int) -> Tree:
    if name not in TREES:
        raise ConfigError(f"unknown tree {name!r}: choose from {', '.join(TREES)}")
    return TREES[name](n)
