"""One random run, by one of two kinds of schedule.

A uniform schedule takes any of the possible steps. A schedule by priorities gives every process and every message a
random priority, always takes the step with the highest one, and lowers that priority at a few random moments
(Burckhardt et al. 2010). It finds faults that need some message to be very late.
"""

from __future__ import annotations

from typing import Final, final

from librt.random import Random

from congenial.checker.faults import DEADLOCK, HISTORY, ILLEGAL, SAFETY, STARVATION, deadlock_text
from congenial.checker.rules import Rules
from congenial.checker.stepper import Action, Stepper
from congenial.kernel.errors import IllegalStep, SafetyViolation
from congenial.kernel.judge import listed
from congenial.kernel.node import IDLE, INSIDE
from congenial.kernel.trace import CRASH, DELIVER, DROP, EXIT, ISSUE, RECOVER, REQUEST, SUSPECT, TIMER, TRUST
from congenial.problems.weak_history import faults_in

CHANGES: Final = 3  # moments of change in a schedule by priorities
LIKELY_STEPS: Final = 200  # within which they lie
FAULT_RATE: Final = 0.03  # chance of a fault at a step, while there is a budget


@final
class Walk:
    def __init__(self, stepper: Stepper, rules: Rules, rng: Random, by_priority: bool, most_steps: int) -> None:
        self.stepper = stepper
        self.rules = rules
        self.rng = rng
        self.by_priority = by_priority
        self.most_steps = most_steps
        n = stepper.system.n
        self.n = n
        self.menus = rules.menus_for(n)
        self.timers_wait = rules.timers_wait
        self.left = [rules.requests] * n
        self.operations = [0] * n  # that each may still issue in its stay
        self.crashes = rules.crashes
        self.losses = rules.losses
        self.duplicates = rules.duplicates
        self.suspicions = rules.suspicions
        self.actions: list[Action] = []
        self.fault = ""  # the kind of fault that ended the run, if any
        self.text = ""
        self.priorities: dict[int, float] = {}  # by message number, or -1 - process
        self.changes = sorted([rng.randrange(LIKELY_STEPS) for _ in range(CHANGES)])

    def run(self) -> None:
        """Run until nothing can happen, something is wrong, or it takes too long."""
        try:
            while len(self.actions) < self.most_steps:
                action = self._choose()
                if action is None:
                    break
                self.actions.append(action)
                if action.event == REQUEST:
                    self.left[action.node] -= 1
                    self.operations[action.node] = self.rules.operations
                elif action.event == ISSUE:
                    self.operations[action.node] -= 1
                self.stepper.take(action)
        except SafetyViolation as error:
            self.fault = SAFETY
            self.text = str(error)
            return
        except IllegalStep as illegal:  # a name of its own: mypyc gives a name one type in the whole function
            self.fault = ILLEGAL
            self.text = str(illegal)
            return
        waiting = self.stepper.waiters()
        wrong = faults_in(self.stepper.events) if self.rules.operations else []
        if wrong:
            self.fault = HISTORY
            self.text = wrong[0]
        elif waiting:
            if len(self.actions) < self.most_steps:
                self.fault = DEADLOCK
                self.text = deadlock_text(waiting)
            elif not self.by_priority:
                self.fault = STARVATION
                self.text = f"after {self.most_steps} random steps these still wait: {listed(waiting)}"

    def _choose(self) -> Action | None:
        if self.rng.random() < FAULT_RATE:
            fault = self._fault()
            if fault is not None:
                return fault
        possible = self._possible()
        if not possible:
            return self._timer()
        if self.timers_wait and self._time_passes(possible) and self.rng.randrange(2) == 0:
            late = self._timer()
            if late is not None:
                return late
        if not self.by_priority:
            timer = self._timer() if not self.timers_wait and self.rng.randrange(8) == 0 else None
            return timer if timer is not None else possible[self.rng.randrange(len(possible))]
        best = possible[0]
        for action in possible:
            if self._priority(action) > self._priority(best):
                best = action
        if self.changes and self.changes[0] <= len(self.actions):
            self.changes.pop(0)
            self.priorities[self._bearer(best)] = -self.rng.random()
        return best

    def _possible(self) -> list[Action]:
        """The steps that can be taken now, except faults, and except timers where those wait."""
        actions: list[Action] = []
        for number in range(self.n):
            self._add_own(number, actions)
        processes = self.stepper.processes
        for packet in self.stepper.packets:
            vanishes = self.rules.vanishing and not processes[packet.src].up
            if vanishes or not processes[packet.dst].up:
                actions.append(Action(DROP, packet.dst, packet.src, packet.number))
        for packet in self.stepper.deliverable():
            actions.append(Action(DELIVER, packet.dst, packet.src, packet.number, choices=self._choices()))
        if self.by_priority and not self.timers_wait:
            for number in range(self.n):
                for timer in processes[number].timers:
                    actions.append(Action(TIMER, number, timer=timer))
        return actions

    def _add_own(self, number: int, actions: list[Action]) -> None:
        """What a process, its application and its failure detector can do by themselves."""
        processes = self.stepper.processes
        process = processes[number]
        if not process.up:
            if self.rules.recovery:
                actions.append(Action(RECOVER, number))
            return
        if process.phase == INSIDE:
            if not process.pending:
                actions.append(Action(EXIT, number, choices=self._choices()))
                if self.operations[number] > 0:
                    actions.append(Action(ISSUE, number, choices=self._choices()))
        elif process.phase == IDLE and self.left[number] > 0:
            menu = self.menus[number]
            groups = menu[self.rng.randrange(len(menu))]
            actions.append(Action(REQUEST, number, groups=groups, choices=self._choices()))
        for peer in process.suspects:
            if processes[peer].up:
                actions.append(Action(TRUST, number, peer))
        for peer in range(self.n):
            if not processes[peer].up and peer not in process.suspects:
                actions.append(Action(SUSPECT, number, peer))

    def _time_passes(self, possible: list[Action]) -> bool:
        """May timers run out although something else can happen? As in the explorer."""
        for action in possible:
            if action.event == DELIVER or action.event == DROP:
                return False
            if self.rules.patient and action.event != RECOVER:
                return False
        return True

    def _timer(self) -> Action | None:
        set_timers: list[Action] = []
        for process in range(self.n):
            for timer in self.stepper.processes[process].timers:
                set_timers.append(Action(TIMER, process, timer=timer, choices=self._choices()))
        return set_timers[self.rng.randrange(len(set_timers))] if set_timers else None

    def _fault(self) -> Action | None:
        packets = self.stepper.deliverable()
        kind = self.rng.randrange(4)
        process: int = self.rng.randrange(self.n)
        if kind == 0 and self.crashes > 0 and self.stepper.processes[process].up:
            self.crashes -= 1
            return Action(CRASH, process)
        if kind == 1 and self.losses > 0 and packets:
            self.losses -= 1
            packet = packets[self.rng.randrange(len(packets))]
            return Action(DROP, packet.dst, packet.src, packet.number)
        if kind == 2 and self.duplicates > 0 and packets:
            self.duplicates -= 1
            packet = packets[self.rng.randrange(len(packets))]
            return Action(DELIVER, packet.dst, packet.src, packet.number, again=True)
        if kind == 3 and self.suspicions > 0 and self.stepper.processes[process].up:
            peer: int = self.rng.randrange(self.n)
            if peer != process and peer not in self.stepper.processes[process].suspects:
                self.suspicions -= 1
                return Action(SUSPECT, process, peer)
        return None

    def _choices(self) -> tuple[int, ...]:
        """Answers to the step's choices, if it makes any: large numbers, taken modulo the options."""
        return (self.rng.randrange(1 << 30), self.rng.randrange(1 << 30)) if self.stepper.chooses else ()

    def _bearer(self, action: Action) -> int:
        return action.id if action.event == DELIVER else -1 - action.node

    def _priority(self, action: Action) -> float:
        bearer = self._bearer(action)
        known = self.priorities.get(bearer)
        if known is None:
            known = self.rng.random()
            self.priorities[bearer] = known
        return known
