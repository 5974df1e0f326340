"""Traces of runs, written so that they can be run again, and made short.

A trace begins with the system it is about. To run it again is to take its steps, one by one, with the real nodes, and
to see whether the same comes of it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from congenial.checker.stepper import Action, Stepper
from congenial.kernel import trace as tr
from congenial.kernel.errors import ConfigError, CongenialError, ContractError, IllegalStep, SafetyViolation
from congenial.kernel.message import Message
from congenial.kernel.trace import Event
from congenial.systems.catalogue import find_algorithm
from congenial.systems.system import System
from congenial.trace_files import read_trace

STEPS = (tr.REQUEST, tr.EXIT, tr.ISSUE, tr.DELIVER, tr.DROP, tr.TIMER, tr.CRASH, tr.RECOVER, tr.SUSPECT, tr.TRUST)

MOST_STEPS = 100_000


@dataclass(frozen=True)
class Replayed:
    """What came of a run: the events, and what was wrong, if anything (`kind` is empty if nothing was)."""

    kind: str
    text: str
    events: tuple[Event, ...]
    actions: tuple[Action, ...]


def play(system: System, fifo: bool, actions: list[Action], finish: bool = False) -> Replayed:
    """Take the steps; to `finish`, go on until everything under way is delivered and every holder has left."""
    stepper = Stepper(system, fifo)
    taken: list[Action] = []
    try:
        for action in actions:
            taken.append(action)
            stepper.take(action)
        while finish and len(taken) < MOST_STEPS:
            rest = _rest(stepper)
            if rest is None:
                break
            taken.append(rest)
            stepper.take(rest)
    except (SafetyViolation, IllegalStep) as error:
        kind = "safety" if isinstance(error, SafetyViolation) else "illegal step"
        return Replayed(kind, str(error), tuple(stepper.events), tuple(taken))
    waiting = stepper.waiters()
    if waiting and _rest(stepper) is None:
        who = ", ".join([str(process) for process in waiting])
        text = f"nothing can happen any more, and these wait: {who}"
        return Replayed("deadlock", text, tuple(stepper.events), tuple(taken))
    return Replayed("", "", tuple(stepper.events), tuple(taken))


def _rest(stepper: Stepper) -> Action | None:
    """Some step that must happen sooner or later."""
    for packet in stepper.deliverable():
        return Action(tr.DELIVER, int(packet.dst), int(packet.src), int(packet.number))
    for process in stepper.holders():
        if not stepper.judge.pending[process]:
            return Action(tr.EXIT, process)
    for process in range(stepper.system.n):
        for timer in stepper.timers[process]:
            return Action(tr.TIMER, process, timer=timer)
    return None


# -- shortening ----------------------------------------------------------------------------------------


def shorten(system: System, fifo: bool, actions: list[Action], kind: str) -> list[Action]:
    """Leave out as many steps as possible such that the run still ends in a fault of that kind (Zeller 1999)."""
    best = actions
    size = max(1, len(best) // 2)
    while True:
        shorter = _without_a_chunk(system, fifo, best, kind, size)
        if shorter is not None:
            best = shorter
        elif size == 1:
            return best
        else:
            size = max(1, size // 2)


def _without_a_chunk(system: System, fifo: bool, actions: list[Action], kind: str, size: int) -> list[Action] | None:
    named = _with_messages(system, fifo, actions)
    for start in range(0, len(named), size):
        attempt = _with_numbers(system, fifo, named[:start] + named[start + size :])
        played = play(system, fifo, attempt, finish=kind == "deadlock")
        if played.kind == kind and len(played.actions) < len(actions):
            return list(played.actions)
    return None


Named = tuple[Action, Message | None]
"""A step, and for one about a message the message: the numbers of messages change when steps are left out."""


def _with_messages(system: System, fifo: bool, actions: list[Action]) -> list[Named]:
    stepper = Stepper(system, fifo)
    named: list[Named] = []
    for action in actions:
        under_way = {(int(packet.number), int(packet.dst)): packet.msg for packet in stepper.packets}
        named.append((action, under_way.get((action.id, action.node))))
        try:
            stepper.take(action)
        except CongenialError:
            break
    return named


def _with_numbers(system: System, fifo: bool, named: list[Named]) -> list[Action]:
    """The steps with the numbers that their messages have now; what is not possible any more is left out."""
    stepper = Stepper(system, fifo)
    actions: list[Action] = []
    for action, message in named:
        if message is not None:
            alike = [
                packet
                for packet in stepper.deliverable()
                if packet.src == action.peer and packet.dst == action.node and type(packet.msg) is type(message)
            ]
            if not alike:
                continue
            chosen = next((packet for packet in alike if packet.msg == message), alike[0])
            action = replace(action, id=int(chosen.number))
        try:
            stepper.take(action)
        except ContractError:
            continue
        except CongenialError:
            actions.append(action)
            break
        actions.append(action)
    return actions


# -- files -----------------------------------------------------------------------------------------------


def write_trace(
    path: str, algorithm: str, system: System, options: dict[str, str], fifo: bool, events: tuple[Event, ...]
) -> None:
    """A trace that `congenial replay` understands."""
    about = {"algorithm": algorithm, "nodes": system.n, "options": options, "fifo": fifo}
    lines = [Event(0.0, tr.BEGIN, -1, fields=dict(about)), *events]
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(event.as_dict()) + "\n" for event in lines)
    except OSError as error:
        raise ConfigError(f"cannot write the trace to {path}: {error.strerror}") from error


def replay(path: str | Path) -> tuple[System, Replayed]:
    """Run a trace again."""
    events = read_trace(path)
    if not events or events[0].event != tr.BEGIN or not events[0].fields:
        raise ConfigError(f"{path} does not begin with the system it is about, so it cannot be run again")
    about = events[0].fields
    try:
        algorithm, nodes, options = str(about["algorithm"]), int(str(about["nodes"])), about.get("options", {})
        assert isinstance(options, dict)
    except (KeyError, ValueError, AssertionError):
        raise ConfigError(f"{path}: the first line should name algorithm, nodes and options") from None
    if not algorithm.startswith("/") and ".py:" in algorithm and not Path(algorithm.rpartition(":")[0]).is_file():
        beside = Path(path).parent / algorithm
        algorithm = str(beside) if Path(str(beside).rpartition(":")[0]).is_file() else algorithm
    system = System(find_algorithm(algorithm), nodes, {str(name): str(value) for name, value in options.items()})
    try:
        played = play(system, bool(about.get("fifo", False)), actions_in(events))
    except ContractError as error:
        raise ConfigError(f"{path} does not fit {system.name}: {error}") from error
    return system, played


def actions_in(events: list[Event]) -> list[Action]:
    """The steps that a trace tells of; the rest (sendings, entries) follows from them."""
    steps = [event for event in events if event.event in STEPS]
    last = {(step.id, step.node): place for place, step in enumerate(steps) if step.message}
    actions: list[Action] = []
    for place, step in enumerate(steps):
        again = step.event == tr.DELIVER and last[(step.id, step.node)] > place
        actions.append(Action(step.event, step.node, step.peer, step.id, step.timer, step.groups, again, step.choices))
    return actions
