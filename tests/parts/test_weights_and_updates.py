"""Weights and updates, which Surrogate is made of."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from congenial.parts.updates import Updates
from congenial.parts.weights import NOTHING, ONE, Weight, at_most_one, half, plus

WEIGHTS = st.builds(lambda odd, power: plus((odd, power), NOTHING), st.integers(0, 10**30), st.integers(0, 200))


def value(weight: Weight) -> Fraction:
    return Fraction(weight[0], 2 ** weight[1])


@given(WEIGHTS, WEIGHTS)
def test_sums_are_exact_and_in_lowest_terms(one: Weight, other: Weight) -> None:
    total = plus(one, other)
    assert value(total) == value(one) + value(other)
    assert total[1] == 0 or total[0] % 2 == 1
    assert at_most_one(total) == (value(total) <= 1)


@given(st.integers(1, 300), st.randoms(use_true_random=False))
def test_what_is_dealt_out_in_halves_is_one_again_when_all_is_back(invitations: int, rng: Any) -> None:
    """Floats would lose it after some fifty invitations."""
    kept = ONE
    shares = []
    for _ in range(invitations):
        kept = half(kept)
        shares.append(kept)
    shares.append(kept)
    rng.shuffle(shares)
    gathered = NOTHING
    for share in shares:
        assert gathered != ONE
        gathered = plus(gathered, share)
    assert gathered == ONE


def test_each_reader_is_told_everything_once() -> None:
    news = Updates()
    news.learn(4, 1)
    assert news.tell(0) == ((4, 1),)
    assert news.tell(0) == ()
    news.learn(5, 2)
    news.learn(4, 3)
    news.learn(4, 2)  # older than what is known
    assert news.tell(0) == ((4, 3), (5, 2))
    assert news.tell(1) == ((4, 3), (5, 2))
    assert news.tell(1) == ()


def test_nobody_is_told_about_itself() -> None:
    news = Updates()
    news.learn(4, 1)
    assert news.tell(4) == ()
    news.learn(4, 2)
    news.learn(5, 1)
    assert news.tell(4) == ((5, 1),)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9), st.integers(0, 3))))
def test_a_reader_knows_what_it_would_know_from_whole_lists(story: list[tuple[int, int, int]]) -> None:
    news = Updates()
    readers: list[dict[int, int]] = [{}, {}, {}]
    for process, number, reader in story:
        news.learn(10 + process, number)
        if reader < 3:
            for item, latest in news.tell(reader):
                assert latest > readers[reader].get(item, 0)
                readers[reader][item] = latest
            assert readers[reader] == news.known
