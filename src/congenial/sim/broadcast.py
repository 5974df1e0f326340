"""A node that only broadcasts and counts: a run costs what the engine itself costs. For `benchmarks/engine.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups, Problem
from congenial.kernel.spec import Spec


class Anyone(Problem):
    def __init__(self) -> None:
        super().__init__("anyone", groups=False, concurrent_entry=False)

    def admits(self, inside: int, current: int, group: int) -> bool:
        return True


@dataclass(frozen=True)
class Ping(Message):
    number: int


@mypyc_attr(allow_interpreted_subclasses=True)
class Broadcaster(Node):
    spec: ClassVar[Spec] = Spec(name="broadcast", title="Broadcast", problem=Anyone())
    messages: ClassVar[Messages] = (Ping,)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.heard = 0
        self.told = 0

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.told += 1
        out.broadcast(Ping(self.told))
        self.enter(out)

    def release(self, out: Out) -> None:
        self.leave()

    def receive(self, src: int, msg: Message, out: Out) -> None:
        self.heard += 1
