"""Exploring by hand, as the model checker sees it: a state is a path of steps, and in each some steps are possible.

Nothing is kept between two calls. The page holds the path, and can go back or branch by cutting it: the real
nodes take its steps again, which for a path of hundreds takes milliseconds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from congenial.checker.bounds import menus
from congenial.checker.faults import DEADLOCK, HISTORY, ILLEGAL, SAFETY, deadlock_text
from congenial.checker.replay import actions_in, traced_system
from congenial.checker.rules import Rules
from congenial.checker.stepper import Action, Stepper
from congenial.checker.walk import Walk
from congenial.kernel.errors import ConfigError, ContractError, IllegalStep, SafetyViolation
from congenial.kernel.inputs import MOST_GROUPS, shown
from congenial.kernel.node import IDLE, INSIDE
from congenial.kernel.trace import (
    BEGIN,
    CRASH,
    DELIVER,
    DROP,
    EXIT,
    ISSUE,
    RECOVER,
    REQUEST,
    SUSPECT,
    TIMER,
    TRUST,
    Event,
)
from congenial.studio.recording import Recording
from congenial.systems.streams import stream
from congenial.systems.system import System
from congenial.trace_files import read_trace

MOST_STEPS = 2000  # of a path
MOST_ON_A_PAGE = 500  # of a path that a page shows without a server
SEARCH_SECONDS = 4.0
SEARCH_RUNS = 5000
SEARCH_STEPS = 400  # of one random run
FINAL = (SAFETY, ILLEGAL, HISTORY)  # faults after which nothing follows
SOUGHT = (*FINAL, DEADLOCK)  # faults that one run shows


@dataclass(frozen=True)
class ExploredSystem:
    """What is explored: a system, how often each process asks, and for what. `name` finds the algorithm again."""

    name: str
    system: System
    rules: Rules

    @classmethod
    def of(cls, name: str, system: System, requests: int, groups: int, fifo: bool | None) -> ExploredSystem:
        rules = Rules(
            requests=requests,
            menus=menus("", system.n, groups),
            fifo=system.spec.fifo if fifo is None else fifo,
            patient=system.spec.patient,
            operations=1 if system.problem.operations else 0,
        )
        return cls(name, system, rules)


class Place:
    """Where a path leads. `fault` is what is wrong there, if anything, and of which `kind`."""

    def __init__(self, explored: ExploredSystem, path: Sequence[Action]) -> None:
        if len(path) > MOST_STEPS:
            raise ConfigError(f"a path has at most {MOST_STEPS} steps here, not {len(path)}")
        self.explored = explored
        self.path = list(path)
        system, rules = explored.system, explored.rules
        self.stepper = Stepper(system, rules.fifo)
        self.left = [rules.requests] * system.n
        self.operations = [0] * system.n
        self.kind = self.fault = ""
        for number, action in enumerate(path):
            self._go(action, number + 1)
            if self.kind:
                self.path = self.path[: number + 1]  # nothing follows
                break
        self.possible: list[Action] = []
        self._look()

    def _go(self, action: Action, number: int) -> None:
        """Take a step, the `number`-th, and note if it is wrong."""
        try:
            self._take(action)
        except ContractError as error:
            raise ConfigError(f"step {number} cannot be taken: {error}") from error
        except SafetyViolation as error:
            self.kind, self.fault = SAFETY, str(error)
        except IllegalStep as error:
            self.kind, self.fault = ILLEGAL, str(error)
        else:
            self.fault = self.stepper.history_fault()
            self.kind = HISTORY if self.fault else ""

    def _look(self) -> None:
        """Find out what is possible here."""
        self.possible = [] if self.kind else self._possible()
        waiting = self.stepper.waiters()
        if not self.kind and waiting and not any([step for step in self.possible if not is_fault(step, self)]):
            self.kind, self.fault = DEADLOCK, deadlock_text(waiting)

    def go_on(self, action: Action) -> None:
        """Take one more step, which may end a deadlock: a fault can."""
        self.kind = self.fault = ""
        self.path.append(action)
        self._go(action, len(self.path))
        self._look()

    def moves(self) -> list[dict[str, object]]:
        """What is possible here, as a page lists it."""
        return [
            {"step": as_json(step), "text": told(step, self), "fault": is_fault(step, self)} for step in self.possible
        ]

    def _take(self, action: Action) -> None:
        if action.event in (SUSPECT, TRUST) and action.peer in (-1, action.node):
            raise ContractError(f"process {action.node} can {action.event} other processes only")
        if action.event == REQUEST:
            self.left[action.node] -= 1
            self.operations[action.node] = self.explored.rules.operations
        elif action.event == ISSUE:
            self.operations[action.node] -= 1
        self.stepper.take(action)

    def _possible(self) -> list[Action]:
        """All steps that can be taken here, those first that are no faults."""
        steps: list[Action] = []
        processes = self.stepper.processes
        for packet in self.stepper.deliverable():
            steps.append(Action(DELIVER, int(packet.dst), int(packet.src), int(packet.number)))
        for number in range(self.explored.system.n):
            self._add_own(number, steps)
        timers = [
            Action(TIMER, number, timer=timer) for number, process in enumerate(processes) for timer in process.timers
        ]
        if not self.explored.rules.patient or not [step for step in steps if step.event != RECOVER]:
            steps.extend(timers)
        for packet in self.stepper.packets:
            steps.append(Action(DROP, int(packet.dst), int(packet.src), int(packet.number)))
        for packet in self.stepper.deliverable():
            steps.append(Action(DELIVER, int(packet.dst), int(packet.src), int(packet.number), again=True))
        up = [number for number, process in enumerate(processes) if process.up]
        steps.extend([Action(CRASH, number) for number in up])
        for number in up:
            for peer in up:
                if peer != number and peer not in processes[number].suspects:
                    steps.append(Action(SUSPECT, number, peer))
        return steps

    def _add_own(self, number: int, steps: list[Action]) -> None:
        """What a process, its application and its failure detector can do by themselves."""
        processes = self.stepper.processes
        process = processes[number]
        if not process.up:
            steps.append(Action(RECOVER, number))
            return
        if process.phase == INSIDE and not process.pending:
            steps.append(Action(EXIT, number))
            if self.operations[number] > 0:
                steps.append(Action(ISSUE, number))
        elif process.phase == IDLE and self.left[number] > 0:
            steps.extend(
                [
                    Action(REQUEST, number, groups=groups)
                    for groups in self.explored.rules.menus_for(len(processes))[number]
                ]
            )
        for peer in process.suspects:
            if processes[peer].up:
                steps.append(Action(TRUST, number, peer))
        for peer in range(len(processes)):
            if not processes[peer].up and peer not in process.suspects:
                steps.append(Action(SUSPECT, number, peer))

    def recording(self) -> Recording:
        """The path so far, to be shown."""
        verdict = f"{self.kind.upper()}: {self.fault}" if self.kind else "nothing is wrong so far"
        system = self.explored.system
        about = (("exploring", "by hand"), ("nodes", str(system.n)), *system.options.items())
        return Recording(system, self.stepper.events, about, verdict, not self.kind, timed=False)

    def trace(self) -> str:
        """The path as the text of a trace file, which `congenial replay` takes."""
        system = self.explored.system
        about: dict[str, object] = {
            "algorithm": self.explored.name, "nodes": system.n, "options": system.options,
            "fifo": self.explored.rules.fifo,
        }  # fmt: skip
        lines = [Event(0.0, BEGIN, -1, fields=about), *self.stepper.events]
        return "".join([json.dumps(event.as_dict()) + "\n" for event in lines])


def is_fault(step: Action, place: Place) -> bool:
    """True if a step is a fault, which never has to happen. A message to a crashed process must be lost in the end."""
    processes = place.stepper.processes
    if step.event == DROP:
        return processes[step.node].up
    if step.event == SUSPECT:
        return processes[step.peer].up
    return step.event == CRASH or step.again


def told(step: Action, place: Place) -> str:
    """A possible step in words."""
    p = step.node
    if step.event in (DELIVER, DROP):
        packet = next(packet for packet in place.stepper.packets if packet.number == step.id and int(packet.dst) == p)
        if step.event == DROP:
            return f"{packet.msg!r} from {step.peer} to {p} is lost"
        return f"{p} receives {packet.msg!r} from {step.peer}{', which stays under way' if step.again else ''}"
    if step.event == REQUEST:
        groups = " or ".join(map(str, step.groups))
        return f"{p} asks to enter{f' group {groups}' if place.explored.system.problem.groups else ''}"
    if step.event == ISSUE:
        return f"{p} issues an operation"
    if step.event == TIMER:
        return f"timer {step.timer} of {p} runs out"
    if step.event == SUSPECT:
        return f"{p} suspects {step.peer}"
    if step.event == TRUST:
        return f"{p} trusts {step.peer} again"
    return f"{p} {({EXIT: 'leaves', CRASH: 'crashes', RECOVER: 'recovers'})[step.event]}"


def look_for_fault(explored: ExploredSystem, path: Sequence[Action], faults: int) -> list[Action] | None:
    """The shortest path that goes wrong among random runs from where a path leads, with at most so many `faults` of
    each kind; None if all is well in these."""
    rules = replace(explored.rules, crashes=faults, losses=faults, duplicates=faults, suspicions=faults)
    best: list[Action] | None = None
    deadline = monotonic() + SEARCH_SECONDS
    for seed in range(SEARCH_RUNS):
        place = Place(explored, path)
        if place.kind:
            return place.path
        most = SEARCH_STEPS if best is None else len(best) - len(path) - 1
        if most < 1:
            break
        walk = Walk(place.stepper, rules, stream(seed, 0), seed % 2 == 1, most)
        walk.left = place.left
        walk.operations = place.operations
        walk.run()
        if walk.fault in SOUGHT and len(walk.actions) <= most:
            best = [*path, *walk.actions]
        if monotonic() > deadline:
            break
    return best


# -- as JSON ---------------------------------------------------------------------------------------------------


def as_json(step: Action) -> dict[str, object]:
    """A step, without what does not apply to it."""
    said: dict[str, object] = {"event": step.event, "node": step.node}
    for name in ("peer", "id", "timer"):
        if getattr(step, name) >= 0:
            said[name] = getattr(step, name)
    if step.groups:
        said["groups"] = list(step.groups)
    if step.choices:
        said["choices"] = list(step.choices)
    return {**said, "again": True} if step.again else said


def from_json(path: Any, n: int) -> list[Action]:
    """The steps of a path. Whether they can be taken is found out when they are."""
    if not isinstance(path, list):
        raise ConfigError("a path must be a list of steps")
    steps: list[Action] = []
    for said in path:
        try:
            numbers = {name: _whole(said.get(name, -1)) for name in ("node", "peer", "id", "timer")}
            groups, choices = [tuple([_whole(one) for one in said.get(name, ())]) for name in ("groups", "choices")]
            step = Action(str(said["event"]), **numbers, groups=groups, again=bool(said.get("again")), choices=choices)
        except (AttributeError, KeyError, TypeError) as error:
            raise ConfigError(f"this is not a step: {shown(said)}") from error
        if not all([0 <= group < MOST_GROUPS for group in step.groups]):
            raise ConfigError(f"there is no such group in this step: {shown(said)}")
        if not 0 <= step.node < n or not -1 <= step.peer < n:
            raise ConfigError(f"there is no such process in this step: {shown(said)}")
        steps.append(step)
    return steps


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 1 << 40:
        raise TypeError("not a number")
    return value


def traced(path: str) -> tuple[ExploredSystem, list[Action]]:
    """What a trace file is about, and its steps."""
    events = read_trace(path)
    system, fifo = traced_system(path, events)
    name = str((events[0].fields or {}).get("algorithm"))
    steps = actions_in(events)
    return explored_system_of(name, system, events, steps, fifo), steps


def explored_system_of(
    name: str, system: System, events: Sequence[Event], steps: Sequence[Action], fifo: bool
) -> ExploredSystem:
    """Where a run took place: with at least as many requests, groups and operations as it has, and with timers that run
    out as early as they do there."""
    asked = [[event.groups for event in events if event.event == REQUEST and event.node == p] for p in range(system.n)]
    groups = 1 + max([group for wants in asked for want in wants for group in want], default=0)
    requests = max(2, *[len(wants) for wants in asked])
    made = ExploredSystem.of(name, system, requests, groups, fifo)
    rules = replace(made.rules, operations=max(made.rules.operations, _most_issued(events)))
    made = replace(made, rules=rules)
    if rules.patient and len(steps) <= MOST_STEPS and _has_early_timer(made, steps):
        made = replace(made, rules=replace(rules, patient=False))
    return made


def _most_issued(events: Sequence[Event]) -> int:
    """The most operations that a process issues in one stay."""
    most = 0
    issued: dict[int, int] = {}
    for event in events:
        if event.event == REQUEST:
            issued[event.node] = 0
        elif event.event == ISSUE:
            issued[event.node] = issued.get(event.node, 0) + 1
            most = max(most, issued[event.node])
    return most


def _has_early_timer(explored: ExploredSystem, steps: Sequence[Action]) -> bool:
    """True if a timer runs out while something else can still happen."""
    place = Place(explored, [])
    for step in steps:
        timers = [(one.node, one.timer) for one in place.possible if one.event == TIMER]
        if step.event == TIMER and (step.node, step.timer) not in timers:
            return True
        if place.kind in FINAL:
            break
        place.go_on(step)
    return False


def explore_document(explored: ExploredSystem, path: Sequence[Action]) -> dict[str, object] | None:
    """A path as a page shows it without a server: in each of its states, all steps that are possible. None if the path
    is too long for that."""
    if len(path) > MOST_ON_A_PAGE:
        return None
    place = Place(explored, [])
    moves = [place.moves()]
    for action in path:
        if place.kind in FINAL:
            break  # nothing follows
        place.go_on(action)
        moves.append(place.moves())
    return {"path": [as_json(step) for step in place.path], "moves": moves, "trace": place.trace()}
