"""Surrogate: leaders know which requests are over, and send no stale invitations.

One thing is added to the second stage. Members remember the last request of every process that they know to be over,
from RELEASED and CANCEL. With every LOCKED they tell the process what they have not told it before. Any two quorums
have a member in common. So a new leader has been locked by a member of every earlier leader's quorum, which was
released by all that were inside, and knows of all of them. It does not invite them, and the only messages of which
there could be too many are gone: O(q), with two hops from one session to the next.

Atreya, Mittal & Peri 2007, section IV-C and figures 1, 2. A process keeps two lists: one as a member, which it tells,
and one as a leader, which it uses. The paper leaves that open. But if a member passed on what it has only been told,
every request would become known to all n processes, not just to the O(q) members that theorem 12 assumes when it bounds
messages by O(b) integers, amortised (see the errata). Channels must be FIFO for lists to be sent piece by piece. A
CANCEL from the process that a member is locked for frees it, "like a RELEASED message carrying a weight of 1".

Not here: up to k sessions at the same time. The paper names the problem ("when the CD jukebox has more than [one]
player", section IX) and leaves it as future work, without an algorithm. This stage would not do as it is: where quorums
need not meet, a new leader may not hear of all that is over (`tests/group/test_k_forums.py`).

Cost: at most REQUEST, LOCKED, INQUIRE, RELINQUISH, a second LOCKED, CANCEL and RELEASED for every member, and one
INVITE.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from mypy_extensions import i64, mypyc_attr

from congenial.algorithms.group import surrogate_b, surrogate_quorum
from congenial.algorithms.group.surrogate_b import Released, SurrogateB
from congenial.kernel.message import Messages
from congenial.kernel.out import Out
from congenial.kernel.spec import Law, Spec
from congenial.parts.queues import Asked
from congenial.parts.quorums.information import Information
from congenial.parts.quorums.system import Quorums
from congenial.parts.updates import Items, Updates

SPEC = replace(
    surrogate_b.SPEC,
    name="surrogate",
    title="Surrogate",
    reference="Atreya, Mittal & Peri 2007, section IV-C",
    messages=Law("3*(q_min-1)", "7*q + 1"),
    size="3+3b+2n, O(b) amortised",
)


@dataclass(frozen=True)
class Locked(surrogate_quorum.Locked):
    over: Items = field(metadata={"type": Items})


@mypyc_attr(allow_interpreted_subclasses=True)
class Surrogate(SurrogateB):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (*SurrogateB.messages, Locked)

    def __init__(self, me: int, n: int, quorums: Quorums | Information) -> None:
        super().__init__(me, n, quorums)
        # as a requester: each process's last request known to be over, or 0                              staleList
        self.over: list[i64] = [0] * n
        self.news = Updates()  # the same as a member, with what each process was told                    staleList

    # -- leaders and followers -------------------------------------------------------------------------

    def _on_locked(self, member: int, msg: surrogate_quorum.Locked, out: Out) -> None:
        if not isinstance(msg, Locked):
            raise self.unexpected(member, msg)
        over = self.over
        items: tuple[tuple[i64, i64], ...] = msg.over
        for process, number in items:  # even if the LOCKED is stale: this is told only once
            if number > over[process]:
                over[process] = number
        super()._on_locked(member, msg, out)

    def _offered(self) -> list[Asked]:
        return [request for request in super()._offered() if not self._was_inside(request[1], request[0])]

    def _learn_over(self, process: int, number: int) -> None:
        if number > self.over[process]:
            self.over[process] = number

    def _was_inside(self, process: int, number: int) -> bool:
        return self.over[process] >= number

    def _on_stale_invite(self, src: int, msg: surrogate_quorum.Invite, out: Out) -> None:
        raise self.unexpected(src, msg)

    # -- a member of quorums ---------------------------------------------------------------------------

    def _locked(self, request: Asked) -> surrogate_quorum.Locked:
        return Locked(self.clock, request[0], self.fence, self._compatible(request), self.news.tell(request[1]))

    def _on_cancel(self, src: int, number: int, out: Out) -> None:
        self.news.learn(src, number)
        super()._on_cancel(src, number, out)

    def _on_released(self, src: int, msg: Released, out: Out) -> None:
        self.news.learn(src, msg.number)
        super()._on_released(src, msg, out)
