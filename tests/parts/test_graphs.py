"""Networks: connected, with the links they should have; what cannot be built is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from congenial.kernel.errors import ConfigError
from congenial.parts.graphs import GRAPHS, TREE_GRAPHS, Graph, build_graph


@given(st.integers(1, 60), st.sampled_from([*GRAPHS, *TREE_GRAPHS]))
def test_every_network_that_is_built_is_connected_and_goes_both_ways(n: int, name: str) -> None:
    try:
        graph = build_graph(name, n)
    except ConfigError:
        assert name in ("ring", "grid", "hypercube")
        return
    assert sorted(graph.distances(n - 1)) == list(range(n))
    for process in range(n):
        assert process not in graph.neighbours(process)
        assert all([process in graph.neighbours(other) for other in graph.neighbours(process)])
    assert sum([len(graph.neighbours(process)) for process in range(n)]) == 2 * graph.edges
    assert graph.sizes() == {"E": graph.edges}
    assert graph.diameter() == max([max(graph.distances(start).values()) for start in range(n)])


@pytest.mark.parametrize(
    ("name", "n", "edges", "diameter"),
    [
        ("complete", 6, 15, 1),
        ("complete", 1, 0, 0),
        ("ring", 7, 7, 3),
        ("line", 7, 6, 6),
        ("star", 7, 6, 2),
        ("balanced", 7, 6, 4),
        ("grid", 12, 17, 5),
        ("hypercube", 8, 12, 3),
        ("0-1,1-2,2-0,2-3", 4, 4, 2),
    ],
)
def test_shapes(name: str, n: int, edges: int, diameter: int) -> None:
    graph = build_graph(name, n)
    assert (graph.edges, graph.diameter()) == (edges, diameter)


def test_a_random_network_has_more_links_than_a_tree_and_is_the_same_every_time() -> None:
    assert build_graph("random", 200).adjacent == build_graph("random", 200).adjacent
    assert 199 < build_graph("random", 200).edges <= 299


@pytest.mark.parametrize(
    ("name", "n", "says"),
    [
        ("ring", 2, "a ring needs at least 3 processes, not 2"),
        ("hypercube", 6, "a hypercube needs 1, 2, 4, 8"),
        ("grid", 7, "7 is prime"),
        ("web", 3, "unknown network 'web': choose from random, complete"),
        ("0-1,2-3", 4, "not connected: process 2 cannot be reached from process 0"),
        ("0-1,1-1", 2, "link 1-1 joins a process to itself"),
        ("0-1,1-0", 2, "link 1-0 is given twice"),
        ("0-1,1-5", 3, r"link 1-5 leaves 0\.\.2"),
        ("0-1,x", 2, "'x' is no link"),
        ("0-1,1-", 2, "'1-' is no link"),
    ],
)
def test_what_cannot_be_built_is_refused(name: str, n: int, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        build_graph(name, n)


def test_a_lonely_process_is_a_network() -> None:
    assert Graph("drawn", 1, []).neighbours(0) == ()
