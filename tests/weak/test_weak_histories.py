"""The history checker: good histories pass, subtly bad ones do not, and it is said which property they break.

The first line of each file says what it is about, and for a bad one which property it breaks.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from turbulence import Turbulence

from congenial.kernel.trace import Event
from congenial.problems.weak import Counter, Journal
from congenial.problems.weak_history import History, faults_in, unfinished
from congenial.sim.scenario import Scenario
from congenial.systems.catalogue import ALGORITHMS
from congenial.trace_files import TraceFile, read_trace

HISTORIES = Path(__file__).parents[1] / "histories"
GOOD = sorted((HISTORIES / "good").glob("*.ndjson"))
BAD = sorted((HISTORIES / "bad").glob("*.ndjson"))
WEAK = [name for name in ALGORITHMS if name.startswith("wme-")]


def named(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", GOOD, ids=named)
def test_a_good_history_passes(path: Path) -> None:
    events = read_trace(path)
    assert faults_in(events, Journal()) == []
    assert unfinished(events) == []


@pytest.mark.parametrize("path", BAD, ids=named)
def test_a_bad_history_does_not(path: Path) -> None:
    events = read_trace(path)
    assert events[0].fields is not None
    faults = faults_in(events, Journal())
    assert faults
    assert faults[0].startswith(str(events[0].fields["breaks"])), faults


def test_every_property_is_broken_by_some() -> None:
    broken = {json.loads(path.read_text().splitlines()[0])["fields"]["breaks"] for path in BAD}
    assert broken == {"well-formedness", "1CS", "WME1", "WME3", "WME1, WME2"}


@pytest.mark.parametrize("path", GOOD + BAD, ids=named)
def test_a_history_that_grows_is_wrong_as_soon_as_its_beginning_is(path: Path) -> None:
    events = read_trace(path)
    history = History()
    for number, event in enumerate(events, 1):
        history.add(event)
        assert history.fault() == next(iter(faults_in(events[:number])), "")


@pytest.mark.parametrize("name", WEAK)
def test_histories_of_the_simulator(name: str, tmp_path: Path) -> None:
    """As it writes them, with a crash and false suspicions, on a resource with an opinion."""
    trace = TraceFile(tmp_path / "run.ndjson")
    faults: dict[str, Any] = {"crash": ("4@150",), "suspect": ("0@20-60", "1@90-130"), "detection": 5.0}
    Scenario(name, nodes=5, requests=6, operations=3, options={"resource": "counter"}, **faults).engine(3, trace).run()
    trace.close()
    events = read_trace(tmp_path / "run.ndjson")
    assert len([event for event in events if event.event == "answer"]) > 60
    assert faults_in(events, Counter()) == []
    assert unfinished(events) == []


@pytest.mark.parametrize("name", WEAK)
@pytest.mark.parametrize("nodes", [2, 3, 5])
def test_histories_of_the_checker(name: str, nodes: int) -> None:
    """Random schedules in which holders are suspected all the time, until the detector is accurate; a minority crashes,
    even while it tells the others something."""
    ejected = failed = 0
    for seed in range(10):
        turbulence = Turbulence(name, nodes, seed)
        events = turbulence.run()
        assert faults_in(events, Journal()) == [], f"seed {seed}"
        assert unfinished(events) == [], f"seed {seed}"
        ejected += len([event for event in events if event.event == "eject"])
        failed += len(turbulence.stepper.judge.ledger.failed)
    assert ejected
    assert failed


def test_a_history_that_is_not_over() -> None:
    events = [
        Event(1, "request", 0, groups=(0,)),
        Event(2, "request", 1, groups=(0,)),
        Event(3, "enter", 0, group=0, fence=1),
        Event(4, "issue", 0, id=1, operation="a"),
    ]
    assert faults_in(events) == []
    assert [text.split(":")[0] for text in unfinished(events)] == ["operation progress", "starvation freedom"]


def test_a_process_has_left_but_not_for_all() -> None:
    stay = [Event(1, "request", 0), Event(2, "enter", 0, fence=1), Event(3, "exit", 0)]
    assert unfinished(stay) == []  # where leaving takes no time nothing is said of it
    assert unfinished([*stay, Event(4, "rest", 0)]) == []
    again = [Event(5, "request", 0), Event(6, "enter", 0, fence=2), Event(7, "exit", 0)]
    assert unfinished([*stay, Event(4, "rest", 0), *again]) == ["release progress: process 0 has left, but not for all"]
