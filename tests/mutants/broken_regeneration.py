"""Broken token algorithms that regenerate a lost token."""

from __future__ import annotations

from typing import ClassVar

from mutant import killed

from congenial.algorithms.token.aged_token import TIME_OUT
from congenial.algorithms.token.mishra_srimani import MishraSrimani, NoCritical, RepCritical, Update
from congenial.algorithms.token.nishio_li_manning import Ack, Nack, NishioLiManning
from congenial.kernel.message import Message
from congenial.kernel.out import Out

# -- Mishra-Srimani ----------------------------------------------------------------------------------------


@killed("safety", nodes=2, requests=1, crashes=1)
class TokenSurvives(MishraSrimani):
    """The first holder believes after a crash that it has the token still, or again."""

    def on_recover(self, out: Out) -> None:
        pass


@killed("safety", nodes=2, requests=1, timers="quiet")
class HolderKeepsQuiet(MishraSrimani):
    """A holder does not say that it has the token."""

    def receive(self, src: int, msg: Message, out: Out) -> None:
        holding = self.holding
        self.holding = False
        super().receive(src, msg, out)
        self.holding = self.holding or holding


@killed("starvation", nodes=2, requests=1, crashes=1)
class CheckIsNoRequest(MishraSrimani):
    """A process that searches for the token does not repeat its request, so a holder that returns never receives it."""

    def _on_check(self, src: int, number: int, out: Out) -> None:
        if self.holding:
            out.send(src, RepCritical())
        else:
            super()._on_check(src, number, out)


@killed("deadlock", nodes=2, requests=1, crashes=1)
class NobodyLooks(MishraSrimani):
    """The timeout has no effect."""

    def on_timer(self, timer: int, out: Out) -> None:
        pass


@killed("illegal step", nodes=2, requests=2, crashes=1)
class NumberForgotten(MishraSrimani):
    """A process that comes back numbers its requests from 1 again."""

    durable: ClassVar[tuple[str, ...]] = ("age",)


@killed("safety", nodes=2, requests=1, losses=1)
class EverybodyAnswersAlways(MishraSrimani):
    """A holder answers as the others do, and keeps its token."""

    def _on_check(self, src: int, number: int, out: Out) -> None:
        out.send(src, NoCritical(self.age))

    def _on_create(self, src: int, age: int, out: Out) -> None:
        out.send(src, Update(age, self.requested[self.me], self._granted()))


# -- Nishio-Li-Manning -------------------------------------------------------------------------------------


@killed("safety", nodes=2, requests=1, timers="quiet")
class HolderAgrees(NishioLiManning):
    """A holder agrees to a new token."""

    def _on_missing(self, src: int, age: int, out: Out) -> None:
        out.send(src, Ack(age, self._granted()))


@killed("safety", nodes=3, requests=1, timers="free")
class NoPromise(NishioLiManning):
    """A process that agrees to a new token accepts an old one that arrives later."""

    def _on_missing(self, src: int, age: int, out: Out) -> None:
        known = self.age
        super()._on_missing(src, age, out)
        if not self.holding:
            self.age = known


@killed("illegal step", nodes=2, requests=1, crashes=1)
class TokenForgotten(NishioLiManning):
    """Whether it had the token is forgotten in a crash: the first holder believes that it has it."""

    durable: ClassVar[tuple[str, ...]] = ("requested", "served", "entries", "age", "promised")


@killed("deadlock", nodes=2, requests=1, losses=1)
class RefusalIsFinal(NishioLiManning):
    """A process that was refused a new token neither asks again for the old one nor waits for it."""

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Nack):
            out.cancel_timer(TIME_OUT)
        else:
            super().receive(src, msg, out)


@killed("safety", nodes=2, requests=1, crashes=1)
class AllButOne(NishioLiManning):
    """One process need not agree."""

    def on_timer(self, timer: int, out: Out) -> None:
        if self.proposing:
            self.agreed.update([process for process in range(self.n) if process != self.me])
        super().on_timer(timer, out)


@killed("deadlock", nodes=2, requests=1, losses=2)
class ProposesOnce(NishioLiManning):
    """Nobody proposes a second time when an answer is missing."""

    def on_timer(self, timer: int, out: Out) -> None:
        super().on_timer(timer, out)
        out.cancel_timer(TIME_OUT)
