"""Surrogate, second stage: followers release their leader's quorum themselves, each its share.

A leader enters with weight one. With every invitation it gives away half of what it has left. A process that leaves,
leader or follower, sends its weight to the leader's quorum, and a member is free when it has gathered one. So there are
two hops, RELEASED and LOCKED, from the time the last process leaves to the next leader's entry. The price is stale
invitations. The weight in one must be sent back to a whole quorum, and there may be one from each member of another:
O(q^2) messages.

Atreya, Mittal & Peri 2007, section IV-B; weights as in Huang 1989, exact (`parts.weights`). A RELEASED also says which
request of its sender it ends, and to which leader the lock belongs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.algorithms.group import surrogate_quorum
from congenial.algorithms.group.surrogate_quorum import SurrogateQuorum
from congenial.kernel.message import Message, Messages
from congenial.kernel.out import Out
from congenial.kernel.spec import Law, Spec
from congenial.parts.clocks import Timed
from congenial.parts.queues import Asked
from congenial.parts.quorums.information import Information
from congenial.parts.quorums.system import Quorums
from congenial.parts.weights import NOTHING, ONE, Weight, at_most_one, half, plus

SPEC = replace(
    surrogate_quorum.SPEC,
    name="surrogate-b",
    title="Surrogate, stage B",
    reference="Atreya, Mittal & Peri 2007, section IV-B",
    messages=Law("3*(q_min-1)", "7*q + 1 + q*(q+1)"),
    sync_delay=Law("1", "2"),
)


@dataclass(frozen=True)
class Invite(surrogate_quorum.Invite):
    weight: Weight = field(metadata={"type": Weight})


@dataclass(frozen=True)
class Released(Timed):
    number: int
    leader: int
    weight: Weight = field(metadata={"type": Weight})
    fence: int


@mypyc_attr(allow_interpreted_subclasses=True)
class SurrogateB(SurrogateQuorum):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (*SurrogateQuorum.messages, Invite, Released)

    def __init__(self, me: int, n: int, quorums: Quorums | Information) -> None:
        super().__init__(me, n, quorums)
        self.weight = NOTHING  # my share, while I am inside
        self.gathered = NOTHING  # as a member: the weight that has come back for my lock

    # -- leaders and followers -------------------------------------------------------------------------

    def _lead(self, out: Out) -> None:
        self.weight = ONE
        super()._lead(out)

    def _invite(self, request: Asked, out: Out) -> None:
        self.weight = half(self.weight)
        self._tell(request[1], Invite(self.clock, request[0], self.group, self.fence, self.weight), out)

    def _on_invite(self, src: int, msg: surrogate_quorum.Invite, out: Out) -> None:
        if not isinstance(msg, Invite):
            raise self.unexpected(src, msg)
        if self._waits_with(msg.number):
            self.weight = msg.weight
        super()._on_invite(src, msg, out)

    def _on_stale_invite(self, src: int, msg: surrogate_quorum.Invite, out: Out) -> None:
        assert isinstance(msg, Invite)
        self._tell_all(self.quorums[src], Released(self.clock, msg.number, src, msg.weight, msg.fence), out)

    def _leave_forum(self, out: Out) -> None:
        released = Released(self.clock, self.number, self.leader, self.weight, self.fence)
        self.weight = NOTHING
        self._tell_all(self.quorums[self.leader], released, out)

    # -- a member of quorums ---------------------------------------------------------------------------

    def _lock(self, request: Asked, out: Out) -> None:
        self.gathered = NOTHING
        super()._lock(request, out)

    def _on_released(self, src: int, msg: Released, out: Out) -> None:
        self.fence = max(self.fence, msg.fence)
        self.gathered = plus(self.gathered, msg.weight)
        self._forget(src, msg.number)
        if self.gathered == ONE:
            self._free(out)

    # -- messages --------------------------------------------------------------------------------------

    def _handle(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Released) and self._is_a_share_of_my_lock(msg):
            self._on_released(src, msg, out)
        else:
            super()._handle(src, msg, out)

    def _is_a_share_of_my_lock(self, msg: Released) -> bool:
        holder = self.locked_for
        return holder is not None and holder[1] == msg.leader and at_most_one(plus(self.gathered, msg.weight))
