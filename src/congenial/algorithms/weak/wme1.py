"""WME-1: a token that is passed on by broadcast, and a consensus only where its owner is suspected.

A run is a sequence of epochs. Within an epoch there is a token. A process that wants to enter tells everyone
(`Request`), and the owner passes the token on by telling everyone (`Granted`). The owner, inside, issues an operation
by telling everyone (`Invoke`). A process that receives it tells everyone (`Ack`), and a process that knows that a
majority has it executes it. Grants and operations of an epoch have places, 1, 2, 3, ..., and are taken in that order. A
process that suspects the owner stops and tells everyone what it knows (`NewEpoch`); a process that receives that does
the same. With the reports of a majority a process proposes the most advanced of them to a consensus, which ends the
epoch: all execute what was missing, and the new owner is the one that the report names (a process that suspects names
itself). A former owner that is inside then is ejected.

An operation that any process has executed is known to a majority, so it is in every report that can be decided.
Operations that are not in the decided report are executed by nobody in that epoch, and only their issuer, if still
inside, issues them again. So an operation that fails is executed nowhere.

Romano & Rodrigues 2009, figures 1 and 2. "upon receive ... where ..." is taken literally: a message whose turn has not
come, of a later place or epoch, waits. Messages to oneself take no time; an `Invoke` is its sender's `Ack`. Changed
(docs/errata.md):
- Acknowledgements are counted for each place.
- After an epoch, what has not been *executed* is executed; an operation of one's own among it is answered, wherever it
  stands.
- A process that held the token, idle, gives it up, or passes it on to a process that waits.
- The new owner's own request leaves the queue. A process that must ask again does so with a new number.
- A process that is granted what it no longer wants, since the end of an epoch has undone its first grant, passes the
  token on.

Our own choice: of equally advanced reports one that suspects the owner is preferred, and the token does not go to a
process that is suspected, which would end the next epoch immediately. A fence is the epoch, in its high bits, and the
entries since its beginning.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from mypy_extensions import mypyc_attr

from congenial.algorithms.weak.weak_node import FLAWS, RESOURCE, Progress, WeakNode
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import IDLE, INSIDE, WAITING
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Spec
from congenial.parts.consensus import Consensus, ConsensusMessage
from congenial.problems.epochs import EPOCH_BITS
from congenial.problems.weak import WEAK, Resource, fence_of

SPEC = Spec(
    name="wme-1",
    title="WME-1",
    problem=WEAK,
    reference="Romano & Rodrigues 2009",
    faults="crashes of a minority, for good; false suspicions",
    fences=True,
    messages=Law("0", "2*(n-1)"),
    size="n, requests and operations not known to all",
    waiting=Law("0", "2"),
    sync_delay=Law("1"),
    options=(RESOURCE,),
    flaws=FLAWS,
)

Placed = tuple[int, int, int, Any]
"""An operation in the history: its place, then as in `Entry`."""
Verdict = tuple[int, int, tuple[int, ...], tuple[tuple[int, int], ...], tuple[Placed, ...]]
"""What ends an epoch: place, owner, granted, requests, history."""


@dataclass(frozen=True)
class EpochMessage(Message):
    """Base of all messages that belong to an epoch."""

    epoch: int


@dataclass(frozen=True)
class Request(EpochMessage):
    number: int


@dataclass(frozen=True)
class PlacedMessage(EpochMessage):
    """Base of what has a place in the order of its epoch."""

    place: int  #                                                                            sn


@dataclass(frozen=True)
class Granted(PlacedMessage):
    owner: int
    number: int  # of the request
    entries: int  # in this epoch so far


@dataclass(frozen=True)
class Invoke(PlacedMessage):
    """Says also that the sender has acknowledged it."""

    issuer: int
    number: int
    operation: Any


@dataclass(frozen=True)
class Ack(EpochMessage):
    place: int


@dataclass(frozen=True)
class NewEpoch(EpochMessage):
    """All that the sender knows of the epoch, and its proposal for the next owner."""

    suspecting: bool  # does the sender suspect the current owner? Then it names itself
    place: int
    owner: int
    granted: tuple[int, ...]
    requests: tuple[tuple[int, int], ...] = field(metadata={"type": tuple[tuple[int, int], ...]})
    history: Any  # a tuple of `Placed`


@mypyc_attr(allow_interpreted_subclasses=True)
class WME1(WeakNode):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (*WeakNode.messages, Request, Granted, Invoke, Ack, NewEpoch)
    made_of: ClassVar[tuple[type, ...]] = (Consensus,)
    everyone: ClassVar[bool] = True  # the form of the consensus
    most_entries: ClassVar[int] = 1 << EPOCH_BITS - 1  # in an epoch; then its owner ends it, since fences run out

    def __init__(self, me: int, n: int, resource: Resource) -> None:
        super().__init__(me, n, resource)
        self.consensus = Consensus(me, n, type(self).everyone)
        self.epoch = 0  #                                                           curEp
        self.owner = 0  # of the token                                              curOwner
        self.number = 0  # of our last request                                      reqId
        self.granted: list[int] = [0] * n  # the last request of each that was granted
        self.requests: list[tuple[int, int]] = []  # process and number             reqs
        self.place = 0  # of the last grant or operation                            curSN
        self.history: list[Placed] = []  # operations that some process may lack    opHist
        self.executed = 0  # the place of the last operation executed
        self.acked: list[int] = [0] * n  # the last place that each has acknowledged
        self.entries = 0  # if we own the token: in this epoch
        self.blocked = False  # the epoch is being ended                            block
        self.reports: dict[int, NewEpoch] = {}  # those received, by process        S
        self.early: dict[int, PlacedMessage] = {}  # messages whose turn has not come, by place
        self.ahead: list[tuple[int, EpochMessage]] = []  # sender and message of later epochs

    # -- calls -----------------------------------------------------------------------------------------

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        if not self.blocked and not self.gone:
            if self.owner == self.me:
                self._enter(out)
            else:
                self._ask(out)

    def release(self, out: Out) -> None:
        self.leave()
        if not self.blocked:
            self._pass_on(out)
            self._go_on(out)

    def could_enter(self) -> bool:
        return self.owner == self.me and self.phase == IDLE and not self.blocked

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if self.gone:
            return
        if isinstance(msg, ConsensusMessage):
            self.consensus.receive(src, msg, out)
        elif isinstance(msg, EpochMessage):
            if msg.epoch > self.epoch:
                self.ahead.append((src, msg))
            elif msg.epoch == self.epoch:
                self._handle(src, msg, out)
        elif isinstance(msg, Progress):
            if msg.epoch == self.epoch:
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
            if not self.blocked:
                self._pass_on(out)

    # -- within an epoch (figure 1) --------------------------------------------------------------------

    def _handle(self, src: int, msg: EpochMessage, out: Out) -> None:
        if isinstance(msg, NewEpoch):
            self._on_new_epoch(src, msg, out)
        elif self.blocked:
            return  # its content is in a majority's reports, or does not count
        elif isinstance(msg, Request):
            self._on_request(src, msg.number, out)
        elif isinstance(msg, PlacedMessage):
            self._on_placed(src, msg, out)
        elif isinstance(msg, Ack):
            self._on_ack(src, msg.place, out)
        else:
            raise self.unexpected(src, msg)

    def _ask(self, out: Out) -> None:
        self.number += 1
        out.broadcast(Request(self.epoch, self.number))

    def _on_request(self, src: int, number: int, out: Out) -> None:
        if number > self.granted[src]:  # otherwise its grant has overtaken it
            self.requests.append((src, number))
            self._pass_on(out)

    def _pass_on(self, out: Out) -> None:
        """Pass the token to the first process that asked, if it is idle here."""
        if self.owner != self.me or self.phase != IDLE:
            return
        for process, number in self.requests:
            if process not in self.consensus.suspects:
                grant = Granted(self.epoch, self.place + 1, process, number, self.entries)
                out.broadcast(grant)
                self._take(grant, out)
                return

    def _enter(self, out: Out) -> None:
        self.entries += 1
        self.enter(out, fence=fence_of(self.epoch, self.entries))

    def _issue(self, out: Out) -> None:
        if not self.blocked:
            assert self.pending is not None
            issuer, number, operation = self.pending
            order = Invoke(self.epoch, self.place + 1, issuer, number, operation)
            out.broadcast(order)
            self._take(order, out)

    def _on_placed(self, src: int, msg: PlacedMessage, out: Out) -> None:
        if msg.place <= self.place or msg.place in self.early:
            raise self.unexpected(src, msg)
        self.early[msg.place] = msg
        while self.place + 1 in self.early:
            self._take(self.early.pop(self.place + 1), out)

    def _take(self, msg: PlacedMessage, out: Out) -> None:
        """The next in the order."""
        self.place += 1
        if isinstance(msg, Granted):
            self.owner = msg.owner
            self.granted[msg.owner] = msg.number
            self._take_out(msg.owner, msg.number)
            if self.owner == self.me:
                self.entries = msg.entries
                if self.phase == WAITING:
                    self._enter(out)
                else:  # it was served already, by a grant that the end of an epoch has undone
                    self._pass_on(out)
        elif isinstance(msg, Invoke):
            self.history.append((self.place, msg.issuer, msg.number, msg.operation))
            self.acked[self.me] = self.place
            self.acked[msg.issuer] = max(self.acked[msg.issuer], self.place)
            if msg.issuer != self.me:
                self._acknowledge(msg.issuer, out)
            self._execute_agreed(out)

    def _take_out(self, process: int, number: int) -> None:
        for at in range(len(self.requests)):  # it is one of the first
            request = self.requests[at]
            if request[0] == process and request[1] == number:
                del self.requests[at]
                return

    def _acknowledge(self, issuer: int, out: Out) -> None:
        out.broadcast(Ack(self.epoch, self.place))

    def _on_ack(self, src: int, place: int, out: Out) -> None:
        self.acked[src] = max(self.acked[src], place)  # a process that has one operation has all before it
        self._execute_agreed(out)

    def _is_agreed(self, place: int) -> bool:
        count = 0
        for acked in self.acked:
            if acked >= place:
                count += 1
        return count >= self.majority

    def _execute_agreed(self, out: Out) -> None:
        for operation in self.history:
            if operation[0] > self.executed:
                if not self._is_agreed(operation[0]):
                    return
                self._execute_placed(operation, out)
                self._come_to(self.epoch, self.executed, out)

    def _execute_placed(self, operation: Placed, out: Out) -> None:
        self.executed = operation[0]
        self._execute((operation[1], operation[2], operation[3]), out)

    def _prune(self, stable: int) -> None:
        self.history = [operation for operation in self.history if operation[0] > stable]

    # -- between epochs (figure 2) ---------------------------------------------------------------------

    def _go_on(self, out: Out) -> None:
        """End the epochs that have been decided, and do what has waited for that; end this one if its owner is
        suspected."""
        while True:
            if self.consensus.decided(self.epoch):
                while self.consensus.decided(self.epoch):
                    self._end_epoch(cast(Verdict, self.consensus.decision(self.epoch)), out)
                self._settle(out)
            now = [waiting for waiting in self.ahead if waiting[1].epoch == self.epoch] if self.ahead else []
            if now:
                self.ahead.remove(now[0])
                self._handle(now[0][0], now[0][1], out)
            elif not self.blocked and self._should_end():
                self._stop(out)
            else:
                return

    def _should_end(self) -> bool:
        """True if the owner is suspected, or if we are the owner and out of fences."""
        used_up = self.owner == self.me and self.entries >= type(self).most_entries
        return used_up or self.owner in self.consensus.suspects

    def _stop(self, out: Out) -> None:
        self.blocked = True
        report = self._report()
        out.broadcast(report)
        self._on_new_epoch(self.me, report, out)

    def _report(self) -> NewEpoch:
        suspecting = self.owner in self.consensus.suspects
        owner = self.me if suspecting else self.owner
        granted, requests, history = tuple(self.granted), tuple(self.requests), tuple(self.history)
        return NewEpoch(self.epoch, suspecting, self.place, owner, granted, requests, history)

    def _on_new_epoch(self, src: int, msg: NewEpoch, out: Out) -> None:
        if len(msg.granted) != self.n or not 0 <= msg.owner < self.n or src in self.reports:
            raise self.unexpected(src, msg)
        self.reports[src] = msg
        if not self.blocked:
            self._stop(out)
        elif len(self.reports) >= self.majority:
            best = self._best()
            verdict = (best.place, best.owner, best.granted, best.requests, best.history)
            self.consensus.propose(self.epoch, verdict, out)

    def _best(self) -> NewEpoch:
        """The most advanced report; of several, one that suspects the owner."""
        ranks = [(self.reports[src].place, self.reports[src].suspecting, -src) for src in sorted(self.reports)]
        return self.reports[-max(ranks)[2]]

    def _end_epoch(self, verdict: Verdict, out: Out) -> None:
        place, owner, granted, requests, history = verdict
        self._catch_up(list(history), out)
        self.epoch += 1
        self.owner = owner
        self.place = self.executed = place
        self.granted = list(granted)
        self.requests = list(requests)
        self._admit_owner()
        self.history = []
        self.acked = [place] * self.n
        self.reached = [place] * self.n
        self.entries = 0
        self.blocked = False
        self.reports = {}
        self.early = {}

    def _catch_up(self, history: list[Placed], out: Out) -> None:
        for operation in history:
            if operation[0] > self.executed:
                self._execute_placed(operation, out)

    def _admit_owner(self) -> None:
        """The new owner's request, if it has one, is granted."""
        for process, number in self.requests:
            if process == self.owner:
                self.granted[process] = number
        self.requests = [waiting for waiting in self.requests if waiting[0] != self.owner]

    def _settle(self, out: Out) -> None:
        """What the new epoch means for the application here."""
        if self.phase == INSIDE:
            if self.owner != self.me:
                self.lose(out)
            elif self.pending is not None:
                self._issue(out)
        elif self.phase == WAITING:
            if self.owner == self.me:
                self._enter(out)
            elif (self.me, self.number) not in self.requests:
                self._ask(out)
        else:
            self._pass_on(out)
