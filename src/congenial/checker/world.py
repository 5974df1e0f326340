"""The world as the explorer sees it: a state is a short tuple of integers.

Everything that belongs to one process (its node's frozen state, what its application may still ask for, its timers,
what it has saved) is interned: equal ones are one number. So is a message together with its sender and receiver, as a
packet. A step of a process depends on its own state and the event alone. So it is computed once, with the real node
class in its shell (`congenial.kernel.shell`), and looked up from then on. Exploring is then a matter of integers,
however large the node's state.

A state: (budgets, last fence, its group, ledger, process 0, ..., process n-1, packet, packet, ...), the packets sorted,
or in FIFO order channel by channel. The ledger (of operations, under weak exclusion) is interned, too.
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
    LOSSES,
    MOST_FAULTS,
    RECOVER,
    SUSPECT,
    SUSPICIONS,
    TIMER,
    TRUST,
)
from congenial.checker.process_state import ProcessState, Step
from congenial.checker.rules import Rules
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
        # processes' states
        self.states: list[ProcessState] = []
        self.owners = vec[i64]()
        self.phases = vec[i64]()
        self.groups = vec[i64]()
        self.eras = vec[i64]()
        self.ups = vec[i64]()
        self.pendings = vec[i64]()
        self.own_events: list[list[i64]] = []
        self._state_ids: dict[object, int] = {}
        # packets
        self.messages: list[Message] = []
        self.sources = vec[i64]()
        self.destinations = vec[i64]()
        self.order_keys = vec[i64]()  # packets under way are kept sorted by it
        self.hops = vec[i64]()
        self._packet_ids: dict[object, int] = {}
        # ledgers
        self.ledgers: list[Ledger] = []
        self._ledger_ids: dict[object, int] = {}
        # steps
        self._steps: dict[int, list[Step]] = {}
        self.budget: i64 = (
            rules.crashes << CRASHES
            | rules.losses << LOSSES
            | rules.duplicates << DUPLICATES
            | rules.suspicions << SUSPICIONS
        )

    def initial(self) -> tuple[int, ...]:
        processes: list[int] = []
        for process in range(self.n):
            node = self.system.node(process)
            state = ProcessState(state_of(node), durable_state(node))
            if self.rules.askers is None or process in self.rules.askers:
                state.left = self.rules.requests
            processes.append(self.intern_state(process, state))
        return (self.budget, 0, 0, self.intern_ledger(Ledger(self.n)), *processes)

    # -- interning -------------------------------------------------------------------------------------

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
        self.own_events.append(self._events_of(owner, state))
        return number

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
        self.order_keys = append(self.order_keys, src * self.n + dst if self.fifo else number)
        return number

    # -- steps -----------------------------------------------------------------------------------------

    def steps(self, before: i64, event: i64) -> list[Step]:
        """What a process in a state can do on an event: one step, or one for each way to choose in it."""
        key: int = before << EVENT_BITS | event
        known = self._steps.get(key)
        if known is not None:
            return known
        found: list[Step] = []
        untried: list[tuple[int, ...]] = [()]
        while untried:
            choices = untried.pop()
            out = Outbox(choices)
            step = self._compute(before, event, out)
            zeros = [0] * (len(out.asked) - len(choices))  # answers to the choices that we had not made
            step.choices = (*choices, *zeros)
            found.append(step)
            for turn in range(len(choices), len(out.asked)):
                for option in range(1, out.asked[turn]):
                    untried.append((*step.choices[:turn], option))
        self._steps[key] = found
        return found

    def known_steps(self) -> list[tuple[int, list[Step]]]:
        """All steps computed so far, by state << EVENT_BITS | event."""
        return list(self._steps.items())

    def _compute(self, before: i64, event: i64, out: Outbox) -> Step:
        """Take the step with a real node, and note what it did."""
        state = self.states[before]
        owner: int = self.owners[before]
        kind = event & ~ARGUMENT
        argument = event & ARGUMENT
        step = Step(before)
        step.hops = max(state.hops, self.hops[argument]) if kind == DELIVER else state.hops
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

    def book(self, number: i64, process: i64, step: Step) -> tuple[int, str]:
        """The ledger after a step, and what is wrong with the step by it, if anything."""
        if not step.issued and not step.booked:
            return number, ""
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
