"""Semaphores in views: holders keep their permits when the members change, and others take what is free."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cluster import Cluster

from congenial.checker.check import check
from congenial.checker.fuzz import fuzz
from congenial.kernel.errors import SafetyViolation
from congenial.kernel.judge import Judge
from congenial.kernel.node import INSIDE, WAITING
from congenial.kernel.problem import Problem
from congenial.problems.epochs import EPOCH_BITS, InEpochs
from congenial.problems.kmutex import KMutex
from congenial.systems.catalogue import find_algorithm
from congenial.transform.views import in_views

VIEW = 1 << EPOCH_BITS


# -- step by step ------------------------------------------------------------------------------------------


def test_a_holder_stays_and_others_take_the_free_permits_only() -> None:
    """k is 2. Process 0 is inside when process 3 is lost."""
    cluster = Cluster("home-k+views", 4)
    cluster.do(0, "request", (0,))
    cluster.lose(3)
    assert [node.views.view.number for node in cluster.nodes] == [1, 1, 1, 0]
    assert cluster.fences == {0: 0}
    cluster.do(1, "request", (0,))
    cluster.settle()
    cluster.do(2, "request", (0,))
    cluster.settle()
    assert cluster.fences == {0: 0, 1: VIEW}
    assert cluster.nodes[2].phase == WAITING
    cluster.do(0, "release")
    cluster.settle()
    assert cluster.fences == {1: VIEW, 2: VIEW}


def test_the_permit_of_a_lost_member_is_free_again() -> None:
    cluster = Cluster("home-k+views", 4)
    for process in (2, 3):
        cluster.do(process, "request", (0,))
        cluster.settle()
    cluster.do(1, "request", (0,))
    cluster.settle()
    assert set(cluster.fences) == {2, 3}
    cluster.lose(3)
    assert cluster.fences == {2: 0, 3: 0, 1: VIEW}
    cluster.find(3)
    cluster.do(3, "on_timer", 0)
    cluster.settle()
    assert set(cluster.fences) == {1, 2}, "the lost member has been told"


def test_what_a_process_keeps_between_entries_is_free_in_the_next_view() -> None:
    cluster = Cluster("home-k+views", 4)
    cluster.do(1, "request", (0,))
    cluster.settle()
    cluster.do(1, "release")
    cluster.settle()
    assert cluster.nodes[1].lock.could_enter()
    cluster.lose(3)
    assert cluster.nodes[1].lock.inner.serial == 0
    for process in (0, 2):
        cluster.do(process, "request", (0,))
        cluster.settle()
    assert cluster.fences == {0: VIEW, 2: VIEW}


def test_a_request_that_waits_is_repeated_in_the_next_view() -> None:
    cluster = Cluster("home-k+views", 4)
    for process in (3, 2, 1):
        cluster.do(process, "request", (0,))
        cluster.settle()
    assert cluster.nodes[1].phase == WAITING
    cluster.lose(0)
    assert cluster.nodes[1].phase == WAITING
    cluster.do(3, "release")
    cluster.settle()
    assert cluster.nodes[1].phase == INSIDE


# -- how it is judged --------------------------------------------------------------------------------------


def test_holders_of_a_semaphore_may_share_a_fence() -> None:
    judge = Judge(InEpochs(KMutex(2)), 3)
    for process in range(3):
        judge.ask(process, (0,))
    judge.enter(0, 0, VIEW)
    judge.enter(1, 0, VIEW)
    with pytest.raises(SafetyViolation, match="process 2 enters while processes 0, 1 are inside"):
        judge.enter(2, 0, VIEW)
    judge.enter(2, 0, 2 * VIEW)


def test_a_superseded_holder_that_stays_keeps_nobody_out_unfairly() -> None:
    """It may keep its place, so one that waits beside k others, superseded or not, has nothing to complain of."""
    judge = Judge(InEpochs(KMutex(2)), 3)
    for process in range(3):
        judge.ask(process, (0,))
    judge.enter(0, 0, 0)
    judge.enter(1, 0, VIEW)
    assert not judge.keeps_out()
    judge.leave(0)
    assert judge.keeps_out()


def test_semaphores_in_epochs_are_safe_after_a_crash() -> None:
    """The holders of one epoch share its fence."""
    result = fuzz("srimani-reddy+epochs", nodes=3, requests=2, crashes=1, runs=30)
    assert result.ok, result.verdict()


def test_a_process_that_keeps_a_permit_says_that_it_could_enter() -> None:
    cluster = Cluster("home-k+views", 3)
    cluster.do(1, "request", (0,))
    cluster.settle()
    cluster.do(1, "release")
    assert cluster.nodes[1].could_enter() == cluster.nodes[1].lock.inner.could_enter()
    assert cluster.nodes[1].could_enter()


# -- every run, and many -----------------------------------------------------------------------------------


class Strict(Problem):
    """All that are inside count, in whatever view they have entered."""

    def __init__(self) -> None:
        super().__init__("kmutex", groups=False, concurrent_entry=True, capacity=2)

    def sized(self, sizes: Any) -> Problem:
        return self

    def admits(self, inside: int, current: int, group: int) -> bool:
        return inside < 2

    def may_follow(self, last_fence: int, last_group: int, fence: int, group: int) -> bool:
        return True


def strict() -> Any:
    """A semaphore of 2 that is judged without views."""
    judged = in_views(find_algorithm("home-k"))
    judged.spec = replace(judged.spec, problem=Strict())
    return judged


@pytest.mark.deep
def test_without_false_suspicions_two_are_inside_and_never_more() -> None:
    result = fuzz(strict(), nodes=4, requests=2, crashes=1, runs=60)
    assert result.ok, result.verdict()


@pytest.mark.deep
@pytest.mark.parametrize(
    "faults",
    [
        {"nodes": 2, "suspicions": 1},
        {"nodes": 2, "crashes": 1},
        {"nodes": 2, "options": {"visitors": "1"}},
        {"nodes": 3, "options": {"k": "1"}},
    ],
    ids=str,
)
def test_every_run_was_seen(faults: dict[str, Any]) -> None:
    result = check("home-k+views", requests=1, timers="patient", limit=300_000, **faults)
    assert result.ok, result.verdict()
    assert result.complete


@pytest.mark.deep
@pytest.mark.parametrize("faults", [{"crashes": 1}, {"suspicions": 1}, {"options": {"visitors": "1"}}], ids=str)
def test_among_the_first_states_of_three_processes_nothing_is_wrong(faults: dict[str, Any]) -> None:
    """There are more than can be seen."""
    result = check("home-k+views", nodes=3, requests=1, timers="patient", limit=100_000, **faults)
    assert result.ok, result.verdict()


@pytest.mark.deep
@pytest.mark.parametrize(
    "faults",
    [
        {"nodes": 4, "crashes": 1, "suspicions": 1, "runs": 40},
        {"nodes": 4, "crashes": 1, "options": {"visitors": "1"}, "runs": 40},
        {"nodes": 5, "crashes": 2, "suspicions": 2, "options": {"visitors": "1", "k": "3"}, "runs": 15},
        {"nodes": 6, "crashes": 1, "suspicions": 1, "options": {"visitors": "1", "forget": "yes"}, "runs": 8},
    ],
    ids=str,
)
def test_random_runs_with_crashes_suspicions_and_visitors(faults: dict[str, Any]) -> None:
    result = fuzz("home-k+views", requests=2, **faults)
    assert result.ok, result.verdict()
