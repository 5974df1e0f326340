"""Maekawa_S: lock the members of a quorum one after the other, all processes in the same order.

A process that waits for a member holds only locks of members that come before it, so there is no cycle of waiting
processes. No lock is ever taken back, and a request costs REQUEST, LOCKED and RELEASE per member, however many compete.
The price is time: 2q hops to enter instead of 2, and when a session ends the next one may still need most of its locks.
Members lock themselves for several requests of one group, as in Maekawa_M.

Joung 2003, as described in Atreya, Mittal & Peri 2007, section I ("deadlocks are avoided by locking quorum nodes in
some fixed order"); the original was not available. The order is that of the processes' numbers. The queueing of members
is ours: first come, first served, but a member that becomes free locks itself for all requests in its queue that are
for the same group as the first. Later ones of that group wait behind the others, so nobody starves. A process takes its
own lock without messages. Fences and groups beyond the planned ones are as in our Maekawa_M.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.algorithms.group.maekawa_m import GROUPS, Latest
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import WAITING
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Spec
from congenial.parts.loopback import QueuedLoopback
from congenial.parts.quorums.surficial import Surficial
from congenial.problems.group import GROUP

SPEC = Spec(
    name="maekawa-s",
    title="Maekawa_S",
    problem=GROUP,
    reference="Joung 2003; Atreya, Mittal & Peri 2007, section I",
    fifo=True,
    fences=True,
    messages=Law("3*(q_min-1)", "3*q"),
    size="1",
    waiting=Law("2*(q_min-1)", "2*q"),
    sync_delay=Law("1", "2*q"),
    concurrency="n",
    options=(GROUPS,),
)


@dataclass(frozen=True)
class Request(Message):
    group: int


@dataclass(frozen=True)
class Locked(Message):
    fence: int


@dataclass(frozen=True)
class Release(Message):
    fence: int


@mypyc_attr(allow_interpreted_subclasses=True)
class MaekawaS(QueuedLoopback):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Locked, Release)

    def __init__(self, me: int, n: int, groups: Surficial) -> None:
        super().__init__(me, n)
        self.quorums = groups
        # in the role of a requester
        self.quorum: tuple[int, ...] = ()  # in the order of numbers
        self.group = 0
        self.fence = 0
        self.locks = 0  # how many members are locked for me: the first ones
        # in the role of a quorum member
        self.held = 0  # the group I am locked for
        self.holders: list[int] = []
        self.queue: list[tuple[int, int]] = []  # waiting processes and their groups, in the order of arrival
        self.latest = Latest()

    # -- the requester ---------------------------------------------------------------------------------

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.group = groups[0]
        self.quorum = self._quorum_of(self.group)
        self.fence = 0
        self.locks = 0
        self._tell(self.quorum[0], Request(self.group), out)
        self._hear_myself(out)

    def _quorum_of(self, group: int) -> tuple[int, ...]:
        return self.quorums.of(self.me, group)

    def release(self, out: Out) -> None:
        self.leave()
        for member in self.quorum:
            self._tell(member, Release(self.fence), out)
        self._hear_myself(out)

    def _on_locked(self, fence: int, out: Out) -> None:
        self.fence = max(self.fence, fence + 1)
        self.locks += 1
        if self.locks == len(self.quorum):
            self.enter(out, self.fence, self.group)
        else:
            self._tell(self.quorum[self.locks], Request(self.group), out)

    # -- a member of quorums ---------------------------------------------------------------------------

    def _on_request(self, src: int, group: int, out: Out) -> None:
        joins = bool(self.holders) and not self.queue and group == self.held
        self.queue.append((src, group))
        if joins or not self.holders:
            self._serve(out)

    def _on_release(self, src: int, fence: int, out: Out) -> None:
        self.holders.remove(src)
        self.latest.learn(self.held, fence)
        if self.queue and not self.holders:
            self._serve(out)

    def _serve(self, out: Out) -> None:
        """Lock for the first in the queue, and for all others there that want the same group."""
        self.held = self.queue[0][1]
        fence = self.latest.of_others(self.held)
        for process, group in self.queue:
            if group == self.held:
                self.holders.append(process)
                self._tell(process, Locked(fence), out)
        self.queue = [(process, group) for process, group in self.queue if group != self.held]

    # -- messages --------------------------------------------------------------------------------------

    def _handle(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request) and src not in self.holders and src not in [process for process, _ in self.queue]:
            self._on_request(src, msg.group, out)
        elif isinstance(msg, Locked) and self.phase == WAITING and src == self.quorum[self.locks]:
            self._on_locked(msg.fence, out)
        elif isinstance(msg, Release) and src in self.holders:
            self._on_release(src, msg.fence, out)
        else:
            raise self.unexpected(src, msg)
