"""The simulator takes the steps that a process shell takes.

The simulator calls nodes directly, for speed; the checker, replays and the network step through shells
(`congenial.kernel.shell`). Here the events of simulated runs are fed, one by one, to shells. Between two events the
trace must show just the effects that the shell returns: the same ones, in the same order. A timer must run out when the
shell's does. In the end, all processes must be in the same state, with the same timers set and the same state saved.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from congenial.kernel.effects import (
    Answer,
    CancelTimer,
    Effect,
    Eject,
    Enter,
    Execute,
    Rest,
    Restore,
    Save,
    Send,
    SetTimer,
)
from congenial.kernel.message import Message, field_values
from congenial.kernel.node import WAITING
from congenial.kernel.out import Outbox
from congenial.kernel.problem import Groups
from congenial.kernel.shell import (
    Asked,
    Issued,
    Left,
    Process,
    ProcessEvent,
    Received,
    Recovered,
    Suspected,
    TimedOut,
    Trusted,
)
from congenial.kernel.state import state_of
from congenial.kernel.trace import (
    ANSWER,
    CRASH,
    DELIVER,
    EJECT,
    ENTER,
    EXECUTE,
    EXIT,
    ISSUE,
    RECOVER,
    REQUEST,
    REST,
    RESTORE,
    RESUME,
    SEND,
    SUSPECT,
    TIMER,
    TRUST,
    Event,
    Trace,
)
from congenial.sim.chance import CHOICES
from congenial.sim.engine import Engine
from congenial.sim.events import DOWN, PROCESS_BITS
from congenial.sim.scenario import Scenario
from congenial.systems.catalogue import ALGORITHMS, find_algorithm
from congenial.systems.streams import stream

CAUSES = {REQUEST, EXIT, ISSUE, DELIVER, TIMER, SUSPECT, TRUST, CRASH, RECOVER}
EFFECTS = {SEND, ENTER, EJECT, EXECUTE, ANSWER, RESTORE, REST}
UNSEEN = (Save, SetTimer, CancelTimer)  # a trace does not show them; time-outs, and the end of the run, do

LOADS: list[dict[str, Any]] = [
    {"think": 5, "hold": 5, "delay": 10},
    {"think": 60, "hold": 2, "delay": "uniform:1,20"},
    {"think": 0, "hold": 0, "delay": "lognormal:5,1.5"},
]
DETECTED: dict[str, Any] = {"detection": 8.0, "until": 5000.0}
SUSPECTED: dict[str, Any] = {**DETECTED, "suspect": ("1@40-60", "0@150-200")}
FAULTS: dict[str, dict[str, Any]] = {  # by what an algorithm survives
    "one crash at a time": {"crash": ("1@60-200", "0@400-600"), "until": 5000.0},
    "one crash at a time, nothing kept; loss": {"crash": ("1@60-200", "0@400-600"), "loss": ("0.05",), "until": 5000.0},
    "crashes with recovery": {"crash": ("1@60-200", "0@100-500", "2@110-150"), "until": 5000.0},
    "crashes with recovery, loss, partitions": {
        "crash": ("1@60-200", "0@100-500"), "loss": ("0.05",), "partition": ("0,1|2,3,4@300-400",), "until": 5000.0,
    },
    "a crash or a lost message at a time": {"crash": ("1@60-200",), "loss": ("1@500-501",), "until": 5000.0},
    "crashes, accurately detected": {"crash": ("1@60-200", "2@300-310"), **DETECTED},
    "crashes with recovery, loss, duplicates, partitions": {
        "crash": ("1@60-200", "0@100-500"), "loss": ("0.05",), "duplicate": ("0.1",), "pause": ("3@20-50",),
        "partition": ("0,1|2,3,4@300-400",), "until": 5000.0,
    },
    "crashes of a minority, for good; false suspicions": {"crash": ("2@100", "4@180"), **SUSPECTED},
    "crashes for good of all but one, detected without error": {"crash": ("2@60", "0@150"), **DETECTED},
    "crashes of a minority, with or without stable storage; partitions; false suspicions": {
        "crash": ("2@60-120", "4@180-240"), "partition": ("0,1|2,3,4@300-400",), **SUSPECTED,
    },
}  # fmt: skip

NAMES = [
    *ALGORITHMS,
    "raymond-tree+restart",
    "token-gme+restart",
    "suzuki-kasami+epochs",
    "ra1+epochs",
    "home-gme+views",
]


class Chooser(Outbox):
    """Answers choices as the simulator does: from the seed's own stream, in the order of steps."""

    def __init__(self, choices: Any) -> None:
        super().__init__()
        self.stream = choices

    def choose(self, options: int) -> int:
        super().choose(options)
        chosen: int = self.stream.randrange(options)
        return chosen


class Shells:
    """The processes of a scenario in their shells."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.system = scenario.system()
        self.processes = [Process(node, self.system.problem) for node in self.system.nodes()]
        self.choices = stream(seed, CHOICES)
        self.messages: dict[int, Message] = {}  # by the number of their sending
        self.compared: dict[str, int] = {}
        self.due: dict[tuple[int, int], float] = {}  # when a timer runs out, by process and timer
        self.resumed: set[tuple[int, float]] = set()  # what was due in a pause happens at its end

    def follow_all(self, events: list[Event]) -> None:
        self.resumed = {(event.node, event.t) for event in events if event.event == RESUME}
        for cause, shown in steps(events):
            self.follow(cause, shown)

    def follow(self, cause: Event, shown: list[Event]) -> None:
        """Let an event happen, and compare what comes of it with what the trace shows."""
        process = self.processes[cause.node]
        self.compared[cause.event] = self.compared.get(cause.event, 0) + 1
        if cause.event == CRASH:
            process.crash()
            assert shown == []
            return
        if cause.event == RECOVER:
            process.restart(self.system.node(cause.node))
        if cause.event == TIMER:
            due = self.due[cause.node, cause.timer]
            assert cause.t == due or (cause.t > due and (cause.node, cause.t) in self.resumed), cause
        wants = cause.groups if cause.event == REQUEST else process.wants
        effects = process.step(self.event(process, cause), Chooser(self.choices))
        for effect in effects:
            if isinstance(effect, SetTimer):
                self.due[cause.node, effect.timer] = cause.t + effect.delay
        visible = [effect for effect in effects if not isinstance(effect, UNSEEN)]
        expected = [(cause.node, *self.as_shown(effect, wants)) for effect in visible]
        assert [what(event) for event in shown] == expected, f"after {cause}"
        for effect, event in zip(visible, shown, strict=True):
            self.compared[event.event] = self.compared.get(event.event, 0) + 1
            if isinstance(effect, Send):
                self.messages[event.id] = effect.msg

    def compare_ends(self, engine: Engine, crashes: bool) -> None:
        """The processes after the run. Where none can crash, the simulator does not keep what they save."""
        for me, process in enumerate(self.processes):
            assert process.up == (engine.status[me] != DOWN), me
            if process.up:
                assert state_of(process.node) == state_of(engine.nodes[me]), me
            timers = [key >> PROCESS_BITS for key in engine.timers if key & (1 << PROCESS_BITS) - 1 == me]
            assert process.timers == sorted(timers), me
            if crashes:
                assert process.saved == engine.saved[me], me

    def event(self, process: Process, cause: Event) -> ProcessEvent:
        if cause.event == REQUEST:
            return Asked(cause.groups)
        if cause.event == EXIT:
            return Left()
        if cause.event == ISSUE:
            assert cause.id == process.issued + 1
            return Issued(cause.operation)
        if cause.event == DELIVER:
            msg = self.messages[cause.id]
            assert (type(msg).__name__, field_values(msg)) == (cause.message, cause.fields)
            return Received(cause.peer, msg)
        if cause.event == TIMER:
            return TimedOut(cause.timer)  # refused if it is not set
        if cause.event == SUSPECT:
            assert cause.peer not in process.suspects
            return Suspected(cause.peer)
        if cause.event == TRUST:
            assert cause.peer in process.suspects
            return Trusted(cause.peer)
        return Recovered()

    def as_shown(self, effect: Effect, wants: Groups) -> tuple[Any, ...]:
        if isinstance(effect, Send):
            return (SEND, effect.dst, type(effect.msg).__name__, field_values(effect.msg))
        if isinstance(effect, Enter):
            return (ENTER, effect.group if self.system.problem.groups else wants[0], effect.fence)
        if isinstance(effect, Execute):
            return (EXECUTE, effect.issuer, effect.number, effect.operation, effect.result)
        if isinstance(effect, Answer):
            return (ANSWER, effect.number, effect.result)
        if isinstance(effect, Restore):
            return (RESTORE, effect.count)
        return (EJECT,) if isinstance(effect, Eject) else (REST,) if isinstance(effect, Rest) else (effect,)


def what(event: Event) -> tuple[Any, ...]:
    """An effect, as a trace shows it."""
    if event.event == SEND:
        return (event.node, SEND, event.peer, event.message, event.fields)
    if event.event == ENTER:
        return (event.node, ENTER, event.group, event.fence)
    if event.event == EXECUTE:
        return (event.node, EXECUTE, event.peer, event.id, event.operation, event.result)
    if event.event == ANSWER:
        return (event.node, ANSWER, event.id, event.result)
    if event.event == RESTORE:
        return (event.node, RESTORE, event.id)
    return (event.node, event.event)


def steps(events: list[Event]) -> Iterator[tuple[Event, list[Event]]]:
    """The events of a trace, each with the effects that it shows. Losses of messages, pauses and partitions are the
    network's own affair."""
    relevant = [event for event in events if event.event in CAUSES | EFFECTS]
    cause: Event | None = None
    shown: list[Event] = []
    for event in relevant:
        if event.event in EFFECTS:
            shown.append(event)
            continue
        if cause is not None:
            yield cause, shown
        cause, shown = event, []
    if cause is not None:
        yield cause, shown


def compare(name: str, seed: int, requests: int, **faults: Any) -> dict[str, int]:
    """Run a scenario, and follow it with shells; how often each kind of event was compared."""
    problem = find_algorithm(name).spec.problem
    assert problem is not None
    load = LOADS[seed % len(LOADS)]
    scenario = Scenario(
        name,
        nodes=5,
        requests=requests,
        groups=3 if problem.groups else 1,
        operations=2 if problem.operations else 0,
        **{**load, **faults},
    )
    trace = Trace()
    engine = scenario.engine(seed, trace)
    engine.run()
    shells = Shells(scenario, seed)
    shells.follow_all(trace.events)
    shells.compare_ends(engine, "crash" in faults)
    return shells.compared


@pytest.mark.parametrize("name", NAMES)
def test_shells_do_what_the_simulator_does(name: str) -> None:
    for seed in range(3):
        compared = compare(name, seed, requests=4)
        assert compared[ENTER] == compared[REQUEST] == 20


@pytest.mark.parametrize("name", [name for name in NAMES if find_algorithm(name).spec.faults != "none"])
def test_shells_do_what_the_simulator_does_with_faults(name: str) -> None:
    faults = FAULTS[find_algorithm(name).spec.faults]
    for seed in range(3):
        compared = compare(name, seed, requests=8, **faults)
        assert compared[ENTER] > 0
        assert compared[CRASH] > 0
        assert compared.get(RECOVER, 0) > 0 or not any("-" in crash for crash in faults["crash"])
        assert compared.get(SUSPECT, 0) > 0 or "detection" not in faults


@pytest.mark.deep
@pytest.mark.parametrize("name", NAMES)
def test_shells_do_what_the_simulator_does_with_many_seeds(name: str) -> None:
    faults = FAULTS.get(find_algorithm(name).spec.faults, {})
    for seed in range(100, 110):
        compare(name, seed, requests=20)
        compare(name, seed, requests=20, **faults)


def test_a_difference_would_be_seen() -> None:
    """A shell that is fed another run objects."""
    scenario = Scenario("suzuki-kasami", nodes=3, requests=2)
    trace = Trace()
    engine = scenario.engine(1, trace)
    engine.run()
    without_one = [event for event in trace.events if event.event != SEND or event.id != 3]
    with pytest.raises(AssertionError, match="after"):
        Shells(scenario, 1).follow_all(without_one)
    shells = Shells(scenario, 1)
    shells.follow_all(trace.events)
    shells.compare_ends(engine, False)
    engine.nodes[1].phase = WAITING
    with pytest.raises(AssertionError):
        shells.compare_ends(engine, False)
