"""The process shell: where an event at a process becomes a step, for the checker, replays and the network alike.

A `Process` is a node together with all that belongs to it besides its own state: what its application does, which
timers are set, what was saved, whom the failure detector suspects. `step` hands an event to the node and returns what
the node did, in order. The driver carries that out. The contract between nodes and drivers is checked here:

- An event that cannot happen now (a release by an application that is not inside, a timer that is not set) is the
  driver's mistake: `ContractError`, and nothing has changed.
- A node that raises, or does what the contract forbids, ends in `IllegalStep`. If the node itself refused the event
  (`IllegalStep.refused`), nothing has changed. Otherwise the node may be in any state, and must not go on.

The simulator calls nodes directly, for speed, and so do the locks of clusters whose members change
(`congenial.net.view_door`), of which there may be very many. Tests compare their steps with those of the shell.
"""

from __future__ import annotations

from typing import final

from mypy_extensions import mypyc_attr

from congenial.kernel.effects import (
    EVERYONE,
    Answer,
    CancelTimer,
    Effect,
    Eject,
    Enter,
    Save,
    Send,
    SetTimer,
)
from congenial.kernel.errors import ContractError, IllegalStep, SafetyViolation
from congenial.kernel.judge import request_fault
from congenial.kernel.message import Message, message_fault
from congenial.kernel.node import IDLE, INSIDE, WAITING, Node, phase_fault
from congenial.kernel.out import Out, Outbox
from congenial.kernel.places import told
from congenial.kernel.problem import NO_GROUP, Groups, Problem
from congenial.kernel.state import durable_state, restore_durable


@final
class Process:
    """A node and what belongs to it. `step` is the only way in. `saved` is what the node has saved before, if it is
    not new."""

    def __init__(self, node: Node, problem: Problem, saved: object = None) -> None:
        self.node = node
        self.problem = problem
        self.up = True
        # the application
        self.wants: Groups = ()  # what it waits for
        self.group = NO_GROUP  # what it is inside for
        self.fence = 0  # with which it entered last
        self.issued = 0  # how many operations
        self.pending = False  # does it wait for the outcome of the last one?
        # the world
        self.timers: list[int] = []  # those set, sorted
        self.suspects: list[int] = []  # sorted
        self.saved: object = durable_state(node) if saved is None else saved

    @property
    def phase(self) -> int:
        """What the application does, by what it was told."""
        return WAITING if self.wants else INSIDE if self.group != NO_GROUP else IDLE

    def step(self, event: ProcessEvent, out: Outbox | None = None) -> list[Effect]:
        """Let an event happen; what the node did, in order. `out` answers the node's choices (`Outbox.choose`)."""
        if not self.up:
            raise ContractError(f"process {self.node.me} is down")
        obstacle = event.obstacle(self)
        if obstacle:
            raise ContractError(f"process {self.node.me} {obstacle}")
        if out is None:
            out = Outbox()
        try:
            event.reach(self.node, out)
        except Exception as error:
            refused = isinstance(error, ContractError) and not out.effects  # a node that refuses does nothing
            raise IllegalStep(f"process {self.node.me}: {told(error)}", refused, error) from error
        event.note(self)
        for effect in out.effects:
            self._note(effect)
        fault = phase_fault(self.node, self.phase)
        if fault:
            raise IllegalStep(fault)
        return out.effects

    def crash(self) -> None:
        """Lose everything but what was saved."""
        self.up = False
        self.wants = ()
        self.group = NO_GROUP
        self.pending = False
        self.timers = []
        self.suspects = []

    def restart(self, fresh: Node) -> None:
        """Be up again as a new node, with what was saved. `Recovered` is the event to go on with."""
        restore_durable(fresh, self.saved)
        fresh.has_issued(self.issued)
        self.node = fresh
        self.up = True

    def _note(self, effect: Effect) -> None:
        """Record what the node did, and check that it is allowed."""
        me = self.node.me
        if isinstance(effect, Send):
            fault = message_fault(type(effect.msg))
            if fault:
                raise IllegalStep(f"process {me}: {fault}")
            if effect.dst != EVERYONE and (effect.dst < 0 or effect.dst >= self.node.n or effect.dst == me):
                raise IllegalStep(f"process {me} sends {effect.msg!r} to {effect.dst}, which is no other process")
        elif isinstance(effect, Enter):
            if not self.wants:
                raise SafetyViolation(request_fault(me, self.wants, effect.group))
            self.group = effect.group if self.problem.groups else self.wants[0]
            self.fence = effect.fence
            self.wants = ()
        elif isinstance(effect, Eject):
            if self.group == NO_GROUP:
                raise IllegalStep(f"process {me} is ejected without being inside")
            self.group = NO_GROUP
            self.pending = False
        elif isinstance(effect, Answer):
            self.pending = False
        elif isinstance(effect, SetTimer):
            if effect.timer not in self.timers:
                self.timers.append(effect.timer)
                self.timers.sort()
        elif isinstance(effect, CancelTimer):
            if effect.timer in self.timers:
                self.timers.remove(effect.timer)
        elif isinstance(effect, Save):
            try:
                self.saved = durable_state(self.node)
            except ContractError as unfit:
                raise IllegalStep(f"process {me}: {unfit}", False, unfit) from unfit


# -- what can happen to a process --------------------------------------------------------------------------


@mypyc_attr(allow_interpreted_subclasses=True)
class ProcessEvent:
    """Something that happens to a process."""

    def obstacle(self, process: Process) -> str:
        """Why it cannot happen now, or nothing."""
        return ""

    def reach(self, node: Node, out: Out) -> None:
        """Call the node."""
        raise NotImplementedError

    def note(self, process: Process) -> None:
        """Record what has happened, now that the node has handled it."""


@final
class Asked(ProcessEvent):
    """The application asks to enter, for any one of the groups."""

    def __init__(self, groups: Groups) -> None:
        self.groups = groups

    def obstacle(self, process: Process) -> str:
        if not self.groups:
            return "asks for no group"
        return "" if process.phase == IDLE else "asks again before it has left"

    def reach(self, node: Node, out: Out) -> None:
        node.request(self.groups, out)

    def note(self, process: Process) -> None:
        process.wants = self.groups


@final
class Left(ProcessEvent):
    """The application leaves its critical section."""

    def obstacle(self, process: Process) -> str:
        if process.pending:
            return "leaves before its operation is answered"
        return "" if process.phase == INSIDE else "leaves without being inside"

    def reach(self, node: Node, out: Out) -> None:
        node.release(out)

    def note(self, process: Process) -> None:
        process.group = NO_GROUP


@final
class Issued(ProcessEvent):
    """The application, inside, issues an operation."""

    def __init__(self, operation: object) -> None:
        self.operation = operation

    def obstacle(self, process: Process) -> str:
        if process.pending:
            return "issues an operation before the last one is answered"
        return "" if process.phase == INSIDE else "issues an operation without being inside"

    def reach(self, node: Node, out: Out) -> None:
        node.issue(self.operation, out)

    def note(self, process: Process) -> None:
        process.issued += 1
        process.pending = True


@final
class Received(ProcessEvent):
    """A message arrives."""

    def __init__(self, src: int, msg: Message) -> None:
        self.src = src
        self.msg = msg

    def reach(self, node: Node, out: Out) -> None:
        node.receive(self.src, self.msg, out)


@final
class TimedOut(ProcessEvent):
    """A timer that the node has set runs out."""

    def __init__(self, timer: int) -> None:
        self.timer = timer

    def obstacle(self, process: Process) -> str:
        return "" if self.timer in process.timers else f"has no timer {self.timer} set"

    def reach(self, node: Node, out: Out) -> None:
        node.on_timer(self.timer, out)

    def note(self, process: Process) -> None:
        process.timers.remove(self.timer)


@final
class Suspected(ProcessEvent):
    """The failure detector believes that a peer has crashed."""

    def __init__(self, peer: int) -> None:
        self.peer = peer

    def reach(self, node: Node, out: Out) -> None:
        node.on_suspect(self.peer, out)

    def note(self, process: Process) -> None:
        if self.peer not in process.suspects:
            process.suspects.append(self.peer)
            process.suspects.sort()


@final
class Trusted(ProcessEvent):
    """The failure detector takes a suspicion back."""

    def __init__(self, peer: int) -> None:
        self.peer = peer

    def reach(self, node: Node, out: Out) -> None:
        node.on_trust(self.peer, out)

    def note(self, process: Process) -> None:
        if self.peer in process.suspects:
            process.suspects.remove(self.peer)


@final
class Recovered(ProcessEvent):
    """The process is up again after a crash, with what it had saved; or, if `forgetful`, without."""

    def __init__(self, forgetful: bool = False) -> None:
        self.forgetful = forgetful

    def reach(self, node: Node, out: Out) -> None:
        if self.forgetful:
            node.on_amnesia(out)
        else:
            node.on_recover(out)
