"""Queues of requests, against a list that is sorted anew each time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from congenial.parts.queues import enqueue, number_of

REQUESTS = st.tuples(st.integers(1, 9), st.integers(0, 4))


@given(st.lists(REQUESTS))
def test_a_queue_is_in_order(requests: list[tuple[int, int]]) -> None:
    queue: list[tuple[int, int]] = []
    for request in requests:
        enqueue(queue, request)
    assert queue == sorted(requests)


@given(st.lists(REQUESTS), st.integers(0, 4))
def test_the_number_of_a_process_is_that_of_its_oldest_request(requests: list[tuple[int, int]], process: int) -> None:
    numbers = [number for number, owner in requests if owner == process]
    assert number_of(sorted(requests), process) == min(numbers, default=0)
