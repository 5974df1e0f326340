"""Three members with a lock in views, and one that joins: every state is seen. `docs/transforms.md` has larger ones."""

from __future__ import annotations

from typing import Any

import pytest

from congenial.checker.check_run import CheckRun
from congenial.checker.result import CheckResult
from congenial.checker.rules import Rules
from congenial.systems.catalogue import find_algorithm
from congenial.systems.system import System

IN_VIEWS = "home-gme+views"


def explored(askers: list[int], nodes: int = 3, visitors: int = 0, **faults: Any) -> CheckResult:
    """With no asker it is the agreement alone that is explored."""
    system = System(find_algorithm(IN_VIEWS), nodes, {"visitors": str(visitors)})
    rules = Rules(requests=1, askers=askers, fifo=True, patient=True, **faults)
    return CheckRun(system, rules, False, False, 5_000_000, None).result()


def judged(result: CheckResult) -> tuple[bool, bool, int]:
    return result.ok, result.complete, result.states


def test_the_agreement_with_a_false_suspicion() -> None:
    assert judged(explored([], suspicions=1)) == (True, True, 60_663)


def test_the_agreement_with_a_cut() -> None:
    """One does not hear another, for as long as it takes: each suspects for itself, so this is a partial partition."""
    assert judged(explored([], suspicions=1, lasting=True)) == (True, True, 171_854)


def test_a_process_joins() -> None:
    assert judged(explored([3], nodes=4, visitors=1)) == (True, True, 152_584)


@pytest.mark.deep
def test_a_crash_for_good() -> None:
    assert judged(explored([0, 1, 2], crashes=1, recovery=False)) == (True, True, 322_875)


@pytest.mark.deep
def test_a_false_suspicion() -> None:
    assert judged(explored([0], suspicions=1)) == (True, True, 328_296)
