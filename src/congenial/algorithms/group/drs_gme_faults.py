"""DRS_GME with faults: lost messages are sent again, and session numbers tell copies apart.

A process that waits too long for its request (T1, `patience`) sends a GEN_TOKEN to all others. The holder of the token
treats that as a request. A process that has passed the token on since the sender last began a session sends it again,
to the same process. One of these was the last to pass it on, so a lost token is replaced. A captain that waits too long
for its followers (T2, `reply`) asks those that have not completed (IS_COMPLETE). That replaces a lost START: a process
that still waits with that request enters. A process that is not inside with it answers COMPLETE.

Swaroop & Singh 2007, sections IV and VI, and events 7 to 10 of the appendix. What was wrong there (see the errata):

- A token is sent with the number of the session that it will begin, which nobody has used. Only a process that has
  begun no session as high accepts it. So a copy is never a second token, however wrong the timeouts. As printed its
  number is compared with that of the token passed on last, not with that of the current one, and a holder accepts a
  copy of its own token: its followers are forgotten.
- The token is made again if session < old_token.session according to the proof, if <= according to the pseudocode. As
  tokens are numbered there, < does not suffice: the token that the first holder passed on is never made again. As they
  are numbered here it does, and fewer copies are made. A process that has never passed the token on has no queue from
  which to take the new captain.
- T_req is no bound on the wait for a token that is not lost. That costs messages only, since copies do no harm.
- IS_COMPLETE names the request. Otherwise a process that waits for the same group with a later request would enter with
  that one, while it is queued or in transit to the captain, and would be served with it once more. If the session is
  over by then, it would be inside together with another group.

*Crashes*: a process that recovers has what it had saved: its number, the token if it has it (so that a crash alone
never loses it) and the one that it passed on last. Its own request is over, whether it was queued or not. If the token
comes for that request, the process begins the session as a captain that is not inside. It does not save what it has
heard, nor its request set; after a crash it asks all others. All is saved before messages leave.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.algorithms.group import drs_gme
from congenial.algorithms.group.drs_gme import NONE, Complete, DrsGme, Start, Token
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import INSIDE, WAITING
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Option, Spec
from congenial.parts.options import build_time
from congenial.parts.peers import Peers

SPEC = replace(
    drs_gme.SPEC,
    name="drs-gme-faults",
    title="DRS_GME, with faults",
    reference="Swaroop & Singh 2007, sections IV and VI",
    patient=True,
    faults="crashes with recovery, loss, duplicates, partitions",
    options=(
        Option("patience", "1000n", "time to wait before the token is made again (T1)", build_time),
        Option("reply", "1000", "time to wait for followers before asking them (T2)", build_time),
    ),
    flaws=("while a captain, a follower or the last holder of the token is down, the others may have to wait for it",),
)

T1: Final = 1
T2: Final = 2


@dataclass(frozen=True)
class GenToken(Message):
    number: int
    groups: tuple[int, ...]
    session: int  # the latest that I have begun


@dataclass(frozen=True)
class IsComplete(Start):
    """Have you left? If you have not entered with that request yet: enter."""


@mypyc_attr(allow_interpreted_subclasses=True)
class DrsGmeFaults(DrsGme):
    """`patience` should exceed the time in which every process can be captain once, `reply` that of a stay."""

    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (*DrsGme.messages, GenToken, IsComplete)
    durable: ClassVar[tuple[str, ...]] = (
        "number", "session", "holding", "group", "followers", "queue", "known", "passed", "successor",
    )  # fmt: skip

    def __init__(self, me: int, n: int, patience: float, reply: float) -> None:
        super().__init__(me, n)
        self.patience = patience
        self.reply = reply
        self.passed: Token | None = None  # the token that I passed on last                  old_token_i
        self.successor = NONE  # and its receiver

    def on_recover(self, out: Out) -> None:
        self.peers = Peers(self.n, not self.holding)
        self.told = Peers(self.n, False)
        if self.holding:
            self._end_if_all_left(out)
            if self.followers:
                out.set_timer(T2, self.reply)
            out.save()

    def on_timer(self, timer: int, out: Out) -> None:
        if timer == T2:
            for process in sorted(self.followers):
                out.send(process, IsComplete(self.followers[process], self.session, self.group))
            out.set_timer(T2, self.reply)
        else:
            out.broadcast(GenToken(self.number, self.groups, self.session))
            self._pass_again(self.session, out)
            out.set_timer(T1, self.patience)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, GenToken):
            if self.followers.get(src, 0) == msg.number:
                out.send(src, Start(msg.number, self.session, self.group))  # the first one may be lost
            elif self.holding:
                self._take_up(src, msg.number, msg.groups, out)
            else:
                self._note(src, msg.number, msg.groups, out)
                self._pass_again(msg.session, out)
        else:
            super().receive(src, msg, out)

    # -- asking, entering and leaving ----------------------------------------------------------------------

    def _ask(self, out: Out) -> None:
        out.save()
        super()._ask(out)
        out.set_timer(T1, self.patience)

    def enter(self, out: Out, fence: int = 0, group: int = 0) -> None:
        super().enter(out, fence, group)
        out.cancel_timer(T1)

    def _on_start(self, src: int, msg: Start, out: Out) -> None:
        if msg.number > self.number:
            raise self.unexpected(src, msg)
        if msg.number < self.number or self.phase not in (WAITING, INSIDE):
            out.send(src, Complete(msg.number))
        elif self.phase == WAITING:
            self._follow(src, msg, out)

    def _pass_again(self, session: int, out: Out) -> None:
        if self.passed is not None and self.passed.session > session:
            out.send(self.successor, self.passed)

    # -- the holder of the token ---------------------------------------------------------------------------

    def _on_token(self, src: int, token: Token, out: Out) -> None:
        if token.session > self.session:  # otherwise it is a copy
            self._hold(token, out)

    def _hold(self, token: Token, out: Out) -> None:
        out.cancel_timer(T1)
        super()._hold(token, out)
        if self.phase == WAITING:  # with a later request than the one for which the token has come
            self._take_up(self.me, self.number, self.groups, out)
        self._end_if_all_left(out)
        out.save()

    def _let_in(self, process: int, number: int, out: Out) -> None:
        if process != self.me or self._waits_with(number):
            super()._let_in(process, number, out)
        if process != self.me:
            out.set_timer(T2, self.reply)

    def _waits_with(self, number: int) -> bool:
        return self.phase == WAITING and self.number == number

    def _take_up(self, process: int, number: int, groups: Groups, out: Out) -> None:
        if number > self.known[process] and self._is_queued(process):
            self._drop({process})  # a crash came in between
        super()._take_up(process, number, groups, out)
        out.save()

    def _on_known(self, process: int, number: int, out: Out) -> None:
        if process != self.me:
            super()._on_known(process, number, out)

    def _on_complete(self, src: int, msg: Complete, out: Out) -> None:
        super()._on_complete(src, msg, out)
        if not self.followers:
            out.cancel_timer(T2)
        out.save()

    def _next_session(self, out: Out) -> None:
        if self._is_queued(self.me) and not self._waits_with(self.known[self.me]):
            self._drop({self.me})  # a crash came in between
        super()._next_session(out)

    def _send_token(self, captain: int, token: Token, out: Out) -> None:
        self.passed = token
        self.successor = captain
        out.save()
        super()._send_token(captain, token, out)
        if self.phase == WAITING:
            out.set_timer(T1, self.patience)
