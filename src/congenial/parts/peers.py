"""A set of other processes that is often all of them: then it takes no room, and a message to it is a broadcast."""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message
from congenial.kernel.out import Out
from congenial.kernel.part import Part


@mypyc_attr(allow_interpreted_subclasses=True)
class Peers(Part):
    """Some of the n-1 other processes; at the start all or none."""

    def __init__(self, n: int, everyone: bool) -> None:
        self.others = n - 1
        self.everyone = everyone
        self.some: set[int] = set()  # empty while `everyone` is set

    def has(self, process: int) -> bool:
        return self.everyone or process in self.some

    def add(self, process: int) -> None:
        if not self.everyone:
            self.some.add(process)
            if len(self.some) == self.others:
                self.everyone = True
                self.some = set()

    def send(self, msg: Message, out: Out) -> None:
        if self.everyone:
            out.broadcast(msg)
        else:
            for process in sorted(self.some):
                out.send(process, msg)
