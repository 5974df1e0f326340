"""Raymond's algorithm: the token walks a tree, and every process knows in which direction it is.

The processes form a tree and talk to their neighbours only. Each knows the neighbour in whose direction the token is,
and keeps a queue of those that want it: neighbours, or itself. It sends one request in the direction of the token on
behalf of its whole queue. The token goes to the head of the queue. If the queue is not empty then, a request follows.

Raymond 1989; Velazquez 1993, section 4. Left out: the recovery procedure for failed processes, which is in
`raymond-recovery`, and the survey's "piggyback strategy", a request that travels with the token it follows. Added: the
token counts its entries, for the fence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import INSIDE, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Interchangeable, Law, Option, Spec
from congenial.parts.trees import TREES, Tree, build_tree
from congenial.problems.mutex import MUTEX

SPEC = Spec(
    name="raymond-tree",
    title="Raymond (tree)",
    problem=MUTEX,
    reference="Raymond 1989; Velazquez 1993, section 4",
    fences=True,
    messages=Law("0", "2*D"),
    size="1",
    waiting=Law("0", "2*D"),
    sync_delay=Law("1", "D"),
    options=(Option("tree", "balanced", "star, line, balanced or random", build_tree, choices=tuple(TREES)),),
    symmetry=Interchangeable(fixed=(0,), processes=("holder", "queue")),  # the leaves of a star
)


@dataclass(frozen=True)
class Request(Message):
    pass


@dataclass(frozen=True)
class Privilege(Message):
    """The token."""

    entries: int


@mypyc_attr(allow_interpreted_subclasses=True)
class RaymondTree(Node):
    """Process 0 holds the token first."""

    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Privilege)

    def __init__(self, me: int, n: int, tree: Tree) -> None:
        super().__init__(me, n)
        self.holder = tree.toward_root[me]  # the token is in this direction    HOLDER
        self.queue: list[int] = []  # neighbours that want it, or me            REQUEST_Q
        self.asked = False  # I have sent the holder a request                  ASKED
        self.entries = 0  # of the token, when I last had it

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.queue.append(self.me)
        self._serve(out)

    def release(self, out: Out) -> None:
        self.leave()
        self._serve(out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            self.queue.append(src)
        elif isinstance(msg, Privilege) and src == self.holder and self.asked:
            self.holder = self.me
            self.entries = msg.entries
        else:
            raise self.unexpected(src, msg)
        self._serve(out)

    def _serve(self, out: Out) -> None:
        """Give the token to the head of the queue; ask for it on behalf of the rest."""
        if self.holder == self.me and self.phase != INSIDE and self.queue:  # ASSIGN_PRIVILEGE
            self.holder = self.queue.pop(0)
            self.asked = False
            if self.holder == self.me:
                self.entries += 1
                self.enter(out, fence=self.entries)
            else:
                out.send(self.holder, Privilege(self.entries))
        if self.holder != self.me and self.queue and not self.asked:  # MAKE_REQUEST
            self.asked = True
            out.send(self.holder, Request())
