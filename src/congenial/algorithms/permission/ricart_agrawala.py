"""Ricart and Agrawala's algorithm: ask everyone, enter when everyone has agreed.

A process that wants to enter numbers its request one higher than any number it has seen and sends it to all others. A
process that is asked agrees immediately, unless it is inside or its own request is older (a smaller number, or the same
number and a smaller id). Then it agrees when it leaves. So of two requests the younger one always waits for the older,
and processes enter in the order of (number, id).

Ricart & Agrawala 1981; Velazquez 1993, section 5. Nothing is changed. The fence is the request's place in that order.
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
from congenial.problems.mutex import MUTEX

SPEC = Spec(
    name="ricart-agrawala",
    title="Ricart-Agrawala",
    problem=MUTEX,
    reference="Ricart & Agrawala 1981; Velazquez 1993, section 5",
    fences=True,
    messages=Law("2*(n-1)"),
    size="1",
    waiting=Law("2"),
    sync_delay=Law("1"),
)


@dataclass(frozen=True)
class Request(Message):
    number: int


@dataclass(frozen=True)
class Reply(Message):
    pass


@mypyc_attr(allow_interpreted_subclasses=True)
class RicartAgrawala(Node):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Reply)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.number = 0  # of my latest request             Our_Sequence_Number
        self.highest = 0  # number seen in any request      Highest_Sequence_Number
        self.missing = 0  # replies I still wait for        Outstanding_Reply_Count
        self.deferred = [False] * n  # do I owe a reply?    Reply_Deferred

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.highest += 1
        self.number = self.highest
        self.missing = self.n - 1
        out.broadcast(Request(self.number))
        self._enter_if_agreed(out)

    def release(self, out: Out) -> None:
        self.leave()
        for process in range(self.n):
            if self.deferred[process]:
                self.deferred[process] = False
                out.send(process, Reply())

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            self._on_request(src, msg.number, out)
        elif isinstance(msg, Reply) and self.missing > 0:
            self.missing -= 1
            self._enter_if_agreed(out)
        else:
            raise self.unexpected(src, msg)

    def _on_request(self, src: int, number: int, out: Out) -> None:
        self.highest = max(self.highest, number)
        if self._mine_is_older(src, number):
            self.deferred[src] = True
        else:
            out.send(src, Reply())

    def _mine_is_older(self, src: int, number: int) -> bool:
        if self.phase == IDLE:
            return False
        return self.number < number or (self.number == number and self.me < src)

    def _enter_if_agreed(self, out: Out) -> None:
        if self.missing == 0:
            self.enter(out, fence=self.number * self.n + self.me)
