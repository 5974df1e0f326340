"""Tree quorums: any two meet, whatever failures each was built around; where none can be built, none is."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import floor, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from congenial.parts.quorums.tree import tree_quorum


def failures(n: int) -> list[tuple[int, ...]]:
    return [failed for count in range(n + 1) for failed in combinations(range(n), count)]


@pytest.mark.parametrize("n", range(1, 9))
def test_any_two_quorums_meet_whatever_has_failed(n: int) -> None:
    found = {tree_quorum(n, process, failed) for process in range(n) for failed in failures(n)} - {()}
    assert all(set(one) & set(other) for one in found for other in found)


@given(st.integers(2, 400), st.data())
def test_larger_ones_meet_too_and_leave_out_the_failed(n: int, data: st.DataObject) -> None:
    quorums = []
    for _ in range(2):
        failed = data.draw(st.lists(st.integers(0, n - 1), max_size=8))
        quorum = tree_quorum(n, data.draw(st.integers(0, n - 1)), failed)
        assert not set(quorum) & set(failed)
        assert set(quorum) <= set(range(n))
        quorums.append(set(quorum))
    assert not all(quorums) or quorums[0] & quorums[1]


@given(st.integers(1, 5000), st.data())
def test_without_failures_it_is_a_path_through_the_process(n: int, data: st.DataObject) -> None:
    process = data.draw(st.integers(0, n - 1))
    quorum = tree_quorum(n, process)
    assert process in quorum
    assert quorum[0] == 0
    assert all((child - 1) // 2 == parent for parent, child in pairwise(quorum))
    assert 2 * quorum[-1] + 1 >= n
    assert floor(log2(n + 1)) <= len(quorum) <= floor(log2(n)) + 1


def test_a_failed_process_is_replaced_by_two_paths() -> None:
    """ "it is replaced by two paths starting from the children of the failed node and terminating with the leaves" """
    assert tree_quorum(7, 3) == (0, 1, 3)
    assert tree_quorum(7, 3, [0]) == (1, 2, 3, 5)
    assert tree_quorum(15, 7, [1]) == (0, 2, 5, 11)  # rather than around it: a child that is up
    assert tree_quorum(15, 7, [1, 2]) == (0, 3, 4, 7, 9)


def test_a_failed_leaf_is_avoided_and_where_it_cannot_be_there_is_no_quorum() -> None:
    """ "If a leaf node on a path has failed, then a quorum cannot be formed." """
    assert tree_quorum(7, 3, [3]) == (0, 1, 4)
    assert tree_quorum(7, 3, [0, 3]) == (1, 2, 4, 5)
    assert tree_quorum(7, 3, [0, 3, 4]) == ()
    assert tree_quorum(2, 0, [1]) == ()


@pytest.mark.parametrize("n", [3, 7, 15, 31])
def test_the_largest_quorum_is_all_the_leaves(n: int) -> None:
    """ "it requires (N+1)/2 messages when some failures occur" """
    inner = list(range(n // 2))
    assert tree_quorum(n, 0, inner) == tuple(range(n // 2, n))
    assert len(tree_quorum(n, 0, inner)) == (n + 1) // 2


def test_log_n_failures_may_be_too_many() -> None:
    """ "may not be able to form a tree quorum in some cases after the failure of log N nodes": those of a path."""
    for n in (7, 15, 31):
        path = tree_quorum(n, n - 1)
        assert len(path) == log2(n + 1)
        assert tree_quorum(n, 0, path) == ()
        assert all(tree_quorum(n, 0, [p for p in path if p != spared]) for spared in path)
