"""Agrawal and El Abbadi's algorithm: ask a path of a tree, and when a process fails, a path around it.

The locking is Maekawa's: the members of a quorum each lock themselves for one request at a time, oldest first. A member
that is locked for a younger request asks for its lock back (INQUIRE), and a process that has lost somewhere (FAILED)
returns it (YIELD). The quorums are those of a tree, log2(n) processes from the root to a leaf
(`parts/quorums/tree.py`). Any two of them meet, even if they were built around different failures. So when a failure
detector suspects a member, a process that waits withdraws its request and makes a new one, with another quorum. If
there is none it waits until a process recovers.

Crashes are repaired as follows. A member saves the request it is locked for before it says so, and remembers it when it
recovers. A process that recovers tells all others (RECOVERED) and names the request it is locked for: its own old
requests are forgotten; the named request is released, if it is over; processes that wait for this member ask again. A
process that crashes while it has locks would keep all others out, so members free the lock of a process that they
suspect. That is safe only if suspicions are right. With the option orphans=keep they wait for it to recover instead:
then false suspicions do no harm, but a holder that has crashed permanently blocks all others.

Agrawal & El Abbadi 1991, as described in Velazquez 1993, section 5. The recovery is ours, since the survey does not
describe one. FAILED is added, as in our Maekawa. All messages carry the number of a request, so that messages of an old
request are recognised. Channels must be FIFO. There are no fences: a holder that crashes takes the number of its entry
with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import INSIDE, WAITING
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Option, Spec
from congenial.parts.loopback import QueuedLoopback
from congenial.parts.queues import Request as Queued
from congenial.parts.queues import enqueue, is_older, number_of
from congenial.parts.quorums.tree import tree_quorum
from congenial.parts.yielding import Yielding
from congenial.problems.mutex import MUTEX

ORPHANS: Final = ("free", "keep")


def build_orphans(text: str, n: int) -> bool:
    if text not in ORPHANS:
        raise ConfigError(f"orphans must be one of {', '.join(ORPHANS)}, not {text!r}")
    return text == "free"


SPEC = Spec(
    name="agrawal-el-abbadi",
    title="Agrawal-El Abbadi",
    problem=MUTEX,
    reference="Agrawal & El Abbadi 1991; Velazquez 1993, section 5",
    fifo=True,
    faults="crashes, accurately detected",
    messages=Law("3*log2(n+1)-6", "6*log2(n)+6"),  # without failures; a path has floor(log2(n)) + 1 members or one less
    size="2",
    waiting=Law("0", "2"),
    sync_delay=Law("1", "2"),
    options=(Option("orphans", "free", "locks of a suspected process: free or keep", build_orphans, choices=ORPHANS),),
    flaws=(
        "a false suspicion of the holder admits a second process (orphans=free)",
        "a holder that crashes blocks all others until it recovers (orphans=keep)",
    ),
)


@dataclass(frozen=True)
class Request(Message):
    number: int


@dataclass(frozen=True)
class Locked(Message):
    number: int


@dataclass(frozen=True)
class Failed(Message):
    number: int


@dataclass(frozen=True)
class Inquire(Message):
    number: int


@dataclass(frozen=True)
class Yield(Message):
    number: int


@dataclass(frozen=True)
class Release(Message):
    """The request is over, or withdrawn."""

    number: int


@dataclass(frozen=True)
class Recovered(Message):
    """I have recovered, and am locked for this request (number 0: for none)."""

    number: int
    process: int


@mypyc_attr(allow_interpreted_subclasses=True)
class AgrawalElAbbadi(QueuedLoopback, Yielding):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Locked, Failed, Inquire, Yield, Release, Recovered)
    durable: ClassVar[tuple[str, ...]] = ("highest", "locked_for")

    def __init__(self, me: int, n: int, orphans: bool = True) -> None:
        super().__init__(me, n)
        self.frees = orphans
        self.highest = 0  # number seen in any request
        self.suspected: list[int] = []
        # in the role of a requester
        self.number = 0  # of my request
        self.path = tree_quorum(n, me)  # my quorum while nobody is suspected
        self.quorum: tuple[int, ...] = ()  # empty while none can be formed
        self.locks: list[int] = []  # members locked for me
        self.lost = []  # members at which an older request comes first
        self.inquiries = []  # members that want their lock back and have no answer yet
        # in the role of a quorum member
        self.locked_for: tuple[int, int] | None = None  # the request I am locked for: (number, process)
        self.inquired = False  # I have asked for my lock back
        self.queue: list[tuple[int, int]] = []  # the requests that wait for my lock, oldest first
        self.told: set[int] = set()  # processes in the queue that know that they have lost

    # -- the requester ---------------------------------------------------------------------------------

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self._ask(out)
        self._hear_myself(out)

    def release(self, out: Out) -> None:
        self.leave()
        self._withdraw(out)
        self._hear_myself(out)

    def _ask(self, out: Out) -> None:
        self.quorum = tree_quorum(self.n, self.me, self.suspected) if self.suspected else self.path
        self.highest += 1
        self.number = self.highest
        out.save()  # so that the number is never used again
        for member in self.quorum:
            self._tell(member, Request(self.number), out)

    def _withdraw(self, out: Out) -> None:
        for member in self.quorum:
            self._tell(member, Release(self.number), out)
        self.quorum = ()
        self.locks = []
        self.lost = []
        self.inquiries = []

    def _ask_again(self, out: Out) -> None:
        self._withdraw(out)
        self._ask(out)

    def _on_locked(self, member: int, out: Out) -> None:
        self.locks.append(member)
        if member in self.lost:
            self.lost.remove(member)
        if len(self.locks) == len(self.quorum):
            self.inquiries = []  # the answer to them is my RELEASE
            self.enter(out)

    def _return(self, member: int, out: Out) -> None:
        self.locks.remove(member)
        self._tell(member, Yield(self.number), out)

    # -- a member of quorums ---------------------------------------------------------------------------

    def _on_request(self, src: int, number: int, out: Out) -> None:
        self.highest = max(self.highest, number)
        self._forget(src, out)  # an older request, if its RELEASE was lost while I was down
        enqueue(self.queue, (number, src))
        self._serve(out)

    def _on_yield(self, request: tuple[int, int], out: Out) -> None:
        enqueue(self.queue, request)
        self.told.add(request[1])
        self._set_lock(None, out)
        self._serve(out)

    def _on_release(self, request: tuple[int, int], out: Out) -> None:
        if request == self.locked_for:
            self._set_lock(None, out)
        else:
            self._drop([request] * self.queue.count(request))
        self._serve(out)

    def _drop(self, requests: list[tuple[int, int]]) -> None:
        for request in requests:
            self.queue.remove(request)
            self.told.discard(request[1])

    def _forget(self, process: int, out: Out) -> None:
        if number_of(self.queue, process):
            self._drop([request for request in self.queue if request[1] == process])
        if self.locked_for is not None and self.locked_for[1] == process:
            self._set_lock(None, out)

    def _set_lock(self, request: tuple[int, int] | None, out: Out) -> None:
        self.locked_for = request
        self.inquired = False
        out.save()

    def _serve(self, out: Out) -> None:
        """Lock for the oldest request of a process that is not suspected; tell the others where they stand."""
        waiting = self._waiting()
        if waiting and self.locked_for is None:
            oldest = waiting[0]
            self._drop([oldest])
            self._set_lock(oldest, out)
            self._tell(oldest[1], Locked(oldest[0]), out)
            waiting = self._waiting()
        holder = self.locked_for
        if not waiting or holder is None:
            return
        if len(self.told) < len(self.queue):
            self._tell_losers(waiting, holder, out)
        if is_older(waiting[0], holder) and not self.inquired:
            self.inquired = True
            self._tell(holder[1], Inquire(holder[0]), out)

    def _waiting(self) -> list[Queued]:
        if not self.suspected:
            return self.queue
        return [request for request in self.queue if request[1] not in self.suspected]

    def _tell_losers(self, waiting: list[Queued], holder: Queued, out: Out) -> None:
        """All that wait have lost, except for the first if it is older than the holder. Most have been told, so the
        others are looked for from the end."""
        untold = len(self.queue) - len(self.told)
        first = waiting[0]
        fails = False
        if first[1] not in self.told:
            untold -= 1
            fails = is_older(holder, first)
        losers: list[Queued] = []
        place = len(waiting) - 1
        while place > 0 and len(losers) < untold:
            if waiting[place][1] not in self.told:
                losers.append(waiting[place])
            place -= 1
        if fails:
            losers.append(first)
        for number, process in reversed(losers):
            self.told.add(process)
            self._tell(process, Failed(number), out)

    # -- failures --------------------------------------------------------------------------------------

    def on_suspect(self, peer: int, out: Out) -> None:
        self.suspected = sorted([*self.suspected, peer])
        if self.frees and self.locked_for is not None and self.locked_for[1] == peer:
            self._set_lock(None, out)
        self._serve(out)
        if self.phase == WAITING and peer in self.quorum:
            self._ask_again(out)
        self._hear_myself(out)

    def on_trust(self, peer: int, out: Out) -> None:
        self.suspected = [other for other in self.suspected if other != peer]
        self._serve(out)
        if self.phase == WAITING and not self.quorum:
            self._ask(out)
        self._hear_myself(out)

    def on_recover(self, out: Out) -> None:
        if self.locked_for is not None and self.locked_for[1] == self.me:
            self._set_lock(None, out)
        number, process = self.locked_for or (0, 0)
        out.broadcast(Recovered(number, process))

    def _on_recovered(self, src: int, number: int, process: int, out: Out) -> None:
        self._forget(src, out)
        self._serve(out)
        if number > 0 and process == self.me and not (self.phase == INSIDE and number == self.number):
            self._tell(src, Release(number), out)
        if self.phase == WAITING and src in self.quorum:
            self._ask_again(out)

    # -- messages --------------------------------------------------------------------------------------

    def _handle(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            self._on_request(src, msg.number, out)
        elif isinstance(msg, Locked) and msg.number <= self.highest:
            if self._concerns(src, msg.number):
                self._on_locked(src, out)
            else:  # my RELEASE is in transit, or was lost while the member was down
                self._tell(src, Release(msg.number), out)
        elif isinstance(msg, Failed) and msg.number <= self.highest:
            if self._concerns(src, msg.number):
                self._on_failed(src, out)
        elif isinstance(msg, Inquire) and msg.number <= self.highest:
            if self._concerns(src, msg.number) and src in self.locks:
                self._on_inquire(src, out)
        elif isinstance(msg, Yield):
            if self.locked_for == (msg.number, src):
                self._on_yield((msg.number, src), out)
        elif isinstance(msg, Release):
            self._on_release((msg.number, src), out)
        elif isinstance(msg, Recovered):
            self._on_recovered(src, msg.number, msg.process, out)
        else:
            raise self.unexpected(src, msg)

    def _concerns(self, member: int, number: int) -> bool:
        """Is this about the request I wait with, and not about an old one?"""
        return self.phase == WAITING and number == self.number and member in self.quorum
