"""The stepper: a system of real nodes advanced one step at a time.

The caller chooses the steps: the fuzzer at random, a replay as a trace says, the shrinker by leaving some out. What
happens is told as trace events, and judged. What must not happen raises. Whether the history as a whole is one of weak
exclusion, `history_fault` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from mypy_extensions import i64

from congenial.kernel.effects import EVERYONE, Answer, Effect, Eject, Enter, Execute, Rest, Restore, Send
from congenial.kernel.errors import ContractError, IllegalStep, SafetyViolation
from congenial.kernel.judge import Judge
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Outbox
from congenial.kernel.problem import Groups
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
from congenial.kernel.trace import (
    ANSWER,
    CRASH,
    DELIVER,
    DROP,
    EJECT,
    ENTER,
    EXECUTE,
    EXIT,
    ISSUE,
    RECOVER,
    REQUEST,
    REST,
    RESTORE,
    SEND,
    SUSPECT,
    TIMER,
    TRUST,
    Event,
    message_event,
)
from congenial.problems.weak_history import History
from congenial.systems.system import System


@dataclass(frozen=True)
class Action:
    """A step of a run, taken by process `node`. `event` is one of the trace's: request, exit, issue, deliver, drop,
    timer, crash, recover, suspect, trust. `id` names a message under way by the number of its sending; with `again` it
    stays under way.

    >>> found = check("suzuki-kasami", nodes=2, requests=1, losses=1).counterexample
    >>> [(action.event, action.node) for action in found.actions]
    [('request', 1), ('drop', 0)]
    """

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


@final
class Stepper:
    """`fifo`: channels keep the order of messages."""

    def __init__(self, system: System, fifo: bool) -> None:
        n = system.n
        self.system = system
        self.n: i64 = n
        self.fifo = fifo
        self.processes: list[Process] = [Process(node, system.problem) for node in system.nodes()]
        self.judge = Judge(system.problem, n, system.spec.fences)
        self.believes = self.processes[0].node.has_beliefs()
        self.packets: list[Packet] = []  # under way, in the order of sending
        self.events: list[Event] = []
        self.sent_count: i64 = 0
        self.entries = 0
        self.chooses = False  # has any step made a choice?
        self.step_count = 0
        self.history = History()
        self.judged_events = 0  # that the history has

    # -- what can be done ------------------------------------------------------------------------------

    @property
    def nodes(self) -> list[Node]:
        return [process.node for process in self.processes]

    def deliverable(self) -> list[Packet]:
        """The messages that may arrive next: all, or on FIFO channels the first of each."""
        packets = [packet for packet in self.packets if self.processes[packet.dst].up]
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
        """The processes that are inside, superseded ones included."""
        return [process for process in range(self.n) if self.judge.holds[process] >= 0]

    def missing(self) -> str:
        """For a run in which nothing more can happen: which operation a replica that was never lost has not executed,
        although a majority is up and known to be. Empty if there is none."""
        lost = {event.node for event in self.events if event.event == CRASH}
        whole = [process for process in range(self.n) if process not in lost]
        down = [process for process in range(self.n) if not self.processes[process].up]
        informed = all([sorted(self.processes[process].suspects) == down for process in whole])
        return self.judge.ledger.missing(whole) if informed and 2 * len(whole) > self.n else ""

    def history_fault(self) -> str:
        """With weak exclusion: what is wrong with the history so far, or nothing. To be asked after each step."""
        if not self.system.problem.operations:
            return ""
        for index in range(self.judged_events, len(self.events)):
            self.history.add(self.events[index])
        self.judged_events = len(self.events)
        return self.history.fault()

    # -- doing it --------------------------------------------------------------------------------------

    def take(self, action: Action) -> None:
        """Take a step; raise `SafetyViolation` or `IllegalStep` if it goes wrong, and `ContractError` if it cannot be
        taken now: then nothing has changed."""
        self.step_count += 1
        process = self.processes[action.node]
        if action.event == DROP:
            packet = self._packet(action)
            self.packets.remove(packet)
            self._tell(self._delivery(action, packet))
        elif action.event == CRASH:
            if not process.up:
                raise ContractError(f"process {action.node} is down already")
            process.crash()
            self.judge.crash(action.node)
            self._tell(Event(self.step_count, CRASH, action.node))
        elif action.event == RECOVER:
            if process.up:
                raise ContractError(f"process {action.node} is up already")
            process.restart(self.system.node(action.node))
            self._step(action, Recovered(), Event(self.step_count, RECOVER, action.node, choices=action.choices))
        elif action.event == DELIVER:
            packet = self._packet(action)
            self._step(action, Received(packet.src, packet.msg), self._delivery(action, packet))
            if not action.again:
                self.packets.remove(packet)
        elif action.event == ISSUE:
            number = process.issued + 1
            operation = self.system.operation(action.node, number)
            told = Event(self.step_count, ISSUE, action.node, id=number, operation=operation, choices=action.choices)
            self._step(action, Issued(operation), told)
        else:
            told = Event(
                self.step_count,
                action.event,
                action.node,
                action.peer,
                timer=action.timer,
                groups=action.groups,
                choices=action.choices,
            )
            self._step(action, process_event(action), told)

    def _step(self, action: Action, event: ProcessEvent, told: Event) -> None:
        """Let an event happen to a process, and its effects appear, in order."""
        out = Outbox(action.choices)
        try:
            effects = self.processes[action.node].step(event, out)
        except (IllegalStep, SafetyViolation):
            self._tell(told)
            raise
        self._tell(told)
        self.chooses = self.chooses or len(out.asked) > 0
        if action.event == REQUEST:
            self.judge.ask(action.node, action.groups)
        elif action.event == EXIT:
            self.judge.leave(action.node)
        elif action.event == ISSUE:
            self.judge.issue(action.node)
        for effect in effects:
            self._carry_out(action.node, effect)
        if self.believes:
            self._compare(action.node)

    def _compare(self, process: int) -> None:
        """What a process believes must not contradict what others believe."""
        node = self.processes[process].node
        belief = node.belief()
        for other in self.processes:
            if other.up and other.node is not node:
                wrong = node.contradiction(belief, other.node.belief())
                if wrong:
                    raise SafetyViolation(f"processes {process} and {other.node.me}: {wrong}")

    def _carry_out(self, process: int, effect: Effect) -> None:
        if isinstance(effect, Send):
            self._send(process, effect.dst, effect.msg)
        elif isinstance(effect, Enter):
            self._tell(Event(self.step_count, ENTER, process, group=effect.group, fence=effect.fence))
            self.judge.enter(process, effect.group, effect.fence)
            self.entries += 1
        elif isinstance(effect, Eject):
            self._tell(Event(self.step_count, EJECT, process))
            self.judge.eject(process)
        elif isinstance(effect, Execute):
            self._tell_execution(process, effect)
            self.judge.execute(process, effect.issuer, effect.number, effect.result)
        elif isinstance(effect, Answer):
            self._tell(Event(self.step_count, ANSWER, process, id=effect.number, result=effect.result))
            self.judge.answer(process, effect.number, effect.result)
        elif isinstance(effect, Restore):
            self._tell(Event(self.step_count, RESTORE, process, id=effect.count))
            self.judge.restore(process, effect.count)
        elif isinstance(effect, Rest):
            self._tell(Event(self.step_count, REST, process))

    def _send(self, src: int, dst: int, msg: Message) -> None:
        self.sent_count += 1
        self._tell(message_event(self.step_count, SEND, src, dst, self.sent_count, msg))
        for receiver in range(self.n) if dst == EVERYONE else [dst]:
            if receiver != src:
                self.packets.append(Packet(self.sent_count, src, receiver, msg))

    def _packet(self, action: Action) -> Packet:
        for packet in self.packets:
            if packet.number == action.id and packet.dst == action.node:
                return packet
        raise ContractError(f"no message {action.id} to process {action.node} is under way")

    # -- telling ---------------------------------------------------------------------------------------

    def _tell(self, event: Event) -> None:
        self.events.append(event)

    def _tell_execution(self, process: int, effect: Execute) -> None:
        self._tell(
            Event(
                self.step_count,
                EXECUTE,
                process,
                effect.issuer,
                effect.number,
                operation=effect.operation,
                result=effect.result,
            )
        )

    def _delivery(self, action: Action, packet: Packet) -> Event:
        """The delivery or the loss of a message."""
        return message_event(
            self.step_count, action.event, action.node, packet.src, packet.number, packet.msg, action.choices
        )


def process_event(action: Action) -> ProcessEvent:
    """What an action is to a process, where the action alone says it."""
    if action.event == REQUEST:
        return Asked(action.groups)
    if action.event == EXIT:
        return Left()
    if action.event == TIMER:
        return TimedOut(action.timer)
    if action.event == SUSPECT:
        return Suspected(action.peer)
    if action.event == TRUST:
        return Trusted(action.peer)
    raise ContractError(f"{action.event} is no step")
