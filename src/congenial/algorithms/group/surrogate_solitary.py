"""Surrogate over Ricart and Agrawala's structure, where each process informs itself alone: one hop between sessions.

All processes are asked, and none is locked but the one that asks, by its own request. In `surrogate-information` a
leader then stays locked until the weights of its followers have come back, and only then agrees to other requests: two
hops. Here it agrees as soon as it has left itself, and names its followers that it does not know to have left. A
process that is agreed to waits for these as well, and a follower that leaves tells all others. So the last message
before the next session comes from the last process that leaves: a leader's LOCKED or a follower's RELEASED.

Atreya, Mittal & Peri 2007, section VIII-C.1: a node "resumes sending GRANT messages as soon as it has received a
RELEASED message from itself". The paper does not say how a waiting process knows for which others to wait; as in RA2,
followers are named by the processes that invited them. A process whose request is over need not have left: the request
is over as soon as it is invited. Weights are not needed, and are ignored. Telling all others costs O(n) messages, as
asking them does.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.algorithms.group import surrogate, surrogate_information, surrogate_quorum
from congenial.algorithms.group.surrogate_b import Released
from congenial.algorithms.group.surrogate_information import SurrogateInformation
from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message, Messages
from congenial.kernel.out import Out
from congenial.kernel.spec import Law, Option, Spec
from congenial.parts.queues import Asked
from congenial.parts.quorums.information import Information, build_information
from congenial.parts.updates import Items


def build_solitary(text: str, n: int) -> Information:
    structure = build_information(text, n)
    if len(structure.solitary) < n:
        raise ConfigError(f"structure {text}: not every process informs itself alone; use ricart-agrawala")
    return structure


SPEC = replace(
    surrogate_information.SPEC,
    name="surrogate-solitary",
    title="Surrogate, solitary inform sets",
    reference="Atreya, Mittal & Peri 2007, section VIII-C.1",
    messages=Law("2*(n-1)", "5*(n-1) + 1"),
    sync_delay=Law("1"),
    options=(
        Option(
            "structure",
            "ricart-agrawala",
            "a structure in which every process informs itself alone",
            build_solitary,
            choices=("ricart-agrawala",),
        ),
    ),
)


@dataclass(frozen=True)
class Locked(surrogate.Locked):
    followers: Items = field(metadata={"type": Items})  # of the sender, with their requests


@mypyc_attr(allow_interpreted_subclasses=True)
class SurrogateSolitary(SurrogateInformation):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (*SurrogateInformation.messages, Locked)

    def __init__(self, me: int, n: int, structure: Information) -> None:
        super().__init__(me, n, structure)
        self.followers: dict[int, int] = {}  # mine that I do not know to have left, with the numbers of their requests
        self.awaited: dict[int, int] = {}  # followers of others that must leave before I can lead
        self.left: dict[int, int] = {}  # the last request with which each was a follower and has left

    # -- leaders and followers -------------------------------------------------------------------------

    def _on_locked(self, member: int, msg: surrogate_quorum.Locked, out: Out) -> None:
        if not isinstance(msg, Locked):
            raise self.unexpected(member, msg)
        for process, number in msg.followers:
            self._learn_over(process, number)
            if self._waits_with(msg.number) and self.left.get(process, 0) < number:
                self.awaited[process] = number
        super()._on_locked(member, msg, out)

    def _lead(self, out: Out) -> None:
        if not self.awaited:
            super()._lead(out)

    def _enter(self, out: Out) -> None:
        self.awaited = {}
        super()._enter(out)

    def _invite(self, request: Asked, out: Out) -> None:
        self.followers[request[1]] = request[0]
        super()._invite(request, out)

    def _leave_forum(self, out: Out) -> None:
        if self.leader == self.me:
            self._free(out)
        else:
            released = Released(self.clock, self.number, self.leader, self.weight, self.fence)
            out.broadcast(released)
            self._on_released(self.me, released, out)

    # -- everybody -------------------------------------------------------------------------------------

    def _locked(self, request: Asked) -> surrogate_quorum.Locked:
        followers = tuple([(process, self.followers[process]) for process in sorted(self.followers)])
        return Locked(
            self.clock, request[0], self.fence, self._compatible(request), self.news.tell(request[1]), followers
        )

    def _on_released(self, src: int, msg: Released, out: Out) -> None:
        """A follower has left."""
        self.fence = max(self.fence, msg.fence)
        self.news.learn(src, msg.number)
        self._learn_over(src, msg.number)
        self.left[src] = msg.number
        if self.followers.get(src, msg.number + 1) <= msg.number:
            del self.followers[src]
        if self.awaited.get(src, msg.number + 1) <= msg.number:
            del self.awaited[src]
            if len(self.locks) == len(self.quorum):
                self._lead(out)

    def _handle(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Released) and msg.leader != src:
            self._on_released(src, msg, out)
        else:
            super()._handle(src, msg, out)
