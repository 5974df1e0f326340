"""What all weak mutexes share: a replica of the resource, one pending operation, and knowing what all have executed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

from mypy_extensions import mypyc_attr

from congenial.kernel.errors import ContractError
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import INSIDE, Node
from congenial.kernel.out import Out
from congenial.kernel.spec import Option
from congenial.kernel.state import freeze, thaw
from congenial.parts.rows import is_any_up_to, least
from congenial.problems.weak import Resource, build_resource

RESOURCE = Option(
    "resource", "journal", "the replicated resource: journal (keeps every operation) or counter", build_resource
)
FLAWS = (
    "a process that recovers after a crash no longer takes part, and waits forever",
    "while a process is down, what the others have to remember for it grows",
)

Entry = tuple[int, int, Any]
"""An operation: its issuer, its number there, and the operation itself."""


@dataclass(frozen=True)
class Progress(Message):
    """How far the sender has executed."""

    epoch: int
    place: int


@mypyc_attr(allow_interpreted_subclasses=True)
class WeakNode(Node):
    """A subclass says what `_issue` does, and calls `_execute` for every operation, in the order agreed upon."""

    messages: ClassVar[Messages] = (Progress,)
    interval: ClassVar[int] = 64  # places (or n, if that is more) between two `Progress` messages

    def __init__(self, me: int, n: int, resource: Resource) -> None:
        super().__init__(me, n)
        self.replica = cast(Resource, thaw(freeze(resource)))
        self.majority = n // 2 + 1
        self.issued = 0  # number of our operations
        self.pending: Entry | None = None  # the one not yet answered                    lastIssuedOp
        self.reached: list[int] = [0] * n  # how far each has executed, as far as it has told us
        self.gone = False  # recovered after a crash, without memory

    def issue(self, operation: object, out: Out) -> None:
        if self.phase != INSIDE or self.pending is not None:
            why = "is not inside" if self.phase != INSIDE else "waits for the outcome of another"
            raise ContractError(f"process {self.me} issues an operation, but {why}")
        self.issued += 1
        self.pending = (self.me, self.issued, operation)
        self._issue(out)

    def _issue(self, out: Out) -> None:
        """Make sure that the pending operation is executed by all."""
        raise NotImplementedError

    def leave(self) -> None:
        if self.pending is not None and self.phase == INSIDE:
            raise ContractError(f"process {self.me} would leave, but waits for the outcome of an operation")
        super().leave()

    def lose(self, out: Out) -> None:
        self.pending = None  # it has failed
        super().lose(out)

    def on_recover(self, out: Out) -> None:
        """Crashes are permanent (section 2). A process that may have forgotten a promise must not take part."""
        self.gone = True

    def _execute(self, entry: Entry, out: Out) -> None:
        issuer, number, operation = entry
        result = self.replica.apply(operation)
        out.execute(issuer, number, operation, result)
        if issuer == self.me and self.pending is not None and number == self.pending[1]:
            self.pending = None
            out.answer(number, result)

    # -- stability -------------------------------------------------------------------------------------

    def _come_to(self, epoch: int, place: int, out: Out) -> None:
        """Tell the others now and then: what all processes have need not be kept (section 4)."""
        if place - self.reached[self.me] >= max(type(self).interval, self.n):
            self.reached[self.me] = place
            out.broadcast(Progress(epoch, place))
            self._prune(min(self.reached))

    def _on_progress(self, src: int, place: int) -> None:
        before = self.reached[src]
        self.reached[src] = max(before, place)
        if not is_any_up_to(self.reached, before):  # then it was the last one
            self._prune(least(self.reached))

    def _prune(self, stable: int) -> None:
        """All processes have what is at or below that place."""
        raise NotImplementedError
