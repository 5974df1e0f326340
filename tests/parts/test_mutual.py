"""Which processes stay together when some do not hear each other."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from congenial.parts.mutual import cut_between, without_cuts

ALL = list(range(6))
pairs = st.sets(st.sampled_from(list(combinations(ALL, 2))))


def test_without_cuts_all_stay() -> None:
    assert without_cuts(ALL, set(), ()) == ALL


def test_the_process_with_the_broken_cable_goes() -> None:
    assert without_cuts(ALL, {cut_between(2, other) for other in ALL if other != 2}, ()) == [0, 1, 3, 4, 5]


def test_of_two_that_do_not_hear_each_other_the_one_that_is_not_dear_goes() -> None:
    assert without_cuts(ALL, {(0, 5)}, ()) == [0, 1, 2, 3, 4]
    assert without_cuts(ALL, {(0, 5)}, (5,)) == [1, 2, 3, 4, 5]


def test_cuts_to_others_tell_which_end_hears_nobody() -> None:
    assert without_cuts([0, 1], {(0, 1), (0, 7)}, ()) == [1]


def test_cuts_to_processes_that_have_gone_count_no_more() -> None:
    """5 and 6 go first. Then 1 has more cuts than 0, which had as many as any but for those two."""
    gone = {(other, hub) for hub in (5, 6) for other in (0, 2, 3, 4)}
    assert without_cuts(list(range(7)), {*gone, (0, 1), (1, 8)}, ()) == [0, 2, 3, 4]


@given(pairs)
def test_no_cut_is_left(cuts: set[tuple[int, int]]) -> None:
    kept = without_cuts(ALL, cuts, ())
    assert not [cut for cut in cuts if cut[0] in kept and cut[1] in kept]
    assert kept == sorted(set(kept))


@given(pairs)
def test_nobody_goes_without_need(cuts: set[tuple[int, int]]) -> None:
    """At most one process for each cut, and never all."""
    kept = without_cuts(ALL, cuts, ())
    assert len(kept) >= max(1, len(ALL) - len(cuts))
