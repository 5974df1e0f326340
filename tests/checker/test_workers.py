"""Work divided among processes: the results of one process, in order or as they come, and no work left behind."""

from __future__ import annotations

import time
from contextlib import closing
from itertools import islice
from multiprocessing import active_children

import pytest

from congenial.checker.workers import results, stop_if_told


def square(number: int) -> int:
    return number * number


def endless_but_for_three(number: int) -> int:
    while number != 3:
        stop_if_told()
        time.sleep(0.01)
    return number


def refuse(number: int) -> int:
    raise ValueError(f"{number} is refused")


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_results_come_in_order_for_any_number_of_jobs(jobs: int) -> None:
    assert list(results(list(range(9)), square, jobs)) == [(number, number * number) for number in range(9)]


def test_results_may_come_as_they_are_ready() -> None:
    assert sorted(results(list(range(9)), square, 2, in_order=False)) == [(n, n * n) for n in range(9)]


def test_work_that_is_not_wanted_any_more_ends() -> None:
    before = set(active_children())
    with closing(results([1, 3, 5], endless_but_for_three, 3, in_order=False)) as finished:
        assert list(islice(finished, 1)) == [(1, 3)]
    assert set(active_children()) == before


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_in_a_worker_is_raised(jobs: int) -> None:
    with pytest.raises(ValueError, match="0 is refused"):
        list(results([0, 1], refuse, jobs))
