"""Suzuki and Kasami's algorithm: ask everyone for the one token, which carries the queue.

A process numbers its requests and sends them to all others. The token carries, for every process, the number of its
last request that was served. A holder that leaves appends to the token's queue every process whose latest request is
one above that number, and sends the token to the head. An idle token stays where it is: its holder enters without a
message, and sends it to the next process that asks.

Suzuki & Kasami 1985; Velazquez 1993, section 4 and appendix A. There procedure P1 runs line by line, and a request that
arrives between its last test of the queue and the end of P1 is forgotten until some process asks again. Steps are
atomic here, so that gap does not exist. Added: the token counts its entries, for the fence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import IDLE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Spec
from congenial.problems.mutex import MUTEX

SPEC = Spec(
    name="suzuki-kasami",
    title="Suzuki-Kasami",
    problem=MUTEX,
    reference="Suzuki & Kasami 1985; Velazquez 1993, section 4 and appendix A",
    fences=True,
    messages=Law("0", "n"),
    size="2n",
    waiting=Law("0", "2"),
    sync_delay=Law("1"),
)


@dataclass(frozen=True)
class Request(Message):
    number: int


@dataclass(frozen=True)
class Privilege(Message):
    """The token."""

    queue: tuple[int, ...]
    served: tuple[int, ...]
    entries: int


@mypyc_attr(allow_interpreted_subclasses=True)
class SuzukiKasami(Node):
    """Process 0 holds the token first."""

    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Privilege)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.requested = [0] * n  # latest request known of each process      RN
        self.holding = me == 0  #                                             HavePrivilege
        # the token's content, while I hold it
        self.queue: list[int] = []  # the next holders                        Q
        self.served = [0] * n  # latest request served of each process        LN
        self.entries = 0

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        if self.holding:
            self._enter(out)
        else:
            self._ask(out)

    def release(self, out: Out) -> None:
        self.leave()
        self._hand_on(out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            self._on_request(src, msg.number, out)
        elif isinstance(msg, Privilege):
            self._on_privilege(src, msg, out)
        else:
            raise self.unexpected(src, msg)

    def _on_request(self, src: int, number: int, out: Out) -> None:
        self.requested[src] = max(self.requested[src], number)
        if self.holding and self.phase == IDLE and self._is_outstanding(src):
            self._pass_token(src, out)

    def _on_privilege(self, src: int, token: Privilege, out: Out) -> None:
        if self.holding or self.phase != WAITING:
            raise self.unexpected(src, token)
        self.holding = True
        self.queue = list(token.queue)
        self.served = list(token.served)
        self.entries = token.entries
        self._enter(out)

    def _ask(self, out: Out) -> None:
        self.requested[self.me] += 1
        out.broadcast(Request(self.requested[self.me]))

    def _is_outstanding(self, process: int) -> bool:
        """True if the latest request known of a process is the one after the last that was served."""
        return self.requested[process] == self.served[process] + 1

    def _hand_on(self, out: Out) -> None:
        """I do not need the token; send it to the next process, if there is one."""
        self.served[self.me] = self.requested[self.me]
        process = self._next_holder()
        if process >= 0:
            self._pass_token(process, out)

    def _next_holder(self) -> int:
        queued = set(self.queue)
        for process in range(self.n):
            if process not in queued and self._is_outstanding(process):  # never true of me
                self.queue.append(process)
        return self.queue.pop(0) if self.queue else -1

    def _enter(self, out: Out) -> None:
        self.entries += 1
        self.enter(out, fence=self.entries)

    def _pass_token(self, dst: int, out: Out) -> None:
        self.holding = False
        out.send(dst, Privilege(tuple(self.queue), tuple(self.served), self.entries))
        self.queue = []
