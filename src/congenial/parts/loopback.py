"""Messages to oneself: a process that is a member of its own quorum plays both roles, and sends itself no messages.

`_tell` stands for `out.send`. A message to the process itself is handed over immediately, before `_tell` returns. Where
that would change a list or set that is being walked through, the message waits until the rest of the step is done:
then it is as if it travelled over a FIFO channel that takes no time. The two differ in the order in which a step sends
its messages, so an algorithm keeps the one it was written with.
"""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Out


@mypyc_attr(allow_interpreted_subclasses=True)
class Loopback(Node):
    """Subclasses write `_tell` instead of `out.send`."""

    def _tell(self, dst: int, msg: Message, out: Out) -> None:
        """Send a message, or hand it over if it is for this very process."""
        if dst == self.me:
            self.receive(dst, msg, out)
        else:
            out.send(dst, msg)


@mypyc_attr(allow_interpreted_subclasses=True)
class QueuedLoopback(Loopback):
    """Subclasses also write `_handle` instead of `receive`, and end `request`, `release` and every other call that may
    tell something with `_hear_myself`."""

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.inbox: list[Message] = []  # empty between steps

    def receive(self, src: int, msg: Message, out: Out) -> None:
        self._handle(src, msg, out)
        self._hear_myself(out)

    def _handle(self, src: int, msg: Message, out: Out) -> None:
        raise self.unexpected(src, msg)

    def _tell(self, dst: int, msg: Message, out: Out) -> None:
        if dst == self.me:
            self.inbox.append(msg)
        else:
            out.send(dst, msg)

    def _hear_myself(self, out: Out) -> None:
        while self.inbox:
            self._handle(self.me, self.inbox.pop(0), out)
