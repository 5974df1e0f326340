"""DRS_GME; in each class, one thing is as the appendix of Swaroop & Singh 2007 prints it.

congenial check docs/counterexamples/drs_gme_as_printed.py:NumbersStandStill --nodes 2 --requests 1
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from congenial import Spec
from congenial.algorithms.group.drs_gme import NONE, Complete, DrsGme, Request, Start, Token
from congenial.algorithms.group.drs_gme_faults import T2, DrsGmeFaults, GenToken, IsComplete
from congenial.kernel.message import Message
from congenial.kernel.node import INSIDE, WAITING
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups


class NumbersStandStill(DrsGme):
    """Event 6 accepts a token only if its number is above that of the one passed on last (0 at first), and does not
    raise the number; only event 1 does, when an idle holder enters."""

    spec: ClassVar[Spec] = replace(DrsGme.spec, name="drs-gme-numbers-stand-still")

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.last = 0  # number of the token that I passed on

    def _on_token(self, src: int, token: Token, out: Out) -> None:
        if token.session > self.last:
            super()._on_token(src, token, out)

    def _send_token(self, captain: int, token: Token, out: Out) -> None:
        self.last = self.session
        super()._send_token(captain, replace(token, session=self.session), out)


class TokenToItself(DrsGme):
    """Event 5 sends the token to the first in its queue, though that may be the captain itself. By then old_token_i is
    this token, so event 6 takes it for an invalid one, and it is gone."""

    spec: ClassVar[Spec] = replace(DrsGme.spec, name="drs-gme-token-to-itself")

    def _next_session(self, out: Out) -> None:
        if self.group != NONE and self.queue and self.queue[0][1][0][0] == self.me:
            self.group = NONE
            self.holding = False
        else:
            super()._next_session(out)


class OwnNumbersOnly(DrsGme):
    """A request is new if it is new to its receiver; the token does not know what was served or queued."""

    spec: ClassVar[Spec] = replace(DrsGme.spec, name="drs-gme-own-numbers-only")

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.seen = [0] * n  # SN_i

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            if msg.number <= self.seen[src]:
                return
            self.seen[src] = msg.number
            if self.holding:
                self.known[src] = msg.number - 1
        super().receive(src, msg, out)


class HeardTooEarly(DrsGme):
    """A process that waits for the token does not remember whose requests came before it."""

    spec: ClassVar[Spec] = replace(DrsGme.spec, name="drs-gme-heard-too-early")

    def _note(self, src: int, number: int, groups: Groups, out: Out) -> None:
        super()._note(src, number, groups, out)
        self.heard = {}


class HeardTooEarlyWithTimers(DrsGmeFaults):
    """The same with timers T1 and T2, as the paper's algorithm always has them."""

    spec: ClassVar[Spec] = replace(DrsGmeFaults.spec, name="drs-gme-heard-too-early-with-timers")

    def _note(self, src: int, number: int, groups: Groups, out: Out) -> None:
        super()._note(src, number, groups, out)
        self.heard = {}


class OldRequestsIgnored(DrsGme):
    """A late copy of a request that comes to the holder of the token is ignored."""

    spec: ClassVar[Spec] = replace(DrsGme.spec, name="drs-gme-old-requests-ignored")

    def _on_known(self, process: int, number: int, out: Out) -> None:
        pass


class OldRequestsIgnoredWithTimers(DrsGmeFaults):
    """The same with timers T1 and T2, as the paper's algorithm always has them."""

    spec: ClassVar[Spec] = replace(DrsGmeFaults.spec, name="drs-gme-old-requests-ignored-with-timers")

    def _on_known(self, process: int, number: int, out: Out) -> None:
        pass


class CountAndSet(DrsGme):
    """Followers are counted (token.followers) and kept in a set (follower_i)."""

    spec: ClassVar[Spec] = replace(DrsGme.spec, name="drs-gme-count-and-set")

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.count = 0

    def _let_in(self, process: int, number: int, out: Out) -> None:
        super()._let_in(process, number, out)
        if process != self.me:
            self.count += 1

    def _on_complete(self, src: int, msg: Complete, out: Out) -> None:
        if src in self.followers:
            del self.followers[src]
            self.count -= 1
            self._end_if_all_left(out)

    def _end_if_all_left(self, out: Out) -> None:
        if self.phase != INSIDE and self.count == 0:
            self._next_session(out)


class CountAndSetWithTimers(DrsGmeFaults):
    """The same with timers T1 and T2. T2 is closed when the set is empty (event 5)."""

    spec: ClassVar[Spec] = replace(DrsGmeFaults.spec, name="drs-gme-count-and-set-with-timers")

    def __init__(self, me: int, n: int, patience: float, reply: float) -> None:
        super().__init__(me, n, patience, reply)
        self.count = 0

    def _let_in(self, process: int, number: int, out: Out) -> None:
        super()._let_in(process, number, out)
        if process != self.me:
            self.count += 1

    def _on_complete(self, src: int, msg: Complete, out: Out) -> None:
        if src in self.followers:
            del self.followers[src]
            self.count -= 1
            if not self.followers:
                out.cancel_timer(T2)
            self._end_if_all_left(out)

    def _end_if_all_left(self, out: Out) -> None:
        if self.phase != INSIDE and self.count == 0:
            self._next_session(out)


class StaysIdle(DrsGmeFaults):
    """Event 8, case HI: the holder of an idle token that receives gen_token sends it, and stays in state HI."""

    spec: ClassVar[Spec] = replace(DrsGmeFaults.spec, name="drs-gme-stays-idle")

    def receive(self, src: int, msg: Message, out: Out) -> None:
        idle = self.holding and self.group == NONE
        known = list(self.known)
        super().receive(src, msg, out)
        if isinstance(msg, GenToken) and idle and not self.holding:
            self.holding = True
            self.known = known


class AcceptsACopy(DrsGmeFaults):
    """A token is valid if its number is above that of the one passed on last; the one that it holds does not count.
    (A holder that has not asked would enter; here it begins the session from outside.)"""

    spec: ClassVar[Spec] = replace(DrsGmeFaults.spec, name="drs-gme-accepts-a-copy")

    def _on_token(self, src: int, token: Token, out: Out) -> None:
        if token.session > (0 if self.passed is None else self.passed.session):
            self.followers = {}
            self._hold(token, out)

    def _on_complete(self, src: int, msg: Complete, out: Out) -> None:
        if src in self.followers:
            super()._on_complete(src, msg, out)


class StrictlyLess(DrsGmeFaults):
    """Tokens have the number of the last session completed, and are regenerated only if session < old_token.session."""

    spec: ClassVar[Spec] = replace(DrsGmeFaults.spec, name="drs-gme-strictly-less")

    def _pass_again(self, session: int, out: Out) -> None:
        if self.passed is not None and session < self.passed.session - 1:
            super()._pass_again(session, out)


class LessOrEqual(DrsGmeFaults):
    """The same, if session <= old_token.session."""

    spec: ClassVar[Spec] = replace(DrsGmeFaults.spec, name="drs-gme-less-or-equal")

    def _pass_again(self, session: int, out: Out) -> None:
        if self.passed is not None and session <= self.passed.session - 1:
            super()._pass_again(session, out)


class AnyRequestForTheGroup(DrsGmeFaults):
    """A process that is asked whether it has left, and waits for that group, enters, whichever request it has made."""

    spec: ClassVar[Spec] = replace(DrsGmeFaults.spec, name="drs-gme-any-request-for-the-group")

    def __init__(self, me: int, n: int, patience: float, reply: float) -> None:
        super().__init__(me, n, patience, reply)
        self.granted = 0  # what the captain takes my stay for

    def _on_start(self, src: int, msg: Start, out: Out) -> None:
        if isinstance(msg, IsComplete) and self.phase == WAITING and msg.group in self.groups:
            self.granted = msg.number
            self._follow(src, msg, out)
        else:
            super()._on_start(src, msg, out)

    def release(self, out: Out) -> None:
        number = self.number
        if self.granted and not self.holding:
            self.number = self.granted
        super().release(out)
        self.number = number
        self.granted = 0

    def _on_token(self, src: int, token: Token, out: Out) -> None:
        if token.session > self.session:
            DrsGme._on_token(self, src, token, out)
