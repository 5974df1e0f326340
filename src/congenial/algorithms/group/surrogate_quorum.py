"""What all forms of Surrogate share: a process that has locked a quorum admits others with its locks.

A process asks its quorum as in Maekawa's algorithm: members lock themselves for one request at a time, oldest first,
and FAILED, INQUIRE and RELINQUISH prevent deadlocks. New is that a lock brings with it the requests that wait at the
member and are compatible with the one it is locked for. A process that has all its locks enters as a leader and invites
the processes it has been told of. An invited process enters immediately, as a follower, and cancels its own request. So
there is one lock per member however many are inside, and the leader's quorum serves the followers as well: it is their
surrogate. It must stay locked until all of them have left. The forms differ in how it learns that.

Atreya, Mittal & Peri 2007, sections III-B and IV-A. Every message carries the number of the request it is about, so
that stale messages are recognised: those about a request that is over, because its process was admitted by another
leader. The number is the time at which the request was made, by Lamport's logical clocks: every message carries its
sender's clock, and is received at a later time (`parts/clocks.py`). As in our `maekawa`, a request that led a member's
queue and is overtaken there is told that it has lost. Changed: a process that gives a lock back forgets what came with
it (it will be told again). Otherwise a leader could invite by lists that are long out of date. Added: fences; a
session's fence travels with INVITE, and back with what releases the locks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import WAITING
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Option, Spec
from congenial.parts.clocks import Timed, after
from congenial.parts.loopback import Loopback
from congenial.parts.queues import Asked, Entry, comes_before, forget, insert, union
from congenial.parts.quorums.constructions import CONSTRUCTIONS, build_quorums
from congenial.parts.quorums.information import Information
from congenial.parts.quorums.system import Quorums
from congenial.parts.rows import contains, discard
from congenial.parts.yielding import Yielding
from congenial.problems.group import GROUP

SPEC = Spec(
    name="surrogate-quorum",
    title="Surrogate",
    problem=GROUP,
    fifo=True,
    fences=True,
    size="3+3b",
    waiting=Law("2"),
    concurrency="n",
    concurrent_entry=False,
    options=(
        Option(
            "quorums", "auto", "plane, grid, majority, singleton or auto", build_quorums, choices=tuple(CONSTRUCTIONS)
        ),
    ),
)


@dataclass(frozen=True)
class Request(Timed):  # its time is the number of the request
    groups: Groups


@dataclass(frozen=True)
class Locked(Timed):
    number: int
    fence: int
    compatible: tuple[Asked, ...] = field(metadata={"type": tuple[Asked, ...]})


@dataclass(frozen=True)
class Failed(Timed):
    number: int


@dataclass(frozen=True)
class Inquire(Timed):
    number: int


@dataclass(frozen=True)
class Relinquish(Timed):
    number: int


@dataclass(frozen=True)
class Invite(Timed):
    number: int
    group: int
    fence: int


@dataclass(frozen=True)
class Cancel(Timed):
    number: int


@mypyc_attr(allow_interpreted_subclasses=True)
class SurrogateQuorum(Loopback, Yielding):
    messages: ClassVar[Messages] = (Request, Locked, Failed, Inquire, Relinquish, Cancel)

    def __init__(self, me: int, n: int, quorums: Quorums | Information) -> None:
        super().__init__(me, n)
        if isinstance(quorums, Quorums):
            self.quorum = quorums.of(me)
            self.quorums = quorums.sets  # everybody's
        else:
            self.quorum = quorums.asks(me)  # the processes whose locks I need
            self.quorums = quorums.inform_sets  # the processes that get locked, for everybody
        self.clock = 0
        self.fence = 0  # the largest seen
        # in the role of a requester
        self.number = 0  # of my latest request: when it was made
        self.groups: Groups = ()  # and its groups
        self.locks: dict[int, Locked] = {}  # members locked for me, with what they told me
        self.lost = []  # members at which an older request comes first
        self.inquiries = []  # members that want their lock back and have no answer yet
        # while I am inside
        self.leader = me  # the process that admitted me
        self.group = 0  # the group I am inside for
        # in the role of a quorum member
        self.locked_for: Asked | None = None
        self.queue: list[Entry] = []  # the requests (`Asked`) that wait for my lock, oldest first
        self.inquired = False  # I have asked for my lock back

    # -- the requester ---------------------------------------------------------------------------------

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.clock += 1
        self.number = self.clock
        self.groups = self._wanted(groups)
        self._tell_all(self.quorum, Request(self.clock, self.groups), out)

    def release(self, out: Out) -> None:
        self.leave()
        self._leave_forum(out)

    def _on_locked(self, member: int, msg: Locked, out: Out) -> None:
        self.fence = max(self.fence, msg.fence)
        if not self._waits_with(msg.number):  # stale: my CANCEL is in transit
            return
        self.locks[member] = msg
        discard(self.lost, member)
        if len(self.locks) == len(self.quorum):
            self._lead(out)

    def _return(self, member: int, out: Out) -> None:
        del self.locks[member]
        self._tell(member, Relinquish(self.clock, self.number), out)

    # -- leaders and followers -------------------------------------------------------------------------

    def _lead(self, out: Out) -> None:
        offered = self._offered()
        self.leader = self.me
        self.group = self._choose_group(offered)
        self.fence += 1
        self._enter(out)
        for request in offered:
            if self.group in request[2]:
                self._invite(request, out)

    def _offered(self) -> list[Asked]:
        """The requests I have been told of, each once, oldest first."""
        return union([self.locks[member].compatible for member in sorted(self.locks)], self.n)

    def _on_invite(self, src: int, msg: Invite, out: Out) -> None:
        if not self._waits_with(msg.number):
            self._on_stale_invite(src, msg, out)
            return
        self.leader = src
        self.group = msg.group
        self.fence = max(self.fence, msg.fence)
        self._enter(out)
        self._tell_all(self.quorum, Cancel(self.clock, self.number), out)

    def _enter(self, out: Out) -> None:
        self.locks = {}
        self.lost = []
        self.inquiries = []  # the answer to them is my CANCEL, or what releases my quorum
        self.enter(out, self.fence, self.group)

    def _invite(self, request: Asked, out: Out) -> None:
        raise NotImplementedError

    def _on_stale_invite(self, src: int, msg: Invite, out: Out) -> None:
        """I have been invited for a request that is over."""
        raise NotImplementedError

    def _leave_forum(self, out: Out) -> None:
        """Make sure that the leader's quorum gets unlocked."""
        raise NotImplementedError

    # -- what is asked for -----------------------------------------------------------------------------

    def _wanted(self, groups: Groups) -> Groups:
        return groups[:1]

    def _are_compatible(self, mine: Groups, other: Groups) -> bool:
        return mine[0] == other[0]

    def _choose_group(self, offered: list[Asked]) -> int:
        return self.groups[0]

    # -- a member of quorums ---------------------------------------------------------------------------

    def _on_request(self, src: int, msg: Request, out: Out) -> None:
        request: Asked = (msg.time, src, msg.groups)
        holder = self.locked_for
        if holder is None:
            self._lock(request, out)
            return
        first: Asked | None = self.queue[0] if self.queue else None
        insert(self.queue, request)
        if comes_before(holder, request) or (first is not None and comes_before(first, request)):
            self._tell(src, Failed(self.clock, msg.time), out)
        elif not self.inquired:
            self.inquired = True
            self._tell(holder[1], Inquire(self.clock, holder[0]), out)
        elif first is not None and comes_before(first, holder):  # until now it had not lost
            self._tell(first[1], Failed(self.clock, first[0]), out)

    def _on_relinquish(self, out: Out) -> None:
        assert self.locked_for is not None
        insert(self.queue, self.locked_for)
        self._free(out)

    def _on_cancel(self, src: int, number: int, out: Out) -> None:
        if self._is_locked_for(src, number):
            self._free(out)
        else:
            self._forget(src, number)

    def _forget(self, process: int, number: int) -> None:
        """Take a request that is over out of the queue, if it is there."""
        forget(self.queue, number, process)

    def _free(self, out: Out) -> None:
        self.locked_for = None
        if self.queue:
            self._lock(self.queue.pop(0), out)

    def _lock(self, request: Asked, out: Out) -> None:
        self.locked_for = request
        self.inquired = False
        self._tell(request[1], self._locked(request), out)

    def _locked(self, request: Asked) -> Locked:
        """The message to a process that I lock myself for."""
        return Locked(self.clock, request[0], self.fence, self._compatible(request))

    def _compatible(self, request: Asked) -> tuple[Asked, ...]:
        found: list[Entry] = []
        for waiting in self.queue:
            groups: Groups = waiting[2]
            if self._are_compatible(request[2], groups):
                found.append(waiting)
        return tuple(found)

    # -- messages --------------------------------------------------------------------------------------

    def _tell_all(self, members: tuple[int, ...], msg: Message, out: Out) -> None:
        """Tell myself last: what follows from it must not overtake this message on its way to the others."""
        for member in members:
            if member != self.me:
                out.send(member, msg)
        if contains(members, self.me):
            self.receive(self.me, msg, out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        before = self.clock
        if src != self.me:  # what I tell myself belongs to the same event
            self.clock = after(before, msg)
        try:
            self._handle(src, msg, out)
        except UnexpectedMessage:
            self.clock = before
            raise

    def _handle(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            self._on_request(src, msg, out)
        elif isinstance(msg, Locked) and self._has_asked(src, msg.number) and not self._has_lock(src, msg.number):
            self._on_locked(src, msg, out)
        elif isinstance(msg, Failed) and self._has_asked(src, msg.number) and not self._has_lock(src, msg.number):
            if self._waits_with(msg.number):
                self._on_failed(src, out)
        elif isinstance(msg, Inquire) and self._has_asked(src, msg.number):
            if self._waits_with(msg.number) and src in self.locks:  # otherwise what unlocks it is in transit
                self._on_inquire(src, out)
        elif isinstance(msg, Relinquish) and self._is_locked_for(src, msg.number):
            self._on_relinquish(out)
        elif isinstance(msg, Invite) and 0 < msg.number <= self.number:
            self._on_invite(src, msg, out)
        elif isinstance(msg, Cancel):
            self._on_cancel(src, msg.number, out)
        else:
            raise self.unexpected(src, msg)

    def _waits_with(self, number: int) -> bool:
        return self.phase == WAITING and number == self.number

    def _has_asked(self, member: int, number: int) -> bool:
        return 0 < number <= self.number and contains(self.quorum, member)

    def _has_lock(self, member: int, number: int) -> bool:
        return number == self.number and member in self.locks

    def _is_locked_for(self, process: int, number: int) -> bool:
        holder = self.locked_for
        return holder is not None and holder[0] == number and holder[1] == process
