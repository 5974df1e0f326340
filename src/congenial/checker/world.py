"""The world as the explorer sees it: a state is a short row of integers.

Everything that belongs to one process (its node's frozen state, what its application may still ask for, its timers,
what it has saved) is interned: equal ones are one number. So is a message together with its sender and receiver, as a
packet. A step of a process depends on its own state and the event alone. So it is computed once, with the real node
class in its shell (`congenial.kernel.shell`), and looked up from then on. Exploring is then a matter of integers,
however large the node's state.

A state: header, process 0, ..., process n-1, packet, packet, ...; the packets sorted, or in FIFO order channel by
channel. The header is what belongs to no process, interned: the faults that may still happen, the last entry's fence
and group, and the ledger of operations (under weak exclusion).
"""

from __future__ import annotations

from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i64

from congenial.checker.events import (
    ARGUMENT,
    ASK,
    CRASH,
    CRASHES,
    DELIVER,
    DUPLICATES,
    EVENT_BITS,
    ISSUE,
    LEAVE,
    LOSE,
    LOSSES,
    MOST_FAULTS,
    RECOVER,
    SUSPECT,
    SUSPICIONS,
    TIMER,
    TRUST,
)
from congenial.checker.fingerprints import HEADERS, MASK, PACKETS, STATES, mark
from congenial.checker.frontier import State
from congenial.checker.process_state import ProcessState, Step
from congenial.checker.rules import Rules
from congenial.checker.step_table import COUNT_BITS, MOST_CHOICES, StepTable
from congenial.kernel.effects import EVERYONE, Answer, Effect, Eject, Enter, Execute, Restore, Send
from congenial.kernel.errors import ConfigError, ContractError, IllegalStep, SafetyViolation
from congenial.kernel.judge import Ledger, fence_fault, request_fault
from congenial.kernel.message import Message
from congenial.kernel.node import IDLE, INSIDE, Node
from congenial.kernel.out import Outbox
from congenial.kernel.problem import NO_GROUP, Groups
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
from congenial.kernel.state import durable_state, node_from, state_of
from congenial.systems.system import System

MOST_STATES: Final = 1 << 30
MOST_PROCESSES: Final = 255


@final
class World:
    def __init__(self, system: System, rules: Rules) -> None:
        n = system.n
        if n > MOST_PROCESSES:
            raise ConfigError(f"at most {MOST_PROCESSES} processes can be explored, not {n}; use fuzz")
        if max(rules.crashes, rules.losses, rules.duplicates, rules.suspicions) > MOST_FAULTS:
            raise ConfigError(f"a budget of faults must be at most {MOST_FAULTS}")
        self.system = system
        self.rules = rules
        self.n: i64 = n
        self.fifo = rules.fifo
        self.operations = rules.operations
        self.count_hops = rules.count_hops
        self.menus = rules.menus_for(n)
        self.fenced = system.spec.fences
        self.detects = system.algorithm.on_suspect is not Node.on_suspect
        self.believes = system.node(0).has_beliefs()
        # processes' states
        self.states: list[ProcessState] = []
        self.owners = vec[i64]()
        self.phases = vec[i64]()
        self.groups = vec[i64]()
        self.eras = vec[i64]()
        self.ups = vec[i64]()
        self.pendings = vec[i64]()
        self.state_marks = vec[i64]()
        self.beliefs = vec[i64]()  # their numbers
        self.own_firsts = vec[i64]([i64(0)])  # where a state's own events begin among `own`; one more than states
        self.own = vec[i64]()
        self._state_ids: dict[object, int] = {}
        self._belief_ids: dict[object, int] = {None: 0}
        self._beliefs: list[object] = [None]
        self._contradictions: dict[int, str] = {}
        # packets
        self.messages: list[Message] = []
        self.sources = vec[i64]()
        self.destinations = vec[i64]()
        self.order_keys = vec[i64]()  # packets under way are kept sorted by it
        self.hops = vec[i64]()
        self.packet_marks = vec[i64]()
        self._packet_ids: dict[object, int] = {}
        # headers, and the ledgers in them
        self.budgets = vec[i64]()
        self.fences: list[int] = []
        self.fence_groups: list[int] = []
        self.ledger_numbers = vec[i64]()
        self.header_marks = vec[i64]()
        self._header_ids: dict[object, int] = {}
        self.ledgers: list[Ledger] = []
        self._ledger_ids: dict[object, int] = {}
        self._booked: dict[int, tuple[int, str]] = {}
        # steps
        self.table = StepTable()
        self.budget: i64 = (
            rules.crashes << CRASHES
            | rules.losses << LOSSES
            | rules.duplicates << DUPLICATES
            | rules.suspicions << SUSPICIONS
        )

    def initial(self) -> State:
        words: list[i64] = [self.intern_header(self.budget, 0, 0, self.intern_ledger(Ledger(int(self.n))))]
        for process in range(self.n):
            node = self.system.node(process)
            state = ProcessState(state_of(node), durable_state(node))
            if self.rules.askers is None or process in self.rules.askers:
                state.left = self.rules.requests
            words.append(self.intern_state(process, state))
        return vec[i64](words)

    # -- interning -------------------------------------------------------------------------------------

    def intern_header(self, budget: i64, fence: int, group: int, ledger: i64) -> i64:
        key = (budget, fence, group, ledger)
        known = self._header_ids.get(key)
        if known is None:
            known = self._header_ids[key] = len(self.fences)
            self.budgets = append(self.budgets, budget)
            self.fences.append(fence)
            self.fence_groups.append(group)
            self.ledger_numbers = append(self.ledger_numbers, ledger)
            self.header_marks = append(self.header_marks, mark(HEADERS, known))
        return known

    def intern_ledger(self, ledger: Ledger) -> int:
        key = ledger.key()
        known = self._ledger_ids.get(key)
        if known is None:
            known = self._ledger_ids[key] = len(self.ledgers)
            self.ledgers.append(ledger)
        return known

    def intern_state(self, owner: int, state: ProcessState) -> i64:
        key = (owner, state.key())
        known = self._state_ids.get(key)
        if known is not None:
            return known
        number: i64 = len(self.states)
        if number == MOST_STATES:
            raise ConfigError("too many different states of single processes; ask for fewer processes or requests")
        self._state_ids[key] = number
        self.states.append(state)
        self.owners = append(self.owners, i64(owner))
        self.phases = append(self.phases, i64(state.phase))
        self.groups = append(self.groups, i64(state.group))
        self.eras = append(self.eras, i64(state.era))
        self.ups = append(self.ups, i64(0 if state.node is None else 1))
        self.pendings = append(self.pendings, i64(1 if state.pending else 0))
        self.state_marks = append(self.state_marks, mark(STATES, int(number)))
        self.beliefs = append(self.beliefs, i64(self._belief_of(state)))
        for event in self._events_of(owner, state):
            self.own = append(self.own, event)
        self.own_firsts = append(self.own_firsts, i64(len(self.own)))
        return number

    def _belief_of(self, state: ProcessState) -> int:
        if not self.believes or state.node is None:
            return 0
        belief = node_from(state.node).belief()
        known = self._belief_ids.get(belief)
        if known is None:
            known = self._belief_ids[belief] = len(self._beliefs)
            self._beliefs.append(belief)
        return known

    def contradiction(self, one: i64, other: i64) -> str:
        """What is wrong if processes are in these two states, by what they believe."""
        first, second = self.beliefs[one], self.beliefs[other]
        key: int = first << 32 | second
        known = self._contradictions.get(key)
        if known is None:
            known = ""
            if first and second:
                known = self.system.node(0).contradiction(self._beliefs[first], self._beliefs[second])
            self._contradictions[key] = known
        return known

    def own_events(self, local: i64) -> list[i64]:
        """What a process in a state can do by itself."""
        return [self.own[position] for position in range(self.own_firsts[local], self.own_firsts[local + 1])]

    def _events_of(self, owner: int, state: ProcessState) -> list[i64]:
        """What a process can do by itself. Messages, crashes and false suspicions come from outside."""
        if state.node is None:
            return [RECOVER] if self.rules.recovery else []
        events: list[i64] = []
        phase = state.phase
        if phase == IDLE and state.left > 0:
            if self.rules.in_turn:
                events.append(ASK | i64(self.rules.requests - state.left))
            else:
                for index in range(len(self.menus[owner])):
                    events.append(ASK | i64(index))
        if phase == INSIDE and self.rules.leaving and not state.pending:
            events.append(LEAVE)
            if state.more > 0:
                events.append(ISSUE)
        for timer in state.timers:
            events.append(TIMER | i64(timer))
        return events

    def intern_packet(self, src: i64, dst: i64, msg: Message, hops: int = 0) -> i64:
        key = (src, dst, msg, hops)
        known = self._packet_ids.get(key)
        if known is not None:
            return known
        number: i64 = len(self.messages)
        if number == ARGUMENT:
            raise ConfigError("too many different messages to keep apart; ask for fewer processes or requests")
        self._packet_ids[key] = number
        self.messages.append(msg)
        self.sources = append(self.sources, src)
        self.destinations = append(self.destinations, dst)
        self.hops = append(self.hops, i64(hops))
        self.packet_marks = append(self.packet_marks, mark(PACKETS, int(number)))
        self.order_keys = append(self.order_keys, src * self.n + dst if self.fifo else number)
        return number

    # -- steps -----------------------------------------------------------------------------------------

    def steps(self, before: i64, event: i64) -> list[Step]:
        """What a process in a state can do on an event: one step, or one for each way to choose in it."""
        found = self.numbers(before, event)
        first = found >> COUNT_BITS
        return self.table.steps[first : first + (found & MOST_CHOICES)]

    def numbers(self, before: i64, event: i64) -> i64:
        """The number of the first of these steps << COUNT_BITS | how many there are."""
        known = self.table.find(before, event)
        return self._try_all(before, event) if known < 0 else known

    def _try_all(self, before: i64, event: i64) -> i64:
        """Compute the steps for all ways to choose."""
        first: i64 = len(self.table.steps)
        count: i64 = 0
        untried: list[tuple[int, ...]] = [()]
        while untried:
            choices = untried.pop()
            out = Outbox(choices)
            step = self._compute(before, event, out)
            zeros = [0] * (len(out.asked) - len(choices))  # answers to the choices that we had not made
            step.choices = (*choices, *zeros)
            self.table.add(step, self._change(before, step))
            count += 1
            for turn in range(len(choices), len(out.asked)):
                for option in range(1, out.asked[turn]):
                    untried.append((*step.choices[:turn], option))
        if count > MOST_CHOICES:
            raise ConfigError(f"a process has {count} ways to choose in one step; at most {MOST_CHOICES} can be tried")
        return self.table.put(before, event, first, count)

    def _change(self, before: i64, step: Step) -> i64:
        """How a step changes fingerprints. What it does to FIFO channels depends on what is in them."""
        change = self.state_marks[step.after] - self.state_marks[before]
        if not self.fifo:
            for packet in step.packets:
                change += self.packet_marks[packet]
        return change & MASK

    def known_steps(self) -> list[tuple[int, list[Step]]]:
        """All steps computed so far, by state << EVENT_BITS | event."""
        bits: i64 = (1 << EVENT_BITS) - 1
        return [(int(key), self.steps(key >> EVENT_BITS, key & bits)) for key in self.table.known]

    def _compute(self, before: i64, event: i64, out: Outbox) -> Step:
        """Take the step with a real node, and note what it did."""
        state = self.states[before]
        owner: int = self.owners[before]
        kind = event & ~ARGUMENT
        argument = event & ARGUMENT
        step = Step(before)
        step.hops = max(state.hops, self.hops[argument]) if kind == DELIVER else state.hops
        if kind == LOSE:
            return step
        if kind == CRASH:
            down = ProcessState(None, state.saved)
            down.left = state.left
            down.issued = state.issued
            step.after = self.intern_state(owner, down)
            return step
        process = self._process(owner, state)
        wants = state.wants
        if kind == ASK:
            wants = self.menus[owner][argument]
        elif kind == ISSUE:
            step.issued = state.issued + 1
            step.section = state.fence
        try:
            effects = process.step(self._event(process, kind, argument), out)
        except SafetyViolation as violation:
            step.error = str(violation)
            return step
        except IllegalStep as illegal:  # a name of its own: mypyc gives a name one type in the whole function
            step.error = str(illegal)
            step.is_illegal = True
            return step
        try:
            self._note(step, owner, wants, state.pending or kind == ISSUE, process.issued, effects)
            if not step.error:
                step.after = self.intern_state(owner, self._state_after(state, kind, step, process))
        except (ContractError, TypeError) as unfit:  # state that is no plain data, or a message with a list in a field
            step.error = f"process {owner}: {unfit}"
            step.is_illegal = True
        return step

    def _process(self, owner: int, state: ProcessState) -> Process:
        """The process's shell, in a state."""
        if state.node is None:
            process = Process(self.system.node(owner), self.system.problem, state.saved)
            process.issued = state.issued
            process.restart(process.node)
        else:
            process = Process(node_from(state.node), self.system.problem, state.saved)
        process.wants = state.wants
        process.group = state.group
        process.timers = list(state.timers)
        process.suspects = list(state.suspects)
        process.issued = state.issued
        process.pending = state.pending
        return process

    def _event(self, process: Process, kind: i64, argument: i64) -> ProcessEvent:
        if kind == DELIVER:
            return Received(self.sources[argument], self.messages[argument])
        if kind == ASK:
            return Asked(self.menus[process.node.me][argument])
        if kind == LEAVE:
            return Left()
        if kind == ISSUE:
            return Issued(self.system.operation(process.node.me, process.issued + 1))
        if kind == TIMER:
            return TimedOut(argument)
        if kind == SUSPECT:
            return Suspected(argument)
        if kind == TRUST:
            return Trusted(argument)
        return Recovered()

    def _note(self, step: Step, owner: int, wants: Groups, pending: bool, issued: int, effects: list[Effect]) -> None:
        """Note what a step did, for the explorer. `pending`: the process waits for its operation `issued`."""
        for effect in effects:
            if isinstance(effect, Send):
                self._send(step, owner, effect.dst, effect.msg)
            elif isinstance(effect, Enter):
                step.entered = True
                step.group = effect.group if self.system.problem.groups else wants[0]
                step.fence = effect.fence
                step.error = request_fault(owner, wants, step.group) or fence_fault(owner, step.fence, self.fenced)
                if step.error:
                    return
            elif isinstance(effect, (Execute, Restore)):
                step.booked.append(effect)
            elif isinstance(effect, Answer):
                step.booked.append(effect)
                pending = False
            elif isinstance(effect, Eject) and pending:
                step.booked.append(effect)
                step.failed = issued
                pending = False

    def _send(self, step: Step, owner: int, dst: int, msg: Message) -> None:
        hops = step.hops + 1 if self.count_hops else 0
        if dst != EVERYONE:
            step.packets.append(self.intern_packet(owner, dst, msg, hops))
            return
        for receiver in range(self.n):
            if receiver != owner:
                step.packets.append(self.intern_packet(owner, receiver, msg, hops))

    def _state_after(self, before: ProcessState, kind: i64, step: Step, process: Process) -> ProcessState:
        after = ProcessState(state_of(process.node), process.saved)
        after.wants = process.wants
        after.group = process.group
        after.timers = tuple(process.timers)
        after.suspects = tuple(process.suspects)
        after.left = before.left - 1 if kind == ASK else before.left
        after.hops = step.hops
        after.issued = process.issued
        after.pending = process.pending
        if process.group == NO_GROUP:
            return after
        after.era = self.system.problem.era(step.fence) if step.entered else before.era
        if self.operations:
            after.fence = step.fence if step.entered else before.fence
            more = self.operations if step.entered else before.more
            after.more = more - 1 if kind == ISSUE else more
        return after

    # -- operations ------------------------------------------------------------------------------------

    def book(self, number: i64, step: i64) -> tuple[int, str]:
        """The ledger after the step with a number, and what is wrong with the step by it, if anything."""
        key: int = number << 32 | step
        known = self._booked.get(key)
        if known is None:
            known = self._booked[key] = self._book(number, self.table.steps[step])
        return known

    def _book(self, number: i64, step: Step) -> tuple[int, str]:
        if not step.issued and not step.booked:
            return number, ""
        process: int = self.owners[step.after]
        ledger = self.ledgers[number].copy()
        try:
            if step.issued:
                ledger.issue(process, step.issued, step.section)
            for effect in step.booked:
                if isinstance(effect, Execute):
                    ledger.execute(process, (effect.issuer, effect.number), effect.result)
                elif isinstance(effect, Restore):
                    ledger.restore(process, effect.count)
                elif isinstance(effect, Answer):
                    ledger.answer(process, effect.number, effect.result)
                else:
                    ledger.fail(process, step.failed)
        except SafetyViolation as error:
            return number, str(error)
        return self.intern_ledger(ledger), ""
