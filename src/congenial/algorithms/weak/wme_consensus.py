"""Weak exclusion by agreeing on everything: to enter, to leave and each operation take a consensus of their own.

What a process wants is a command: enter, leave, invoke an operation, or eject the holder, if it suspects the holder. A
process tells everyone its command (`Suggest`). All propose the first command they know of that is not settled to the
next consensus, and all carry out the decisions, in order. The first process in the queue that results is the holder.
When its section ends, by leaving or ejection, the next one becomes the holder. An operation of a section that is over
is carried out by nobody.

This is how Romano & Rodrigues 2009, section 5, describe the algorithm with which they compare theirs, by the same
authors (2008): "the execution of a consensus instance, preceded by a preliminary reliable broadcast aimed at spreading
the consensus proposal value". There are two forms, by the form of the consensus: 3 steps and O(n^2) messages for each
command, or 4 steps and O(n). A decision that all have carried out is forgotten. A fence is the number of ejections, in
its high bits, and of sections.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, cast

from mypy_extensions import mypyc_attr

from congenial.algorithms.weak.weak_node import FLAWS, RESOURCE, Progress, WeakNode
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import INSIDE, WAITING
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Spec
from congenial.parts.consensus import Consensus, ConsensusMessage
from congenial.parts.rows import is_among
from congenial.problems.weak import WEAK, Resource, fence_of

FAST = Spec(
    name="wme-consensus-fast",
    title="consensus WME, few steps",
    problem=WEAK,
    reference="Romano & Rodrigues 2009, section 5",
    faults="crashes of a minority, for good; false suspicions",
    fences=True,
    messages=Law("2*(n-1)*(n+1)", "2*(n-1)*(n+1 + n/max(64, n))"),  # the last: how far everyone has come
    size="6",
    waiting=Law("min(2, 2*(n-1))", "min(3, 2*(n-1))"),
    sync_delay=Law("1", "3"),
    options=(RESOURCE,),
    flaws=FLAWS,
)
LEAN = replace(
    FAST,
    name="wme-consensus-lean",
    title="consensus WME, few messages",
    messages=Law("8*(n-1)", "2*(n-1)*(4 + n/max(64, n))"),
    waiting=Law("min(2, 2*(n-1))", "min(4, 4*(n-1))"),
    sync_delay=Law("1", "4"),
)

ENTER: Final = 0
EXIT: Final = 1
EJECT: Final = 2
INVOKE: Final = 3

Command = tuple[int, int, int, int, Any]
"""Kind, process, number (of its request or operation), section, operation."""


@dataclass(frozen=True)
class Suggest(Message):
    command: Any


@mypyc_attr(allow_interpreted_subclasses=True)
class WMEConsensusFast(WeakNode):
    spec: ClassVar[Spec] = FAST
    messages: ClassVar[Messages] = (*WeakNode.messages, Suggest)
    made_of: ClassVar[tuple[type, ...]] = (Consensus,)
    everyone: ClassVar[bool] = True  # the form of the consensus

    def __init__(self, me: int, n: int, resource: Resource) -> None:
        super().__init__(me, n, resource)
        self.consensus = Consensus(me, n, type(self).everyone)
        self.commands: list[Any] = []  # known, and not settled; each a `Command`
        self.noted: set[tuple[int, int, int, int]] = set()  # the same, without the operations
        # the result of the commands carried out: the same at all processes
        self.done = 0  # the number of commands carried out
        self.queue: list[int] = []  # the first process is the holder
        self.section = 0  # the number of sections begun
        self.ejections = 0
        self.asked: list[int] = [0] * n  # the last request of each
        self.invoked: list[int] = [0] * n  # the last operation of each
        # our own state
        self.number = 0  # of our last request
        self.entered = 0  # our last section
        self.leaving = False  # we have left it, but the others do not know yet
        self.suggested_end = 0  # the last section whose end we have suggested

    # -- calls -----------------------------------------------------------------------------------------

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        if not self.leaving and not self.gone:
            self._ask(out)
            self._go_on(out)

    def release(self, out: Out) -> None:
        self.leave()
        self.leaving = True
        self._suggest((EXIT, self.me, 0, self.entered, None), out)
        self._go_on(out)

    def _issue(self, out: Out) -> None:
        assert self.pending is not None
        issuer, number, operation = self.pending
        self._suggest((INVOKE, issuer, number, self.entered, operation), out)
        self._go_on(out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if self.gone:
            return
        if isinstance(msg, ConsensusMessage):
            self.consensus.receive(src, msg, out)
        elif isinstance(msg, Suggest) and len(msg.command) == 5 and 0 <= msg.command[0] <= INVOKE:
            self._note(cast(Command, msg.command))
        elif isinstance(msg, Progress):
            self._on_progress(src, msg.place)
        else:
            raise self.unexpected(src, msg)
        self._go_on(out)

    def on_suspect(self, peer: int, out: Out) -> None:
        if not self.gone:
            self.consensus.on_suspect(peer, out)
            self._go_on(out)

    def on_trust(self, peer: int, out: Out) -> None:
        if not self.gone:
            self.consensus.on_trust(peer, out)

    # -- suggesting and agreeing -----------------------------------------------------------------------

    def _ask(self, out: Out) -> None:
        self.number += 1
        self._suggest((ENTER, self.me, self.number, 0, None), out)

    def _suggest(self, command: Command, out: Out) -> None:
        out.broadcast(Suggest(command))
        self._note(command)

    def _note(self, command: Command) -> None:
        kind, process, number, section, _ = command
        noted = (kind, process, number, section)
        if noted not in self.noted and not self._is_settled(command):
            self.noted.add(noted)
            self.commands.append(command)

    def _go_on(self, out: Out) -> None:
        """Carry out what has been decided, and propose what comes next."""
        while True:
            before = self.done
            while self.consensus.decided(self.done):
                self._carry_out(cast(Command, self.consensus.decision(self.done)), out)
                self.done += 1
                self._come_to(0, self.done, out)
            self._settle(self.done > before, out)
            if self.done > before:  # nothing else settles a command
                self._forget_settled()
            if not self.commands:
                return
            self.consensus.propose(self.done, self.commands[0], out)
            if not self.consensus.decided(self.done):
                return

    def _forget_settled(self) -> None:
        rest: list[Any] = []
        for command in self.commands:
            if self._is_settled(command):
                self.noted.discard((command[0], command[1], command[2], command[3]))
            else:
                rest.append(command)
        self.commands = rest

    def _prune(self, stable: int) -> None:
        self.consensus.forget(stable)

    # -- carrying out, everywhere alike ----------------------------------------------------------------

    def _is_over(self, section: int) -> bool:
        return section < self.section or (section == self.section and not self.queue)

    def _is_settled(self, command: tuple[Any, ...]) -> bool:
        # Most are requests. A `Command` would be taken apart, all of it, for each of them.
        kind: int = command[0]
        process: int = command[1]
        number: int = command[2]
        if kind == ENTER:
            return number <= self.asked[process]
        section: int = command[3]
        return self._is_over(section) or (kind == INVOKE and number <= self.invoked[process])

    def _carry_out(self, command: Command, out: Out) -> None:
        kind, process, number, _, operation = command
        if self._is_settled(command):
            return
        if kind == ENTER:
            self.asked[process] = number
            self.queue.append(process)
            if len(self.queue) == 1:
                self.section += 1
        elif kind == INVOKE:
            self.invoked[process] = number
            self._execute((process, number, operation), out)
        else:
            self.queue.pop(0)
            if kind == EJECT:
                self.ejections += 1
            if self.queue:
                self.section += 1

    # -- what it means here ----------------------------------------------------------------------------

    def _settle(self, news: bool, out: Out) -> None:
        """With `news` commands have been carried out. Nothing else changes the queue, which is long to look through."""
        if self.leaving and self._is_over(self.entered):
            self.leaving = False
            out.rest()
            if self.phase == WAITING:
                self._ask(out)
        elif self.phase == INSIDE and self._is_over(self.entered):
            self.lose(out)
        elif self.phase == WAITING and not self.leaving and self.asked[self.me] == self.number:
            if self.queue and self.queue[0] == self.me:
                self.entered = self.section
                self.enter(out, fence=fence_of(self.ejections, self.section))
            elif news and not is_among(self.queue, self.me):  # our section was over before we knew of it
                self._ask(out)
        holder = self.queue[0] if self.queue else self.me
        if holder in self.consensus.suspects and self.suggested_end < self.section:
            self.suggested_end = self.section
            self._suggest((EJECT, holder, 0, self.section, None), out)


@mypyc_attr(allow_interpreted_subclasses=True)
class WMEConsensusLean(WMEConsensusFast):
    spec: ClassVar[Spec] = LEAN
    everyone: ClassVar[bool] = False
