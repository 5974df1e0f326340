"""Lamport's algorithm: every process keeps the same queue of requests, ordered by logical time.

A process that wants to enter stamps its request with its clock and sends it to all others. Each of them puts it into
its queue and acknowledges it with a later time. Channels keep the order of messages: what was sent before an
acknowledgement has arrived before it. So a process that has all acknowledgements has seen every request that is older
than its own. It may enter when its request comes first in its own queue. When it leaves it tells all others to remove
its request.

Lamport 1978; Velazquez 1993, section 5. As in the survey a process waits for the replies to its request; in Lamport's
paper any later message will do. The clock advances where the order of requests needs it, not at every event. Requests
enter in the order of (time, id), and that is the fence. Without FIFO channels a reply can overtake an older request,
and two processes are inside at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Spec
from congenial.parts.queues import enqueue
from congenial.problems.mutex import MUTEX

SPEC = Spec(
    name="lamport",
    title="Lamport",
    problem=MUTEX,
    reference="Lamport 1978; Velazquez 1993, section 5",
    fifo=True,
    fences=True,
    messages=Law("3*(n-1)"),
    size="1",
    waiting=Law("2"),
    sync_delay=Law("1"),
)


@dataclass(frozen=True)
class Request(Message):
    time: int


@dataclass(frozen=True)
class Reply(Message):
    time: int


@dataclass(frozen=True)
class Release(Message):
    time: int


@mypyc_attr(allow_interpreted_subclasses=True)
class Lamport(Node):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Reply, Release)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.clock = 0  #                                   C_i
        self.number = 0  # the time of my latest request    T_m
        self.missing = 0  # replies I still wait for
        self.queue: list[tuple[int, int]] = []  # all requests I know of: (time, process), oldest first
        self.times = [0] * n  # the times of everyone's request in the queue, or 0

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.clock += 1
        self.number = self.clock
        self.missing = self.n - 1
        self._queue(self.me, self.number)
        out.broadcast(Request(self.number))
        self._enter_if_first(out)

    def release(self, out: Out) -> None:
        self.leave()
        self._take_out(self.me)
        out.broadcast(Release(self.clock))

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request) and self.times[src] == 0:
            self._learn(msg.time)
            self._queue(src, msg.time)
            out.send(src, Reply(self.clock))
        elif isinstance(msg, Reply) and self.missing > 0 and msg.time > self.number:
            self._learn(msg.time)
            self.missing -= 1
            self._enter_if_first(out)
        elif isinstance(msg, Release) and self.times[src] > 0:
            self._take_out(src)
            self._learn(msg.time)
            self._enter_if_first(out)
        else:
            raise self.unexpected(src, msg)

    def _learn(self, time: int) -> None:
        """A message is received at a later time than it was sent."""
        self.clock = max(self.clock, time + 1)

    def _queue(self, process: int, time: int) -> None:
        enqueue(self.queue, (time, process))
        self.times[process] = time

    def _take_out(self, process: int) -> None:
        self.queue.remove((self.times[process], process))
        self.times[process] = 0

    def _enter_if_first(self, out: Out) -> None:
        if self.phase == WAITING and self.missing == 0 and self.queue[0][1] == self.me:
            self.enter(out, fence=self.number * self.n + self.me)
