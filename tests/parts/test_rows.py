"""Rows and lists of processes, against the slower ways to say the same."""

from __future__ import annotations

from bisect import bisect_left

from hypothesis import given
from hypothesis import strategies as st

from congenial.parts.rows import contains, discard, first_place, is_among, least, place_in

SETS = st.sets(st.integers(-3, 12))
LISTS = st.lists(st.integers(0, 4))


@given(SETS, st.integers(-4, 13))
def test_a_row_is_searched_by_halves(members: set[int], member: int) -> None:
    row = sorted(members)
    assert contains(tuple(row), member) == (member in members)
    assert place_in(row, member) == bisect_left(row, member)


@given(LISTS, st.integers(0, 4))
def test_the_first_of_equal_members_is_discarded(members: list[int], member: int) -> None:
    rest = list(members)
    assert is_among(members, member) == (member in members)
    if member in rest:
        rest.remove(member)
    discard(members, member)
    assert members == rest


@given(LISTS, st.integers(0, 4), st.data())
def test_a_value_is_looked_for_once_around(row: list[int], value: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(row)))
    places = [*range(start, len(row)), *range(start)]
    assert first_place(row, value, start) == next((place for place in places if row[place] == value), -1)


@given(st.lists(st.integers(), min_size=1))
def test_the_least_is_the_minimum(row: list[int]) -> None:
    assert least(row) == min(row)
