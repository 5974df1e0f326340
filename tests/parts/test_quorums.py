"""Quorum systems: any two quorums meet, sizes are as promised, and what is none is refused."""

from __future__ import annotations

from math import isqrt, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from congenial.kernel.errors import ConfigError
from congenial.parts.quorums.constructions import (
    CONSTRUCTIONS,
    auto,
    build_quorums,
    difference_set,
    grid,
    majority,
    plane,
    plane_order,
    singleton,
)
from congenial.parts.quorums.system import Quorums

ORDERS = {3: 1, 7: 2, 13: 3, 21: 4, 31: 5, 57: 7, 73: 8, 91: 9, 133: 11, 183: 13, 273: 16}


def all_meet(quorums: Quorums) -> bool:
    sets = [set(members) for members in quorums.sets]
    return all(one & other for one in sets for other in sets)


@given(st.integers(1, 120), st.sampled_from(["grid", "majority", "singleton", "auto"]))
def test_any_two_quorums_meet(n: int, name: str) -> None:
    quorums = build_quorums(name, n)
    assert len(quorums.sets) == n
    assert all_meet(quorums)
    for process in range(n):
        assert quorums.of(process) == tuple(sorted(set(quorums.of(process))))
        assert set(quorums.of(process)) <= set(range(n))
        if name != "singleton":
            assert process in quorums.of(process)


@pytest.mark.parametrize("n", ORDERS)
def test_planes_are_the_least_possible(n: int) -> None:
    """q+1 members each, every process in q+1 quorums, any two quorums with exactly one common member."""
    order = ORDERS[n]
    quorums = plane(n)
    sets = [set(members) for members in quorums.sets]
    assert all(len(members) == order + 1 for members in sets)
    assert all(len(one & other) == 1 for i, one in enumerate(sets) for other in sets[:i])
    assert all(process in sets[process] for process in range(n))
    assert all(sum(process in members for members in sets) == order + 1 for process in range(n))


@pytest.mark.parametrize("q", [1, 2, 3, 4, 5, 7, 8, 9, 11])
def test_difference_sets_give_every_difference_once(q: int) -> None:
    n = q * q + q + 1
    chosen = difference_set(q)
    assert chosen[0] == 0
    assert sorted([(a - b) % n for a in chosen for b in chosen if a != b]) == list(range(1, n))


def test_plane_orders() -> None:
    found = {n: plane_order(n) for n in range(1, 300) if plane_order(n) > 0}
    assert found == ORDERS
    assert plane_order(43) == -1  # 6 is no prime power
    assert plane_order(111) == -1  # nor is 10


def test_where_there_is_no_plane_it_is_refused_with_advice() -> None:
    with pytest.raises(ConfigError, match=r"no projective plane with 10 points .* use quorums=grid"):
        plane(10)


@given(st.integers(1, 200))
def test_sizes(n: int) -> None:
    side = isqrt(n - 1) + 1
    assert max(len(members) for members in grid(n).sets) <= 2 * side - 1
    assert grid(n).sizes()["q"] >= sqrt(n)
    assert {len(members) for members in majority(n).sets} == {n // 2 + 1}
    assert singleton(n).sizes() == {"q": 1, "q_min": 1, "b": n}


@pytest.mark.parametrize("n", [4, 9, 16, 25])
def test_square_grids_are_even(n: int) -> None:
    size = 2 * isqrt(n) - 1
    assert grid(n).sizes() == {"q": size, "q_min": size, "b": size}


def test_uneven_grids_say_so() -> None:
    assert grid(5).sizes() == {"q": 4, "q_min": 3, "b": 4}


def test_auto_takes_a_plane_where_there_is_one() -> None:
    assert auto(13).name == "plane"
    assert auto(12).name == "grid"


def test_an_unknown_system_is_refused_with_the_choice() -> None:
    with pytest.raises(ConfigError, match="unknown quorum system 'gird': choose from"):
        build_quorums("gird", 4)
    assert set(CONSTRUCTIONS) == {"auto", "plane", "grid", "majority", "singleton"}


@given(st.lists(st.sets(st.integers(0, 5), min_size=1), min_size=6, max_size=6))
def test_a_system_is_accepted_exactly_if_all_meet(sets: list[set[int]]) -> None:
    meet = all(one & other for one in sets for other in sets)
    if meet:
        assert Quorums("drawn", [sorted(members) for members in sets]).of(0) == tuple(sorted(sets[0]))
    else:
        with pytest.raises(ConfigError, match="no member in common"):
            Quorums("drawn", [sorted(members) for members in sets])


def test_strangers_are_refused() -> None:
    with pytest.raises(ConfigError, match="names process 7"):
        Quorums("strange", [[0, 7], [0], [0]])
