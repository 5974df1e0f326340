"""DRS_GME; in each class, one thing is as the appendix of Swaroop & Singh 2007 prints it.

congenial check docs/counterexamples/drs_gme_as_printed.py:NumbersStandStill --nodes 2 --requests 1
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from congenial import Spec
from congenial.algorithms.group.drs_gme import NONE, Complete, DrsGme, Request, Start, Token
from congenial.algorithms.group.drs_gme_faults import DrsGmeFaults, IsComplete
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
    """Event 5 sends the token to the first in its queue, though that may be the captain itself."""

    spec: ClassVar[Spec] = replace(DrsGme.spec, name="drs-gme-token-to-itself")

    def _next_session(self, out: Out) -> None:
        if self.queue and self.group != NONE:
            self._pass_token(self.queue[0][1][0][0], out)
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


class OldRequestsIgnored(DrsGme):
    """A late copy of a request that comes to the holder of the token is ignored."""

    spec: ClassVar[Spec] = replace(DrsGme.spec, name="drs-gme-old-requests-ignored")

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
