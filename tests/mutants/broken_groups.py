"""Broken algorithms for group mutual exclusion."""

from __future__ import annotations

from dataclasses import replace

from mutant import killed

from congenial.algorithms.group import token_gme
from congenial.algorithms.group.ra1 import RA1
from congenial.algorithms.group.ra2 import RA2, Invite, Request
from congenial.algorithms.group.token_gme import NO_GROUP, TokenGME, TokenGMEFifo
from congenial.algorithms.group.token_gme_bounded import TokenGMEBounded
from congenial.algorithms.group.token_gme_types import TokenGMETypes
from congenial.kernel.message import Message
from congenial.kernel.node import IDLE, WAITING
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups

# -- RA1 ---------------------------------------------------------------------------------------------------


@killed("safety", nodes=2, requests=1, groups=2)
class EveryoneAgrees(RA1):
    """Requests for other groups are agreed to like those for one's own."""

    def _on_request(self, src: int, number: int, group: int, out: Out) -> None:
        super()._on_request(src, number, self.group, out)


@killed("concurrent entry", nodes=2, requests=1, groups=2)
class GroupsIgnored(RA1):
    """A request for one's own group is deferred like any other."""

    def _on_request(self, src: int, number: int, group: int, out: Out) -> None:
        super()._on_request(src, number, -1, out)


@killed("safety", nodes=2, requests=1, groups=2)
class AgeWithoutProcess(RA1):
    """Requests with the same number are equally old, so neither is deferred."""

    def _age(self, process: int, number: int) -> int:
        return number * self.n + 1


@killed("safety", nodes=2, requests=2, groups=2)
class AgesNotLearned(RA1):
    """Numbers seen in requests are not remembered."""

    def _on_request(self, src: int, number: int, group: int, out: Out) -> None:
        highest = self.highest
        super()._on_request(src, number, group, out)
        self.highest = highest


@killed("deadlock", nodes=2, requests=1, groups=2)
class OwesNothing(RA1):
    """Replies that were deferred are never sent."""

    def release(self, out: Out) -> None:
        self.deferred = [False] * self.n
        super().release(out)


# -- RA2 ---------------------------------------------------------------------------------------------------


@killed("safety", nodes=3, requests=1, wants="0;0;1")
class FollowersNotAwaited(RA2):
    """A reply counts even if its sender has been invited since."""

    def _is_out_of_date(self, process: int) -> bool:
        return False


@killed("deadlock", nodes=3, requests=1, wants="0;0;1")
class FollowerLeavesQuietly(RA2):
    """A follower that leaves tells nobody."""

    def release(self, out: Out) -> None:
        self.leading = True
        super().release(out)


@killed("safety", nodes=2, requests=1, groups=2)
class InvitesAnybody(RA2):
    """A leader invites all waiting processes, whatever their group."""

    def _on_request(self, src: int, number: int, rank: int, group: int, out: Out) -> None:
        super()._on_request(src, number, rank, self.group if self.leading else group, out)


@killed("deadlock", nodes=3, requests=1, wants="0;0;1")
class ReleaseIsNoReply(RA2):
    """A follower that leaves does not give the replies that it owes."""

    def release(self, out: Out) -> None:
        if not self.leading:
            self.deferred = [False] * self.n
        super().release(out)


@killed("concurrent entry", nodes=2, requests=1, groups=2)
class InvitationsLost(RA2):
    """A leader does not invite a process that asks for its group, but answers when it leaves."""

    def _invite(self, process: int, out: Out) -> None:
        self.deferred[process] = True


@killed("safety", nodes=2, requests=2, wants="0;0,1")
class OldInvitationAccepted(RA2):
    """An invitation is accepted whenever it comes, even if its request is over."""

    def receive(self, src: int, msg: Message, out: Out) -> None:
        super().receive(src, Invite(self.number, msg.session) if isinstance(msg, Invite) else msg, out)


@killed("safety", nodes=3, requests=1, wants="0;0;1")
class FollowerAgrees(RA2):
    """A follower that is inside agrees to requests that are older than its own."""

    def _goes_first(self, rank: int, src: int) -> bool:
        return self.phase != IDLE and (self.rank, self.me) < (rank, src)


@killed("deadlock", nodes=3, requests=1, wants="0;1;2", options={"vectors": "full"})
class ConcurrentRequestsByProcess(RA2):
    """Requests that do not know of each other are ordered by process alone: three can defer each other in a circle."""

    def request(self, groups: Groups, out: Out) -> None:
        super().request(groups, out)
        self.knew = list(self.vsn.values)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request) and self.phase == WAITING:
            if msg.vsn[self.me] >= self.number:
                msg = replace(msg, rank=self.rank + 1)
            else:
                msg = replace(msg, rank=self.rank - 1 if self.knew[src] >= msg.number else self.rank)
        super().receive(src, msg, out)


# -- TokenGME, both ways to select ---------------------------------------------------------------------------


@killed("safety", nodes=2, requests=2, groups=2)
class SafetyIgnored(TokenGME):
    """A token is used before those of the session before have been given back."""

    def _enter_if_safe(self, out: Out) -> None:
        self.awaited = 0
        super()._enter_if_safe(out)


@killed("deadlock", nodes=2, requests=2, groups=2)
class ReleasesNotCounted(TokenGME):
    """Releases are not counted."""

    def _on_release(self, session: int, out: Out) -> None:
        pass


@killed("safety", nodes=2, requests=1, groups=2)
class AnyGroupAdmitted(TokenGME):
    """The primary token's holder admits every process that asks to its session."""

    def _admits(self, process: int) -> bool:
        return self.group != NO_GROUP


@killed("deadlock", nodes=2, requests=2, groups=2)
class NeverGivenBack(TokenGME):
    """A process that knows of a conflict when it leaves keeps its secondary token."""

    def _knows_conflict(self) -> bool:
        return False


@killed("concurrent entry", nodes=2, requests=1, groups=2)
class NobodyAdmitted(TokenGME):
    """Nobody is admitted to the present session."""

    def _admits(self, process: int) -> bool:
        return False


@killed("bound", nodes=3, requests=1, wants="0;1;1")
class GroupAskedTwice(TokenGME):
    """Every request is sent twice. Nothing goes wrong, but that costs more than 2n-1 messages."""

    def _ask(self, groups: Groups, out: Out) -> None:
        super()._ask(groups, out)
        out.broadcast(token_gme.Request(self.requested[self.me], groups))


@killed("safety", nodes=2, requests=2, groups=2)
class IssuedNotCounted(TokenGMEFifo):
    """Secondary tokens are issued and not counted."""

    def _issue(self, process: int, out: Out) -> None:
        super()._issue(process, out)
        self.issued -= 1


@killed("illegal step", nodes=2, requests=2, groups=2)
class NotFulfilled(TokenGMEFifo):
    """Requests answered with a token are not written down as fulfilled, and answered again."""

    def _fulfil(self, process: int) -> None:
        pass


@killed("safety", nodes=3, requests=1, groups=2)
class WrongGroupInToken(TokenGMEFifo):
    """A secondary token names the wrong group."""

    def _issue(self, process: int, out: Out) -> None:
        self.issued += 1
        out.send(process, token_gme.Secondary(self.session, 1 - self.group, self.awaited, tuple(self.fulfilled)))


# -- type sets -----------------------------------------------------------------------------------------------


@killed("safety", nodes=2, requests=2, wants="0|1;0,1")
class FirstTypeTaken(TokenGMETypes):
    """A process that holds a token of one of its types enters for the first of them."""

    def enter(self, out: Out, fence: int = 0, group: int = 0) -> None:
        super().enter(out, fence, self.wanted[self.me][0] if self.wanted[self.me] else group)


@killed("safety", nodes=2, requests=2, wants="0|1;0,1")
class TypesSafetyIgnored(TokenGMETypes):
    """A token is used before those of the session before have been given back."""

    def _enter_if_safe(self, out: Out) -> None:
        self.awaited = 0
        super()._enter_if_safe(out)


@killed("concurrent entry", nodes=2, requests=1, wants="0|1;0")
class NobodyJoins(TokenGMETypes):
    """Nobody is admitted to the present session."""

    def _admits(self, process: int) -> bool:
        return False


@killed("illegal step", nodes=2, requests=1, wants="0|1;0")
class QueuedAndAdmitted(TokenGMETypes):
    """A request that is admitted is queued, too."""

    def _issue(self, process: int, out: Out) -> None:
        super()._issue(process, out)
        self._enqueue(process)


# -- bounded numbers -----------------------------------------------------------------------------------------


@killed("safety", nodes=2, requests=2, groups=2, options={"limit": "2"})
class ResetTooEarly(TokenGMEBounded):
    """Everyone agrees to reset sessions before it has had all releases."""

    def _expect_releases(self, src: int, tokens: int, out: Out) -> None:
        super()._expect_releases(src, 0, out)


@killed("illegal step", nodes=2, requests=3, wants="0;1", options={"limit": "2"})
class AgreesTooEarly(TokenGMEBounded):
    """Everyone agrees to a new round before it has had all requests of the old one."""

    def _agree_to_reset(self, process: int, out: Out) -> None:
        if self.resetting[process]:
            self.received[process] = self.limit
        super()._agree_to_reset(process, out)


@killed("deadlock", nodes=2, requests=3, wants="0;1", options={"limit": "2"})
class NeverAgrees(TokenGMEBounded):
    """Nobody ever agrees to a new round."""

    def _agree_to_reset(self, process: int, out: Out) -> None:
        pass


@killed("illegal step", nodes=2, requests=3, wants="0;1", options={"limit": "2"})
class RoundsNotInTokens(TokenGMEBounded):
    """Tokens do not say in which round a request was fulfilled."""

    def _fulfil(self, process: int) -> None:
        round = self.fulfilled_rounds[process]
        super()._fulfil(process)
        self.fulfilled_rounds[process] = round
