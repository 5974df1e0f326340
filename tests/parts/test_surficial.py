"""Surficial quorums: those of different groups meet, sizes and degree are as promised, groups beyond m safe."""

from __future__ import annotations

from itertools import pairwise
from math import ceil, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from congenial.kernel.errors import ConfigError
from congenial.parts.quorums.surficial import Surficial, build_surficial, verify


def exact(m: int, k: int) -> Surficial:
    """The system that needs no logical processes."""
    return Surficial(m * (m - 1) // 2 * k * k, m)


@given(st.integers(1, 60), st.integers(1, 9))
def test_quorums_of_different_groups_meet_also_beyond_m(n: int, m: int) -> None:
    quorums = Surficial(n, m)
    asked = {(process, group): set(quorums.of(process, group)) for process in range(n) for group in range(m + 3)}
    for (_, group), members in asked.items():
        assert members <= set(range(n))
        for (_, other), others in asked.items():
            assert group == other or members & others


@given(st.integers(2, 8), st.integers(1, 6))
def test_where_no_process_is_added_a_groups_quorums_are_disjoint_and_all_sets_of_one_size(m: int, k: int) -> None:
    """Degree sqrt(2n/(m(m-1))), size (m-1)k = sqrt(2n(m-1)/m), every process in exactly two quorums (Joung 2003)."""
    quorums = exact(m, k)
    n = quorums.n
    assert quorums.degree == k == round(sqrt(2 * n / (m * (m - 1))))
    count = [0] * n
    for group in range(m):
        sets = [set(quorums.quorum(group, line)) for line in range(k)]
        assert all(len(members) == (m - 1) * k == round(sqrt(2 * n * (m - 1) / m)) for members in sets)
        assert all(not one & other for place, one in enumerate(sets) for other in sets[:place])
        for members in sets:
            for member in members:
                count[member] += 1
    assert count == [2] * n
    assert quorums.sizes() == {"q": (m - 1) * k, "q_min": len(quorums.common()), "b": ceil(n / k), "m": m}


@given(st.integers(2, 8), st.integers(1, 6))
def test_two_groups_meet_in_exactly_one_process(m: int, k: int) -> None:
    quorums = exact(m, k)
    for group, other in pairwise(range(m)):
        assert len(set(quorums.quorum(group, 0)) & set(quorums.quorum(other, k - 1))) == 1


@given(st.integers(1, 200), st.integers(2, 30))
def test_the_fewest_logical_processes_that_make_the_degree_an_integer_are_added(n: int, m: int) -> None:
    """Atreya, Mittal & Peri 2007, section VII."""
    assert Surficial(n, m).degree == ceil(sqrt(2 * n / (m * (m - 1))) - 1e-9)


def test_logical_processes_are_mapped_round_robin() -> None:
    """Three groups, k = 2: twelve logical processes on ten, of which 10 and 11 stand for 0 and 1."""
    quorums = Surficial(10, 3)
    assert quorums.degree == 2
    assert quorums.quorum(0, 1) == (2, 3, 6, 7)  # second rows of the squares 0-3 (groups 0, 1) and 4-7 (0, 2)
    assert quorums.quorum(1, 0) == (0, 2, 8, 9)  # a column of 0-3, a row of 8-11 (groups 1, 2)
    assert quorums.quorum(2, 1) == (1, 5, 7, 9)  # second columns of 4-7 and of 8, 9, 0, 1
    assert quorums.common() == (0, 1, 3, 8)  # the diagonals of 0-3 and of 8, 9, 0, 1


def test_a_process_takes_the_line_of_its_number() -> None:
    quorums = Surficial(4, 2)
    assert [quorums.of(process, 0) for process in range(4)] == [(0, 1), (2, 3), (0, 1), (2, 3)]
    assert [quorums.of(process, 1) for process in range(4)] == [(0, 2), (1, 3), (0, 2), (1, 3)]


def test_groups_beyond_m_all_have_the_same_quorum_and_it_is_no_larger() -> None:
    for m in range(2, 9):
        for k in range(1, 5):
            quorums = exact(m, k)
            assert quorums.of(0, m) == quorums.of(3, m + 10**30) == quorums.common()
            assert len(quorums.common()) <= max((m - 1) * k, quorums.sizes()["q"])


def test_many_groups_ask_nearly_everybody() -> None:
    """The paper's largest: 100 groups of 25 processes, one quorum for each group, of 99 logical processes."""
    quorums = Surficial(25, 100)
    assert quorums.degree == 1
    assert {len(quorums.of(process, 77)) for process in range(25)} == {23}
    assert quorums.sizes()["q"] == 25


def test_what_does_not_meet_is_refused() -> None:
    verify([[(0, 1), (2, 3)], [(0, 2), (1, 3)], [(0, 3)]])
    with pytest.raises(ConfigError, match=r"quorum \(2, 3\) of group 0 has no member in common with one of another"):
        verify([[(0, 1), (2, 3)], [(0, 2), (0, 1)]])


@pytest.mark.parametrize("text", ["", "0", "-1", "two", "1.5"])
def test_what_is_no_number_of_groups_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="groups must be a number of groups from 1 on"):
        build_surficial(text, 4)


def test_too_many_groups_are_refused_with_advice() -> None:
    with pytest.raises(ConfigError, match=r"use fewer \(groups=...\)"):
        build_surficial("10000", 4)
    assert build_surficial("1", 5).groups == 2
