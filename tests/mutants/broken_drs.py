"""Broken forms of DRS_GME."""

from __future__ import annotations

from typing import ClassVar

from mutant import killed

from congenial.algorithms.group.drs_gme import DrsGme, Token
from congenial.algorithms.group.drs_gme_extended import DrsGmeExtended
from congenial.algorithms.group.drs_gme_extended_faults import DrsGmeExtendedFaults
from congenial.algorithms.group.drs_gme_faults import T2, DrsGmeFaults
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups

# -- DRS_GME -----------------------------------------------------------------------------------------------


@killed("safety", nodes=2, requests=2, groups=2)
class FollowersStayBehind(DrsGme):
    """A captain that has left does not wait for its followers."""

    def _end_if_all_left(self, out: Out) -> None:
        self.followers = {}
        super()._end_if_all_left(out)


@killed("illegal step", nodes=2, requests=1, groups=2)
class AnyGroupIsWelcome(DrsGme):
    """A captain inside lets everybody in."""

    def _admits(self, groups: Groups) -> bool:
        return self.group >= 0


@killed("concurrent entry", nodes=3, requests=2)
class CaptainsToComeForgotten(DrsGme):
    """A process that passes the token on does not add the next captains to its request set."""

    def _future_captains(self) -> list[int]:
        return []


@killed("concurrent entry", nodes=3, requests=1)
class NotedInSilence(DrsGme):
    """A waiting process does not send its request to a process that asks and was not in its request set."""

    def _note(self, src: int, number: int, groups: Groups, out: Out) -> None:
        self.peers.add(src)
        super()._note(src, number, groups, out)


@killed("concurrent entry", nodes=2, requests=1, groups=2)
class NoFollowers(DrsGme):
    """Everybody waits for a session of its own."""

    def _admits(self, groups: Groups) -> bool:
        return False


# -- with faults -------------------------------------------------------------------------------------------


@killed("starvation", nodes=2, requests=1, losses=1)
class NobodyPassesItAgain(DrsGmeFaults):
    """A token that was lost is not sent again."""

    def _pass_again(self, session: int, out: Out) -> None:
        pass


@killed("safety", nodes=2, requests=2, wants="0,1;0", crashes=1)
class FollowersForgotten(DrsGmeFaults):
    """A captain that comes back does not know which processes it has let in."""

    durable: ClassVar[tuple[str, ...]] = tuple([name for name in DrsGmeFaults.durable if name != "followers"])


@killed("safety", nodes=2, requests=2, groups=2, losses=1)
class EveryTokenCounts(DrsGmeFaults):
    """A copy of a token is accepted where the token has been."""

    def _on_token(self, src: int, token: Token, out: Out) -> None:
        if not self.holding:
            self._hold(token, out)


@killed("deadlock", nodes=2, requests=2, groups=2, losses=1)
class FollowersAreNotAsked(DrsGmeFaults):
    """A captain waits for its followers without a timeout."""

    def on_timer(self, timer: int, out: Out) -> None:
        if timer != T2:
            super().on_timer(timer, out)


@killed("illegal step", nodes=2, requests=1, groups=2, crashes=1)
class TokenOnlyInMemory(DrsGmeFaults):
    """The first holder believes after a crash that it has the token still, or again."""

    durable: ClassVar[tuple[str, ...]] = tuple([name for name in DrsGmeFaults.durable if name != "holding"])


@killed("deadlock", nodes=2, requests=2, crashes=1)
class NumberForgotten(DrsGmeFaults):
    """A process that comes back numbers its requests from 1 again."""

    durable: ClassVar[tuple[str, ...]] = tuple([name for name in DrsGmeFaults.durable if name != "number"])


@killed("illegal step", nodes=2, requests=2, wants="0,1;0", crashes=1)
class OldRequestsCount(DrsGmeFaults):
    """The token that comes for a request from before a crash is used for it."""

    def _waits_with(self, number: int) -> bool:
        return True


# -- extended ----------------------------------------------------------------------------------------------


@killed("illegal step", nodes=2, requests=1, wants="0|1;0|1")
class ServedEntriesStay(DrsGmeExtended):
    """A process that is served through one of its entries stays in the others."""

    def _drop(self, processes: set[int]) -> None:
        self.queue = self.queue[1:]


@killed("safety", nodes=2, requests=1, wants="0|1;1")
class FirstOfItsGroups(DrsGmeExtended):
    """A captain's session is of the first group that it asked for, whatever entry it was chosen with."""

    def _begin(self, out: Out) -> None:
        super()._begin(out)
        self.group = 1 - self.group


@killed("concurrent entry", nodes=3, requests=2, wants="0;0|1;1")
class CaptainsToComeForgottenHere(DrsGmeExtended):
    """A process that passes the token on does not add the next captains to its request set."""

    def _future_captains(self) -> list[int]:
        return []


# -- extended, with faults ---------------------------------------------------------------------------------


@killed("starvation", nodes=2, requests=1, wants="0|1;0|1", losses=1)
class NoTokenPassedAgain(DrsGmeExtendedFaults):
    """A token that was lost is not sent again."""

    def _pass_again(self, session: int, out: Out) -> None:
        pass


@killed("illegal step", nodes=2, requests=1, groups=2, crashes=1)
class HoldsItInMemoryOnly(DrsGmeExtendedFaults):
    """The first holder believes after a crash that it has the token still, or again."""

    durable: ClassVar[tuple[str, ...]] = tuple([name for name in DrsGmeExtendedFaults.durable if name != "holding"])


@killed("safety", nodes=2, requests=1, wants="0|1;1", losses=1)
class AnotherOfItsGroups(DrsGmeExtendedFaults):
    """A captain's session is of another group than the entry it was chosen with."""

    def _begin(self, out: Out) -> None:
        super()._begin(out)
        self.group = 1 - self.group


@killed("deadlock", nodes=2, requests=2, groups=2, losses=1)
class NobodyIsAskedAgain(DrsGmeExtendedFaults):
    """A captain waits for its followers without a timeout."""

    def on_timer(self, timer: int, out: Out) -> None:
        if timer != T2:
            super().on_timer(timer, out)
