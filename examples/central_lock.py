"""A lock of your own: process 0 is the server, and the others ask it.

congenial sim examples/central_lock.py:CentralLock --nodes 5
congenial check examples/central_lock.py:CentralLock
"""

from __future__ import annotations

from dataclasses import dataclass

from congenial import MUTEX, Groups, Law, Message, Node, Out, Spec


@dataclass(frozen=True)
class Ask(Message):
    pass


@dataclass(frozen=True)
class Grant(Message):
    fence: int


@dataclass(frozen=True)
class Done(Message):
    pass


class CentralLock(Node):
    spec = Spec(
        name="central-lock",
        title="A lock server",
        problem=MUTEX,
        fences=True,
        messages=Law("0", "3"),  # process 0 needs none; the others need an Ask, a Grant and a Done
        waiting=Law("0", "2"),
        sync_delay=Law("1", "2"),
    )
    messages = (Ask, Grant, Done)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.queue: list[int] = []  # at process 0: the holder, then the processes that wait
        self.fence = 0  # at process 0: how often the lock was granted

    def request(self, groups: Groups, out: Out) -> None:
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
            self.enter(out, fence=msg.fence)
        else:
            raise self.unexpected(src, msg)

    def _grant(self, out: Out) -> None:
        self.fence += 1
        if self.queue[0] == self.me:
            self.enter(out, fence=self.fence)
        else:
            out.send(self.queue[0], Grant(self.fence))

    def _tell_server(self, msg: Message, out: Out) -> None:
        if self.me == 0:
            self.receive(0, msg, out)  # a process sends itself no messages
        else:
            out.send(0, msg)
