"""CPython's tests of `asyncio`'s locks, semaphores and barriers, run against ours: a cluster of one member.

Events and conditions are not among them: ours are set and notified with `await`. Many of asyncio's tests look at
private attributes, or count the steps of the event loop. `CANNOT` lists all that cannot apply, and why; one that begins
to pass fails here.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import unittest
from collections.abc import Callable
from typing import Any

import cpython
import pytest

import congenial
from congenial.net.acquiring import Acquirable
from places import alone

test_locks = cpython.suite("test.test_asyncio.test_locks")
numbers = itertools.count()

PRIVATE = "it looks at private attributes"
OTHER_REPR = "ours says its name and its holder"
STEPS = "it counts the steps of the event loop"
NO_PLACE = "a semaphore has one place at least, and does not grow"
DRAINING = "here newcomers need not wait until all have left, and what all have passed stays passed"
CANNOT = {
    "Lock": {
        "test_acquire_cancel": PRIVATE,
        "test_cancel_race": PRIVATE,
        "test_finished_waiter_cancelled": PRIVATE,
        "test_lock_doesnt_accept_loop_parameter": "it wants the words of asyncio's classes",
        "test_repr": OTHER_REPR,
    },
    "Semaphore": {
        "test_acquire": PRIVATE,
        "test_acquire_cancel": PRIVATE,
        "test_acquire_cancel_before_awoken": NO_PLACE,
        "test_acquire_fifo_order_2": "it releases what no task has acquired",
        "test_acquire_fifo_order_3": NO_PLACE,
        "test_acquire_hang": NO_PLACE,
        "test_initial_value_zero": NO_PLACE,
        "test_repr": OTHER_REPR,
        "test_semaphore": PRIVATE,
    },
    "Barrier": {
        "test_abort_barrier_when_tasks_half_draining_half_blocking": DRAINING,
        "test_barrier": OTHER_REPR,
        "test_barrier_parties": "it asks whether it is an asyncio.Barrier",
        "test_draining_state": DRAINING,
        "test_filling_task_by_task": OTHER_REPR,
        "test_filling_tasks_cancel_one": STEPS,
        "test_repr": OTHER_REPR,
        "test_reset_barrier_when_tasks_half_draining": PRIVATE,
        "test_reset_barrier_when_tasks_half_draining_half_blocking": DRAINING,
        "test_reset_barrier_while_tasks_draining": PRIVATE,
    },
}
SUITES = {
    "Lock": test_locks.LockTests,
    "Semaphore": test_locks.SemaphoreTests,
    "Barrier": test_locks.BarrierTests,
}
TESTS = [(suite, name) for suite, case in SUITES.items() for name in cpython.tests_of(case)]


class Ours:
    """`asyncio`, with locks of a cluster."""

    def __init__(self) -> None:
        self.cluster = congenial.join("a", alone())

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    def Lock(self) -> Acquirable[Any]:
        return self.cluster.mutex(f"lock {next(numbers)}")

    def Semaphore(self, value: int = 1) -> Acquirable[Any]:
        return self.cluster.semaphore(f"lock {next(numbers)}", value)

    BoundedSemaphore = Semaphore

    def Barrier(self, parties: int) -> congenial.ClusterBarrier:
        return self.cluster.barrier(f"barrier {next(numbers)}", parties)


def within_a_cluster(ours: Ours, method: Callable[[Any], Any]) -> Callable[[Any], Any]:
    async def run(case: Any) -> None:
        async with asyncio.timeout(5), ours.cluster:
            result = method(case)
            if inspect.iscoroutine(result):
                await result

    return run


@pytest.mark.filterwarnings("ignore")  # what tests leave behind that must fail
@pytest.mark.parametrize(("suite", "name"), TESTS)
def test_of_cpython(suite: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = Ours()
    monkeypatch.setattr(test_locks, "asyncio", ours)
    case = SUITES[suite]
    made: dict[str, Any] = {name: within_a_cluster(ours, getattr(case, name))}
    tried: type[unittest.TestCase] = type(f"Our{suite}", (case,), made)
    cpython.judge(tried, name, CANNOT[suite].get(name))


def test_the_list_names_tests_that_exist() -> None:
    assert {(suite, name) for suite, names in CANNOT.items() for name in names} <= set(TESTS)
