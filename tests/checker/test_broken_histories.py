"""Weak exclusion: every step of a run may be right, and its history as a whole wrong. Random runs, replays and the
studio find that alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from congenial.algorithms.weak.wme_consensus import WMEConsensusFast
from congenial.checker.fuzz import FuzzResult, fuzz
from congenial.checker.replay import actions_in, play, replay
from congenial.checker.stepper import Action
from congenial.kernel.out import Out
from congenial.studio.explore import ExploredSystem, Place, explore_document, look_for_fault, traced
from congenial.systems.system import System
from congenial.trace_files import read_trace

BROKEN = f"{__file__}:RestsTwice"


class RestsTwice(WMEConsensusFast):
    """Says twice that it has left for all."""

    def _settle(self, news: bool, out: Out) -> None:
        leaving = self.leaving
        super()._settle(news, out)
        if leaving and not self.leaving:
            out.rest()


def found(trace: str | Path = "") -> FuzzResult:
    return fuzz(BROKEN, nodes=3, requests=2, operations=2, runs=20, trace=trace)


def explored_system() -> ExploredSystem:
    return ExploredSystem.of(BROKEN, System(RestsTwice, 2), 2, 1, None)


def test_a_history_is_shortened() -> None:
    counterexample = found().counterexample
    assert counterexample is not None
    assert counterexample.kind == "history"
    assert "it has not left" in counterexample.text
    asked = [action.node for action in counterexample.actions if action.event == "request"]
    assert len(asked) == 1, "one process that comes and leaves is enough"
    assert "rest" in counterexample.events[-1].event, "nothing follows what is wrong"


def test_a_trace_of_it_replays_as_the_same_fault(tmp_path: Path) -> None:
    trace = tmp_path / "rests.ndjson"
    counterexample = found(trace).counterexample
    assert counterexample is not None
    again = replay(trace)
    assert (again.kind, again.text) == (counterexample.kind, counterexample.text)
    assert again.verdict().startswith("HISTORY: well-formedness: ")
    assert again.events == counterexample.events


def test_a_replay_ends_where_the_history_is_wrong(tmp_path: Path) -> None:
    trace = tmp_path / "rests.ndjson"
    found(trace)
    actions = actions_in(read_trace(trace))
    last = Action("request", actions[0].node, groups=(0,))
    again = play(System(RestsTwice, 3), False, [*actions, last])
    assert (again.kind, list(again.actions)) == ("history", actions)


def test_the_studio_opens_it(tmp_path: Path) -> None:
    trace = tmp_path / "rests.ndjson"
    counterexample = found(trace).counterexample
    assert counterexample is not None
    explored, steps = traced(str(trace))
    place = Place(explored, [*steps, Action("request", steps[0].node, groups=(0,))])
    assert (place.kind, place.fault) == ("history", counterexample.text)
    assert place.path == steps
    assert place.possible == []
    document = explore_document(explored, [*steps, *steps])
    assert document is not None
    moves = document["moves"]
    assert isinstance(moves, list)
    assert (len(moves), moves[-1]) == (1 + len(steps), [])


def test_the_studio_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("congenial.studio.explore.SEARCH_RUNS", 5)
    path = look_for_fault(explored_system(), [], 0)
    assert path is not None
    assert Place(explored_system(), path).kind == "history"


def test_a_sound_algorithm_has_no_broken_history() -> None:
    """Short of operations, too."""
    for operations in (0, 2):
        assert fuzz("wme-consensus-fast", nodes=3, requests=2, operations=operations, runs=20).ok
