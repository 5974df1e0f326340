"""Naimi and Trehel's algorithm: a request travels to the process that asked last, and reverses its path.

Every process knows one other, its father: the process of the last request it knows of. Fathers form a tree, and its
root is the process that asked last. A request travels from father to father up to the root. Every process on the way
makes the requester its father, so the requester becomes the root. The old root sends it the token if the token is idle,
and otherwise remembers it as its next. The nexts, starting at the holder, form the queue. No process knows more of the
queue than its own next.

Naimi & Trehel 1987; Naimi, Trehel & Arnold 1996; Velazquez 1993, section 4. Left out: what happens when processes
fail, which is in `naimi-trehel-recovery`. The survey describes only a root that is inside; one that still waits for the
token remembers its next in the same way. Added: the token counts its entries, for the fence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import IDLE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Interchangeable, Law, Spec
from congenial.problems.mutex import MUTEX

SPEC = Spec(
    name="naimi-trehel",
    title="Naimi-Trehel",
    problem=MUTEX,
    reference="Naimi & Trehel 1987; Naimi, Trehel & Arnold 1996; Velazquez 1993, section 4",
    fences=True,
    messages=Law("0", "n"),  # on average of requests by anyone, one at a time: 1 + 1/2 + ... + 1/(n-1), about ln n
    size="1",
    waiting=Law("0", "n"),
    sync_delay=Law("1"),
    symmetry=Interchangeable(fixed=(0,), processes=("father", "next", "origin")),
)

NOBODY: Final = -1


@dataclass(frozen=True)
class Request(Message):
    origin: int


@dataclass(frozen=True)
class Token(Message):
    entries: int


@mypyc_attr(allow_interpreted_subclasses=True)
class NaimiTrehel(Node):
    """Process 0 holds the token first."""

    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Token)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.father = 0  # the process that asked last, as far as I know             LAST
        self.next = NOBODY  # the process that gets the token from me                NEXT
        self.holding = me == 0
        self.entries = 0  # of the token, when I last had it

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        if self.holding:
            self._enter(out)
        else:
            self._ask(out)

    def release(self, out: Out) -> None:
        self.leave()
        if self.next != NOBODY:
            self._pass_token(self.next, out)
            self.next = NOBODY

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request) and msg.origin != self.me:
            self._on_request(msg.origin, out)
        elif isinstance(msg, Token) and self.phase == WAITING and not self.holding:
            self._on_token(src, msg, out)
        else:
            raise self.unexpected(src, msg)

    def _on_request(self, origin: int, out: Out) -> None:
        if self.father != self.me:
            out.send(self.father, Request(origin))
        elif self.phase == IDLE:
            self._pass_token(origin, out)
        else:
            self.next = origin
        self.father = origin

    def _on_token(self, src: int, token: Token, out: Out) -> None:
        self.holding = True
        self.entries = token.entries
        self._enter(out)

    def _ask(self, out: Out) -> None:
        out.send(self.father, Request(self.me))
        self.father = self.me

    def _pass_token(self, to: int, out: Out) -> None:
        self.holding = False
        out.send(to, Token(self.entries))

    def _enter(self, out: Out) -> None:
        self.entries += 1
        self.enter(out, fence=self.entries)
