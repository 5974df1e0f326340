"""Raymond's algorithm for k entries: ask everyone, enter when all but k-1 have agreed.

Requests are numbered and answered as in Ricart and Agrawala's algorithm: immediately, unless one is inside or one's own
request is older. But a process enters as soon as n-k others have agreed, because then at most k-1 others can be inside.
The answers that it did not wait for arrive later, while it is inside, or idle, or waiting again. So every process
counts the answers that each other process still owes it, and only a process that owes nothing has agreed to the latest
request. A process that stays inside may come to owe several answers to one that enters repeatedly. It sends them as one
REPLY with their number.

Raymond 1989; Velazquez 1993, section 6. Nothing is changed. There is no fence: requests are served by age, but of k
processes that are inside together the oldest need not have entered first.

Cost: n-1 requests, and n-1 replies, of which those that are sent together count as one. n-k of them must have arrived
before the entry, and cannot have been for an earlier one. So an entry costs at least n-1 + n-k, at most 2(n-1).
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
from congenial.problems.kmutex import K_OPTION, KMUTEX

SPEC = Spec(
    name="raymond-k",
    title="Raymond (k entries)",
    problem=KMUTEX,
    reference="Raymond 1989; Velazquez 1993, section 6",
    messages=Law("n-1 + max(0, n-k)", "2*(n-1)"),
    size="1",
    waiting=Law("2*min(1, max(0, n-k))"),
    sync_delay=Law("1"),
    concurrency="k",
    options=(K_OPTION,),
)


@dataclass(frozen=True)
class Request(Message):
    number: int


@dataclass(frozen=True)
class Reply(Message):
    count: int  # of requests that are answered


@mypyc_attr(allow_interpreted_subclasses=True)
class RaymondK(Node):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Reply)

    def __init__(self, me: int, n: int, k: int) -> None:
        super().__init__(me, n)
        self.needed = max(0, n - k)  # other processes that have to agree
        self.number = 0  # of my latest request
        self.highest = 0  # number seen in any request
        self.agreed = 0  # other processes that owe me nothing
        self.owed_to_me = [0] * n  # replies that I wait for, or entered without
        self.owed_by_me = [0] * n  # replies deferred

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.highest += 1
        self.number = self.highest
        self.agreed = 0
        for process in range(self.n):
            if process != self.me:
                self.owed_to_me[process] += 1
        out.broadcast(Request(self.number))
        self._enter_if_agreed(out)

    def release(self, out: Out) -> None:
        self.leave()
        for process in range(self.n):
            count = self.owed_by_me[process]
            if count:
                self.owed_by_me[process] = 0
                out.send(process, Reply(count))

    def could_enter(self) -> bool:
        return self.needed == 0

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            self._on_request(src, msg.number, out)
        elif isinstance(msg, Reply) and 0 < msg.count <= self.owed_to_me[src]:
            self._on_reply(src, msg.count, out)
        else:
            raise self.unexpected(src, msg)

    def _on_request(self, src: int, number: int, out: Out) -> None:
        self.highest = max(self.highest, number)
        if self._mine_comes_first(src, number):
            self.owed_by_me[src] += 1
        else:
            out.send(src, Reply(1))

    def _on_reply(self, src: int, count: int, out: Out) -> None:
        self.owed_to_me[src] -= count
        if self.owed_to_me[src] == 0:
            self.agreed += 1
            if self.phase == WAITING:
                self._enter_if_agreed(out)

    def _mine_comes_first(self, src: int, number: int) -> bool:
        if self.phase == IDLE:
            return False
        return self.phase == INSIDE or (self.number, self.me) < (number, src)

    def _enter_if_agreed(self, out: Out) -> None:
        if self.agreed >= self.needed:
            self.enter(out)
