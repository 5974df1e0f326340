"""Queues of requests, against a list that is sorted again each time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from congenial.parts.queues import comes_before, enqueue, forget, forget_process, insert, number_of, place_of, union

REQUESTS = st.tuples(st.integers(1, 9), st.integers(0, 4))
ASKED = st.tuples(st.integers(1, 9), st.integers(0, 4), st.just((7,)))
ENTRIES = st.tuples(st.integers(1, 9), st.integers(0, 4), st.just("group"))


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


@given(st.lists(REQUESTS), st.integers(0, 4))
def test_a_process_is_forgotten_with_all_its_requests(requests: list[tuple[int, int]], process: int) -> None:
    queue = sorted(requests)
    forget_process(queue, process)
    assert queue == [request for request in sorted(requests) if request[1] != process]


@given(st.lists(ENTRIES))
def test_entries_are_in_order(entries: list[tuple[int, int, str]]) -> None:
    queue: list[tuple[int, int, str]] = []
    for entry in entries:
        insert(queue, entry)
    assert queue == sorted(entries)


@given(st.lists(ENTRIES), st.integers(0, 10), st.integers(-1, 5))
def test_an_entry_is_found_where_it_is_or_belongs(
    entries: list[tuple[int, int, str]], number: int, process: int
) -> None:
    queue = sorted(entries)
    assert place_of(queue, number, process) == len([entry for entry in queue if entry[:2] < (number, process)])


@given(st.sets(ENTRIES), st.integers(1, 9), st.integers(0, 4))
def test_only_the_entry_that_is_named_is_forgotten(
    entries: set[tuple[int, int, str]], number: int, process: int
) -> None:
    queue = sorted(entries)
    forget(queue, number, process)
    assert queue == [entry for entry in sorted(entries) if entry[:2] != (number, process)]


@given(st.lists(st.lists(ASKED).map(tuple)))
def test_requests_in_several_queues_are_found_once(queues: list[tuple[tuple[int, int, tuple[int]], ...]]) -> None:
    assert union([*queues], 5) == sorted({request for queue in queues for request in queue})


@given(ASKED, ASKED)
def test_a_request_comes_before_another_one_if_it_is_less(
    one: tuple[int, int, tuple[int]], other: tuple[int, int, tuple[int]]
) -> None:
    assert comes_before(one, other) == (one < other)
