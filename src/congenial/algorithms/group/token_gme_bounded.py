"""TokenGME with bounded numbers: requests and sessions are counted up to L, and then again from 1.

A process whose request L has been fulfilled asks all others to count its requests from 1, and makes no further request
before all have agreed. Each agrees when it has received all L requests, so that none is still in transit. Sessions are
counted from 1 by the holder of the primary token, before the session that would be L+1: it tells all others how many
secondary tokens were ever issued, and begins session 1 when all have received that many releases.

Mittal & Mohan 2007, section 5.2, where L is called smax and must be at least 2. Two things had to be changed. First,
the paper compares a request's number to the number fulfilled in the token, and says: "we assume that smax < 1". But
then a late request 1 of the same round is taken for a new one, and a token is sent to a process that has not asked. And
a secondary token that was issued two requests of a process ago does not recognise that its request 1 is new: a
deadlock. So tokens also say in which of two alternating rounds of a process its fulfilled request was made. Second,
nothing may be issued while sessions are being reset, so the token is of no group meanwhile. The paper leaves to the
reader that a process gets only one secondary token in a session: here the primary token lists the processes that had
one, and others wait for the next session. A bounded number cannot be a fence, so none is given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.algorithms.group import token_gme
from congenial.algorithms.group.token_gme import NO_GROUP, Primary, Release, Request, Secondary, TokenGME
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import IDLE
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Option, Spec
from congenial.parts.options import whole_number


def build_limit(text: str, n: int) -> int:
    return whole_number(text, "limit", 2)


SPEC = replace(
    token_gme.SPEC,
    name="token-gme-bounded",
    title="TokenGME, bounded",
    reference="Mittal & Mohan 2007, section 5.2",
    fences=False,  # its session numbers start again
    messages=Law("0", "2*n-1 + 4*(n-1)/L"),
    size="6n",
    waiting=Law("0", "4"),  # a round trip more where sessions are counted from 1 again
    options=(
        *token_gme.SPEC.options,
        Option("limit", "16", "the largest number, smax in the paper", build_limit, "L", ("2", "3", "16")),
    ),
)


@dataclass(frozen=True)
class ResetRequests(Message):
    """Count my requests from 1 again."""


@dataclass(frozen=True)
class RequestsReset(Message):
    pass


@dataclass(frozen=True)
class ResetSessions(Message):
    """Count sessions from 1 again."""

    tokens: int  # secondary tokens issued in all sessions                       totalNoOfTokensIssued


@dataclass(frozen=True)
class SessionsReset(Message):
    pass


@dataclass(frozen=True)
class BoundedSecondary(Secondary):
    rounds: tuple[int, ...]


@dataclass(frozen=True)
class BoundedPrimary(Primary):
    rounds: tuple[int, ...]
    members: tuple[int, ...]  # processes that had a secondary token in this session
    tokens: int  # issued since sessions were last reset


@mypyc_attr(allow_interpreted_subclasses=True)
class TokenGMEBounded(TokenGME):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (
        Request,
        Release,
        BoundedSecondary,
        BoundedPrimary,
        ResetRequests,
        RequestsReset,
        ResetSessions,
        SessionsReset,
    )

    def __init__(self, me: int, n: int, selection: str = "priority", limit: int = 16) -> None:
        super().__init__(me, n, selection)
        self.limit = limit  #                                                         smax
        # requests
        self.rounds = [0] * n  # the current round of each process, 0 or 1
        self.received = [0] * n  # requests received from each in its current round
        self.resetting = [False] * n  # does it want to begin the next round?
        self.disagreeing = 0  # processes that have not agreed to my next round
        self.postponed: Groups = ()  # what I will ask for when they have agreed
        # sessions
        self.returned = 0  # releases received since the last reset
        self.reset_by = -1  # the process that wants to reset sessions
        self.expected = 0  # and after how many releases
        # my token
        self.fulfilled_rounds = [0] * n if me == 0 else []  # the round of each fulfilled request
        self.members: list[int] = []
        self.tokens = 0
        self.unconfirmed = 0  # processes that have not reset sessions

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, ResetRequests):
            self.resetting[src] = True
            self._agree_to_reset(src, out)
        elif isinstance(msg, RequestsReset) and self.disagreeing:
            self.disagreeing -= 1
            if self.postponed and not self.disagreeing:
                groups = self.postponed
                self.postponed = ()
                self._ask(groups, out)
        elif isinstance(msg, ResetSessions):
            self._expect_releases(src, msg.tokens, out)
        elif isinstance(msg, SessionsReset) and self.unconfirmed:
            self._confirm(out)
        else:
            super().receive(src, msg, out)

    # -- numbers of requests ---------------------------------------------------------------------------

    def _ask(self, groups: Groups, out: Out) -> None:
        if self.disagreeing:
            self.postponed = groups
        else:
            super()._ask(groups, out)

    def _is_idle(self) -> bool:
        return self.phase == IDLE or self.postponed != ()

    def enter(self, out: Out, fence: int = 0, group: int = 0) -> None:
        super().enter(out, 0, group)
        if self.requested[self.me] == self.limit:
            self._next_round(self.me)
            self.disagreeing = self.n - 1
            out.broadcast(ResetRequests())

    def _next_round(self, process: int) -> None:
        self.requested[process] = 0
        self.rounds[process] = 1 - self.rounds[process]

    def _on_request(self, src: int, msg: Request, out: Out) -> None:
        self.received[src] += 1
        super()._on_request(src, msg, out)
        self._agree_to_reset(src, out)

    def _agree_to_reset(self, process: int, out: Out) -> None:
        if self.resetting[process] and self.received[process] == self.limit:
            self.resetting[process] = False
            self.received[process] = 0
            self._next_round(process)
            out.send(process, RequestsReset())

    def _is_pending(self, process: int) -> bool:
        if self.rounds[process] != self.fulfilled_rounds[process]:  # then my round is the later one
            return self.requested[process] > 0
        return super()._is_pending(process)

    def _pending_number(self, process: int) -> int:
        return 1 if self.rounds[process] != self.fulfilled_rounds[process] else self.fulfilled[process] + 1

    def _fulfil(self, process: int) -> None:
        super()._fulfil(process)
        self.fulfilled_rounds[process] = self.rounds[process]

    # -- numbers of sessions ---------------------------------------------------------------------------

    def _begin_session(self, out: Out) -> None:
        if self.unconfirmed:
            return
        if self.session < self.limit:
            self.members = []
            super()._begin_session(out)
            return
        self.group = NO_GROUP
        self.unconfirmed = self.n
        out.broadcast(ResetSessions(self.tokens))
        self._expect_releases(self.me, self.tokens, out)

    def _on_release(self, session: int, out: Out) -> None:
        self.returned += 1
        super()._on_release(session, out)
        self._reset_sessions(out)

    def _expect_releases(self, src: int, tokens: int, out: Out) -> None:
        self.reset_by = src
        self.expected = tokens
        self._reset_sessions(out)

    def _reset_sessions(self, out: Out) -> None:
        if self.reset_by < 0 or self.returned < self.expected:
            return
        asker = self.reset_by
        self.reset_by = -1
        self.expected = 0
        self.returned = 0
        self.latest = 0
        self.releases = 0
        if asker == self.me:
            self._confirm(out)
        else:
            out.send(asker, SessionsReset())

    def _confirm(self, out: Out) -> None:
        self.unconfirmed -= 1
        if self.unconfirmed == 0:
            self.session = 0
            self.issued = 0
            self.tokens = 0
            self._begin_session(out)

    # -- tokens ----------------------------------------------------------------------------------------

    def _admits(self, process: int) -> bool:
        return super()._admits(process) and process not in self.members

    def _issue(self, process: int, out: Out) -> None:
        self.issued += 1
        self.tokens += 1
        self.members.append(process)
        fulfilled = tuple(self.fulfilled)
        rounds = tuple(self.fulfilled_rounds)
        out.send(process, BoundedSecondary(self.session, self.group, self.awaited, fulfilled, rounds))

    def _primary(self) -> Primary:
        rounds = tuple(self.fulfilled_rounds)
        wanted = tuple([self.wanted[process] for process in self.queue])
        return BoundedPrimary(
            self.session,
            self.group,
            self.awaited,
            self.issued,
            tuple(self.fulfilled),
            tuple(self.queue),
            wanted,
            tuple(self.ages),
            rounds,
            tuple(self.members),
            self.tokens,
        )

    def _on_secondary(self, token: Secondary, out: Out) -> None:
        assert isinstance(token, BoundedSecondary)
        self.fulfilled_rounds = list(token.rounds)
        super()._on_secondary(token, out)

    def _on_primary(self, token: Primary, out: Out) -> None:
        assert isinstance(token, BoundedPrimary)
        self.fulfilled_rounds = list(token.rounds)
        self.members = list(token.members)
        self.tokens = token.tokens
        super()._on_primary(token, out)

    def _forget_token(self) -> None:
        super()._forget_token()
        self.fulfilled_rounds = []
        self.members = []
        self.tokens = 0
