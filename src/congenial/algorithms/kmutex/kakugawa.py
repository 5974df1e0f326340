"""Kakugawa, Fujita, Yamashita and Ae's algorithm: Maekawa's, over a k-coterie.

A process asks the members of a quorum, each of which locks itself for one request at a time, oldest first. At most k
quorums of a k-coterie are pairwise disjoint, so at most k processes have the locks of a whole quorum. As long as fewer
have, there is a quorum none of whose members is locked for them. But a process cannot know which. So when a member of
its quorum says that others come first (FAILED), the process turns to a quorum without such members and asks there as
well, without withdrawing its earlier requests. With the locks of any whole quorum it enters, and releases the rest.

A member that is locked for a younger request asks for its lock back (INQUIRE). A process that is not inside yet returns
it immediately (RELINQUISH), as in the survey: the oldest request is never asked, so there is no deadlock.

Kakugawa et al. 1994; Velazquez 1993, section 6. The survey asks one quorum only, "an appropriate quorum". Then two
processes that choose quorums with a common member keep each other out although fewer than k are inside. Added: a
process that is inside answers an INQUIRE as well (KEPT), so that the member can tell the older request, which cannot
succeed there, to look elsewhere. Channels must be FIFO. A process takes its own lock without messages. There is no
fence: disjoint quorums share nothing.

Cost: REQUEST, LOCKED and RELEASE for every other member: 3(s-1) to 3s without contention, for quorums of size s. A
request that finds a member locked costs a FAILED more; or an INQUIRE, a RELINQUISH and a second LOCKED; or INQUIRE,
KEPT and FAILED. So at most 6 per member asked, of which there may be n-1: the survey's "3s to 5s" is no bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import INSIDE, WAITING
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Option, Spec
from congenial.parts.loopback import Loopback
from congenial.parts.queues import enqueue, forget_process, is_older, number_of
from congenial.parts.quorums.kcoteries import KCOTERIES, KCoterie, KCoterieName
from congenial.parts.rows import first_place
from congenial.problems.kmutex import K_OPTION, KMUTEX

SPEC = Spec(
    name="kakugawa",
    title="Kakugawa et al.",
    problem=KMUTEX,
    reference="Kakugawa, Fujita, Yamashita & Ae 1994; Velazquez 1993, section 6",
    fifo=True,
    messages=Law("3*(q_min-1)", "6*(n-1)"),
    size="1",
    waiting=Law("0", "2"),
    sync_delay=Law("1", "2"),
    concurrency="k",
    options=(
        K_OPTION,
        Option("coterie", "blocks", "blocks, majority, square or servers", KCoterieName, choices=tuple(KCOTERIES)),
    ),
)


@dataclass(frozen=True)
class Request(Message):
    number: int


@dataclass(frozen=True)
class Locked(Message):
    number: int  # of the request, here and below: answers may arrive after its release


@dataclass(frozen=True)
class Failed(Message):
    number: int


@dataclass(frozen=True)
class Inquire(Message):
    number: int


@dataclass(frozen=True)
class Relinquish(Message):
    pass


@dataclass(frozen=True)
class Kept(Message):
    """I am inside: the lock comes back when I leave."""


@dataclass(frozen=True)
class Release(Message):
    pass


@mypyc_attr(allow_interpreted_subclasses=True)
class Kakugawa(Loopback):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Locked, Failed, Inquire, Relinquish, Kept, Release)

    def __init__(self, me: int, n: int, k: int, coterie: KCoterie) -> None:
        super().__init__(me, n)
        self.quorums = coterie.quorums
        self.containing = coterie.containing  # the quorums that each process is in
        self.home = coterie.home[me]  # the quorum to try first
        self.highest = 0  # number seen in any request
        # in the role of a requester
        self.number = 0  # of my latest request
        self.asked: set[int] = set()  # members that have my request
        self.locks: set[int] = set()  # members locked for me
        self.lost: set[int] = set()  # members at which older requests come first
        self.losses = [0] * len(self.quorums)  # how many of them each quorum has
        self.tried: list[int] = []  # quorums asked in full
        self.candidate = -1  # the one in which I have not lost, or -1
        # in the role of a quorum member
        self.locked_for: tuple[int, int] | None = None  # the request I am locked for: (number, process)
        self.queue: list[tuple[int, int]] = []  # the requests that wait for my lock, oldest first
        self.inquired = False  # I have asked for my lock back
        self.kept = False  # the holder is inside and keeps it
        self.untold = -1  # the first process in the queue, if it has not been told that it has lost
        self.known: set[int] = set()  # the processes of the requests that I have

    # -- the requester ---------------------------------------------------------------------------------

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.highest += 1
        self.number = self.highest
        self._ask(self.home, out)

    def release(self, out: Out) -> None:
        self.leave()
        self._release(sorted(self.asked), out)
        self.asked = set()
        self.locks = set()

    def _ask(self, index: int, out: Out) -> None:
        """Ask a quorum. My own answer comes immediately, so I ask myself last."""
        self.candidate = index
        self.tried.append(index)
        members = [member for member in self.quorums[index] if member not in self.asked and member != self.me]
        if self.me in self.quorums[index] and self.me not in self.asked:
            members.append(self.me)
        self.asked.update(members)
        for member in members:
            self._tell(member, Request(self.number), out)
        if self.phase == WAITING and self._is_mine(index):
            self._enter_with(index, out)

    def _look_elsewhere(self, out: Out) -> None:
        """Turn to the next quorum in which I have not lost, if there is one."""
        self.candidate = -1
        index = first_place(self.losses, 0, self.home)
        if index >= 0:
            self._ask(index, out)

    def _on_locked(self, member: int, out: Out) -> None:
        self.locks.add(member)
        if member in self.lost:
            self.lost.remove(member)
            for index in self.containing[member]:
                self.losses[index] -= 1
        for index in self.tried:
            if self._is_mine(index):
                self._enter_with(index, out)
                return
        if self.candidate < 0:
            self._look_elsewhere(out)

    def _on_lost(self, member: int, out: Out) -> None:
        if member not in self.lost:
            self.lost.add(member)
            for index in self.containing[member]:
                self.losses[index] += 1
        if self.candidate >= 0 and self.losses[self.candidate] > 0:
            self._look_elsewhere(out)

    def _on_inquire(self, member: int, number: int, out: Out) -> None:
        if number != self.number or member not in self.locks:
            return  # my RELEASE is in transit
        if self.phase == INSIDE:
            self._tell(member, Kept(), out)
        else:
            self.locks.remove(member)
            self._tell(member, Relinquish(), out)
            self._on_lost(member, out)

    def _is_mine(self, index: int) -> bool:
        return all(member in self.locks for member in self.quorums[index])

    def _enter_with(self, index: int, out: Out) -> None:
        """Enter with the locks of one quorum; the others get theirs back."""
        rest = sorted(self.asked.difference(self.quorums[index]))
        self.asked.difference_update(rest)
        self.locks.difference_update(rest)
        self.lost = set()
        self.losses = [0] * len(self.quorums)
        self.tried = []
        self.candidate = -1
        self.enter(out)
        self._release(rest, out)

    def _release(self, members: list[int], out: Out) -> None:
        for member in members:
            self._tell(member, Release(), out)

    # -- a member of quorums ---------------------------------------------------------------------------

    def _on_request(self, src: int, number: int, out: Out) -> None:
        self.highest = max(self.highest, number)
        self.known.add(src)
        request = (number, src)
        holder = self.locked_for
        if holder is None:
            self._lock(request, out)
            return
        leads = not self.queue or is_older(request, self.queue[0])
        enqueue(self.queue, request)
        if not leads or is_older(holder, request) or self.kept:
            self._tell(src, Failed(number), out)
            return
        overtaken = self.untold
        self.untold = src
        if overtaken >= 0:
            self._fail(overtaken, out)
        elif not self.inquired:
            self.inquired = True
            self._tell(holder[1], Inquire(holder[0]), out)

    def _on_relinquish(self, out: Out) -> None:
        holder = self.locked_for
        assert holder is not None
        enqueue(self.queue, holder)
        self._lock(self.queue.pop(0), out)

    def _on_kept(self, out: Out) -> None:
        self.kept = True
        untold = self.untold
        self.untold = -1
        if untold >= 0:
            self._fail(untold, out)

    def _on_release(self, src: int, out: Out) -> None:
        holder = self.locked_for
        self.known.remove(src)
        if holder is None or holder[1] != src:
            forget_process(self.queue, src)
            if self.untold == src:
                self.untold = -1
            return
        self.locked_for = None
        if self.queue:
            self._lock(self.queue.pop(0), out)

    def _lock(self, request: tuple[int, int], out: Out) -> None:
        self.locked_for = request
        self.inquired = False
        self.kept = False
        self.untold = -1
        self._tell(request[1], Locked(request[0]), out)

    def _fail(self, process: int, out: Out) -> None:
        number = number_of(self.queue, process)
        if number > 0:
            self._tell(process, Failed(number), out)

    # -- messages --------------------------------------------------------------------------------------

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request) and not self._knows(src):
            self._on_request(src, msg.number, out)
        elif isinstance(msg, Locked) and 0 < msg.number <= self.number:
            if self._awaits(src, msg.number):
                self._on_locked(src, out)
        elif isinstance(msg, Failed) and 0 < msg.number <= self.number:
            if self._awaits(src, msg.number):
                self._on_lost(src, out)
        elif isinstance(msg, Inquire) and 0 < msg.number <= self.number:
            self._on_inquire(src, msg.number, out)
        elif isinstance(msg, Relinquish) and self._is_asked_back(src):
            self._on_relinquish(out)
        elif isinstance(msg, Kept) and self._is_asked_back(src):
            self._on_kept(out)
        elif isinstance(msg, Release) and self._knows(src):
            self._on_release(src, out)
        else:
            raise self.unexpected(src, msg)

    def _awaits(self, member: int, number: int) -> bool:
        """True if this is about my current request. Answers may arrive after I have released a member."""
        return self.phase == WAITING and number == self.number and member in self.asked and member not in self.locks

    def _is_asked_back(self, src: int) -> bool:
        return self.inquired and not self.kept and self.locked_for is not None and self.locked_for[1] == src

    def _knows(self, src: int) -> bool:
        """True if I have a request of this process."""
        return src in self.known
