"""A few nodes, driven by hand: the tests decide what arrives, and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from congenial.kernel.effects import EVERYONE
from congenial.kernel.out import Outbox
from congenial.systems.catalogue import find_algorithm
from congenial.systems.system import System


class Cluster:
    """Nodes that are handed their messages in the order in which they were sent, but for those that are cut off."""

    def __init__(self, algorithm: str, n: int) -> None:
        self.system = System(find_algorithm(algorithm), n)
        self.nodes: list[Any] = self.system.nodes()
        self.away: set[int] = set()
        self.under_way: list[tuple[int, int, Any]] = []
        self.fences: dict[int, int] = {}  # of those inside
        self.told: list[str] = []  # kinds of messages sent

    def do(self, node: int, what: str | Callable[..., None], *arguments: Any) -> Outbox:
        """Call a method of a node, or anything else that does something with it."""
        out = Outbox()
        act = getattr(self.nodes[node], what) if isinstance(what, str) else what
        act(*arguments, out)
        if out.ejected or what == "release":
            self.fences.pop(node, None)
        if out.entered is not None:
            self.fences[node] = out.entered[1]
        for dst, message in out.sent:
            self.told.append(type(message).__name__)
            for receiver in range(self.system.n) if dst == EVERYONE else [dst]:
                if receiver != node:
                    self.under_way.append((node, receiver, message))
        return out

    def settle(self) -> None:
        """Deliver everything between processes that are not cut off from each other."""
        moved = True
        while moved:
            moved = False
            for packet in list(self.under_way):
                src, dst, message = packet
                if src not in self.away and dst not in self.away:
                    self.under_way.remove(packet)
                    self.do(dst, "receive", src, message)
                    moved = True

    def lose(self, node: int) -> None:
        """All others stop hearing from `node`, and suspect it."""
        self.away.add(node)
        for other in range(self.system.n):
            if other not in self.away:
                self.do(other, "on_suspect", node)
        self.settle()

    def find(self, node: int) -> None:
        """`node` is reachable again; it gets what was sent to it meanwhile."""
        self.away.discard(node)
        for other in range(self.system.n):
            if other not in self.away and other != node:
                self.do(other, "on_trust", node)
        self.settle()
