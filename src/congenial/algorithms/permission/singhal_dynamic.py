"""Singhal's dynamic information structure: ask only the processes that may have been inside since you last were.

Of any two processes at least one must ask the other; which one does changes all the time. A process that gives its
permission must from then on ask the process it gave it to, since that one may be inside. A process that has been given
a permission keeps it, and need not ask again until it gives its own away. So a process that enters often and alone asks
nobody, and one that has been away asks those that were active meanwhile. Conflicts are decided by age (number, then
id): a process that wants to enter and is asked by an older one agrees, and must then ask that one as well. At the start
there is a staircase: process i asks 0..i-1.

With a light load, where requests come at random, that costs n-1 messages on average: of any two processes each was the
last inside half of the time. The papers' 3(n-1)/2 for a heavy load assumes the same of processes that then find half of
the others waiting. At saturation, where all take turns, all have been inside since: 2(n-1), and never more.

Singhal 1992, as described in Velazquez 1993, section 5; the start as in Singhal & Shivaratri 1994. A request that is
made late, to an older process, carries the number of the first. The papers assume FIFO channels. Every request is
answered before the next on the same channel, and the checker finds nothing wrong without them. Added: fences, which
travel with replies: of a process that has left and one that enters, one has had the other's permission in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import IDLE, INSIDE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Spec
from congenial.problems.mutex import MUTEX

SPEC = Spec(
    name="singhal-dynamic",
    title="Singhal, dynamic",
    problem=MUTEX,
    reference="Singhal 1992; Velazquez 1993, section 5",
    fences=True,
    messages=Law("0", "2*(n-1)"),
    size="1",
    waiting=Law("0", "2"),
    sync_delay=Law("1"),
)


@dataclass(frozen=True)
class Request(Message):
    number: int


@dataclass(frozen=True)
class Reply(Message):
    fence: int


@mypyc_attr(allow_interpreted_subclasses=True)
class SinghalDynamic(Node):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Reply)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.ask = [peer < me for peer in range(n)]  # do I lack its permission?                   R_i
        self.owed = [False] * n  # does it get mine when I leave?                                  I_i
        self.missing = 0  # permissions I have asked for and not got
        self.number = 0  # of my request
        self.highest = 0  # number seen in any request                                             C_i
        self.fence = 0  # the largest seen

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.highest += 1
        self.number = self.highest
        request = Request(self.number)
        for peer in range(self.n):
            if self.ask[peer]:
                self.missing += 1
                out.send(peer, request)
        self._enter_if_agreed(out)

    def release(self, out: Out) -> None:
        self.leave()
        for peer in range(self.n):
            if self.owed[peer]:
                self.owed[peer] = False
                self._agree(peer, out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request) and not self.owed[src]:
            self._on_request(src, msg.number, out)
        elif isinstance(msg, Reply) and self.phase == WAITING and self.ask[src]:
            self.ask[src] = False
            self.missing -= 1
            self.fence = max(self.fence, msg.fence)
            self._enter_if_agreed(out)
        else:
            raise self.unexpected(src, msg)

    def _on_request(self, src: int, number: int, out: Out) -> None:
        self.highest = max(self.highest, number)
        if self.phase == INSIDE or (self.phase == WAITING and self._mine_is_older(src, number)):
            self.owed[src] = True
            return
        asked = self.phase == WAITING and self.ask[src]
        self._agree(src, out)
        if self.phase != IDLE and not asked:  # from now on I need its permission
            self.missing += 1
            out.send(src, Request(self.number))

    def _agree(self, peer: int, out: Out) -> None:
        """Give my permission to a process; from now on I lack its permission."""
        self.ask[peer] = True
        out.send(peer, Reply(self.fence))

    def _mine_is_older(self, src: int, number: int) -> bool:
        return (self.number, self.me) < (number, src)

    def _enter_if_agreed(self, out: Out) -> None:
        if self.missing == 0:
            self.fence += 1
            self.enter(out, self.fence)
