"""Traces of runs, written so that they can be run again.

A trace begins with the system it is about. To run it again is to take its steps, one by one, with the real nodes, and
to see whether the same comes of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from congenial.checker.faults import (
    CONCURRENT_ENTRY,
    DEADLOCK,
    HISTORY,
    ILLEGAL,
    LEFT_BEHIND,
    SAFETY,
    deadlock_text,
    kept_out_text,
    left_behind_text,
)
from congenial.checker.stepper import Action, Stepper
from congenial.kernel.errors import ConfigError, ContractError, IllegalStep, SafetyViolation
from congenial.kernel.inputs import whole
from congenial.kernel.node import Node
from congenial.kernel.trace import (
    BEGIN,
    CRASH,
    DELIVER,
    DROP,
    EXIT,
    ISSUE,
    RECOVER,
    REQUEST,
    SEND,
    SUSPECT,
    TIMER,
    TRUST,
    Event,
)
from congenial.systems.catalogue import find_algorithm
from congenial.systems.system import System
from congenial.trace_files import as_path, check_writable, read_trace

STEPS = (REQUEST, EXIT, ISSUE, DELIVER, DROP, TIMER, CRASH, RECOVER, SUSPECT, TRUST)

MOST_STEPS = 100_000


@dataclass(frozen=True)
class Replay:
    """What came of taking the steps of a run again: the `events`, and what was wrong, if anything (`kind` is empty if
    nothing was, and otherwise that of a `Counterexample`).

    >>> from tempfile import TemporaryDirectory
    >>> from congenial import check
    >>> with TemporaryDirectory() as folder:
    ...     result = check("suzuki-kasami", nodes=2, requests=1, losses=1, trace=f"{folder}/lost.ndjson")
    ...     again = replay(f"{folder}/lost.ndjson")
    >>> (again.ok, again.kind, again.events == result.counterexample.events)
    (False, 'deadlock', True)
    >>> print(again.verdict())
    DEADLOCK: nothing more can happen, and these wait: 1
    """

    algorithm: str
    nodes: int
    kind: str
    text: str
    events: tuple[Event, ...]
    actions: tuple[Action, ...]

    @property
    def ok(self) -> bool:
        return not self.kind

    def __str__(self) -> str:
        return self.verdict()

    def verdict(self) -> str:
        return f"{self.kind.upper()}: {self.text}" if self.kind else "nothing wrong in this run"

    def as_dict(self) -> dict[str, object]:
        events = [event.as_dict() for event in self.events]
        return {"algorithm": self.algorithm, "kind": self.kind, "text": self.text, "events": events}


def replay(path: str | Path) -> Replay:
    """Run a trace of `check`, `fuzz` or `simulate` again. `ConfigError`: the file is no trace, or no longer fits the
    algorithm.

    >>> from tempfile import TemporaryDirectory
    >>> from congenial import simulate
    >>> with TemporaryDirectory() as folder:
    ...     result = simulate("suzuki-kasami", nodes=3, requests=2, trace=f"{folder}/run.ndjson")
    ...     again = replay(f"{folder}/run.ndjson")
    >>> again.ok, again.nodes
    (True, 3)
    """
    events = read_trace(path)
    system, fifo = traced_system(path, events)
    try:
        again = play(system, fifo, actions_in(events))
    except ContractError as error:
        raise ConfigError(f"{path} does not fit {system.name}: {error}") from error
    _check_sendings(path, system, events, again)
    return again


def traced_system(path: str | Path, events: list[Event]) -> tuple[System, bool]:
    """The system that a trace file is about, and whether its channels keep the order of messages."""
    if not events or events[0].event != BEGIN or not events[0].fields:
        raise ConfigError(f"{path} does not begin with the system it is about, so it cannot be run again")
    about = events[0].fields
    algorithm, nodes, options = about.get("algorithm"), about.get("nodes"), about.get("options", {})
    fifo = about.get("fifo", False)
    if not isinstance(algorithm, str) or not isinstance(options, dict) or not isinstance(fifo, bool):
        raise ConfigError(f"{path}: the first line should name algorithm, nodes, options and fifo")
    _check_processes(path, events, whole(nodes, f"{path}: nodes", 1))
    if not algorithm.startswith("/") and ".py:" in algorithm and not Path(algorithm.rpartition(":")[0]).is_file():
        beside = Path(path).parent / algorithm
        algorithm = str(beside) if Path(str(beside).rpartition(":")[0]).is_file() else algorithm
    return System(find_algorithm(algorithm), nodes, options), fifo


def _check_processes(path: str | Path, events: list[Event], nodes: int) -> None:
    for line, event in enumerate(events[1:], 2):
        for process in (event.node, event.peer):
            if not -1 <= process < nodes or (process < 0 and event.event in STEPS and process == event.node):
                raise ConfigError(
                    f"{path}, line {line}: there is no process {process} among the {nodes} of its first line"
                )


def _check_sendings(path: str | Path, system: System, events: list[Event], again: Replay) -> None:
    """What was sent in the trace must be sent again; otherwise it is a run of something else."""
    told = [event for event in events if event.event == SEND]
    now = [event for event in again.events if event.event == SEND]
    for before, after in zip(told, now, strict=False):
        same = before.node == after.node and before.peer == after.peer and before.message == after.message
        if not same:
            raise ConfigError(
                f"{path} does not fit {system.name}: in it process {before.node} sends {before.message}, but now "
                f"process {after.node} sends {after.message}"
            )


def play(system: System, fifo: bool, actions: list[Action], finish: str = "") -> Replay:
    """Take the steps; to `finish` with a deadlock or a replica that is left behind, go on until everything under way is
    delivered and every holder has left; with missing concurrent entry, until everything is delivered."""
    stepper = Stepper(system, fifo)
    taken: list[Action] = []
    kind = text = ""
    try:
        for action in actions:
            taken.append(action)
            stepper.take(action)
            text = stepper.history_fault()
            if text:
                break
        while finish and not text and len(taken) < MOST_STEPS:
            next_action = _next_action(stepper)
            if next_action is None or (finish == CONCURRENT_ENTRY and next_action.event != DELIVER):
                break
            taken.append(next_action)
            stepper.take(next_action)
            text = stepper.history_fault()
        waiting = stepper.waiters()
        if text:
            kind = HISTORY
        elif waiting and _next_action(stepper) is None:
            kind, text = DEADLOCK, deadlock_text(waiting)
        elif _keeps_out(stepper, actions):
            kind, text = CONCURRENT_ENTRY, kept_out_text(system.problem, waiting)
        elif stepper.missing() and _next_action(stepper) is None:
            kind, text = LEFT_BEHIND, left_behind_text(stepper.missing())
    except SafetyViolation as error:
        kind, text = SAFETY, str(error)
    except IllegalStep as error:
        kind, text = ILLEGAL, str(error)
    return Replay(system.name, system.n, kind, text, tuple(stepper.events), tuple(taken))


def _next_action(stepper: Stepper) -> Action | None:
    """Some step that must happen sooner or later."""
    for packet in stepper.deliverable():
        return Action(DELIVER, int(packet.dst), int(packet.src), int(packet.number))
    for holder in stepper.holders():
        if not stepper.processes[holder].pending:
            return Action(EXIT, holder)
    for number, process in enumerate(stepper.processes):
        for timer in process.timers:
            return Action(TIMER, number, timer=timer)
    return None


def _keeps_out(stepper: Stepper, actions: list[Action]) -> bool:
    """Has a run without faults come to a state in which nothing can happen until a holder leaves, although others
    should have entered?"""
    faults = (CRASH, DROP, SUSPECT)
    return (
        stepper.system.concurrent_entry
        and not stepper.packets
        and not any([process.timers for process in stepper.processes])
        and stepper.judge.keeps_out()
        and not any([action.event in faults or action.again for action in actions])
    )


def actions_in(events: list[Event]) -> list[Action]:
    """The steps that a trace tells of; the rest (sendings, entries) follows from them."""
    steps = [event for event in events if event.event in STEPS]
    last = {(step.id, step.node): place for place, step in enumerate(steps) if step.message}
    actions: list[Action] = []
    for place, step in enumerate(steps):
        again = step.event == DELIVER and last[(step.id, step.node)] > place
        actions.append(Action(step.event, step.node, step.peer, step.id, step.timer, step.groups, again, step.choices))
    return actions


def place_for_trace(trace: str | Path) -> Path | None:
    """Where a counterexample is to be written, checked before there is one; None for nowhere."""
    if trace is None or trace == "":
        return None
    place = as_path(trace, "trace")
    check_writable(place, "trace")
    return place


def write_counterexample(
    place: Path,
    algorithm: str | type[Node],
    nodes: int,
    options: Mapping[str, str] | None,
    fifo: bool,
    events: tuple[Event, ...],
) -> None:
    """Write a counterexample that `replay` understands, as far as the algorithm can be found by its name."""
    name = algorithm if isinstance(algorithm, str) else algorithm.spec.name
    write_trace(place, name, nodes, dict(options or {}), fifo, events)


def write_trace(
    path: str | Path, algorithm: str, nodes: int, options: dict[str, str], fifo: bool, events: tuple[Event, ...]
) -> None:
    """Write a trace that `replay` understands."""
    about = {"algorithm": algorithm, "nodes": nodes, "options": options, "fifo": fifo}
    lines = [Event(0.0, BEGIN, -1, fields=dict(about)), *events]
    text = "".join([json.dumps(event.as_dict()) + "\n" for event in lines])
    try:
        as_path(path, "path").write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot write the trace to {path}: {error.strerror}") from error
