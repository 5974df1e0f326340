"""Neilsen and Mizuno's algorithm: requests walk a tree to the process that asked last; no process stores the queue.

The processes form a tree and send requests to their neighbours only. The edges point to the sink, the process that
asked last. A request walks along the edges and reverses each of them, so that they then point to the process it comes
from, which is the new sink. The old sink is served before the new one, and remembers it as its next. The token goes
directly to the next, not along the tree. So every process knows at most one process that waits for it, and all of these
together are the queue.

Neilsen & Mizuno 1991; Velazquez 1993, section 4. Nothing is changed. For a sink, "the last neighbor node from which a
request was received" is the process itself, where the survey has 0. A request does not name the neighbour that it comes
from, since that is its sender. Added: the token counts its entries, for the fence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import IDLE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Interchangeable, Law, Option, Spec
from congenial.parts.trees import TREES, Tree, build_tree
from congenial.problems.mutex import MUTEX

SPEC = Spec(
    name="neilsen-mizuno",
    title="Neilsen-Mizuno",
    problem=MUTEX,
    reference="Neilsen & Mizuno 1991; Velazquez 1993, section 4",
    fences=True,
    messages=Law("0", "D+1"),
    size="1",
    waiting=Law("0", "D+1"),
    sync_delay=Law("1"),
    options=(Option("tree", "balanced", "star, line, balanced or random", build_tree, choices=tuple(TREES)),),
    symmetry=Interchangeable(fixed=(0,), processes=("last", "next", "origin")),  # the leaves of a star
)

NOBODY: Final = -1


@dataclass(frozen=True)
class Request(Message):
    origin: int


@dataclass(frozen=True)
class Privilege(Message):
    """The token."""

    entries: int


@mypyc_attr(allow_interpreted_subclasses=True)
class NeilsenMizuno(Node):
    """Process 0 holds the token first."""

    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Privilege)

    def __init__(self, me: int, n: int, tree: Tree) -> None:
        super().__init__(me, n)
        self.last = tree.toward_root[me]  # the neighbour towards the sink, or me        LAST
        self.next = NOBODY  # the process that gets the token from me                    NEXT
        self.holding = me == 0  # the token, idle or not                                 HOLDING, while idle
        self.entries = 0  # of the token, when I last had it

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        if self.holding:
            self._enter(out)
        else:
            out.send(self.last, Request(self.me))
            self.last = self.me

    def release(self, out: Out) -> None:
        self.leave()
        if self.next != NOBODY:
            self._pass_token(self.next, out)
            self.next = NOBODY

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request) and src != self.last:
            self._on_request(src, msg.origin, out)
        elif isinstance(msg, Privilege) and self.phase == WAITING and not self.holding:
            self.holding = True
            self.entries = msg.entries
            self._enter(out)
        else:
            raise self.unexpected(src, msg)

    def _on_request(self, src: int, origin: int, out: Out) -> None:
        if self.last != self.me:
            out.send(self.last, Request(origin))
        elif self.holding and self.phase == IDLE:
            self._pass_token(origin, out)
        else:
            self.next = origin
        self.last = src

    def _enter(self, out: Out) -> None:
        self.entries += 1
        self.enter(out, fence=self.entries)

    def _pass_token(self, dst: int, out: Out) -> None:
        self.holding = False
        out.send(dst, Privilege(self.entries))
