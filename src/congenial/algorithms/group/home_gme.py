"""HomeGME: a home plans the sessions ahead, and those who leave tell the next session directly.

One process, the home, is asked by all, and issues numbered tokens. A token allows one entry in one session; it is
given back by a REPORT. While a session runs the home plans the next one: it selects a group, sends tokens to all that
wait for it, and closes the running session to latecomers. These tokens are not safe yet. The first few members of the
new session are its leaders. A NEXT tells their names to all that still hold tokens of the running session, and when
these give their tokens back they report to the leaders as well as to the home. A leader that has all the reports
enters, and tells its fellows that the session before is over. The home tells them, too; the first message counts. So a
change of session takes one hop for leaders and, as the fastest of several messages counts, hardly more for the others.

When is the next session planned? As soon as it would be as large as what is still outstanding: earlier, and it starts
with few members; later, and its tokens arrive when they could have been in use. If tokens arrive late, the home plans
earlier by as much, perhaps several sessions ahead. A session is also closed when all its first members have left:
otherwise latecomers could keep it open, and others waiting, forever.

A process that joins the running session while nobody waits for another may keep its token: it then enters without a
message until a NEXT recalls the token. A process that does not ask receives no message and keeps
no state, unless it is the home. No message has a place for every process; the longest is a leader's token, which names
the members of its session.

Correctness. (Safety) Tokens of session s+1 are issued when s is closed. A leader counts REPORTs of exactly those
tokens of s that were outstanding then: each of their holders learns of the leaders once, and reports to each of them
once, when it gives its token back or, if it has done so already, when NEXT arrives. All other tokens of s were back at
the home. OVER(s) is sent by the home when all tokens of s are back and s-1 is over, and by leaders that have counted.
So nobody enters in s+1 before the last holder in s has left, and by induction before all earlier ones have. (Progress)
A token is given back after one entry; a kept one, when NEXT arrives; so the running session ends, the home sends OVER
to all that still hold tokens of the next one, and that session runs. While somebody is queued, the last session is
closed at the latest when its first members have left. Each selection scheme serves each request in the end.

Costs. A token costs one ASK, the TOKEN, one NEXT, one REPORT to the home and at most l to the leaders, one OVER from
the home and at most l from leaders, which have to be told of a latecomer by l messages JOINED: in all at most 5 + 3l,
and without latecomers at most 5 + 2l. A kept token's further entries cost nothing. With nobody else there an entry
takes two hops, three if a kept token must be recalled first, and none at the home.

Our own, 2026. What is new in it and what is not: docs/frontier.md. The fence is the session's number. A request may
name several groups; any one of them will do.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.algorithms.group.home_plan import (
    HOME,
    NO_GROUP,
    Joined,
    Next,
    Over,
    Plan,
    Token,
    inherited_serial,
)
from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import IDLE, INSIDE, WAITING
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Option, Spec
from congenial.parts.homed import Floor, Homed
from congenial.parts.selection import SELECTIONS, build_selection
from congenial.problems.group import GROUP


def build_leaders(text: str, n: int) -> int:
    """How many leaders a session has, as a user writes it."""
    if text == "auto":
        return max(2, ceil(log2(n) / 2)) if n > 1 else 2
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"leaders must be auto or a number of at least 1, not {text!r}")
    return int(text)


SPEC = Spec(
    name="home-gme",
    title="HomeGME",
    problem=GROUP,
    reference="Congenial 2026, docs/frontier.md",
    fences=True,
    messages=Law("0", "5+3*l"),
    size="n+3",
    waiting=Law("0", "3"),
    sync_delay=Law("1", "2"),
    concurrency="n",
    options=(
        Option(
            "selection",
            "priority",
            "which group is next: priority, fifo or one of ours",
            build_selection,
            choices=tuple(SELECTIONS),
        ),
        Option(
            "leaders",
            "auto",
            "how many members of a session the one before reports to; auto is log2(n)/2, at least 2",
            build_leaders,
            variable="l",
            choices=("auto", "1", "5"),
        ),
    ),
)


@dataclass(frozen=True)
class Ask(Message):
    """To the home: a process wants to enter, for any of these groups."""

    groups: Groups


@dataclass(frozen=True)
class Report(Message):
    """To the home, and to the leaders of the next session: a token is given back."""

    session: int
    serial: int
    late: bool  # when the token arrived, the session before was over already


@mypyc_attr(allow_interpreted_subclasses=True)
class HomeGME(Homed):
    """Process 0 is the home."""

    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Ask, Token, Report, Next, Joined, Over)

    def __init__(self, me: int, n: int, selection: str = "priority", leaders: int = 3) -> None:
        super().__init__(me, n)
        self.plan = Plan(selection, leaders) if me == HOME else None
        self._forget_token()
        # what I know
        self.latest = 0  # the serial of my latest token
        self.over = 0  # all sessions up to this one are over
        self.reports: dict[int, int] = {}  # of sessions that are not
        self.early: dict[int, tuple[int, ...]] = {}  # leaders, by the serial of a token that NEXT has overtaken
        self.joined: dict[int, list[int]] = {}  # latecomers to tell, by session

    # -- the application -------------------------------------------------------------------------------

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        if self.group in groups:  # of a kept token
            self.enter(out, self.session, self.group)
        else:
            if self.serial:
                self._give_back(out)
            self._tell(HOME, Ask(groups), out)
        self._hear_myself(out)

    def release(self, out: Out) -> None:
        self.leave()
        if not self.keep or self.closed:
            self._give_back(out)
        self._hear_myself(out)

    def _give_back(self, out: Out) -> None:
        report = Report(self.session, self.serial, self.late)
        for leader in self.leaders:
            self._tell(leader, report, out)
        self._tell(HOME, report, out)
        self._forget_token()

    def _forget_token(self) -> None:
        self.serial = 0  # I have none
        self.session = 0
        self.group = NO_GROUP
        self.awaited = 0
        self.keep = False
        self.late = False
        self.fellows: tuple[int, ...] = ()
        self.closed = False  # is the next session planned?
        self.leaders: tuple[int, ...] = ()  # of the next session

    # -- in a cluster that changes ---------------------------------------------------------------------

    def inherit(self, process: int, group: int) -> None:
        assert self.plan is not None
        self.plan.inherit(process, group, self.n)

    def gather(self) -> None:
        assert self.plan is not None
        self.plan.gather()

    def serve(self, lot: int, out: Out) -> None:
        assert self.plan is not None
        self._send(self.plan.serve(lot), out)
        self._hear_myself(out)

    def resume(self, group: int) -> None:
        self.phase = INSIDE
        self.group = group
        self.serial = self.latest = inherited_serial(self.me)

    def holders(self) -> list[int]:
        assert self.plan is not None
        return [process for session in self.plan.sessions for process in session.tokens.values()]

    def is_closed(self) -> bool:
        return self.closed

    def relax(self, out: Out) -> None:
        if self.phase == IDLE and self.serial:
            self._give_back(out)
            self._hear_myself(out)

    def is_at_rest(self) -> bool:
        return self.phase == IDLE and self.serial == 0 and (self.plan is None or self.plan.is_at_rest())

    def floor(self) -> Floor:
        return (0, 0) if self.plan is None else self.plan.floor()

    def begin_above(self, floor: Floor) -> None:
        self.over = floor[0] - 1  # the session with which it begins may be inherited
        if self.plan is not None:
            self.plan.begin_above(floor)

    # -- messages --------------------------------------------------------------------------------------

    def _handle(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Ask) and self.plan is not None:
            self._send(self.plan.on_ask(src, msg.groups), out)
        elif isinstance(msg, Token) and self.phase == WAITING and self.serial == 0:
            self._on_token(msg, out)
        elif isinstance(msg, Report):
            self._on_report(msg, out)
        elif isinstance(msg, Next):
            self._on_next(msg, out)
        elif isinstance(msg, Joined):
            self._on_joined(msg, out)
        elif isinstance(msg, Over):
            self._on_over(msg.session, out)
        else:
            raise self.unexpected(src, msg)

    def _send(self, mail: list[tuple[int, Message]], out: Out) -> None:
        for dst, msg in mail:
            self._tell(dst, msg, out)

    def _on_token(self, token: Token, out: Out) -> None:
        self.session = token.session
        self.serial = self.latest = token.serial
        self.group = token.group
        self.awaited = token.awaited
        self.keep = token.keep
        self.fellows = token.fellows
        self.closed = token.serial in self.early
        self.leaders = self.early.pop(token.serial, ())
        self.late = token.awaited != 0 and self._is_safe()
        self._enter_if_safe(out)

    def _on_report(self, report: Report, out: Out) -> None:
        if self.plan is not None:
            self._send(self.plan.on_return(report.session, report.serial, report.late), out)
        elif report.session > self.over:
            self.reports[report.session] = self.reports.get(report.session, 0) + 1
            self._enter_if_safe(out)

    def _on_next(self, msg: Next, out: Out) -> None:
        """The token that it is about may be mine, on its way to me, or given back."""
        if msg.serial > self.latest:
            self.early[msg.serial] = msg.leaders
        elif msg.serial == self.serial:
            self.closed = True
            self.leaders = msg.leaders
            if self.phase == IDLE:
                self._give_back(out)
        else:
            for leader in msg.leaders:
                self._tell(leader, Report(msg.session, msg.serial, False), out)

    def _on_joined(self, msg: Joined, out: Out) -> None:
        if msg.session <= self.over + 1:
            self._tell(msg.process, Over(msg.session - 1), out)
        else:
            self.joined.setdefault(msg.session, []).append(msg.process)

    def _on_over(self, session: int, out: Out) -> None:
        if session > self.over:
            self._note_over(session)
            self._enter_if_safe(out)

    # -- entering --------------------------------------------------------------------------------------

    def _is_safe(self) -> bool:
        before = self.session - 1
        return self.awaited == 0 or self.over >= before or self.reports.get(before, 0) == self.awaited

    def _enter_if_safe(self, out: Out) -> None:
        if self.phase != WAITING or self.serial == 0 or not self._is_safe():
            return
        before = self.session - 1
        if self.awaited > 0 and self.over < before:  # I am a leader, and nobody has told me
            for process in [*self.fellows, *self.joined.get(self.session, [])]:
                self._tell(process, Over(before), out)
        self._note_over(before)
        self.awaited = 0
        self.enter(out, self.session, self.group)

    def _note_over(self, session: int) -> None:
        """Forget what only mattered until a session was over."""
        self.over = max(self.over, session)
        if self.reports:
            for number in [number for number in sorted(self.reports) if number <= session]:
                del self.reports[number]
        if self.joined:
            for number in [number for number in sorted(self.joined) if number <= session + 1]:
                del self.joined[number]
