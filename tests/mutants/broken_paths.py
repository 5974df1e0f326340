"""Broken ways to the token: over any network, and along fathers."""

from __future__ import annotations

from mutant import killed

from congenial.algorithms.token import helary_plouzeau_raynal as hpr
from congenial.algorithms.token.helary_plouzeau_raynal import HelaryPlouzeauRaynal
from congenial.algorithms.token.naimi_trehel import NOBODY, NaimiTrehel, Token
from congenial.algorithms.token.naimi_trehel_recovery import CANDIDATE, Election, NaimiTrehelRecovery
from congenial.kernel.node import IDLE
from congenial.kernel.out import Out

# -- Helary-Plouzeau-Raynal --------------------------------------------------------------------------------


@killed("deadlock", nodes=3, requests=1, options={"network": "line"})
class NotPassedOn(HelaryPlouzeauRaynal):
    """A request goes no farther than the neighbours of its origin."""

    def _send_on(self, request: hpr.Request, out: Out) -> None:
        if request.origin == self.me:
            super()._send_on(request, out)


@killed("illegal step", nodes=3, requests=1, options={"network": "line"})
class GrantedTwice(HelaryPlouzeauRaynal):
    """The token's array does not say what was granted."""

    def _grant_oldest(self, out: Out) -> None:
        if self.granted:
            self.granted = [0] * self.n
            super()._grant_oldest(out)


@killed("illegal step", nodes=3, requests=1, options={"network": "ring"})
class OldDates(HelaryPlouzeauRaynal):
    """A request that comes another way, later, counts once more."""

    def _on_request(self, src: int, request: hpr.Request, out: Out) -> None:
        self.latest[request.origin] = 0
        if self.granted:
            self.granted[request.origin] = 0
        super()._on_request(src, request, out)


@killed("bound", nodes=3, requests=1, options={"network": "line"})
class NoKnowledge(HelaryPlouzeauRaynal):
    """Requests do not say which process they were sent to: they go back where they came from, too."""

    def _send_on(self, request: hpr.Request, out: Out) -> None:
        for neighbour in self.neighbours:
            out.send(neighbour, hpr.Request(request.origin, request.date, ()))


@killed("safety", nodes=2, requests=1)
class NetworkTokenKept(HelaryPlouzeauRaynal):
    """The token is sent on, and kept."""

    def _grant_oldest(self, out: Out) -> None:
        granted = self.granted
        super()._grant_oldest(out)
        self.holding = True
        self.granted = granted


# -- Naimi-Trehel ------------------------------------------------------------------------------------------


@killed("safety", nodes=2, requests=1)
class PathTokenKept(NaimiTrehel):
    """The token is sent on, and kept."""

    def _pass_token(self, to: int, out: Out) -> None:
        super()._pass_token(to, out)
        self.holding = True


@killed("illegal step", nodes=2, requests=1)
class RootStays(NaimiTrehel):
    """A process that asks does not become the root."""

    def _ask(self, out: Out) -> None:
        father = self.father
        super()._ask(out)
        self.father = father


@killed("deadlock", nodes=2, requests=1)
class NextForgotten(NaimiTrehel):
    """A root that is inside does not remember which process asked."""

    def _on_request(self, origin: int, out: Out) -> None:
        super()._on_request(origin, out)
        self.next = NOBODY


@killed("illegal step", nodes=2, requests=2)
class NextRemembered(NaimiTrehel):
    """A process that has passed the token on believes that the same process is next again."""

    def release(self, out: Out) -> None:
        following = self.next
        super().release(out)
        if following != NOBODY:
            self.next = following


@killed("safety", nodes=2, requests=1)
class GivenAway(NaimiTrehel):
    """A root inside gives the token away."""

    def _on_request(self, origin: int, out: Out) -> None:
        if self.father == self.me and self.holding and self.phase != IDLE:
            out.send(origin, Token(self.entries))
            self.father = origin
        else:
            super()._on_request(origin, out)


# -- Naimi-Trehel with recovery ----------------------------------------------------------------------------


@killed("safety", nodes=2, requests=1)
class RecoveryTokenKept(NaimiTrehelRecovery):
    """The token is sent on, and kept."""

    def _pass_token(self, to: int, out: Out) -> None:
        super()._pass_token(to, out)
        self.holding = True


@killed("safety", nodes=2, requests=1, crashes=1)
class BackWithTheToken(NaimiTrehelRecovery):
    """Process 0 comes back as it was in the beginning."""

    def on_recover(self, out: Out) -> None:
        pass


@killed("safety", nodes=2, requests=1, losses=1)
class SilentHolder(NaimiTrehelRecovery):
    """A process that holds the token does not say so."""

    def _on_query(self, src: int, life: int, out: Out) -> None:
        if not self.holding:
            super()._on_query(src, life, out)


@killed("safety", nodes=2, requests=1, crashes=1)
class SameEra(NaimiTrehelRecovery):
    """A new token begins no new era, so that its fences do not grow."""

    def _make_token(self, out: Out) -> None:
        self.era -= 1
        super()._make_token(out)


@killed("starvation", nodes=2, requests=1, crashes=1, recovery=False)
class NobodyElected(NaimiTrehelRecovery):
    """A candidate stands again and again."""

    def _make_token(self, out: Out) -> None:
        self._begin(CANDIDATE, Election(self.life), out)


@killed("deadlock", nodes=3, requests=1, losses=1)
class NotAskedAgain(NaimiTrehelRecovery):
    """A process that has found the token does not ask for it."""

    def _start_over(self, father: int, era: int, out: Out) -> None:
        self.father = father
        self._know(era, out)
