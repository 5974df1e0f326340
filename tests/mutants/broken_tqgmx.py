"""Broken forms of TQGmx."""

from __future__ import annotations

from mutant import killed

from congenial.algorithms.group.tqgmx import NOBODY, Asked, Leave, Left, Return, TQGmx
from congenial.kernel.message import Message
from congenial.kernel.out import Out


@killed("safety", nodes=3, requests=1, groups=2)
class SubtokensNotAwaited(TQGmx):
    """The main token moves on while subtokens are out."""

    def _proceed(self, out: Out) -> None:
        issued = self.issued
        self.issued = 0
        super()._proceed(out)
        self.issued += issued


@killed("safety", nodes=2, requests=1, groups=2)
class AdmitsAllGroups(TQGmx):
    """A subtoken is issued to every request that arrives."""

    def _serve(self, asked: Asked, out: Out) -> None:
        self.group = asked[2]
        super()._serve(asked, out)


@killed("illegal step", nodes=3, requests=1, groups=2)
class LeaveNotConfirmed(TQGmx):
    """The main token moves while members may still pass requests on to its holder."""

    def _tell_quorum(self, msg: Message, out: Out) -> None:
        super()._tell_quorum(msg, out)
        if isinstance(msg, Leave):
            self.unconfirmed = 0
            self._proceed(out)

    def _handle(self, src: int, msg: Message, out: Out) -> None:
        if not isinstance(msg, Left):
            super()._handle(src, msg, out)


@killed("concurrent entry", nodes=3, requests=1, groups=2)
class NothingKept(TQGmx):
    """A member that knows of no holder forgets a request."""

    def _on_acquired(self, src: int, out: Out) -> None:
        self.kept = []
        super()._on_acquired(src, out)


@killed("illegal step", nodes=3, requests=1, groups=2)
class ServedAgain(TQGmx):
    """A request that arrives by a second member is served a second time."""

    def _serve(self, asked: Asked, out: Out) -> None:
        self.seen[asked[0]] = 0
        super()._serve(asked, out)


@killed("concurrent entry", nodes=2, requests=1)
class NoSubtokens(TQGmx):
    """The main token is the only one: a lock for one process."""

    def _serve(self, asked: Asked, out: Out) -> None:
        self.group = NOBODY
        super()._serve(asked, out)


@killed("deadlock", nodes=3, requests=1, groups=2)
class SubtokenKept(TQGmx):
    """A subtoken is not given back."""

    def release(self, out: Out) -> None:
        self.issuer = NOBODY
        super().release(out)


@killed("illegal step", nodes=2, requests=1, groups=2)
class ReturnedTwice(TQGmx):
    """A subtoken is given back twice."""

    def release(self, out: Out) -> None:
        if self.issuer != NOBODY:
            out.send(self.issuer, Return())
        super().release(out)


@killed("bound", nodes=4, requests=1, wants="0;1;2;3", options={"quorums": "singleton"})
class PassedOnAgain(TQGmx):
    """A member passes on to every new holder what it has passed on before."""

    def _on_acquired(self, src: int, out: Out) -> None:
        kept = self.kept
        super()._on_acquired(src, out)
        self.kept = kept
