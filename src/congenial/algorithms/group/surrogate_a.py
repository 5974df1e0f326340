"""Surrogate, first stage: a leader keeps its quorum locked until all its followers have told it that they left.

Leaders and followers are as in `surrogate_quorum`. A follower that leaves sends LEAVE to its leader. When the leader
has left itself and has heard from all followers, it releases its quorum. Meanwhile it may be idle, or ask for its next
session. A process that is invited for a request that is over answers with LEAVE immediately. From the time the last
process leaves to the next leader's entry there are three hops: LEAVE, RELEASED, LOCKED.

Atreya, Mittal & Peri 2007, section IV-A. A process that asks for the current group after the leader got its locks waits
for another session: the algorithm lacks concurrent entry, as the paper says (section VIII-A).

Cost, for every member: REQUEST and LOCKED; FAILED, or else INQUIRE, RELINQUISH and a second LOCKED; RELEASED or CANCEL.
A follower adds INVITE and LEAVE. Every member may add them once per request, if it lists the request while its CANCEL
is in transit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.algorithms.group import surrogate_quorum
from congenial.algorithms.group.surrogate_quorum import Invite, SurrogateQuorum
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import INSIDE
from congenial.kernel.out import Out
from congenial.kernel.spec import Law, Spec
from congenial.parts.clocks import Timed
from congenial.parts.queues import Asked
from congenial.parts.quorums.system import Quorums

SPEC = replace(
    surrogate_quorum.SPEC,
    name="surrogate-a",
    title="Surrogate, stage A",
    reference="Atreya, Mittal & Peri 2007, section IV-A",
    messages=Law("2*(q_min-1)", "8*q + 2"),
    sync_delay=Law("1", "3"),
)


@dataclass(frozen=True)
class Leave(Timed):
    pass


@dataclass(frozen=True)
class Released(Timed):
    number: int
    fence: int


@mypyc_attr(allow_interpreted_subclasses=True)
class SurrogateA(SurrogateQuorum):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (*SurrogateQuorum.messages, Invite, Leave, Released)

    def __init__(self, me: int, n: int, quorums: Quorums) -> None:
        super().__init__(me, n, quorums)
        self.led = 0  # the number of the request with which I hold my quorum as a leader
        self.followers = 0  # of mine that have not left, as far as I know
        self.named: tuple[Asked, ...] = ()  # as a member: the requests that went with my last LOCKED

    # -- leaders and followers -------------------------------------------------------------------------

    def _lead(self, out: Out) -> None:
        self.led = self.number
        super()._lead(out)

    def _invite(self, request: Asked, out: Out) -> None:
        self.followers += 1
        self._tell(request[1], Invite(self.clock, request[0], self.group, self.fence), out)

    def _on_stale_invite(self, src: int, msg: Invite, out: Out) -> None:
        self._tell(src, Leave(self.clock), out)

    def _leave_forum(self, out: Out) -> None:
        if self.leader == self.me:
            self._release_if_all_left(out)
        else:
            self._tell(self.leader, Leave(self.clock), out)

    def _on_leave(self, out: Out) -> None:
        self.followers -= 1
        self._release_if_all_left(out)

    def _release_if_all_left(self, out: Out) -> None:
        """While I hold my quorum no other process can lead: if I am inside, then as the leader."""
        if self.followers == 0 and self.phase != INSIDE:
            released = Released(self.clock, self.led, self.fence)
            self.led = 0
            self._tell_all(self.quorum, released, out)

    # -- a member of quorums ---------------------------------------------------------------------------

    def _lock(self, request: Asked, out: Out) -> None:
        self.named = self._compatible(request)
        super()._lock(request, out)

    def _on_released(self, msg: Released, out: Out) -> None:
        """The processes that I had named to the leader have been inside by now."""
        self.fence = max(self.fence, msg.fence)
        for number, process, _ in self.named:
            self._forget(process, number)
        self._free(out)

    # -- messages --------------------------------------------------------------------------------------

    def _handle(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Leave) and self.led and self.followers:
            self._on_leave(out)
        elif isinstance(msg, Released) and self._is_locked_for(src, msg.number):
            self._on_released(msg, out)
        else:
            super()._handle(src, msg, out)
