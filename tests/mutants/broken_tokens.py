"""Broken token algorithms for mutual exclusion."""

from __future__ import annotations

from mutant import killed

from congenial.algorithms.token import suzuki_kasami
from congenial.algorithms.token.raymond_tree import Privilege, RaymondTree
from congenial.algorithms.token.suzuki_kasami import SuzukiKasami
from congenial.algorithms.token.suzuki_kasami_bounded import RoundReceived, SuzukiKasamiBounded
from congenial.kernel.node import INSIDE
from congenial.kernel.out import Out

# -- Suzuki-Kasami -----------------------------------------------------------------------------------------


@killed("safety", nodes=2, requests=1)
class TokenKept(SuzukiKasami):
    """The token is sent on, and kept."""

    def _pass_token(self, dst: int, out: Out) -> None:
        super()._pass_token(dst, out)
        self.holding = True


@killed("illegal step", nodes=2, requests=1)
class TokenSentTwice(SuzukiKasami):
    """The token is sent twice."""

    def _pass_token(self, dst: int, out: Out) -> None:
        super()._pass_token(dst, out)
        super()._pass_token(dst, out)


@killed("illegal step", nodes=2, requests=1)
class OwnRequestNotServed(SuzukiKasami):
    """A process that leaves does not record in the token that its request was served, so it is served again."""

    def release(self, out: Out) -> None:
        self.requested[self.me] = self.served[self.me]
        super().release(out)


@killed("deadlock", nodes=2, requests=1)
class DeafWhileInside(SuzukiKasami):
    """A request that arrives at a process inside is not written down."""

    def _on_request(self, src: int, number: int, out: Out) -> None:
        if self.phase != INSIDE:
            super()._on_request(src, number, out)


@killed("deadlock", nodes=3, requests=2)
class OldRequestWins(SuzukiKasami):
    """The number of the request that came last counts, not the highest."""

    def _on_request(self, src: int, number: int, out: Out) -> None:
        self.requested[src] = 0
        super()._on_request(src, number, out)


@killed("bound", nodes=3, requests=1)
class AsksTwice(SuzukiKasami):
    """Every request is sent twice. Nothing goes wrong, but that costs more than n messages."""

    def _ask(self, out: Out) -> None:
        super()._ask(out)
        out.broadcast(suzuki_kasami.Request(self.requested[self.me]))


# -- Suzuki-Kasami with bounded numbers --------------------------------------------------------------------


@killed("illegal step", nodes=3, requests=2, options={"round": "2"})
class OneRound(SuzukiKasamiBounded):
    """All rounds have the same numbers: a late request 1 passes for the successor of request L."""

    def _successor(self, number: int) -> int:
        return number % self.round + 1


@killed("deadlock", nodes=2, requests=5, options={"round": "2"})
class OldRoundRemembered(SuzukiKasamiBounded):
    """A new round does not begin below the old one's numbers: the smaller number is taken for an old one."""

    def _on_request(self, src: int, number: int, out: Out) -> None:
        super()._on_request(src, max(number, self.requested[src]), out)


@killed("deadlock", nodes=2, requests=3, options={"round": "2"})
class RoundNotAcknowledged(SuzukiKasamiBounded):
    """Nobody announces that it has received a whole round."""

    def _on_request(self, src: int, number: int, out: Out) -> None:
        if self.received[src] == self.round - 1:
            self.received[src] = -1
        super()._on_request(src, number, out)


@killed("illegal step", nodes=2, requests=2, options={"round": "2"})
class EachRequestAcknowledged(SuzukiKasamiBounded):
    """Every request is acknowledged, as if it were the last of its round."""

    def _on_request(self, src: int, number: int, out: Out) -> None:
        super()._on_request(src, number, out)
        out.send(src, RoundReceived())


# -- Raymond -----------------------------------------------------------------------------------------------


@killed("safety", nodes=2, requests=1)
class TreeTokenKept(RaymondTree):
    """The token is sent on, and kept."""

    def _serve(self, out: Out) -> None:
        had = self.holder == self.me
        super()._serve(out)
        if had:
            self.holder = self.me


@killed("safety", nodes=2, requests=1)
class TokenTakenAway(RaymondTree):
    """The token is sent on although its holder is inside."""

    def _serve(self, out: Out) -> None:
        if self.phase == INSIDE and self.holder == self.me and self.queue:
            self.holder = self.queue.pop(0)
            out.send(self.holder, Privilege(self.entries))
        super()._serve(out)


@killed("deadlock", nodes=2, requests=2)
class AsksOnlyOnce(RaymondTree):
    """A process that has asked the holder once believes forever that it has."""

    def _serve(self, out: Out) -> None:
        asked = self.asked
        super()._serve(out)
        self.asked = self.asked or asked


@killed("deadlock", nodes=3, requests=1)
class QueueForgotten(RaymondTree):
    """A process that sends the token on does not ask for it on behalf of the others in its queue."""

    def _serve(self, out: Out) -> None:
        had = self.holder == self.me
        super()._serve(out)
        if had and self.holder != self.me:
            self.asked = True


@killed("starvation", nodes=2, requests=1)
class LastComeFirstServed(RaymondTree):
    """The queue is served from the wrong end: the token goes back and forth between two processes that both want it."""

    def _serve(self, out: Out) -> None:
        self.queue.reverse()
        super()._serve(out)
        self.queue.reverse()
