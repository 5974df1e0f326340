"""Surrogate with concurrent entry: leaders go on inviting as long as nobody asks for another group.

A member that is locked and receives a request for the same group forwards it to the process it is locked for, unless it
knows of a request for another group. It tells that process of such a request as well (STEPDOWN, or with LOCKED). A
leader invites the processes it is told of until it learns of a rival, a request for another group that is not over. So
a late request is admitted after three hops: REQUEST, FORWARD, INVITE. A leader without followers releases its quorum
when it leaves. One with followers keeps what is left of its weight, and its quorum, even when all have left: it invites
from outside until it has to step down.

Atreya, Mittal & Peri 2007, section VIII-A. The paper does not say what happens to a leader's weight when it leaves and
may still invite. That it keeps it gives a meaning to the paper's condition (2), "its weight is one". A leader also
invites itself, if it comes back. A LOCKED names all rivals, not one, since that one might be over, and another not.
Changed: when the last rival in its queue is cancelled, a member forwards the requests that it had held back because of
it. As published it forwards "never for an old request", and such a request can wait forever at a member whose leader
has left and is never asked to step down.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.algorithms.group import surrogate, surrogate_quorum
from congenial.algorithms.group.surrogate import Surrogate
from congenial.algorithms.group.surrogate_b import Invite, Released
from congenial.algorithms.group.surrogate_quorum import Request
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import INSIDE
from congenial.kernel.out import Out
from congenial.kernel.spec import Law, Spec
from congenial.parts.clocks import Timed
from congenial.parts.queues import Asked
from congenial.parts.quorums.system import Quorums
from congenial.parts.updates import Items
from congenial.parts.weights import NOTHING, ONE, half

SPEC = replace(
    surrogate.SPEC,
    name="surrogate-concurrent",
    title="Surrogate, concurrent entry",
    reference="Atreya, Mittal & Peri 2007, section VIII-A",
    messages=Law("2*(q_min-1)", "8*q + 1"),
    concurrent_entry=True,
)


@dataclass(frozen=True)
class Locked(surrogate.Locked):
    rivals: Items = field(metadata={"type": Items})  # processes and the numbers of their requests


@dataclass(frozen=True)
class Forward(Timed):
    number: int  # of the request that the lock was given to
    request: Asked = field(metadata={"type": Asked})


@dataclass(frozen=True)
class StepDown(Timed):
    number: int  # of the request that the lock was given to
    process: int  # the process that asks for another group
    rival: int  # and the number of its request


@mypyc_attr(allow_interpreted_subclasses=True)
class SurrogateConcurrent(Surrogate):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (*Surrogate.messages, Locked, Forward, StepDown)

    def __init__(self, me: int, n: int, quorums: Quorums) -> None:
        super().__init__(me, n, quorums)
        # in the role of a requester
        self.forwarded: set[Asked] = set()  # requests for my group, to be invited if I become the leader
        self.rivals: set[tuple[int, int]] = set()  # requests for other groups: process and number
        # as a leader, inside or not
        self.led = 0  # the number of the request with which I hold my quorum, or 0
        self.kept = NOTHING  # what is left of my weight as a leader
        self.open = False  # no rival is known: I may invite
        # in the role of a quorum member
        self.held_back: list[Asked] = []  # requests that are not forwarded because of a rival

    # -- leaders ---------------------------------------------------------------------------------------

    def _on_locked(self, member: int, msg: surrogate_quorum.Locked, out: Out) -> None:
        if not isinstance(msg, Locked):
            raise self.unexpected(member, msg)
        if self._waits_with(msg.number):
            self.rivals.update(msg.rivals)
        super()._on_locked(member, msg, out)

    def _lead(self, out: Out) -> None:
        self.led = self.number
        self.kept = ONE
        self.open = not [rival for rival in sorted(self.rivals) if not self._was_inside(rival[0], rival[1])]
        super()._lead(out)

    def _offered(self) -> list[Asked]:
        late = {request for request in sorted(self.forwarded) if not self._was_inside(request[1], request[0])}
        return sorted(late.union(super()._offered()))

    def _enter(self, out: Out) -> None:
        self.forwarded = set()
        self.rivals = set()
        super()._enter(out)

    def _invite(self, request: Asked, out: Out) -> None:
        """The request counts as over from now on, so that it is not invited twice."""
        self.over[request[1]] = request[0]
        self.kept = half(self.kept)
        self._tell(request[1], Invite(self.clock, request[0], self.group, self.fence, self.kept), out)

    def _on_forward(self, msg: Forward, out: Out) -> None:
        number, process, _ = msg.request
        if self._waits_with(msg.number):
            self.forwarded.add(msg.request)
        elif msg.number == self.led and self.open and not self._was_inside(process, number):
            self._invite(msg.request, out)

    def _on_step_down(self, msg: StepDown, out: Out) -> None:
        if self._waits_with(msg.number):
            self.rivals.add((msg.process, msg.rival))
        elif msg.number == self.led and not self._was_inside(msg.process, msg.rival):
            self.open = False
            if not self._is_inside_as_leader():
                self._let_go(out)

    def _leave_forum(self, out: Out) -> None:
        if self.number != self.led:
            super()._leave_forum(out)
        elif not self.open or self.kept == ONE:
            self._let_go(out)

    def _let_go(self, out: Out) -> None:
        released = Released(self.clock, self.led, self.me, self.kept, self.fence)
        self.led = 0
        self.kept = NOTHING
        self.open = False
        self._tell_all(self.quorum, released, out)

    def _is_inside_as_leader(self) -> bool:
        """False if I have left and come back at my own invitation, with another request."""
        return self.phase == INSIDE and self.number == self.led

    # -- a member of quorums ---------------------------------------------------------------------------

    def _on_request(self, src: int, msg: Request, out: Out) -> None:
        holder = self.locked_for
        super()._on_request(src, msg, out)
        request: Asked = (msg.time, src, msg.groups)
        if holder is None or self.locked_for != holder:  # LOCKED says all there is to know
            return
        if not self._are_compatible(holder[2], msg.groups):
            self._tell(holder[1], StepDown(self.clock, holder[0], src, msg.time), out)
        elif self._rivals_of(holder):
            self.held_back.append(request)
        else:
            self._tell(holder[1], Forward(self.clock, holder[0], request), out)

    def _on_cancel(self, src: int, number: int, out: Out) -> None:
        super()._on_cancel(src, number, out)
        holder = self.locked_for
        self.held_back = [request for request in self.held_back if request in self.queue]
        if holder is not None and self.held_back and not self._rivals_of(holder):
            late = self.held_back
            self.held_back = []
            for request in late:
                self._tell(holder[1], Forward(self.clock, holder[0], request), out)

    def _lock(self, request: Asked, out: Out) -> None:
        self.held_back = []
        super()._lock(request, out)

    def _locked(self, request: Asked) -> surrogate_quorum.Locked:
        compatible, news = self._compatible(request), self.news.tell(request[1])
        return Locked(self.clock, request[0], self.fence, compatible, news, self._rivals_of(request))

    def _rivals_of(self, request: Asked) -> Items:
        wanted = request[2]
        return tuple([(other[1], other[0]) for other in self.queue if not self._are_compatible(wanted, other[2])])

    # -- messages --------------------------------------------------------------------------------------

    def _handle(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Forward) and self._has_asked(src, msg.number):
            self._on_forward(msg, out)
        elif isinstance(msg, StepDown) and self._has_asked(src, msg.number):
            self._on_step_down(msg, out)
        else:
            super()._handle(src, msg, out)
