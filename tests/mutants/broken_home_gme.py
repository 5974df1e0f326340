"""Broken forms of HomeGME."""

from __future__ import annotations

from mutant import killed

from congenial.algorithms.group.home_gme import Ask, HomeGME, Report
from congenial.algorithms.group.home_plan import HOME, NO_GROUP, Next, Over, Token
from congenial.kernel.message import Message
from congenial.kernel.out import Out


@killed("safety", nodes=2, requests=1, groups=2)
class TokensAlwaysSafe(HomeGME):
    """A token is used before the session before is over."""

    def _is_safe(self) -> bool:
        return True


@killed("safety", nodes=4, requests=1, wants="0;0;0;1")
class OneReportTooFew(HomeGME):
    """A leader enters when one report is missing."""

    def _is_safe(self) -> bool:
        heard = self.reports.get(self.session - 1, 0)
        return super()._is_safe() or (heard > 0 and heard >= self.awaited - 1)


@killed("safety", nodes=3, requests=1, wants="0;1;0")
class OverTooSoon(HomeGME):
    """The home says that a session is over as soon as it plans the next one."""

    def _send(self, mail: list[tuple[int, Message]], out: Out) -> None:
        super()._send(mail, out)
        for dst, msg in mail:
            if isinstance(msg, Token) and msg.awaited != 0:
                self._tell(dst, Over(msg.session - 1), out)


@killed("deadlock", nodes=2, requests=2, groups=2)
class KeptForEver(HomeGME):
    """A kept token is not given back when it is recalled."""

    def _on_next(self, msg: Next, out: Out) -> None:
        if self.phase or msg.serial != self.serial:
            super()._on_next(msg, out)


@killed("deadlock", nodes=2, requests=1, groups=2)
class HomeNotTold(HomeGME):
    """A process that leaves tells the leaders only."""

    def _tell(self, dst: int, msg: Message, out: Out) -> None:
        if not (isinstance(msg, Report) and dst == HOME):
            super()._tell(dst, msg, out)


@killed("illegal step", nodes=2, requests=1)
class GivenBackTwice(HomeGME):
    """A process that leaves reports to the home twice."""

    def _give_back(self, out: Out) -> None:
        self._tell(HOME, Report(self.session, self.serial, False), out)
        super()._give_back(out)


@killed("concurrent entry", nodes=2, requests=1)
class ClosedToLatecomers(HomeGME):
    """Whoever asks waits for a new session, even of the group that is inside."""

    def _handle(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Ask) and self.plan is not None:
            self.plan.sessions[-1].group = NO_GROUP
        super()._handle(src, msg, out)
