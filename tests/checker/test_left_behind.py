"""Weak exclusion: every replica must have executed every operation in the end."""

from __future__ import annotations

from pathlib import Path

from congenial.algorithms.weak.wme2 import WME2
from congenial.checker.check import check
from congenial.checker.fuzz import fuzz
from congenial.checker.replay import replay, write_trace
from congenial.checker.walk import UNFAIR_STEPS
from congenial.kernel.out import Out


class Deaf(WME2):
    """Never hears that an operation may be executed, so only its issuer executes it."""

    def _clear(self, place: int, out: Out) -> None:
        pass


def test_check_finds_a_replica_that_is_left_behind() -> None:
    result = check(Deaf, nodes=2, requests=1, operations=1)
    assert not result.ok
    assert result.counterexample is not None
    assert result.counterexample.verdict() == (
        "LEFT BEHIND: nothing more can happen, and process 1 has not executed operation 1 of 0, which others have"
    )


def test_fuzz_finds_it_and_makes_the_run_short() -> None:
    found = fuzz(Deaf, nodes=3, requests=2, operations=2, runs=20).counterexample
    assert found is not None
    assert found.kind == "left behind"
    assert [action.event for action in found.actions].count("issue") == 1


def test_a_trace_of_it_can_be_replayed(tmp_path: Path) -> None:
    found = check(Deaf, nodes=2, requests=1, operations=1).counterexample
    assert found is not None
    trace = tmp_path / "left.ndjson"
    write_trace(trace, f"{__file__}:Deaf", 2, {}, False, found.events)
    again = replay(trace)
    assert (again.kind, again.text) == (found.kind, found.text)


def test_nothing_is_said_while_it_may_still_happen() -> None:
    """In the middle of a run, after a crash with recovery, and where the majority is down."""
    assert check("wme-2", nodes=2, requests=1, operations=1).ok
    found = check(Deaf, nodes=2, requests=1, operations=1, crashes=1).counterexample
    assert found is None or found.kind != "left behind"
    found = check(Deaf, nodes=2, requests=1, operations=1, crashes=1, recovery=False, limit=3000).counterexample
    assert found is None or found.kind != "left behind" or "crash" not in [event.event for event in found.events]


def test_processes_that_suspect_each_other_do_not_quarrel_for_ever() -> None:
    """A schedule by priorities may put off the end of a suspicion; it must not do so without end."""
    result = fuzz("wme-1", nodes=3, requests=2, operations=2, suspicions=3, crashes=1, recovery=False, runs=20)
    assert result.ok
    assert UNFAIR_STEPS < result.steps < 20 * UNFAIR_STEPS
