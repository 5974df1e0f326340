"""Maekawa's algorithm: ask a quorum; its members each lock themselves for one request at a time.

Any two quorums share a member, so two processes can never both have the locks of a whole quorum. Members serve requests
by age (number, then id). A member that is locked for a younger request than the oldest it knows of tries to get the
lock back. To prevent a deadlock a member tells a request that has lost (FAILED), and a process that has lost somewhere
gives back (RELINQUISH) every lock it is asked for (INQUIRE).

Maekawa 1985; Velazquez 1993, section 5. As published, a request that led the queue and is overtaken there by an older
one is not told that it failed, and the system can deadlock. Like Sanders (1987) we tell it. A process takes its own
lock without messages. Channels must be FIFO: an INQUIRE may not overtake the LOCKED it is about. Added: fences, which
travel with RELEASE and LOCKED.

Cost: REQUEST, LOCKED and RELEASE for every other member. A request that arrives at a locked member costs one FAILED
more, or an INQUIRE, a RELINQUISH and a second LOCKED. The papers' "5 sqrt(n)" leaves out that second LOCKED: common
runs cost about 4 per member, but one in which requests arrive youngest first approaches 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import WAITING
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Option, Spec
from congenial.parts.loopback import Loopback
from congenial.parts.queues import enqueue
from congenial.parts.quorums.constructions import CONSTRUCTIONS, build_quorums
from congenial.parts.quorums.system import Quorums
from congenial.parts.yielding import Yielding
from congenial.problems.mutex import MUTEX

SPEC = Spec(
    name="maekawa",
    title="Maekawa",
    problem=MUTEX,
    reference="Maekawa 1985; Velazquez 1993, section 5",
    fifo=True,
    fences=True,
    messages=Law("3*(q_min-1)", "6*q"),
    size="1",
    waiting=Law("2"),
    sync_delay=Law("1", "2"),  # 1 where the quorums' common member is the one that leaves or enters
    options=(
        Option(
            "quorums", "auto", "plane, grid, majority, singleton or auto", build_quorums, choices=tuple(CONSTRUCTIONS)
        ),
    ),
)


@dataclass(frozen=True)
class Request(Message):
    number: int


@dataclass(frozen=True)
class Locked(Message):
    fence: int


@dataclass(frozen=True)
class Failed(Message):
    pass


@dataclass(frozen=True)
class Inquire(Message):
    pass


@dataclass(frozen=True)
class Relinquish(Message):
    pass


@dataclass(frozen=True)
class Release(Message):
    fence: int


@mypyc_attr(allow_interpreted_subclasses=True)
class Maekawa(Loopback, Yielding):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Locked, Failed, Inquire, Relinquish, Release)

    def __init__(self, me: int, n: int, quorums: Quorums) -> None:
        super().__init__(me, n)
        self.quorum = quorums.of(me)  #                                                  S_i
        self.highest = 0  # number seen in any request
        self.fence = 0  # the largest seen
        # in the role of a requester
        self.locks: list[int] = []  # members locked for me
        self.lost = []  # members at which an older request comes first
        self.inquiries = []  # members that want their lock back and have no answer yet
        # in the role of a quorum member
        self.locked_for: tuple[int, int] | None = None  # the request I am locked for: (number, process)
        self.queue: list[tuple[int, int]] = []  # the requests that wait for my lock, oldest first
        self.inquired = False  # I have asked for my lock back

    # -- the requester ---------------------------------------------------------------------------------

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.highest += 1
        request = Request(self.highest)
        for member in self.quorum:
            self._tell(member, request, out)

    def release(self, out: Out) -> None:
        self.leave()
        self.locks = []
        for member in self.quorum:
            self._tell(member, Release(self.fence), out)

    def _on_locked(self, member: int, fence: int, out: Out) -> None:
        self.fence = max(self.fence, fence)
        self.locks.append(member)
        if member in self.lost:
            self.lost.remove(member)
        if len(self.locks) == len(self.quorum):
            self.inquiries = []  # the answer to them is my RELEASE
            self.fence += 1
            self.enter(out, self.fence)

    def _return(self, member: int, out: Out) -> None:
        self.locks.remove(member)
        self._tell(member, Relinquish(), out)

    # -- a member of quorums ---------------------------------------------------------------------------

    def _on_request(self, src: int, number: int, out: Out) -> None:
        self.highest = max(self.highest, number)
        request = (number, src)
        holder = self.locked_for
        if holder is None:
            self._lock(request, out)
            return
        leader = self.queue[0] if self.queue else None
        enqueue(self.queue, request)
        if holder < request or (leader is not None and leader < request):
            self._tell(src, Failed(), out)
            return
        if leader is not None and leader < holder:  # until now it had not lost
            self._tell(leader[1], Failed(), out)
        if not self.inquired:
            self.inquired = True
            self._tell(holder[1], Inquire(), out)

    def _on_relinquish(self, src: int, out: Out) -> None:
        holder = self.locked_for
        assert holder is not None
        enqueue(self.queue, holder)
        self._lock(self.queue.pop(0), out)

    def _on_release(self, src: int, fence: int, out: Out) -> None:
        self.fence = max(self.fence, fence)
        self.locked_for = None
        if self.queue:
            self._lock(self.queue.pop(0), out)

    def _lock(self, request: tuple[int, int], out: Out) -> None:
        self.locked_for = request
        self.inquired = False
        self._tell(request[1], Locked(self.fence), out)

    # -- messages --------------------------------------------------------------------------------------

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            self._on_request(src, msg.number, out)
        elif isinstance(msg, Locked) and self._awaits(src):
            self._on_locked(src, msg.fence, out)
        elif isinstance(msg, Failed) and self._awaits(src):
            self._on_failed(src, out)
        elif isinstance(msg, Inquire) and src in self.quorum:
            if self.phase == WAITING and src in self.locks:  # otherwise my RELEASE is in transit
                self._on_inquire(src, out)
        elif isinstance(msg, Relinquish) and self.locked_for is not None and self.locked_for[1] == src:
            self._on_relinquish(src, out)
        elif isinstance(msg, Release) and self.locked_for is not None and self.locked_for[1] == src:
            self._on_release(src, msg.fence, out)
        else:
            raise self.unexpected(src, msg)

    def _awaits(self, member: int) -> bool:
        return self.phase == WAITING and member in self.quorum and member not in self.locks
