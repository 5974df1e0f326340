"""Maekawa_M: ask a quorum whose members lock themselves for several requests together, if these are for one group.

As in Maekawa's algorithm a process enters when all members of its quorum are locked for it, members serve requests by
age, and they take locks back (INQUIRE, RELINQUISH) from processes that have lost somewhere (FAILED). Quorums of
different groups meet, and their common member keeps the groups apart. What is new: the oldest request that a member
knows, locked or waiting, decides its group, and the member locks itself for all requests for that group. So all that
ask for one group enter together, whatever the quorums. The price is paid when the oldest request is for another group:
all the locks must be asked back, up to b of them, where b processes use the member for one group. That makes O(qb)
messages in the worst case, with surficial quorums of degree d O(qn/d).

Joung 2003, as described in Atreya, Mittal & Peri 2007, sections I, III-B and VII; the original was not available. As
there, a member can be locked for n requests, and requests are numbered by Lamport's logical clocks: every message
carries its sender's clock, and is received at a later time (`parts/clocks.py`). Ours are two things. The oldest request
decides; so nobody starves, since no more are admitted ahead of a request once it is the oldest. And, as in our Maekawa,
a request that is overtaken in the queue is told that it has lost. Groups beyond the number the quorums are made for
share a quorum (see `parts/quorums/surficial.py`). Channels must be FIFO. Added: fences. Members remember the largest
they were told of, and the largest of another group. One more than the largest of all other groups is the same for all
that are inside together.

Cost: REQUEST, LOCKED and RELEASE for every other member, at most one FAILED, and INQUIRE, RELINQUISH and a second
LOCKED for every lock asked back: at most b when a request arrives, and b when the oldest one leaves. A session begins
two hops after the last has ended (RELEASE, LOCKED), or four, where locks have to be asked back first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import WAITING
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Option, Spec
from congenial.parts.clocks import Timed, after
from congenial.parts.loopback import QueuedLoopback
from congenial.parts.queues import insert, is_older, number_of, oldest_of
from congenial.parts.quorums.surficial import Surficial, build_surficial
from congenial.parts.rows import discard
from congenial.parts.yielding import Yielding
from congenial.problems.group import GROUP

GROUPS = Option(
    "groups",
    "2",
    "how many groups the quorums are made for (usually those of the workload); further ones share a quorum",
    build_surficial,
    choices=("3", "8"),
)

SPEC = Spec(
    name="maekawa-m",
    title="Maekawa_M",
    problem=GROUP,
    reference="Joung 2003; Atreya, Mittal & Peri 2007, sections I and VII",
    fifo=True,
    fences=True,
    messages=Law("3*(q_min-1)", "q*(4+6*b)"),
    size="2",
    waiting=Law("0", "2"),  # 0 where a process is the only member of its quorum
    sync_delay=Law("1", "4"),  # the papers' 2 is the best case; 1 where the common member leaves or enters itself
    concurrency="n",
    options=(GROUPS,),
)


@dataclass(frozen=True)
class Request(Timed):  # its time is the number of the request
    group: int


@dataclass(frozen=True)
class Locked(Timed):
    fence: int


@dataclass(frozen=True)
class Failed(Timed):
    pass


@dataclass(frozen=True)
class Inquire(Timed):
    pass


@dataclass(frozen=True)
class Relinquish(Timed):
    pass


@dataclass(frozen=True)
class Release(Timed):
    fence: int


@mypyc_attr(allow_interpreted_subclasses=True)
class Latest:
    """The largest fence a member has been told of, and the largest of any other group."""

    def __init__(self) -> None:
        self.fence = 0
        self.group = -1
        self.other = 0

    def learn(self, group: int, fence: int) -> None:
        if group == self.group:
            self.fence = max(self.fence, fence)
        elif fence > self.fence:
            self.other = self.fence
            self.fence = fence
            self.group = group
        else:
            self.other = max(self.other, fence)

    def of_others(self, group: int) -> int:
        return self.other if group == self.group else self.fence


@mypyc_attr(allow_interpreted_subclasses=True)
class SharedLocks(QueuedLoopback, Yielding):
    """The algorithm over any quorums; `_quorum_of` says which."""

    messages: ClassVar[Messages] = (Request, Locked, Failed, Inquire, Relinquish, Release)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.clock = 0
        # in the role of a requester
        self.quorum: tuple[int, ...] = ()
        self.group = 0
        self.fence = 0
        self.missing: set[int] = set()  # members that are not locked for me
        self.locks: list[int] = []  # those that are
        self.lost = []  # members at which an older request for another group comes first
        self.inquiries = []  # members that want their lock back and have no answer yet
        # in the role of a quorum member
        self.held = 0  # the group I am locked for
        self.holders: list[tuple[int, int]] = []  # the requests I am locked for: (number, process)
        self.inquired: set[int] = set()  # the holders that I have asked for my lock back
        self.queue: list[tuple[int, ...]] = []  # requests that wait: (number, process, group), oldest first
        self.waiting: dict[int, int] = {}  # how many of them are for each group
        self.known: set[int] = set()  # the processes of all requests, locked or waiting
        self.told: set[int] = set()  # processes in the queue that know that they have lost
        self.latest = Latest()

    def _quorum_of(self, group: int) -> tuple[int, ...]:
        raise NotImplementedError

    # -- the requester ---------------------------------------------------------------------------------

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.clock += 1
        self.group = groups[0]
        self.quorum = self._quorum_of(self.group)
        self.missing = set(self.quorum)
        self.fence = 0
        self._tell_quorum(Request(self.clock, self.group), out)

    def release(self, out: Out) -> None:
        self.leave()
        self.locks = []
        self._tell_quorum(Release(self.clock, self.fence), out)

    def _on_locked(self, member: int, fence: int, out: Out) -> None:
        self.fence = max(self.fence, fence + 1)
        self.missing.remove(member)
        self.locks.append(member)
        discard(self.lost, member)
        if not self.missing:
            self.inquiries = []  # the answer to them is my RELEASE
            self.enter(out, self.fence, self.group)

    def _return(self, member: int, out: Out) -> None:
        self.locks.remove(member)
        self.missing.add(member)
        self._tell(member, Relinquish(self.clock), out)

    # -- a member of quorums ---------------------------------------------------------------------------

    def _on_request(self, src: int, number: int, group: int, out: Out) -> None:
        self.known.add(src)
        self._queue_up(number, src, group, out)

    def _on_relinquish(self, src: int, out: Out) -> None:
        number = self._unlock(src)
        self.told.add(src)
        self._queue_up(number, src, self.held, out)

    def _on_release(self, src: int, fence: int, out: Out) -> None:
        self._unlock(src)
        self.known.remove(src)
        self.latest.learn(self.held, fence)
        self._serve(out)

    def _queue_up(self, number: int, process: int, group: int, out: Out) -> None:
        insert(self.queue, (number, process, group))
        self.waiting[group] = self.waiting.get(group, 0) + 1
        self._serve(out)

    def _unlock(self, process: int) -> int:
        """Take my lock back from a process; return the number of its request."""
        self.inquired.discard(process)
        for place, (number, holder) in enumerate(self.holders):
            if holder == process:
                del self.holders[place]
                return number
        raise AssertionError("`receive` has looked")

    def _serve(self, out: Out) -> None:
        """The oldest request of all, locked or waiting, decides for which group I lock myself."""
        if not self.queue:
            return
        oldest = self.queue[0]
        if not self.holders:
            self.held = oldest[2]
        if self.held in self.waiting and (
            oldest[2] == self.held or is_older(oldest_of(self.holders), (oldest[0], oldest[1]))
        ):
            self._lock_for_group(out)
        if self.queue:
            oldest_lock = oldest_of(self.holders)
            if len(self.told) < len(self.queue):
                self._tell_losers(oldest_lock, out)
            oldest = self.queue[0]
            if is_older((oldest[0], oldest[1]), oldest_lock):
                self._ask_locks_back(out)

    def _lock_for_group(self, out: Out) -> None:
        del self.waiting[self.held]
        chosen = [request for request in self.queue if request[2] == self.held]
        self.queue = [request for request in self.queue if request[2] != self.held]
        locked = Locked(self.clock, self.latest.of_others(self.held))
        for request in chosen:
            self.told.discard(request[1])
            self.holders.append((request[0], request[1]))
            self._tell(request[1], locked, out)

    def _ask_locks_back(self, out: Out) -> None:
        for _, process in self.holders:
            if process not in self.inquired:
                self.inquired.add(process)
                self._tell(process, Inquire(self.clock), out)

    def _tell_losers(self, oldest_lock: tuple[int, int], out: Out) -> None:
        """A waiting request has lost if an older one, locked or waiting, is for another group."""
        group = self.queue[0][2]
        untold = len(self.queue) - len(self.told)
        losers: list[int] = []
        place = 0
        while place < len(self.queue) and self.queue[place][2] == group:
            request = self.queue[place]
            if request[1] not in self.told:
                untold -= 1
                if group != self.held and is_older(oldest_lock, (request[0], request[1])):
                    losers.append(request[1])
            place += 1
        place = len(self.queue)
        late: list[int] = []  # all behind have lost, and most have been told: the others are looked for from the end
        while len(late) < untold:
            place -= 1
            if self.queue[place][1] not in self.told:
                late.append(self.queue[place][1])
        for process in [*losers, *reversed(late)]:
            self.told.add(process)
            self._tell(process, Failed(self.clock), out)

    # -- messages --------------------------------------------------------------------------------------

    def _tell_quorum(self, msg: Message, out: Out) -> None:
        for member in self.quorum:
            self._tell(member, msg, out)
        self._hear_myself(out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        before = self.clock
        self.clock = after(before, msg)
        try:
            super().receive(src, msg, out)
        except UnexpectedMessage:
            self.clock = before
            raise

    def _handle(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request) and not self._knows(src):
            self._on_request(src, msg.time, msg.group, out)
        elif isinstance(msg, Locked) and self._awaits(src):
            self._on_locked(src, msg.fence, out)
        elif isinstance(msg, Failed) and self._awaits(src):
            self._on_failed(src, out)
        elif isinstance(msg, Inquire):
            if self.phase == WAITING and src in self.locks:  # otherwise my RELEASE is in transit
                self._on_inquire(src, out)
        elif isinstance(msg, Relinquish) and self._is_locked_for(src):
            self._on_relinquish(src, out)
        elif isinstance(msg, Release) and self._is_locked_for(src):
            self._on_release(src, msg.fence, out)
        else:
            raise self.unexpected(src, msg)

    def _awaits(self, member: int) -> bool:
        return self.phase == WAITING and member in self.missing

    def _is_locked_for(self, process: int) -> bool:
        return number_of(self.holders, process) > 0

    def _knows(self, process: int) -> bool:
        return process in self.known


@mypyc_attr(allow_interpreted_subclasses=True)
class MaekawaM(SharedLocks):
    spec: ClassVar[Spec] = SPEC

    def __init__(self, me: int, n: int, groups: Surficial) -> None:
        super().__init__(me, n)
        self.quorums = groups

    def _quorum_of(self, group: int) -> tuple[int, ...]:
        return self.quorums.of(self.me, group)
