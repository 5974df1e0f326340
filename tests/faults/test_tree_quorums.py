"""Agrawal and El Abbadi's algorithm among crashes: what it survives, and what it does not."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from congenial.algorithms.permission.agrawal_el_abbadi import AgrawalElAbbadi
from congenial.checker.check import check
from congenial.checker.fuzz import fuzz
from congenial.checker.result import CheckResult
from congenial.sim.simulate import simulate

NAME = "agrawal-el-abbadi"
KEEP = {"orphans": "keep"}


def explored(**system: Any) -> CheckResult:
    return check(NAME, **{"nodes": 3, "requests": 1, **system})


def kind(result: CheckResult) -> str:
    return "none" if result.counterexample is None else result.counterexample.kind


# -- what it survives --------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, KEEP], ids=["free", "keep"])
def test_every_run_with_one_crash_and_a_return(options: dict[str, str]) -> None:
    result = explored(nodes=2, requests=2, crashes=1, options=options)
    assert result.ok, result.verdict()
    assert result.complete


def test_every_run_of_three_with_one_crash_for_good() -> None:
    """The root or a leaf: three processes get along without any one of them."""
    result = explored(crashes=1, recovery=False)
    assert result.ok, result.verdict()
    assert result.complete


def test_false_suspicions_do_no_harm_where_locks_are_kept() -> None:
    result = explored(suspicions=1, options=KEEP)
    assert result.ok, result.verdict()
    assert result.complete


@pytest.mark.parametrize("n", [3, 4, 7])
def test_random_runs_with_several_crashes(n: int) -> None:
    for options, suspicions in (({}, 0), (KEEP, 2)):
        result = fuzz(NAME, nodes=n, requests=2, runs=60, crashes=3, suspicions=suspicions, options=options)
        assert result.ok, result.verdict()


@pytest.mark.parametrize("n", [3, 7, 15, 31])
@pytest.mark.parametrize("options", [{}, KEEP], ids=["free", "keep"])
def test_simulated_crashes_and_recoveries(n: int, options: dict[str, str]) -> None:
    """The root, then another process, then anybody; a process loses only the entries that it crashed in or before."""
    crash = ("0@50-400", "1@200-300", "0.0005/60")
    result = simulate(
        NAME, nodes=n, requests=30, think=20, hold=2, delay=3, crash=crash, detection=8.0, options=options
    )
    assert not result.violations
    assert not result.waiting
    assert result.entries > 0.85 * 30 * n


class LockNotSaved(AgrawalElAbbadi):
    durable: ClassVar[tuple[str, ...]] = ("highest",)


def test_a_member_has_to_remember_its_lock() -> None:
    result = check(LockNotSaved, nodes=3, requests=1, crashes=1, limit=60_000)
    assert kind(result) == "safety"


# -- what it does not --------------------------------------------------------------------------------------


def test_a_false_suspicion_of_the_holder_lets_another_in() -> None:
    """The first flaw in its `Spec`: members free the lock of a process that is inside, and not down."""
    result = explored(suspicions=1)
    assert kind(result) == "safety"
    assert result.counterexample is not None
    assert "suspect" in [event.event for event in result.counterexample.events]


def test_a_holder_that_crashes_for_good_keeps_all_out_where_locks_are_kept() -> None:
    """The second one."""
    assert kind(explored(crashes=1, recovery=False, options=KEEP)) == "deadlock"


def test_two_processes_need_the_leaf() -> None:
    """ "If a leaf node on a path has failed, then a quorum cannot be formed." """
    assert kind(explored(nodes=2, crashes=1, recovery=False)) == "deadlock"


def test_lost_messages_are_not_made_good() -> None:
    assert kind(explored(nodes=2, losses=1)) == "deadlock"
