"""A mutual exclusion algorithm of one's own: process 0 is a lock server, and the others ask it.

Run it:          congenial sim examples/central_lock.py:CentralLock --nodes 5
Beside another:  congenial compare examples/central_lock.py:CentralLock maekawa --nodes 25
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from congenial import MUTEX, Law, Message, Node, Out, Spec


@dataclass(frozen=True)
class Ask(Message):
    pass


@dataclass(frozen=True)
class Grant(Message):
    entries: int


@dataclass(frozen=True)
class Done(Message):
    pass


class CentralLock(Node):
    spec: ClassVar[Spec] = Spec(
        name="central-lock",
        title="A lock server",
        problem=MUTEX,
        messages=Law("0", "3"),  # process 0 needs none, any other ask, grant, done
        waiting=Law("0", "2"),
        sync_delay=Law("1", "2"),
    )
    messages = (Ask, Grant, Done)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.queue: list[int] = []  # at process 0: who holds the lock, then who waits for it
        self.entries = 0  # at process 0: how often the lock was granted

    def request(self, groups: tuple[int, ...], out: Out) -> None:
        self.wait()
        self._tell_server(Ask(), out)

    def release(self, out: Out) -> None:
        self.leave()
        self._tell_server(Done(), out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Ask):
            self.queue.append(src)
            if len(self.queue) == 1:
                self._grant(out)
        elif isinstance(msg, Done) and self.queue[:1] == [src]:
            self.queue.pop(0)
            if self.queue:
                self._grant(out)
        elif isinstance(msg, Grant):
            self.enter(out, fence=msg.entries)
        else:
            raise self.unexpected(src, msg)

    def _grant(self, out: Out) -> None:
        self.entries += 1
        if self.queue[0] == self.me:
            self.enter(out, fence=self.entries)
        else:
            out.send(self.queue[0], Grant(self.entries))

    def _tell_server(self, msg: Message, out: Out) -> None:
        if self.me == 0:
            self.receive(0, msg, out)
        else:
            out.send(0, msg)
