"""Messages to oneself: a process that is a member of its own quorum plays both parts, and pays for neither.

What it tells itself arrives in the same step, after everything that the step does first, in the order in which it was
told: as over a channel that is FIFO and takes no time.
"""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Out


@mypyc_attr(allow_interpreted_subclasses=True)
class Loopback(Node):
    """Subclasses write `_handle` instead of `receive`, `_tell` instead of `out.send`, and end `request`, `release` and
    whatever else may tell with `_hear_myself`."""

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
