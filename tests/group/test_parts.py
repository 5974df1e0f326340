"""Session selection and travelling vectors, by themselves."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from congenial.kernel.errors import ConfigError
from congenial.parts.selection import SELECTIONS, fifo, priorities, priority, select_group
from congenial.parts.vectors import Clock, Vector
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
    assert vector.pack(1) == ()
    vector.raise_to(4, 9)
    assert vector.pack(1) == (4, 9)
    vector.raise_to(2, 5)
    vector.raise_to(4, 8)  # less than is known
    assert vector.pack(1) == (2, 5)
    assert vector.pack(1) == ()
    assert vector.pack(3) == (2, 4, 5, 9)
    for place in range(6):
        vector.raise_to(place, 20)
    assert vector.pack(3) == (20,) * 6  # the whole is shorter


def test_a_full_vector_is_told_every_time() -> None:
    vector = Vector(4, compressed=False)
    vector.raise_to(2, 5)
    assert vector.pack(1) == vector.pack(1) == (0, 0, 5, 0)
    vector.raise_to(0, 1)
    assert vector.pack(1) == (1, 0, 5, 0)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 50), st.integers(0, 1)), max_size=40))
def test_compressed_vectors_in_order_tell_the_whole(steps: list[tuple[int, int, int]]) -> None:
    sender = Vector(7, compressed=True)
    receivers = [Vector(7, compressed=True) for _ in range(2)]
    for place, value, receiver in steps:
        sender.raise_to(place, value)
        packed = sender.pack(receiver)
        assert len(packed) <= 7
        receivers[receiver].merge(packed)
        assert receivers[receiver].values == sender.values


@given(
    seed=st.integers(0, 2**32),
    n=st.sampled_from([2, 5, 15, 16, 17, 30]),
    compressed=st.booleans(),
    busy=st.integers(1, 9),
)
def test_a_clock_that_puts_merging_off_knows_what_one_that_merges_at_once_knows(
    seed: int, n: int, compressed: bool, busy: int
) -> None:
    """Events that are announced to all over FIFO channels, in any order. Few processes are busy, or many."""
    rng = Random(seed)
    clocks = [Clock(n, compressed) for _ in range(n)]
    known = [[0] * n for _ in range(n)]  # the same, by whole vectors that are merged immediately
    channels: dict[tuple[int, int], list[tuple[int, tuple[int, ...], list[int]]]] = {}
    for _ in range(8 * n):
        if channels and rng.randrange(10) < busy:
            source, target = rng.choice(sorted(channels))
            number, packed, whole = channels[source, target].pop(0)
            if not channels[source, target]:
                del channels[source, target]
            clocks[target].hear(source, number, packed)
            known[target] = [max(pair) for pair in zip(known[target], whole, strict=True)]
        else:
            process = rng.randrange(n)
            known[process][process] += 1
            number = clocks[process].count(process)
            assert clocks[process].values == known[process]
            packed = clocks[process].pack(process)
            for target in range(n):
                if target != process:
                    channels.setdefault((process, target), []).append((number, packed, list(known[process])))
    for clock, whole in zip(clocks, known, strict=True):
        clock.settle()
        assert clock.values == whole


def test_a_vector_that_is_overtaken_is_not_looked_at() -> None:
    """Process 1 has heard of process 2's event, so that what it sends tells what process 2 would tell."""
    clocks = [Clock(16, compressed=False) for _ in range(3)]
    first = (clocks[2].count(2), clocks[2].pack(2))
    clocks[1].hear(2, *first)
    second = (clocks[1].count(1), clocks[1].pack(1))
    clocks[0].hear(2, *first)
    assert clocks[0].sources == [2]
    clocks[0].hear(1, *second)
    assert clocks[0].sources == [1]
    clocks[0].hear(2, *first)
    assert clocks[0].sources == [1]
    clocks[0].settle()
    assert clocks[0].values[:4] == [0, 1, 1, 0]
