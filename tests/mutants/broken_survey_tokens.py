"""Broken token algorithms of the survey: Ricart-Agrawala, Neilsen-Mizuno, Singhal's heuristic, Mizuno-Neilsen-Rao."""

from __future__ import annotations

from mutant import killed

from congenial.algorithms.token import mizuno_neilsen_rao, neilsen_mizuno
from congenial.algorithms.token.mizuno_neilsen_rao import Acquired, MizunoNeilsenRao
from congenial.algorithms.token.neilsen_mizuno import NOBODY, NeilsenMizuno
from congenial.algorithms.token.ricart_agrawala_token import RicartAgrawalaToken
from congenial.algorithms.token.singhal_heuristic import SinghalHeuristic
from congenial.kernel.node import IDLE, INSIDE, WAITING
from congenial.kernel.out import Out

# -- Ricart-Agrawala ---------------------------------------------------------------------------------------


@killed("illegal step", nodes=3, requests=1)
class OldRequestsGranted(RicartAgrawalaToken):
    """An idle holder sends the token to the sender of every request, including old ones."""

    def _on_request(self, src: int, number: int, out: Out) -> None:
        if self.holding and self.phase == IDLE:
            self.requested[src] = self.granted[src] + 1
        super()._on_request(src, number, out)


@killed("safety", nodes=2, requests=1)
class TokenGivenWhileInside(RicartAgrawalaToken):
    """A request takes the token away from a process that is inside."""

    def _on_request(self, src: int, number: int, out: Out) -> None:
        super()._on_request(src, number, out)
        if self.holding:
            self._pass_token(out)


@killed("deadlock", nodes=3, requests=2)
class LatestNumberWins(RicartAgrawalaToken):
    """The number of the request that came last counts, not the highest."""

    def _on_request(self, src: int, number: int, out: Out) -> None:
        self.requested[src] = 0
        super()._on_request(src, number, out)


@killed("illegal step", nodes=2, requests=1)
class GrantNotRecorded(RicartAgrawalaToken):
    """A process that leaves does not record in the token that its request was granted."""

    def release(self, out: Out) -> None:
        granted = self.granted[self.me]
        self.requested[self.me], number = granted, self.requested[self.me]
        super().release(out)
        self.requested[self.me] = number


# -- Neilsen-Mizuno ----------------------------------------------------------------------------------------


@killed("deadlock", nodes=2, requests=1)
class NextForgotten(NeilsenMizuno):
    """A process that leaves keeps the token, even if another is next."""

    def release(self, out: Out) -> None:
        self.next = NOBODY
        super().release(out)


@killed("safety", nodes=2, requests=1)
class TokenKeptInTheTree(NeilsenMizuno):
    """The token is sent on, and kept."""

    def _pass_token(self, dst: int, out: Out) -> None:
        super()._pass_token(dst, out)
        self.holding = True


@killed("illegal step", nodes=3, requests=1)
class EdgesNotTurned(NeilsenMizuno):
    """A request that is forwarded does not turn the edge behind it."""

    def _on_request(self, src: int, origin: int, out: Out) -> None:
        last = self.last
        super()._on_request(src, origin, out)
        if last != self.me:
            self.last = last


@killed("illegal step", nodes=3, requests=1, options={"tree": "line"})
class TokenToTheNeighbour(NeilsenMizuno):
    """The token goes to the neighbour that the request came from, not to where it began."""

    def _on_request(self, src: int, origin: int, out: Out) -> None:
        super()._on_request(src, src if self.last == self.me else origin, out)


@killed("bound", nodes=2, requests=1)
class AsksAlongTheWay(NeilsenMizuno):
    """The token goes by a detour: one more message than the law allows."""

    def release(self, out: Out) -> None:
        if self.next != NOBODY:
            out.send(self.next, neilsen_mizuno.Request(self.next))
        super().release(out)

    def _on_request(self, src: int, origin: int, out: Out) -> None:
        if origin != self.me:
            super()._on_request(src, origin, out)


# -- Singhal -----------------------------------------------------------------------------------------------


@killed("deadlock", nodes=3, requests=2)
class OutdatedRequestsDiscarded(SinghalHeuristic):
    """Outdated requests are discarded, as published."""

    def _on_outdated_request(self, src: int, out: Out) -> None:
        pass


@killed("deadlock", nodes=3, requests=2)
class JudgedByOwnVector(SinghalHeuristic):
    """A request that the token shows to be outdated is not recognised."""

    def _is_outdated(self, src: int, number: int) -> bool:
        return number <= self.numbers[src]


@killed("deadlock", nodes=3, requests=1)
class DoesNotAskBack(SinghalHeuristic):
    """A waiting process that is asked does not ask the asker in turn."""

    def _on_request(self, src: int, number: int, out: Out) -> None:
        if self.phase == WAITING:
            self.requesting[src] = True
            self.numbers[src] = number
        else:
            super()._on_request(src, number, out)


@killed("illegal step", nodes=2, requests=1)
class TokenKnowsNothing(SinghalHeuristic):
    """On equal numbers the holder's own vector counts: the initial staircase passes for requests."""

    def _merge(self) -> None:
        for process in range(self.me):
            self.token_requesting[process] = self.requesting[process]
        super()._merge()


@killed("safety", nodes=2, requests=1)
class HeuristicTokenKept(SinghalHeuristic):
    """The token is sent on, and kept."""

    def _pass_token(self, dst: int, out: Out) -> None:
        super()._pass_token(dst, out)
        self.holding = True


# -- Mizuno-Neilsen-Rao ------------------------------------------------------------------------------------

PLANE = {"agreement": "plane"}
TREE = {"agreement": "tree"}


@killed("deadlock", nodes=3, requests=1, options=PLANE)
class NothingPassedOn(MizunoNeilsenRao):
    """Nobody passes requests on, so that they reach the members of a request set only."""

    def _pass_on(self, out: Out) -> None:
        pass


@killed("deadlock", nodes=3, requests=1, options=PLANE)
class PassedOnAtOnceOnly(MizunoNeilsenRao):
    """Requests that were there before the news of a holder are not passed on to it."""

    def _on_acquired(self, src: int, acquired: Acquired, out: Out) -> None:
        news = self.news
        self.news = {}
        super()._on_acquired(src, acquired, out)
        self.news = news


@killed("deadlock", nodes=3, requests=1, options=TREE)
class OldHolderBelieved(MizunoNeilsenRao):
    """The process named last is believed to be the holder, even if the news is old."""

    def _on_acquired(self, src: int, acquired: Acquired, out: Out) -> None:
        super()._on_acquired(src, Acquired(acquired.queued, self.entries + 1), out)


@killed("deadlock", nodes=3, requests=1, options=TREE)
class PassedOnForEver(MizunoNeilsenRao):
    """A process that has passed one request on never passes another on."""

    def _on_acquired(self, src: int, acquired: Acquired, out: Out) -> None:
        passed_on = self.passed_on
        super()._on_acquired(src, acquired, out)
        self.passed_on = self.passed_on or passed_on


@killed("safety", nodes=2, requests=1)
class TokenGivenAwayInside(MizunoNeilsenRao):
    """A request takes the token away from a process that is inside."""

    def _serve(self, out: Out) -> None:
        super()._serve(out)
        if self.holder == self.me and self.phase == INSIDE:
            self._pass_token(out)


@killed("illegal step", nodes=2, requests=1)
class SentTwice(MizunoNeilsenRao):
    """The token is sent twice."""

    def _pass_token(self, out: Out) -> None:
        queue = [*self.queue, *sorted(self.news)]
        super()._pass_token(out)
        if queue:
            out.send(queue[0], mizuno_neilsen_rao.Privilege((), self.queued, self.entries))
