"""RA1: Ricart and Agrawala's algorithm, in which requests for the same group do not wait for each other.

A process that wants to enter numbers its request one higher than any number it has seen and sends it to all others. A
process that is asked agrees immediately, unless it wants or has another group and its own request is older. Then it
agrees when it leaves. So of two requests for different groups the younger waits for the older, and two for the same
group do not wait for each other. Groups take turns strictly by the age of requests, so under load few are inside
together.

Joung 2002, as described in Mittal & Mohan 2007, section 1.1; nothing is changed that we know of. Added: the fence. It
is the age of the youngest request for another group that is older than mine. That one is over and I have agreed to it,
so I know it. Processes that are inside together know the same one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import IDLE, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Spec
from congenial.problems.group import GROUP

SPEC = Spec(
    name="ra1",
    title="RA1",
    problem=GROUP,
    reference="Joung 2002; Mittal & Mohan 2007, section 1.1",
    fences=True,
    messages=Law("2*(n-1)"),
    size="2",
    waiting=Law("2"),
    sync_delay=Law("1"),
    concurrency="n",
)


@dataclass(frozen=True)
class Request(Message):
    number: int
    group: int


@dataclass(frozen=True)
class Reply(Message):
    pass


@mypyc_attr(allow_interpreted_subclasses=True)
class RA1(Node):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Reply)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.number = 0  # of my latest request
        self.group = 0  # and its group
        self.highest = 0  # number seen in any request
        self.missing = 0  # replies I still wait for
        self.deferred = [False] * n  # do I owe a reply?
        self.youngest: dict[int, int] = {}  # request seen for each group, by age (number, then process, in one)
        self.fence = 0

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.highest += 1
        self.number = self.highest
        self.group = groups[0]
        self.missing = self.n - 1
        self.fence = max([age for group, age in self.youngest.items() if group != self.group], default=1)
        self.youngest[self.group] = self._age(self.me, self.number)
        out.broadcast(Request(self.number, self.group))
        self._enter_if_agreed(out)

    def release(self, out: Out) -> None:
        self.leave()
        for process in range(self.n):
            if self.deferred[process]:
                self.deferred[process] = False
                out.send(process, Reply())

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            self._on_request(src, msg.number, msg.group, out)
        elif isinstance(msg, Reply):
            self.missing -= 1
            self._enter_if_agreed(out)
        else:
            raise self.unexpected(src, msg)

    def _on_request(self, src: int, number: int, group: int, out: Out) -> None:
        self.highest = max(self.highest, number)
        age = self._age(src, number)
        self.youngest[group] = max(age, self.youngest.get(group, 0))
        if self.phase != IDLE and group != self.group:
            if age > self._age(self.me, self.number):
                self.deferred[src] = True
                return
            self.fence = max(self.fence, age)
        out.send(src, Reply())

    def _age(self, process: int, number: int) -> int:
        return number * self.n + process + 1

    def _enter_if_agreed(self, out: Out) -> None:
        if self.missing == 0:
            self.enter(out, self.fence, self.group)
