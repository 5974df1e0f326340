"""A lock server that survives lost messages, and crashes of any process that recovers.

Messages are repeated until they are answered, requests are numbered so that a copy does no harm, and what must not be
forgotten is saved. docs/writing-algorithms.md explains it.

congenial check examples/retry_lock.py:RetryLock --nodes 2 --requests 2 --losses 1 --duplicates 1
congenial check examples/retry_lock.py:RetryLock --nodes 2 --requests 1 --crashes 1 --losses 1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from congenial import MUTEX, Groups, Message, Node, Option, Out, Spec
from congenial.kernel.node import IDLE, WAITING

RETRY: Final = 0  # the only timer


def build_patience(text: str, n: int) -> float:
    return float(text)


@dataclass(frozen=True)
class Ask(Message):
    number: int


@dataclass(frozen=True)
class Grant(Message):
    number: int
    fence: int


@dataclass(frozen=True)
class Done(Message):
    number: int


@dataclass(frozen=True)
class Noted(Message):
    """The server has received Done."""

    number: int


class RetryLock(Node):
    """Process 0 is the server."""

    spec = Spec(
        name="retry-lock",
        title="A lock server that repeats itself",
        problem=MUTEX,
        patient=True,
        faults="loss, duplicates, crashes with recovery",
        fences=True,
        options=(Option("patience", "100", "time to wait for an answer", build_patience),),
    )
    messages = (Ask, Grant, Done, Noted)
    durable = ("number", "queue", "finished", "fence")

    def __init__(self, me: int, n: int, patience: float) -> None:
        super().__init__(me, n)
        self.patience = patience
        self.number = 0  # of my latest request
        self.queue: list[tuple[int, int]] = []  # at the server: requests (process, number), the holder's first
        self.finished = [0] * n  # at the server: the number of each process's latest request that is over
        self.fence = 0  # at the server: how often the lock was granted

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.number += 1
        out.save()
        self._tell_server(out)

    def release(self, out: Out) -> None:
        self.leave()
        self._tell_server(out)

    def on_timer(self, timer: int, out: Out) -> None:
        self._tell_server(out)

    def on_recover(self, out: Out) -> None:
        self._tell_server(out)  # the application's request or stay ended with the crash

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Ask):
            self._on_ask(src, msg.number, out)
        elif isinstance(msg, Grant):
            if self.phase == WAITING and msg.number == self.number:  # else it is a copy, or too late
                out.cancel_timer(RETRY)
                self.enter(out, fence=msg.fence)
        elif isinstance(msg, Done):
            self._finish(src, msg.number, out)
            out.send(src, Noted(msg.number))
        elif isinstance(msg, Noted):
            if self.phase == IDLE and msg.number == self.number:
                out.cancel_timer(RETRY)
        else:
            raise self.unexpected(src, msg)

    def _tell_server(self, out: Out) -> None:
        """Say what I want, now and until there is an answer: the lock, or that I am done with it."""
        waiting = self.phase == WAITING
        if self.me == 0:
            if waiting:
                self._on_ask(0, self.number, out)
            else:
                self._finish(0, self.number, out)
            return
        out.send(0, Ask(self.number) if waiting else Done(self.number))
        out.set_timer(RETRY, self.patience)

    def _on_ask(self, src: int, number: int, out: Out) -> None:
        self._finish(src, number - 1, out)  # a new request says that the one before is over
        if number <= self.finished[src]:
            return  # a copy that comes late
        if (src, number) not in self.queue:
            self.queue.append((src, number))
            out.save()
            if len(self.queue) == 1:
                self._grant(out)
        elif self.queue[0] == (src, number):
            out.send(src, Grant(number, self.fence))  # the first one may have been lost

    def _finish(self, process: int, number: int, out: Out) -> None:
        """All requests of the process up to this number are over."""
        if number <= self.finished[process]:
            return
        self.finished[process] = number
        head = self.queue[:1]
        self.queue = [request for request in self.queue if request[0] != process or request[1] > number]
        out.save()
        if self.queue and self.queue[:1] != head:
            self._grant(out)

    def _grant(self, out: Out) -> None:
        process, number = self.queue[0]
        self.fence += 1
        out.save()
        if process == self.me:
            self.enter(out, fence=self.fence)
        else:
            out.send(process, Grant(number, self.fence))
