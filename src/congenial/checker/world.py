"""The world as the explorer sees it: a state is a short tuple of integers.

Everything that belongs to one process (its node's frozen state, what its application may still ask for, its timers,
what it has saved) is interned: equal ones are one number. So is a message together with its sender and receiver, as a
packet. A step of a process depends on its own state and the event alone, so it is computed once, with the real node
class, and looked up ever after. Exploring is then a matter of integers, however large the node's state.

A state: (budgets, last fence, its group, ledger, process 0, ..., process n-1, packet, packet, ...), the packets sorted,
or in FIFO order channel by channel. The ledger (of operations, under weak exclusion) is interned, too.
"""

from __future__ import annotations

from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i64

from congenial.kernel.effects import EVERYONE
from congenial.kernel.errors import ConfigError, SafetyViolation
from congenial.kernel.judge import Ledger
from congenial.kernel.message import Message
from congenial.kernel.node import IDLE, INSIDE, PHASES, WAITING, Node
from congenial.kernel.out import Outbox
from congenial.kernel.problem import Groups
from congenial.kernel.state import durable_state, freeze, node_from, restore_durable
from congenial.systems.system import System

# an event is kind | argument; the argument of a delivery is the packet
KIND: Final = 28
ARGUMENT: Final = (1 << KIND) - 1
EVENT_BITS: Final = 32  # of a whole event
DELIVER: Final = 0 << KIND
ASK: Final = 1 << KIND  # index into the process's menu
LEAVE: Final = 2 << KIND
TIMER: Final = 3 << KIND  # number of the timer
SUSPECT: Final = 4 << KIND  # peer
TRUST: Final = 5 << KIND  # peer
RECOVER: Final = 6 << KIND
CRASH: Final = 7 << KIND
LOSE: Final = 8 << KIND  # packet
REPEAT: Final = 9 << KIND  # packet: delivered, and still under way
ISSUE: Final = 10 << KIND  # an operation

# budgets of faults, packed into one number
CRASHES: Final = 0
LOSSES: Final = 8
DUPLICATES: Final = 16
SUSPICIONS: Final = 24

MOST_STATES: Final = 1 << 30
MOST_PROCESSES: Final = 255

HEADER: Final = 4  # budgets, the last entry's fence and group, the ledger
LEDGER: Final = 3


@final
class Bounds:
    """How far the exploration goes."""

    def __init__(
        self,
        requests: int = 2,
        menus: list[list[Groups]] | None = None,
        fifo: bool = False,
        crashes: int = 0,
        losses: int = 0,
        duplicates: int = 0,
        suspicions: int = 0,
        patient: bool = False,
        quiet: bool = False,
        recovery: bool = True,
        vanishing: bool = False,
        leaving: bool = True,
        askers: list[int] | None = None,
        count_hops: bool = False,
        in_turn: bool = False,
        victim: int = -1,
        operations: int = 0,
    ) -> None:
        self.requests = requests  # of each process
        self.menus = menus  # what each process may ask for, each time
        self.fifo = fifo
        self.crashes = crashes
        self.losses = losses
        self.duplicates = duplicates
        self.suspicions = suspicions  # false ones; crashes are always suspected in the end
        self.patient = patient  # timers run out only when nothing else can happen, but for a recovery
        self.quiet = quiet  # timers run out only when no message is under way; somebody may be inside
        self.recovery = recovery  # who has crashed comes back in the end, or never
        self.vanishing = vanishing  # what a process sent before it crashed may get lost, while it is down
        self.leaving = leaving  # may processes leave?
        self.askers = askers  # who asks; None: everybody
        self.in_turn = in_turn  # a process's k-th request is the k-th of its menu, not any of them
        self.victim = victim  # the only process that faults may strike; -1: any
        self.operations = operations  # that may be issued in each stay
        self.count_hops = count_hops  # keep apart what took more messages, one after the other, to come about

    def copy(self) -> Bounds:
        return Bounds(
            self.requests,
            self.menus,
            self.fifo,
            self.crashes,
            self.losses,
            self.duplicates,
            self.suspicions,
            self.patient,
            self.quiet,
            self.recovery,
            self.vanishing,
            self.leaving,
            self.askers,
            self.count_hops,
            self.in_turn,
            self.victim,
            self.operations,
        )


@final
class ProcessState:
    """All there is to know about one process. `node` is None while it is down."""

    def __init__(
        self,
        node: object,
        left: int,
        wants: Groups,
        group: int,
        timers: tuple[int, ...],
        saved: object,
        suspects: tuple[int, ...],
        hops: int = 0,
        era: int = 0,
        issued: int = 0,
        more: int = 0,
        pending: bool = False,
        fence: int = 0,
    ) -> None:
        self.node = node
        self.left = left  # requests the application may still make
        self.wants = wants  # what it waits for
        self.group = group  # what it is inside for, or -1
        self.timers = timers
        self.saved = saved
        self.suspects = suspects
        self.hops = hops  # the longest chain of messages that led to it, if they are counted
        self.era = era  # in which it entered, if it is inside
        # where there are operations
        self.issued = issued  # so far
        self.more = more  # that it may still issue in this stay
        self.pending = pending  # does it wait for the outcome of the last one?
        self.fence = fence  # with which it entered

    def key(self) -> object:
        rest = (self.timers, self.saved, self.suspects, self.hops, self.era)
        operations = (self.issued, self.more, self.pending, self.fence)
        return (self.node, self.left, self.wants, self.group, *rest, *operations)


@final
class Step:
    """What a process does on an event."""

    def __init__(self, after: i64, choices: tuple[int, ...]) -> None:
        self.after = after  # the process's state afterwards
        self.choices = choices
        self.packets: list[i64] = []
        self.entered = False
        self.group = -1
        self.fence = 0
        self.hops = 0
        self.left = False
        self.issued = 0  # the number of the operation that was issued,
        self.section = 0  # and the fence of its section
        self.executed: list[tuple[int, int, object]] = []  # issuer, number, result
        self.answered: tuple[int, object] | None = None
        self.failed = 0  # the number of the operation that has failed
        self.error = ""
        self.unasked = ""  # an entry that was not asked for


@final
class World:
    def __init__(self, system: System, bounds: Bounds) -> None:
        n = system.n
        if n > MOST_PROCESSES:
            raise ConfigError(f"at most {MOST_PROCESSES} processes can be explored, not {n}; use congenial fuzz")
        self.system = system
        self.bounds = bounds
        self.n: i64 = n
        self.fifo = bounds.fifo
        self.menus: list[list[Groups]] = bounds.menus if bounds.menus is not None else [[(0,)]] * n
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
            bounds.crashes << CRASHES
            | bounds.losses << LOSSES
            | bounds.duplicates << DUPLICATES
            | bounds.suspicions << SUSPICIONS
        )
        if max(bounds.crashes, bounds.losses, bounds.duplicates, bounds.suspicions) > 255:
            raise ConfigError("a budget of faults must be below 256")

    def initial(self) -> tuple[int, ...]:
        processes: list[int] = []
        for process in range(self.n):
            node = self.system.node(process)
            asks = self.bounds.askers is None or process in self.bounds.askers
            left = self.bounds.requests if asks else 0
            saved = durable_state(node)
            processes.append(self.intern_state(process, ProcessState(freeze(node), left, (), -1, (), saved, ())))
        return (self.budget, 0, 0, self.intern_ledger(Ledger(self.n)), *processes)

    # -- interning -------------------------------------------------------------------------------------

    def intern_ledger(self, ledger: Ledger) -> int:
        key = ledger.key()
        known = self._ledger_ids.get(key)
        if known is None:
            known = self._ledger_ids[key] = len(self.ledgers)
            self.ledgers.append(ledger)
        return known

    def book(self, number: i64, process: i64, step: Step) -> tuple[int, str]:
        """The ledger after a step, and what is wrong with the step by it, if anything."""
        ledger = self.ledgers[number].copy()
        try:
            if step.issued:
                ledger.issue(process, step.issued, step.section)
            for issuer, place, result in step.executed:
                ledger.execute(process, (issuer, place), result)
            if step.answered is not None:
                ledger.answer(process, step.answered[0], step.answered[1])
            if step.failed:
                ledger.fail(process, step.failed)
        except SafetyViolation as error:
            return number, str(error)
        return self.intern_ledger(ledger), ""

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
        phase = WAITING if state.wants else INSIDE if state.group >= 0 else IDLE
        self.owners = append(self.owners, i64(owner))
        self.phases = append(self.phases, i64(phase))
        self.groups = append(self.groups, i64(state.group))
        self.eras = append(self.eras, i64(state.era))
        self.ups = append(self.ups, i64(0 if state.node is None else 1))
        self.pendings = append(self.pendings, i64(1 if state.pending else 0))
        self.own_events.append(self._events_of(owner, state, phase))
        return number

    def _events_of(self, owner: int, state: ProcessState, phase: int) -> list[i64]:
        """What a process can do by itself. Messages, crashes and false suspicions come from outside."""
        if state.node is None:
            return [RECOVER] if self.bounds.recovery else []
        events: list[i64] = []
        if phase == IDLE and state.left > 0:
            if self.bounds.in_turn:
                events.append(ASK | i64(self.bounds.requests - state.left))
            else:
                for index in range(len(self.menus[owner])):
                    events.append(ASK | i64(index))
        if phase == INSIDE and self.bounds.leaving and not state.pending:
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
        pending: list[tuple[int, ...]] = [()]
        while pending:
            choices = pending.pop()
            out = Outbox(choices)
            found.append(self._compute(before, event, out))
            for turn in range(len(choices), len(out.asked)):  # it asked for more choices than we made: 0 was answered
                zeros = [0] * (turn - len(choices))
                for option in range(1, out.asked[turn]):
                    pending.append((*choices, *zeros, option))
        self._steps[key] = found
        return found

    def known_steps(self) -> list[tuple[int, list[Step]]]:
        """All steps computed so far, by state << EVENT_BITS | event."""
        return list(self._steps.items())

    def _compute(self, before: i64, event: i64, out: Outbox) -> Step:
        state = self.states[before]
        owner = self.owners[before]
        kind = event & ~ARGUMENT
        argument = event & ARGUMENT
        left = state.left
        wants = state.wants
        group = state.group
        era = state.era
        issued = state.issued
        more = state.more
        pending = state.pending
        fence = state.fence
        timers = list(state.timers)
        suspects = list(state.suspects)
        step = Step(before, ())
        step.hops = max(state.hops, self.hops[argument]) if kind == DELIVER else state.hops
        if kind == CRASH:
            step.left = group >= 0
            step.after = self.intern_state(owner, ProcessState(None, left, (), -1, (), state.saved, (), issued=issued))
            return step
        if kind == RECOVER:
            node = self.system.node(owner)
            restore_durable(node, state.saved)
        else:
            node = node_from(state.node)
        if kind == ASK:
            wants = self.menus[owner][argument]
            left -= 1
        elif kind == LEAVE:
            group = -1
            step.left = True
        elif kind == ISSUE:
            issued += 1
            more -= 1
            pending = True
            step.issued = issued
            step.section = fence
        elif kind == TIMER:
            timers.remove(argument)
        elif kind == SUSPECT:
            suspects = sorted([*suspects, int(argument)])
        elif kind == TRUST:
            suspects.remove(argument)
        try:
            if kind == ISSUE:
                node.issue(self.system.operation(owner, issued), out)
            else:
                self._call(node, kind, argument, wants, out)
        except Exception as error:
            step.error = f"process {owner}: {type(error).__name__}: {error}"
            return step
        step.choices = tuple([out.choices[i] if i < len(out.choices) else 0 for i in range(len(out.asked))])
        for timer in out.timers_cancelled:
            if timer in timers:
                timers.remove(timer)
        for timer, _ in out.timers_set:
            if timer not in timers:
                timers.append(timer)
        step.executed = [(issuer, number, result) for issuer, number, _, result in out.executed]
        if out.answered is not None:
            step.answered = out.answered
            pending = False
        if out.ejected:
            group = -1
            step.left = True
            step.failed = issued if pending else 0
            pending = False
        if out.entered is not None:
            step.entered = True
            step.fence = out.entered[1]
            step.group = wants[0] if wants and not self.system.problem.groups else out.entered[0]
            if not wants:
                step.unasked = f"process {owner} enters without having asked"
            elif step.group not in wants:
                step.unasked = f"process {owner} enters group {step.group}, but asked for {list(wants)}"
            group = step.group
            wants = ()
            era = self.system.problem.era(step.fence)
            if self.bounds.operations:
                more = self.bounds.operations
                fence = step.fence
        expected = WAITING if wants else INSIDE if group >= 0 else IDLE
        if node.phase != expected:
            step.error = f"process {owner} is {PHASES[node.phase]} by its phase, but {PHASES[expected]} by what it did"
            return step
        for dst, msg in out.sent:
            if dst != EVERYONE and (not 0 <= dst < self.n or dst == owner):
                step.error = f"process {owner} sends {msg!r} to {dst}, which is no other process"
                return step
            for receiver in range(self.n) if dst == EVERYONE else [dst]:
                if receiver != owner:
                    hops = step.hops + 1 if self.bounds.count_hops else 0
                    step.packets.append(self.intern_packet(owner, receiver, msg, hops))
        saved = durable_state(node) if out.saved else state.saved
        after = ProcessState(
            freeze(node),
            left,
            wants,
            group,
            tuple(sorted(timers)),
            saved,
            tuple(suspects),
            step.hops,
            era if group >= 0 else 0,
            issued,
            more if group >= 0 else 0,
            pending,
            fence if group >= 0 else 0,
        )
        step.after = self.intern_state(owner, after)
        return step

    def _call(self, node: Node, kind: i64, argument: i64, wants: Groups, out: Outbox) -> None:
        if kind == DELIVER:
            node.receive(self.sources[argument], self.messages[argument], out)
        elif kind == ASK:
            node.request(wants, out)
        elif kind == LEAVE:
            node.release(out)
        elif kind == TIMER:
            node.on_timer(argument, out)
        elif kind == SUSPECT:
            node.on_suspect(argument, out)
        elif kind == TRUST:
            node.on_trust(argument, out)
        else:
            node.on_recover(out)
