"""What the explorer knows about one process: its state, and what it does on an event."""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from congenial.kernel.effects import Effect
from congenial.kernel.node import IDLE, INSIDE, WAITING
from congenial.kernel.problem import NO_GROUP, Groups


@final
class ProcessState:
    """All there is to know about one process: what its shell knows, with the node frozen, and what it may still do.
    `node` is None while the process is down."""

    def __init__(self, node: object, saved: object) -> None:
        self.node = node
        self.saved = saved
        self.wants: Groups = ()
        self.group = NO_GROUP
        self.timers: tuple[int, ...] = ()
        self.suspects: tuple[int, ...] = ()
        self.left = 0  # requests that the application may still make
        self.hops = 0  # the longest chain of messages that led to it, if they are counted
        self.era = 0  # in which it entered, if it is inside
        # where there are operations
        self.issued = 0  # so far
        self.more = 0  # that it may still issue in this stay
        self.pending = False
        self.fence = 0  # with which it entered, if it is inside

    def key(self) -> object:
        rest = (self.timers, self.saved, self.suspects, self.hops, self.era)
        operations = (self.issued, self.more, self.pending, self.fence)
        return (self.node, self.left, self.wants, self.group, *rest, *operations)

    @property
    def phase(self) -> int:
        return WAITING if self.wants else INSIDE if self.group != NO_GROUP else IDLE


@final
class Step:
    """What a process does on an event. If it is an `error`, `is_illegal` tells a breach of the kernel contract from a
    violation of safety."""

    def __init__(self, after: i64) -> None:
        self.after = after  # the process's state afterwards
        self.choices: tuple[int, ...] = ()
        self.packets: list[i64] = []
        self.entered = False  # it may have been ejected after that
        self.group = NO_GROUP
        self.fence = 0
        self.hops = 0
        # for the ledger
        self.issued = 0  # the number of the operation that was issued,
        self.section = 0  # and the fence of its section
        self.booked: list[Effect] = []  # executions, answers, and the ejection that makes an operation fail
        self.failed = 0  # the number of that operation
        self.error = ""
        self.is_illegal = False
