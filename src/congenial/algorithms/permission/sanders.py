"""Sanders' generalised algorithm: which processes to ask, and which to inform, is a parameter.

A process asks all of its request set and enters with their permission. When it leaves it tells its inform set
(`parts.quorums.information` says what these sets must be like). A process that gives its permission to one that keeps
it informed is locked from then until it learns that that one has left. Requests that arrive meanwhile wait. Other
permissions are given and forgotten. So a free process answers the oldest requests that wait for it, up to and including
the first from a process that will lock it.

Locks are given by age (number, then id), and recovered from younger requests as in Maekawa's algorithm: FAIL says that
an older request comes first, INQUIRE asks for a lock back, and a process that has lost somewhere answers with YIELD.

Sanders 1987; Velazquez 1993, section 5. Added: a process whose inform set is itself alone can hold no lock but its own,
so nobody needs it to yield. It gives its own lock to any older request immediately, and is never sent a FAIL. With
Ricart and Agrawala's sets the algorithm then sends exactly what theirs sends; with quorums it sends what Maekawa's
does. Channels must be FIFO. Fences travel with RELEASE and GRANT.

Cost: REQUEST and GRANT for every other member of the request set, RELEASE for every other member of the inform set. A
request that arrives at a locked process costs one FAIL more, or INQUIRE, YIELD and a second GRANT.
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
from congenial.parts.quorums.information import Information, build_information
from congenial.parts.rows import discard, place_in
from congenial.parts.yielding import Yielding
from congenial.problems.mutex import MUTEX

SPEC = Spec(
    name="sanders",
    title="Sanders",
    problem=MUTEX,
    reference="Sanders 1987; Velazquez 1993, section 5",
    fifo=True,
    fences=True,
    messages=Law("i_min + 2*r_min", "i + 5*r"),
    size="1",
    waiting=Law("0", "2"),
    sync_delay=Law("1", "2"),
    options=(
        Option(
            "structure",
            "clusters",
            "clusters[:COUNT], ricart-agrawala, maekawa[:QUORUMS], centralised or everybody",
            build_information,
            choices=("clusters", "clusters:2", "ricart-agrawala", "maekawa:grid", "centralised", "everybody"),
        ),
    ),
)


@dataclass(frozen=True)
class Request(Message):
    number: int


@dataclass(frozen=True)
class Grant(Message):
    fence: int


@dataclass(frozen=True)
class Fail(Message):
    pass


@dataclass(frozen=True)
class Inquire(Message):
    pass


@dataclass(frozen=True)
class Yield(Message):
    pass


@dataclass(frozen=True)
class Release(Message):
    fence: int


@mypyc_attr(allow_interpreted_subclasses=True)
class Sanders(Loopback, Yielding):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Grant, Fail, Inquire, Yield, Release)

    def __init__(self, me: int, n: int, structure: Information) -> None:
        super().__init__(me, n)
        self.asks = structure.asks(me)  #                                                               R_i
        self.informs = structure.informs(me)  #                                                         I_i
        self.status = structure.status(me)  #                                                           S_i
        self.solitary = structure.solitary  # the processes whose inform set is themselves alone
        self.highest = 0  # number seen in any request
        self.fence = 0  # the largest seen
        # in the role of a requester
        self.missing: set[int] = set()  # the processes whose permission I wait for
        self.lost = []  # those of them at which an older request comes first, in ascending order
        self.inquiries = []  # those that want their lock back and have no answer yet
        # in the role of a process that is asked
        self.holder: tuple[int, int] | None = None  # the request I am locked for: (number, process)    CSSTAT
        self.queue: list[tuple[int, int]] = []  # the requests that wait for that, oldest first
        self.inquired = False  # I have asked for my lock back

    # -- the requester ---------------------------------------------------------------------------------

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.highest += 1
        self.missing = set(self.asks)
        request = Request(self.highest)
        for member in self.asks:
            self._tell(member, request, out)
        if not self.asks:
            self._enter(out)

    def release(self, out: Out) -> None:
        self.leave()
        for member in self.informs:
            self._tell(member, Release(self.fence), out)

    def _on_grant(self, member: int, fence: int, out: Out) -> None:
        self.fence = max(self.fence, fence)
        self.missing.remove(member)
        discard(self.lost, member)
        if not self.missing:
            self._enter(out)

    def _enter(self, out: Out) -> None:
        self.inquiries = []  # the answer to them is my RELEASE
        self.fence += 1
        self.enter(out, self.fence)

    def _lose(self, member: int) -> None:
        """In ascending order: states that differ only in the order of losses are one state."""
        self.lost.insert(place_in(self.lost, member), member)

    def _yields(self) -> bool:
        return bool(self.lost) or self.me in self.solitary

    def _return(self, member: int, out: Out) -> None:
        self.missing.add(member)
        self._tell(member, Yield(), out)

    # -- a process that is asked -----------------------------------------------------------------------

    def _on_request(self, src: int, number: int, out: Out) -> None:
        self.highest = max(self.highest, number)
        request = (number, src)
        holder = self.holder
        if holder is None:
            self._grant(request, out)
            return
        leader = self.queue[0] if self.queue else None
        enqueue(self.queue, request)
        if holder < request or (leader is not None and leader < request):
            self._fail(src, out)
            return
        if leader is not None and leader < holder:  # until now it had not lost
            self._fail(leader[1], out)
        if not self.inquired:
            self.inquired = True
            self._tell(holder[1], Inquire(), out)

    def _fail(self, process: int, out: Out) -> None:
        if process not in self.solitary:
            self._tell(process, Fail(), out)

    def _on_yield(self, out: Out) -> None:
        holder = self.holder
        assert holder is not None
        enqueue(self.queue, holder)
        self._serve(out)

    def _on_release(self, fence: int, out: Out) -> None:
        self.fence = max(self.fence, fence)
        self._serve(out)

    def _serve(self, out: Out) -> None:
        """Free again: grant the requests that wait, until one of them locks me."""
        self.holder = None
        locked = False
        while self.queue and not locked:
            locked = self._grant(self.queue.pop(0), out)

    def _grant(self, request: tuple[int, int], out: Out) -> bool:
        """Give my permission to a request; does that lock me?"""
        locks = request[1] in self.status
        if locks:
            self.holder = request
            self.inquired = False
        self._tell(request[1], Grant(self.fence), out)
        return locks

    # -- messages --------------------------------------------------------------------------------------

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            self._on_request(src, msg.number, out)
        elif isinstance(msg, Grant) and self._awaits(src):
            self._on_grant(src, msg.fence, out)
        elif isinstance(msg, Fail) and self._awaits(src):
            self._on_failed(src, out)
        elif isinstance(msg, Inquire) and src in self.informs:
            if self.phase == WAITING and src not in self.missing:  # otherwise my RELEASE is in transit
                self._on_inquire(src, out)
        elif isinstance(msg, Yield) and self.holder is not None and self.holder[1] == src:
            self._on_yield(out)
        elif isinstance(msg, Release) and self.holder is not None and self.holder[1] == src:
            self._on_release(msg.fence, out)
        else:
            raise self.unexpected(src, msg)

    def _awaits(self, member: int) -> bool:
        return self.phase == WAITING and member in self.missing
