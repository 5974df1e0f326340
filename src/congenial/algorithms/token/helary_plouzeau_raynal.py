"""Helary, Plouzeau and Raynal's algorithm: requests flood any connected network, the token walks back.

A process knows its neighbours and nothing else of the network. It dates its request with a Lamport clock and sends it
to its neighbours, together with the set of all processes the request was sent to. A process that sees a request for the
first time remembers the neighbour it came from. It forwards the request to those of its own neighbours that are not in
the set, and adds them. So every process knows one step of a path back to the origin. A holder that leaves chooses the
oldest request it knows that the token's array does not show as granted, and the token walks back along the path.
Messages may overtake each other: a request that is older than the latest known of its origin has been granted, so it is
dropped and not forwarded.

Helary, Plouzeau & Raynal 1988, as described in Velazquez 1993, section 4. There a grant writes the holder's "logical
clock" into the token's array. Here it writes the date of the request, since only dates of requests are compared. Added:
the token counts its entries, for the fence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import IDLE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Option, Spec
from congenial.parts.graphs import GRAPHS, TREE_GRAPHS, Graph, build_graph
from congenial.parts.rows import merged, without
from congenial.problems.mutex import MUTEX

SPEC = Spec(
    name="helary-plouzeau-raynal",
    title="Helary-Plouzeau-Raynal",
    problem=MUTEX,
    reference="Helary, Plouzeau & Raynal 1988; Velazquez 1993, section 4",
    fences=True,
    messages=Law("0", "2*E"),  # a request at most twice on links off its path; once on the path, and the token once
    size="n + 2",
    waiting=Law("0", "2*(n-1)"),
    sync_delay=Law("1", "n-1"),
    options=(
        Option(
            "network",
            "random",
            "complete, ring, grid, hypercube, random, a tree (balanced, star, line, random-tree), or links: 0-1,1-2",
            build_graph,
            choices=(*GRAPHS, *TREE_GRAPHS),
        ),
    ),
)


@dataclass(frozen=True)
class Request(Message):
    origin: int
    date: int
    told: tuple[int, ...]  # the processes that this request was, or is now, sent to


@dataclass(frozen=True)
class Token(Message):
    to: int
    granted: tuple[int, ...]
    entries: int


@mypyc_attr(allow_interpreted_subclasses=True)
class HelaryPlouzeauRaynal(Node):
    """Process 0 holds the token first."""

    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Token)

    def __init__(self, me: int, n: int, network: Graph) -> None:
        super().__init__(me, n)
        self.neighbours = network.neighbours(me)
        self.clock = 0
        self.latest: dict[int, int] = {}  # the date of the latest request known of each process, my own included
        self.back: dict[int, int] = {}  # the neighbour it came from: a step of the way to its origin
        self.holding = me == 0
        # the token's content, while I hold it
        self.granted = [0] * n if me == 0 else []  # the date of each process's last request that was granted
        self.entries = 0

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        if self.holding:
            self._enter(out)
            return
        self.clock += 1
        self.latest[self.me] = self.clock
        self._send_on(Request(self.me, self.clock, (self.me,)), out)

    def release(self, out: Out) -> None:
        self.leave()
        self._grant_oldest(out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request) and src in self.neighbours:
            self._on_request(src, msg, out)
        elif isinstance(msg, Token) and src in self.neighbours:
            self._on_token(src, msg, out)
        else:
            raise self.unexpected(src, msg)

    def _on_request(self, src: int, request: Request, out: Out) -> None:
        self.clock = max(self.clock, request.date)
        if request.date <= self.latest.get(request.origin, 0):
            return  # this request, or a later one of its origin, arrived earlier by another path
        self.latest[request.origin] = request.date
        self.back[request.origin] = src
        self._send_on(request, out)
        if self.holding and self.phase == IDLE:
            self._grant_oldest(out)

    def _on_token(self, src: int, token: Token, out: Out) -> None:
        if self.holding or (self.phase != WAITING if token.to == self.me else token.to not in self.back):
            raise self.unexpected(src, token)
        if token.to != self.me:
            out.send(self.back[token.to], token)
            return
        self.holding = True
        self.granted = list(token.granted)
        self.entries = token.entries
        self._enter(out)

    def _send_on(self, request: Request, out: Out) -> None:
        """Send it to the neighbours that have not been sent it; their copy says so."""
        others = without(self.neighbours, request.told)
        if others:
            copy = Request(request.origin, request.date, merged(request.told, others))
            for neighbour in others:
                out.send(neighbour, copy)

    def _grant_oldest(self, out: Out) -> None:
        waiting = [(date, origin) for origin, date in self.latest.items() if date > self.granted[origin]]
        if not waiting:
            return
        date, origin = min(waiting)
        self.granted[origin] = date
        self.holding = False
        out.send(self.back[origin], Token(origin, tuple(self.granted), self.entries))
        self.granted = []

    def _enter(self, out: Out) -> None:
        self.entries += 1
        self.enter(out, fence=self.entries)
