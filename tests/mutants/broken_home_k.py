"""Broken forms of HomeK."""

from __future__ import annotations

from mutant import killed

from congenial.algorithms.kmutex.home_k import Busy, HomeK, Recall, Return
from congenial.kernel.message import Message
from congenial.kernel.node import INSIDE
from congenial.kernel.out import Out


@killed("safety", nodes=3, requests=1)
class OnePermitTooMany(HomeK):
    """The home has one permit more than there are."""

    def __init__(self, me: int, n: int, k: int) -> None:
        super().__init__(me, n, k + 1)


@killed("safety", nodes=3, requests=1)
class GivenBackWhileInside(HomeK):
    """A process that is inside gives a recalled permit back immediately."""

    def _on_recall(self, serial: int, out: Out) -> None:
        inside = self.phase == INSIDE and serial == self.serial
        super()._on_recall(serial, out)
        if inside:
            self._tell(0, Return(serial), out)


@killed("concurrent entry", nodes=3, requests=2)
class NothingRecalled(HomeK):
    """The home waits until kept permits come back by themselves."""

    def _tell(self, dst: int, msg: Message, out: Out) -> None:
        if not isinstance(msg, Recall):
            super()._tell(dst, msg, out)


@killed("concurrent entry", nodes=3, requests=1)
class EarlyRecallForgotten(HomeK):
    """A recall that overtakes its permit is answered, but not remembered."""

    def _on_recall(self, serial: int, out: Out) -> None:
        super()._on_recall(serial, out)
        self.early = 0


@killed("concurrent entry", nodes=4, requests=2, options={"k": "3"})
class OneRecallAtATime(HomeK):
    """A process that is inside does not say so, and the home looks no further."""

    def _tell(self, dst: int, msg: Message, out: Out) -> None:
        if not isinstance(msg, Busy):
            super()._tell(dst, msg, out)


@killed("concurrent entry", nodes=3, requests=1)
class KeptThoughRecalled(HomeK):
    """A process that is inside when its permit is recalled keeps it all the same."""

    def _on_recall(self, serial: int, out: Out) -> None:
        keep = self.keep
        super()._on_recall(serial, out)
        self.keep = keep and self.serial == serial
