"""Random runs of a weak mutex in which the holder is falsely suspected again and again, and a minority crashes."""

from __future__ import annotations

from random import Random

from congenial.checker.stepper import Action, Stepper
from congenial.kernel.trace import CRASH, DELIVER, DROP, EXIT, ISSUE, REQUEST, SUSPECT, TRUST, Event
from congenial.systems.catalogue import ALGORITHMS
from congenial.systems.system import System

MOST_STEPS = 50_000


class Turbulence:
    """Each process asks `requests` times and issues up to two operations a time; `mistakes` is how often the detector
    errs before it is accurate."""

    def __init__(self, name: str, nodes: int, seed: int, requests: int = 3, mistakes: int = 15) -> None:
        self.stepper = Stepper(System(ALGORITHMS[name], nodes), fifo=False)
        self.rng = Random(f"{name} {nodes} {seed}")
        self.nodes = nodes
        self.left = [requests] * nodes
        self.issues = [0] * nodes
        self.mistakes = mistakes
        self.crashes = (nodes - 1) // 2

    def run(self) -> list[Event]:
        """Until nothing more can happen."""
        for _ in range(MOST_STEPS):
            action = self._mishap() if self.rng.random() < 0.05 else None
            possible = [action] if action is not None else self._possible()
            if not possible:
                return self.stepper.events
            action = self.rng.choice(possible)
            if action.event == REQUEST:
                self.left[action.node] -= 1
                self.issues[action.node] = 2
            elif action.event == ISSUE:
                self.issues[action.node] -= 1
            self.stepper.take(action)
        raise AssertionError(f"it goes on after {MOST_STEPS} steps")

    def _mishap(self) -> Action | None:
        holders = self.stepper.holders()
        if self.crashes and self.rng.random() < 0.1:
            self.crashes -= 1
            return Action(CRASH, self.rng.choice(self._up()))
        if self.mistakes and holders:
            victim = self.rng.choice(holders)
            others = [one for one in self._up() if one != victim and victim not in self.stepper.processes[one].suspects]
            if others:
                self.mistakes -= 1
                return Action(SUSPECT, self.rng.choice(others), victim)
        return None

    def _up(self) -> list[int]:
        return [process for process in range(self.nodes) if self.stepper.processes[process].up]

    def _possible(self) -> list[Action]:
        stepper = self.stepper
        actions = [Action(DELIVER, int(p.dst), int(p.src), int(p.number)) for p in stepper.deliverable()]
        for packet in stepper.packets:
            if not stepper.processes[packet.src].up or not stepper.processes[packet.dst].up:
                actions.append(Action(DROP, int(packet.dst), int(packet.src), int(packet.number)))
        for process in self._up():
            if stepper.judge.holds[process] >= 0:
                if not stepper.judge.pending[process]:
                    actions.append(Action(ISSUE if self.issues[process] else EXIT, process))
            elif stepper.judge.wants[process] is None and self.left[process]:
                actions.append(Action(REQUEST, process, groups=(0,)))
            for peer in range(self.nodes):
                if stepper.processes[peer].up == (peer in stepper.processes[process].suspects) and peer != process:
                    actions.append(Action(TRUST if stepper.processes[peer].up else SUSPECT, process, peer))
        return actions
