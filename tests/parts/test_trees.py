"""Trees: connected, without a cycle, and as long as they should be."""

from __future__ import annotations

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from congenial.kernel.errors import ConfigError
from congenial.parts.trees import TREES, Tree, balanced, build_tree, line, random, star


@given(st.integers(1, 150), st.sampled_from(sorted(TREES)))
def test_every_walk_toward_the_root_gets_there(n: int, name: str) -> None:
    tree = build_tree(name, n)
    assert sum(len(tree.neighbours(process)) for process in range(n)) == 2 * (n - 1)
    distance = tree.distances(0)
    assert sorted(distance) == list(range(n))
    for process in range(1, n):
        nearer = tree.toward_root[process]
        assert nearer in tree.neighbours(process)
        assert distance[nearer] == distance[process] - 1
    assert tree.toward_root[0] == 0


@given(st.lists(st.integers(0, 10**6), max_size=40))
def test_the_diameter_is_the_longest_distance(parents: list[int]) -> None:
    tree = Tree("drawn", len(parents) + 1, [(parent % (child + 1), child + 1) for child, parent in enumerate(parents)])
    longest = max(max(tree.distances(start).values()) for start in range(tree.n))
    assert tree.diameter() == longest
    assert tree.sizes() == {"D": longest}


def test_shapes() -> None:
    assert star(10).diameter() == 2
    assert star(2).diameter() == 1
    assert line(10).diameter() == 9
    assert balanced(15).diameter() == 6
    assert balanced(1).diameter() == 0
    assert balanced(7).neighbours(1) == (0, 3, 4)


def test_a_random_tree_is_shallow_and_the_same_every_time() -> None:
    assert random(500).adjacent == random(500).adjacent
    assert random(500).adjacent[:400] != random(400).adjacent
    assert random(500).diameter() < 6 * log2(500)


@pytest.mark.parametrize(
    ("n", "edges"),
    [
        (3, [(0, 1)]),
        (3, [(0, 1), (0, 1)]),
        (3, [(0, 1), (1, 2), (2, 0)]),
        (4, [(0, 1), (2, 3), (3, 2)]),
        (2, [(0, 0)]),
    ],
)
def test_what_is_no_tree_is_refused(n: int, edges: list[tuple[int, int]]) -> None:
    with pytest.raises(ConfigError, match="drawn is no tree"):
        Tree("drawn", n, edges)


def test_edges_to_nowhere_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"edge 0-5 leaves 0\.\.2"):
        Tree("drawn", 3, [(0, 5), (1, 2)])


def test_an_unknown_tree_is_refused_with_the_choice() -> None:
    with pytest.raises(ConfigError, match="unknown tree 'oak': choose from balanced, star, line, random"):
        build_tree("oak", 3)
