"""One random run, by one of two kinds of schedule.

A uniform schedule takes any of the possible steps. A schedule by priorities gives every process and every message a
random priority, always takes the step with the highest one, and lowers that priority at a few random moments
(Burckhardt et al. 2010). It finds faults that need some message to be very late.

A run may end with all processes inside together (`Rules.together`): when all have left and one request of each is
left, they all ask for one group, and none leaves.
"""

from __future__ import annotations

from typing import Final, final

from librt.random import Random

from congenial.checker.faults import (
    CONCURRENT_ENTRY,
    DEADLOCK,
    HISTORY,
    ILLEGAL,
    LEFT_BEHIND,
    SAFETY,
    STARVATION,
    deadlock_text,
    kept_out_text,
    left_behind_text,
)
from congenial.checker.rules import Rules
from congenial.checker.stepper import Action, Stepper
from congenial.kernel.errors import IllegalStep, SafetyViolation
from congenial.kernel.judge import listed
from congenial.kernel.node import IDLE, INSIDE
from congenial.kernel.problem import NO_GROUP
from congenial.kernel.trace import CRASH, DELIVER, DROP, EXIT, ISSUE, RECOVER, REQUEST, SUSPECT, TIMER, TRUST

CHANGES: Final = 3  # moments of change in a schedule by priorities
LIKELY_STEPS: Final = 200  # within which they lie
UNFAIR_STEPS: Final = 1000  # after which any step is taken: priorities may withhold forever what ends a quarrel
DOWN: Final = 0  # the kinds of faults; 3 is a false suspicion
LOSS: Final = 1
DUPLICATE: Final = 2

# A run has one of these: the chance of a fault at a step, while there is a budget. Not Final: compiled, a final tuple
# of numbers is not set.
FAULT_RATES: tuple[float, ...] = (0.02, 0.05, 0.15, 0.4)


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
        self.budgets = [rules.crashes, rules.losses, rules.duplicates, rules.suspicions]  # by kind of fault
        self.fault_rate = FAULT_RATES[rng.randrange(len(FAULT_RATES))] if rules.faults else 0.0
        self.finale = False  # have all begun to ask for `last_group`, from which none leaves?
        self.last_group = self._some_group() if rules.together else NO_GROUP
        self.actions: list[Action] = []
        self.fault = ""  # the kind of fault that ended the run, if any
        self.text = ""
        self.priorities: dict[int, float] = {}  # by message number, or -1 - process
        self.changes = sorted([rng.randrange(LIKELY_STEPS) for _ in range(CHANGES)])

    def run(self) -> None:
        """Run until nothing can happen, something is wrong, or it takes too long."""
        try:
            while len(self.actions) < self.most_steps:
                action = None if self.finale and self._is_over() else self._choose()
                if action is None:
                    break
                self.actions.append(action)
                if action.event == REQUEST:
                    self.left[action.node] -= 1
                    self.operations[action.node] = self.rules.operations
                elif action.event == ISSUE:
                    self.operations[action.node] -= 1
                self.stepper.take(action)
                self.text = self.stepper.history_fault()
                if self.text:
                    self.fault = HISTORY
                    return
        except SafetyViolation as error:
            self.fault = SAFETY
            self.text = str(error)
            return
        except IllegalStep as illegal:  # a name of its own: mypyc gives a name one type in the whole function
            self.fault = ILLEGAL
            self.text = str(illegal)
            return
        self._judge_end()

    def _judge_end(self) -> None:
        judge = self.stepper.judge
        waiting = judge.unserved()
        if not waiting and self.rules.operations:
            missing = self.stepper.missing() if len(self.actions) < self.most_steps else ""
            if missing:
                self.fault = LEFT_BEHIND
                self.text = left_behind_text(missing)
        elif not waiting or (self.finale and judge.inside > 0 and not judge.keeps_out()):
            return
        elif len(self.actions) >= self.most_steps:
            if not self.by_priority:
                self.fault = STARVATION
                self.text = f"after {self.most_steps} random steps these still wait: {listed(waiting)}"
        elif self.finale and judge.inside > 0:
            self.fault = CONCURRENT_ENTRY
            self.text = kept_out_text(self.stepper.system.problem, waiting)
        else:
            self.fault = DEADLOCK
            self.text = deadlock_text(waiting)

    def _some_group(self) -> int:
        """One of the groups that may be asked for."""
        groups = sorted({group for menu in self.menus for asked in menu for group in asked})
        return groups[self.rng.randrange(len(groups))]

    def _all_have_left(self) -> bool:
        """True if every process is idle, with one request left."""
        for number in range(self.n):
            if self.left[number] != 1 or self.stepper.processes[number].phase != IDLE:
                return False
        return True

    def _is_over(self) -> bool:
        """True if nothing is under way, and everybody is inside, or as many as may be. Timers may go on forever."""
        return not self.stepper.packets and sum(self.left) == 0 and not self.stepper.judge.keeps_out()

    def _choose(self) -> Action | None:
        if self.fault_rate > 0.0 and self.rng.random() < self.fault_rate:
            fault = self._fault()
            if fault is not None:
                return fault
        if self.rules.together and not self.finale:
            self.finale = self._all_have_left()
        possible = self._possible()
        if not possible:
            return self._timer()
        if self.timers_wait and self._time_passes(possible) and self.rng.randrange(2) == 0:
            late = self._timer()
            if late is not None:
                return late
        if not self.by_priority or len(self.actions) >= UNFAIR_STEPS:
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
                actions.append(Action(RECOVER, number, choices=self._choices()))
            return
        if process.phase == INSIDE:
            if not process.pending and not self.finale:
                actions.append(Action(EXIT, number, choices=self._choices()))
                if self.operations[number] > 0:
                    actions.append(Action(ISSUE, number, choices=self._choices()))
        elif process.phase == IDLE and self.left[number] > 0:
            menu = self.menus[number]
            if self.finale:
                actions.append(Action(REQUEST, number, groups=(self.last_group,), choices=self._choices()))
            elif self.left[number] > 1 or not self.rules.together:
                groups = menu[self.rng.randrange(len(menu))]
                actions.append(Action(REQUEST, number, groups=groups, choices=self._choices()))
        for peer in process.suspects:
            if processes[peer].up:
                actions.append(Action(TRUST, number, peer))
        for peer in range(self.n):
            if not processes[peer].up and peer not in process.suspects:
                actions.append(Action(SUSPECT, number, peer))

    def _time_passes(self, possible: list[Action]) -> bool:
        """True if timers may run out although something else can happen, as in the explorer."""
        for action in possible:
            if self.rules.lasting and self._outlasts_timers(action):
                continue
            if action.event == DELIVER or action.event == DROP:
                return False
            if self.rules.patient and action.event != RECOVER:
                return False
        return True

    def _outlasts_timers(self, action: Action) -> bool:
        """True if a step waits for the end of a cut, or ends one."""
        if action.event == DELIVER:
            return action.peer in self.stepper.processes[action.node].suspects
        return action.event == TRUST

    def _timer(self) -> Action | None:
        set_timers: list[Action] = []
        for process in range(self.n):
            for timer in self.stepper.processes[process].timers:
                set_timers.append(Action(TIMER, process, timer=timer, choices=self._choices()))
        return set_timers[self.rng.randrange(len(set_timers))] if set_timers else None

    def _fault(self) -> Action | None:
        """A fault of a kind that is still allowed, if it can happen here."""
        kinds = [kind for kind in range(len(self.budgets)) if self.budgets[kind] > 0]
        if not kinds:
            self.fault_rate = 0.0
            return None
        kind = kinds[self.rng.randrange(len(kinds))]
        fault = self._message_fault(kind) if kind == LOSS or kind == DUPLICATE else self._process_fault(kind)
        if fault is not None:
            self.budgets[kind] -= 1
        return fault

    def _message_fault(self, kind: int) -> Action | None:
        packets = self.stepper.deliverable()
        if not packets:
            return None
        packet = packets[self.rng.randrange(len(packets))]
        if kind == LOSS:
            return Action(DROP, packet.dst, packet.src, packet.number)
        return Action(DELIVER, packet.dst, packet.src, packet.number, again=True)

    def _process_fault(self, kind: int) -> Action | None:
        number: int = self.rng.randrange(self.n)
        process = self.stepper.processes[number]
        if not process.up:
            return None
        if kind == DOWN:
            return Action(CRASH, number)
        peer: int = self.rng.randrange(self.n)
        if peer == number or peer in process.suspects:
            return None
        return Action(SUSPECT, number, peer)

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
