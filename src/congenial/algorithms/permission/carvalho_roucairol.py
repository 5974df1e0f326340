"""Carvalho and Roucairol's algorithm: a permission stays valid until its giver asks for it back.

As in Ricart and Agrawala's algorithm a process needs the permission of all others, and of two requests the older one
(by number, then id) goes first. But a process keeps a permission after use. It asks only those whose permission it does
not have, and asking another for its permission takes one's own back from it. So a process that enters repeatedly while
nobody else wants to enter sends no messages.

Carvalho & Roucairol 1983; Velazquez 1993, section 5. Nothing is changed. One case needs care: a process waits, already
has the permission of i, and an older request arrives from i, made in ignorance of its own. It gives i its permission,
and so loses that of i. So it has to ask i as well.

At the start nobody has any permission. Numbers do not grow from entry to entry here: a process with all permissions
enters with a large number ahead of a request with a small one that is still in transit. So fences travel with the
permissions.
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
    name="carvalho-roucairol",
    title="Carvalho-Roucairol",
    problem=MUTEX,
    reference="Carvalho & Roucairol 1983; Velazquez 1993, section 5",
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
class CarvalhoRoucairol(Node):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Reply)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.number = 0  # of my latest request
        self.highest = 0  # number seen in any request
        self.fence = 0  # the largest seen
        self.agreed = [process == me for process in range(n)]  # do I have its permission?     A_i
        self.missing = n - 1  # how many permissions I lack
        self.deferred = [False] * n  # do I owe a reply?

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.highest += 1
        self.number = self.highest
        if self.missing == self.n - 1:
            out.broadcast(Request(self.number))
        elif self.missing:
            for process in range(self.n):
                if not self.agreed[process]:
                    out.send(process, Request(self.number))
        self._enter_if_agreed(out)

    def release(self, out: Out) -> None:
        self.leave()
        for process in range(self.n):
            if self.deferred[process]:
                self.deferred[process] = False
                self._agree(process, out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request) and not self.deferred[src]:
            self._on_request(src, msg.number, out)
        elif isinstance(msg, Reply) and self.phase == WAITING and not self.agreed[src]:
            self.fence = max(self.fence, msg.fence)
            self.agreed[src] = True
            self.missing -= 1
            self._enter_if_agreed(out)
        else:
            raise self.unexpected(src, msg)

    def _on_request(self, src: int, number: int, out: Out) -> None:
        self.highest = max(self.highest, number)
        if self.phase == INSIDE or self._mine_is_older(src, number):
            self.deferred[src] = True
            return
        had_its_permission = self.agreed[src]
        self._agree(src, out)
        if self.phase == WAITING and had_its_permission:
            out.send(src, Request(self.number))

    def _mine_is_older(self, src: int, number: int) -> bool:
        if self.phase == IDLE:
            return False
        return self.number < number or (self.number == number and self.me < src)

    def _agree(self, process: int, out: Out) -> None:
        """Give my permission to a process, and lose its permission, if I have it."""
        if self.agreed[process]:
            self.agreed[process] = False
            self.missing += 1
        out.send(process, Reply(self.fence))

    def _enter_if_agreed(self, out: Out) -> None:
        if self.missing == 0:
            self.fence += 1
            self.enter(out, fence=self.fence)
