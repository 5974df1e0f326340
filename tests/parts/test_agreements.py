"""Quorum agreements: request sets meet acquired sets, sizes are as promised, and what is none is refused."""

from __future__ import annotations

from math import ceil, log2, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from congenial.kernel.errors import ConfigError
from congenial.parts.quorums.agreements import AGREEMENTS, Agreement, build_agreement, everyone, grid, plane, tree


@given(st.integers(1, 90), st.sampled_from(["grid", "tree", "everyone"]))
def test_every_request_set_meets_every_acquired_set(n: int, name: str) -> None:
    agreement = build_agreement(name, n)
    assert len(agreement.requests) == len(agreement.acquired) == n
    for process in range(n):
        assert process in agreement.requests[process]
        assert process in agreement.acquired[process]
    asked = {frozenset(members) for members in agreement.requests}
    told = {frozenset(members) for members in agreement.acquired}
    assert all([one & other for one in asked for other in told])
    if name != "tree":  # minimal: a row and a column, say, have just one member in common
        assert all([len(one & other) == 1 for one in asked for other in told])


@pytest.mark.parametrize("n", [1, 3, 7, 13, 21, 31, 57])
def test_planes(n: int) -> None:
    agreement = plane(n)
    assert agreement.requests == agreement.acquired
    order = agreement.sizes()["r"]
    assert agreement.sizes() == {"r": order, "a": order}
    assert order * order + order + 1 == n


@pytest.mark.parametrize("n", [2, 4, 10, 43, 111])
def test_where_there_is_no_plane_it_is_refused_with_advice(n: int) -> None:
    with pytest.raises(ConfigError, match=rf"no projective plane with {n} points .* use the agreement 'grid'"):
        plane(n)


@pytest.mark.parametrize("half", [1, 2, 3, 5, 10])
def test_a_grid_is_twice_as_high_as_wide(half: int) -> None:
    assert grid(2 * half * half).sizes() == {"r": 2 * half - 1, "a": half - 1}


@given(st.integers(1, 300))
def test_grids_are_about_as_good_for_every_n(n: int) -> None:
    sizes = grid(n).sizes()
    assert sizes["r"] + 2 * sizes["a"] + 1 <= 2 * sqrt(2) * sqrt(n) + 1


def test_a_short_last_row_is_filled_from_the_row_before() -> None:
    assert grid(8).acquired[4:] == [(4, 5), (4, 5), (6, 7), (6, 7)]
    assert grid(9).acquired[6:] == [(6, 7), (6, 7), (7, 8)]
    assert grid(9).requests[7] == (1, 3, 5, 7)


@given(st.integers(1, 300))
def test_paths_are_as_long_as_the_tree_is_deep(n: int) -> None:
    agreement = tree(n)
    assert agreement.requests == agreement.acquired
    assert agreement.sizes()["r"] == ceil(log2(n + 1)) - 1


def test_a_path_leads_from_the_root_through_its_owner_to_a_leaf() -> None:
    assert tree(7).requests == [(0, 1, 3), (0, 1, 3), (0, 2, 5), (0, 1, 3), (0, 1, 4), (0, 2, 5), (0, 2, 6)]


def test_everyone() -> None:
    assert everyone(3).requests == [(0, 1, 2)] * 3
    assert everyone(3).acquired == [(0,), (1,), (2,)]
    assert everyone(3).sizes() == {"r": 2, "a": 0}


@given(
    st.lists(st.sets(st.integers(0, 4), min_size=1), min_size=5, max_size=5),
    st.lists(st.sets(st.integers(0, 4), min_size=1), min_size=5, max_size=5),
)
def test_an_agreement_is_accepted_exactly_if_all_meet(asked: list[set[int]], told: list[set[int]]) -> None:
    requests, acquired = [sorted(members) for members in asked], [sorted(members) for members in told]
    if all([one & other for one in asked for other in told]):
        assert Agreement("drawn", requests, acquired).requests[2] == tuple(requests[2])
        if any([len(members) > 1 and all([members - {p} & o for o in told for p in members]) for members in asked]):
            with pytest.raises(ConfigError, match="drawn is not minimal"):
                Agreement("drawn", requests, acquired, minimal=True)
    else:
        with pytest.raises(ConfigError, match=r"drawn is no quorum agreement: .* have no member in common"):
            Agreement("drawn", requests, acquired)


def test_members_to_spare_are_named() -> None:
    with pytest.raises(ConfigError, match=r"paths is not minimal: \(0, 1, 3\) does not need 1"):
        Agreement("paths", tree(7).requests, tree(7).acquired, minimal=True)


def test_strangers_and_missing_sets_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"names process 7; there are only 0\.\.1"):
        Agreement("strange", [[0], [0]], [[0, 7], [0]])
    with pytest.raises(ConfigError, match=r"names process 9; there are only 0\.\.1"):
        Agreement("strange", [[0, 9], [0]], [[0], [0]])
    with pytest.raises(ConfigError, match="2 request sets, but 1 acquired sets"):
        Agreement("short", [[0], [0]], [[0]])


def test_an_unknown_agreement_is_refused_with_the_choice() -> None:
    with pytest.raises(ConfigError, match="unknown quorum agreement 'gird': choose from grid, plane, tree, everyone"):
        build_agreement("gird", 4)
    assert list(AGREEMENTS) == ["grid", "plane", "tree", "everyone"]
