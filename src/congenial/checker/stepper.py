"""The stepper: a system of real nodes advanced one step at a time, by whoever chooses the steps.

The fuzzer chooses at random, a replay as a trace says, the shrinker leaves steps out. What happened is told as trace
events; what must not happen raises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from mypy_extensions import i64

from congenial.kernel import trace as tr
from congenial.kernel.effects import EVERYONE
from congenial.kernel.errors import ContractError, IllegalStep
from congenial.kernel.judge import Judge
from congenial.kernel.message import Message
from congenial.kernel.node import INSIDE, Node
from congenial.kernel.out import Outbox
from congenial.kernel.problem import Groups
from congenial.kernel.state import durable_state, restore_durable
from congenial.kernel.trace import Event, message_event
from congenial.systems.system import System


@dataclass(frozen=True)
class Action:
    """A step that can be taken. `event` is one of the trace's: request, exit, issue, deliver, drop, timer, crash,
    recover, suspect, trust. `id` names a message under way by the number of its sending; with `again` it stays under
    way."""

    event: str
    node: int
    peer: int = -1
    id: int = -1
    timer: int = -1
    groups: Groups = ()
    again: bool = False
    choices: tuple[int, ...] = ()


@final
class Packet:
    """A message under way."""

    def __init__(self, number: i64, src: i64, dst: i64, msg: Message) -> None:
        self.number = number
        self.src = src
        self.dst = dst
        self.msg = msg


NOT_POSSIBLE: Final = "is not possible now"


@final
class Stepper:
    """`fifo`: channels keep the order of messages."""

    def __init__(self, system: System, fifo: bool) -> None:
        n = system.n
        self.system = system
        self.n: i64 = n
        self.fifo = fifo
        self.nodes: list[Node] = system.nodes()
        self.judge = Judge(system.problem, n)
        self.packets: list[Packet] = []  # under way, in the order of sending
        self.timers: list[list[int]] = [[] for _ in range(n)]  # those set, by process
        self.up: list[bool] = [True] * n
        self.suspects: list[set[int]] = [set() for _ in range(n)]
        self.saved: list[object] = [durable_state(node) for node in self.nodes]
        self.events: list[Event] = []
        self.sent_count: i64 = 0
        self.entries = 0
        self.chooses = False  # has any step made a choice?
        self.step_count = 0

    # -- what can be done ------------------------------------------------------------------------------

    def deliverable(self) -> list[Packet]:
        """The messages that may arrive next: all, or on FIFO channels the first of each."""
        packets = [packet for packet in self.packets if self.up[packet.dst]]
        if not self.fifo:
            return packets
        first: dict[int, Packet] = {}
        for packet in packets:
            first.setdefault(packet.src * self.n + packet.dst, packet)
        return list(first.values())

    def waiters(self) -> list[int]:
        """The processes that wait, to enter or for the outcome of an operation."""
        return self.judge.unserved()

    def holders(self) -> list[int]:
        return [process for process in range(self.n) if self.judge.holds[process] >= 0]

    # -- doing it --------------------------------------------------------------------------------------

    def take(self, action: Action) -> None:
        """Take a step; raise `SafetyViolation`, `IllegalStep`, or `ContractError` if there is no such step now."""
        self.step_count += 1
        process = action.node
        if action.event == tr.RECOVER:
            self._require(not self.up[process], action)
            self._recover(process)
            return
        if action.event == tr.DROP:
            packet = self._packet(action)
            self.packets.remove(packet)
            self._tell_message(tr.DROP, process, packet)
            return
        self._require(self.up[process], action)
        if action.event == tr.CRASH:
            self._crash(process)
        else:
            self._step(action)

    def _step(self, action: Action) -> None:
        process = action.node
        event = action.event
        node = self.nodes[process]
        out = Outbox(action.choices)
        packet: Packet | None = None
        if event == tr.REQUEST:
            self.judge.ask(process, action.groups)
            self._tell(Event(self.step_count, tr.REQUEST, process, groups=action.groups, choices=action.choices))
        elif event == tr.EXIT:
            self._require(self.judge.holds[process] >= 0 and not self.judge.pending[process], action)
            self.judge.leave(process)
            self._tell(Event(self.step_count, tr.EXIT, process, choices=action.choices))
        elif event == tr.ISSUE:
            self._require(self.judge.holds[process] >= 0 and not self.judge.pending[process], action)
            self._issue(process, action.choices)
        elif event == tr.DELIVER:
            packet = self._packet(action)
            if not action.again:
                self.packets.remove(packet)
            self._tell_message(tr.DELIVER, process, packet, action.choices)
        elif event == tr.TIMER:
            self._require(action.timer in self.timers[process], action)
            self.timers[process].remove(action.timer)
            self._tell(Event(self.step_count, tr.TIMER, process, timer=action.timer, choices=action.choices))
        elif event in (tr.SUSPECT, tr.TRUST):
            self._tell(Event(self.step_count, event, process, action.peer, choices=action.choices))
        else:
            raise ContractError(f"{event} is no step")
        try:
            if event == tr.REQUEST:
                node.request(action.groups, out)
            elif event == tr.EXIT:
                node.release(out)
            elif event == tr.ISSUE:
                node.issue(self.system.operation(process, self.judge.issued[process]), out)
            elif packet is not None:
                node.receive(packet.src, packet.msg, out)
            elif event == tr.TIMER:
                node.on_timer(action.timer, out)
            elif event == tr.SUSPECT:
                self.suspects[process].add(action.peer)
                node.on_suspect(action.peer, out)
            else:
                self.suspects[process].discard(action.peer)
                node.on_trust(action.peer, out)
        except Exception as error:
            raise IllegalStep(f"process {process}: {type(error).__name__}: {error}") from error
        self._act(process, out)

    def _issue(self, process: int, choices: tuple[int, ...]) -> None:
        number = self.judge.issue(process)
        operation = self.system.operation(process, number)
        self._tell(Event(self.step_count, tr.ISSUE, process, id=number, operation=operation, choices=choices))

    def _act(self, process: int, out: Outbox) -> None:
        """Let a step's effects appear: first what must be durable, then the rest in order."""
        self.chooses = self.chooses or len(out.asked) > 0
        if out.saved:
            self.saved[process] = durable_state(self.nodes[process])
        for timer in out.timers_cancelled:
            if timer in self.timers[process]:
                self.timers[process].remove(timer)
        for timer, _ in out.timers_set:
            if timer not in self.timers[process]:
                self.timers[process].append(timer)
                self.timers[process].sort()
        for dst, msg in out.sent:
            self._send(process, dst, msg)
        self._tell_operations(process, out)
        if out.ejected:
            self._tell(Event(self.step_count, tr.EJECT, process))
            self.judge.eject(process)
        if out.entered is not None:
            group, fence = out.entered
            self._tell(Event(self.step_count, tr.ENTER, process, group=group, fence=fence))
            self.judge.enter(process, group, fence)
            self.entries += 1
        if (self.nodes[process].phase == INSIDE) != (self.judge.holds[process] >= 0):
            raise IllegalStep(f"process {process} sets its phase by hand; use wait(), enter(), leave(), lose()")

    def _tell_operations(self, process: int, out: Outbox) -> None:
        for issuer, number, operation, result in out.executed:
            what = Event(self.step_count, tr.EXECUTE, process, issuer, number, operation=operation, result=result)
            self._tell(what)
            self.judge.execute(process, issuer, number, result)
        if out.answered is not None:
            number, result = out.answered
            self._tell(Event(self.step_count, tr.ANSWER, process, id=number, result=result))
            self.judge.answer(process, number, result)
        if out.rested:
            self._tell(Event(self.step_count, tr.REST, process))

    def _send(self, src: int, dst: int, msg: Message) -> None:
        if dst != EVERYONE and (not 0 <= dst < self.n or dst == src):
            raise IllegalStep(f"process {src} sends {msg!r} to {dst}, which is no other process")
        self.sent_count += 1
        self._tell(message_event(self.step_count, tr.SEND, src, dst, self.sent_count, msg))
        for receiver in range(self.n) if dst == EVERYONE else [dst]:
            if receiver != src:
                self.packets.append(Packet(self.sent_count, src, receiver, msg))

    def _crash(self, process: int) -> None:
        self.up[process] = False
        self.timers[process] = []
        self.suspects[process] = set()
        self.judge.crash(process)
        self._tell(Event(self.step_count, tr.CRASH, process))

    def _recover(self, process: int) -> None:
        node = self.system.node(process)
        restore_durable(node, self.saved[process])
        self.nodes[process] = node
        self.up[process] = True
        self._tell(Event(self.step_count, tr.RECOVER, process))
        out = Outbox()
        try:
            node.on_recover(out)
        except Exception as error:
            raise IllegalStep(f"process {process}: {type(error).__name__}: {error}") from error
        self._act(process, out)

    # -- telling ---------------------------------------------------------------------------------------

    def _tell(self, event: Event) -> None:
        self.events.append(event)

    def _tell_message(self, kind: str, process: int, packet: Packet, choices: tuple[int, ...] = ()) -> None:
        self._tell(message_event(self.step_count, kind, process, packet.src, packet.number, packet.msg, choices))

    def _packet(self, action: Action) -> Packet:
        for packet in self.packets:
            if packet.number == action.id and packet.dst == action.node:
                return packet
        raise ContractError(f"the delivery of message {action.id} to process {action.node} {NOT_POSSIBLE}")

    def _require(self, possible: bool, action: Action) -> None:
        if not possible:
            raise ContractError(f"{action.event} of process {action.node} {NOT_POSSIBLE}")
