"""Networks that connect the processes, by name: complete, ring, random, grid, hypercube, and every tree.

Links go both ways. A network can also be given link by link: '0-1,1-2,2-0'.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from librt.random import Random

from congenial.kernel.errors import ConfigError
from congenial.parts.trees import TREES, Tree, distances_from


class Graph:
    """An undirected graph over processes 0..n-1, connected; anything else is refused."""

    def __init__(self, name: str, n: int, edges: Sequence[tuple[int, int]]) -> None:
        self.name = name
        self.n = n
        adjacent: list[set[int]] = [set() for _ in range(n)]
        for a, b in edges:
            if not (0 <= a < n and 0 <= b < n):
                raise ConfigError(f"{name} network: link {a}-{b} leaves 0..{n - 1}")
            if a == b:
                raise ConfigError(f"{name} network: link {a}-{b} joins a process to itself")
            if b in adjacent[a]:
                raise ConfigError(f"{name} network: link {a}-{b} is given twice")
            adjacent[a].add(b)
            adjacent[b].add(a)
        self.adjacent = [tuple(sorted(neighbours)) for neighbours in adjacent]
        self.edges = len(edges)
        reached = self.distances(0)
        if len(reached) != n:
            lost = next(process for process in range(n) if process not in reached)
            raise ConfigError(f"{name} network is not connected: process {lost} cannot be reached from process 0")

    def neighbours(self, process: int) -> tuple[int, ...]:
        return self.adjacent[process]

    def distances(self, start: int) -> dict[int, int]:
        """How many links lie between `start` and each process that can be reached from it, nearest first."""
        return distances_from(start, self.adjacent)

    def diameter(self) -> int:
        """The longest distance. In a tree it starts at a process farthest from process 0; otherwise all are tried."""
        if self.edges == self.n - 1:
            far = list(self.distances(0))[-1]
            return max(self.distances(far).values())
        if self.edges == self.n * (self.n - 1) // 2:
            return 1
        return max([max(self.distances(start).values()) for start in range(self.n)])

    def sizes(self) -> dict[str, int]:
        """The variable of the cost laws that this structure sets."""
        return {"E": self.edges}


def complete(n: int) -> Graph:
    return Graph("complete", n, [(a, b) for a in range(n) for b in range(a + 1, n)])


def ring(n: int) -> Graph:
    if n < 3:
        raise ConfigError(f"a ring needs at least 3 processes, not {n}; a line will do")
    return Graph("ring", n, [(p, (p + 1) % n) for p in range(n)])


def random(n: int) -> Graph:
    """A random tree and half as many random links across. The same for equal n."""
    rng = Random(n)
    edges: set[tuple[int, int]] = {(rng.randrange(p), p) for p in range(1, n)}
    for _ in range(n // 2):
        a, b = rng.randrange(n), rng.randrange(n)
        if a != b:
            edges.add((min(a, b), max(a, b)))
    return Graph("random", n, sorted(edges))


def grid(n: int) -> Graph:
    """Rows and columns, as square as n allows: the rows are its largest divisor up to the root."""
    rows = max([d for d in range(1, n + 1) if d * d <= n and n % d == 0])
    if rows == 1 and n > 3:
        raise ConfigError(f"a grid of {n} processes would be a line: {n} is prime; choose another number")
    columns = n // rows
    across = [(p, p + 1) for p in range(n) if (p + 1) % columns != 0]
    down = [(p, p + columns) for p in range(n - columns)]
    return Graph("grid", n, across + down)


def hypercube(n: int) -> Graph:
    """Neighbours differ in one binary digit of their numbers."""
    if n & (n - 1) != 0:
        raise ConfigError(f"a hypercube needs 1, 2, 4, 8, ... processes, not {n}")
    bits = n.bit_length() - 1
    return Graph("hypercube", n, [(p, p | 1 << bit) for p in range(n) for bit in range(bits) if not p >> bit & 1])


def from_tree(name: str, tree: Tree) -> Graph:
    edges = [(a, b) for a in range(tree.n) for b in tree.neighbours(a) if a < b]
    return Graph(name, tree.n, edges)


GRAPHS: dict[str, Callable[[int], Graph]] = {
    "random": random,
    "complete": complete,
    "ring": ring,
    "grid": grid,
    "hypercube": hypercube,
}
TREE_GRAPHS = {"random-tree" if name == "random" else name: name for name in TREES}
"""The networks that are trees, with their names in `TREES`."""


def build_graph(name: str, n: int) -> Graph:
    """A network by name, or link by link."""
    if name in GRAPHS:
        return GRAPHS[name](n)
    if name in TREE_GRAPHS:
        return from_tree(name, TREES[TREE_GRAPHS[name]](n))
    if "-" in name and name[0].isdigit():
        return Graph("given", n, parse_links(name))
    raise ConfigError(
        f"unknown network {name!r}: choose from {', '.join([*GRAPHS, *TREE_GRAPHS])}, or give links as in '0-1,1-2'"
    )


def parse_links(text: str) -> list[tuple[int, int]]:
    links: list[tuple[int, int]] = []
    for word in text.split(","):
        ends = word.split("-")
        if len(ends) != 2 or not (ends[0].strip().isdigit() and ends[1].strip().isdigit()):
            raise ConfigError(f"{word!r} is no link: links are written as in '0-1,1-2,2-0'")
        links.append((int(ends[0]), int(ends[1])))
    return links
