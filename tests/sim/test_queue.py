"""The event queue and the bag, against models too simple to be wrong."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from congenial.sim.queue import Bag, EventQueue

TIMES = st.sampled_from([0.0, 1.0, 1.5, 2.0, 1e-9, 7.25, 1e12])  # few, so that many are equal


@given(st.lists(st.one_of(st.none(), TIMES, st.floats(0, 100)), max_size=300))
def test_the_queue_gives_events_by_time_then_by_age(steps: list[float | None]) -> None:
    """None takes the first event out; a number puts one in at that time."""
    queue = EventQueue()
    model: list[tuple[float, int]] = []
    for number, step in enumerate(steps, 1):
        if step is not None:
            model.append((step, queue.push(step, number)))
        elif model:
            model.sort()
            time, expected = model.pop(0)
            assert queue.next_time == time
            queue.pop()
            assert queue.number == expected
        assert queue.size == len(model)
    for time, expected in sorted(model):
        assert queue.next_time == time
        queue.pop()
        assert queue.number == expected
    assert queue.size == 0


@given(st.lists(TIMES, max_size=200), st.integers(0, 5))
def test_payloads_stay_with_their_events(times: list[float], early: int) -> None:
    queue = EventQueue()
    for payload, time in enumerate(times):
        queue.push(time, payload)
    in_order = [payload for _, payload in sorted([(time, payload) for payload, time in enumerate(times)])]
    assert [queue.pop() for _ in times] == in_order
    for payload in range(early):  # room that was used before is used again
        queue.push(1.0, payload)
    assert [queue.pop() for _ in range(early)] == list(range(early))


DELAYS: dict[str, Callable[[Random], float]] = {
    "exponential": lambda rng: rng.expovariate(1),
    "constant": lambda rng: 1.0,
    "whole": lambda rng: float(rng.randrange(4)),
    "far apart": lambda rng: rng.lognormvariate(0, 3),
    "two scales": lambda rng: rng.choice([0.0, 1e-9, 5.0, 1000 * rng.random()]),
}


@pytest.mark.parametrize("delay", DELAYS.values(), ids=DELAYS)
def test_thousands_of_events_come_in_order(delay: Callable[[Random], float]) -> None:
    """The queue grows to thousands of events, which are in buckets, and is emptied, twice."""
    rng = Random(1)
    queue = EventQueue()
    model: list[tuple[float, int, int]] = []
    now = 0.0
    for least_pops in (30, 100, 30, 100):
        while len(model) < 5000 if least_pops == 30 else model:
            if model and rng.randrange(100) < least_pops:
                time, number, payload = heappop(model)
                assert (queue.next_time, queue.pop(), queue.number) == (time, payload, number)
                now = time
            else:
                at = now + delay(rng)
                payload = rng.randrange(2**60)
                heappush(model, (at, queue.push(at, payload), payload))
            assert queue.size == len(model)


def test_numbers_count_up_from_one() -> None:
    queue = EventQueue()
    assert [queue.push(5.0 - k, 0) for k in range(4)] == [1, 2, 3, 4]


BAG_STEPS = st.one_of(
    st.tuples(st.just("put"), st.integers(0, 2**40), st.just(0)),
    st.tuples(st.just("all"), st.integers(1, 12), st.integers(0, 11)),
    st.tuples(st.just("take"), st.integers(0, 10**6), st.just(0)),
)


@given(st.lists(BAG_STEPS, max_size=120))
def test_the_bag_loses_nothing_and_invents_nothing(steps: list[tuple[str, int, int]]) -> None:
    bag = Bag()
    model: list[int] = []
    for what, value, but in steps:
        if what == "put":
            bag.put(value)
            model.append(value)
        elif what == "all":
            spared = but % value
            bag.put_all(1000, value, spared)
            model += [1000 + k for k in range(value) if k != spared]
        elif model:
            model.remove(bag.take(value % len(model)))
        assert bag.size == len(model)
    assert sorted([bag.take(0) for _ in range(len(model))]) == sorted(model)


def test_the_bag_gives_the_one_asked_for() -> None:
    bag = Bag()
    bag.put_all(0, 5, 2)
    assert bag.take(1) == 1
    assert bag.take(1) == 4  # the last took its place
    assert sorted([bag.take(0), bag.take(0)]) == [0, 3]
