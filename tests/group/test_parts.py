"""Session selection and travelling vectors, by themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from congenial.kernel.errors import ConfigError
from congenial.parts.selection import SELECTIONS, fifo, priorities, priority, select_group
from congenial.parts.vectors import Vector
from congenial.systems.catalogue import ALGORITHMS
from congenial.systems.system import System


def test_priority_is_size_plus_ages() -> None:
    """Mittal & Mohan 2007, section 3.2.1."""
    assert priorities([(7,), (3,), (7,)], [2, 0, 0]) == {7: 4, 3: 1}


def test_the_larger_crowd_comes_first_and_age_makes_up_for_numbers() -> None:
    assert priority([(1,), (1,), (2,), (2,), (2,), (2,)], [0] * 6) == 2  # the example of section 4.3
    assert priority([(1,), (2,), (2,)], [1, 0, 0]) == 1  # equal: the longest waiting
    assert priority([(2,), (2,), (1,)], [0, 0, 2]) == 1


def test_fifo_takes_the_group_of_the_oldest_request() -> None:
    assert fifo([(1,), (2,), (2,)], [0, 5, 5]) == 1


def test_a_request_for_several_groups_counts_for_each() -> None:
    """Mittal & Mohan 2007, section 5.1."""
    assert priorities([(1, 2), (2,), (3,)], [1, 0, 0]) == {1: 2, 2: 3, 3: 1}


def test_a_policy_can_be_added() -> None:
    SELECTIONS["highest"] = lambda wanted, ages: max([group for groups in wanted for group in groups])
    try:
        assert select_group("highest", [(1,), (4,), (2,)], [9, 0, 0]) == 4
        system = System(ALGORITHMS["token-gme"], 2, {"selection": "highest"})
        assert system.arguments == {"selection": "highest"}
    finally:
        del SELECTIONS["highest"]


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("token-gme", "selection", "best"),
        ("ra2", "vectors", "half"),
        ("token-gme-bounded", "limit", "1"),
        ("token-gme-bounded", "limit", "two"),
    ],
)
def test_bad_options_are_refused_by_name(name: str, option: str, value: str) -> None:
    with pytest.raises(ConfigError, match=option):
        System(ALGORITHMS[name], 3, {option: value})


def test_a_compressed_vector_tells_only_what_changed_since() -> None:
    vector = Vector(6, compressed=True)
    vector.raise_to(4, 9)
    assert vector.pack(1) == ()  # not published yet
    vector.publish()
    assert vector.pack(1) == (4, 9)
    vector.raise_to(2, 5)
    vector.publish()
    assert vector.pack(1) == (2, 5)
    assert vector.pack(1) == ()
    assert vector.pack(3) == (2, 4, 5, 9)
    for place in range(6):
        vector.raise_to(place, 20)
    vector.publish()
    assert vector.pack(3) == (20,) * 6  # the whole is shorter


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 50), st.booleans(), st.integers(0, 1)), max_size=40))
def test_compressed_vectors_in_order_tell_the_whole(
    steps: list[tuple[int, int, bool, int]],
) -> None:
    sender = Vector(7, compressed=True)
    receivers = [Vector(7, compressed=True) for _ in range(2)]
    for place, value, publish, receiver in steps:
        sender.raise_to(place, value)
        if publish:
            sender.publish()
        packed = sender.pack(receiver)
        assert len(packed) <= 7
        receivers[receiver].merge(packed, [0] * 7, 0)
        assert tuple(receivers[receiver].values) == sender.published


def test_only_labelled_entries_are_learnt() -> None:
    vector = Vector(3, compressed=False)
    vector.merge((4, 5, 6), [1, 0, 1], 1)
    assert vector.values == [4, 0, 6]
