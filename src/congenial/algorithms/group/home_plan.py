"""HomeGME's plan: which sessions there are, who holds their tokens, and which session is next.

The home keeps the plan. The plan sends nothing itself: every call returns messages with their receivers. See
`home_gme` for what they mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message
from congenial.kernel.part import Part
from congenial.kernel.problem import Groups
from congenial.parts.waiting import Waiting

HOME: Final = 0
NO_GROUP: Final = -1
UNTIL_OVER: Final = -1  # `Token.awaited` of a token that only `Over` makes safe

# The home's haste, in parts of HASTE: see `_is_time`.
HASTE: Final = 200
LATE: Final = 40  # what a token that arrived late adds; one that did not takes 1 away
MOST_HASTE: Final = 300


@dataclass(frozen=True)
class Token(Message):
    """Allows to enter in a session, as soon as the session before is over."""

    session: int
    serial: int
    group: int
    awaited: int  # reports after which the session before is over; 0 if it is over
    keep: bool  # the holder may keep it between entries
    fellows: tuple[int, ...]  # to be told by me, a leader, that the session before is over


@dataclass(frozen=True)
class Next(Message):
    """The session after yours is planned: when you give your token back, report to its leaders, too."""

    session: int
    serial: int
    leaders: tuple[int, ...]


@dataclass(frozen=True)
class Joined(Message):
    """To a leader: one more process to be told when the session before is over."""

    session: int
    process: int


@dataclass(frozen=True)
class Over(Message):
    """All sessions up to this one are over."""

    session: int


@mypyc_attr(allow_interpreted_subclasses=True)
class Session(Part):
    """A session as the home knows it."""

    def __init__(self, number: int, group: int) -> None:
        self.number = number
        self.group = group
        self.waits = False  # for the end of the session before
        self.tokens: dict[int, int] = {}  # that have not been given back: serial -> holder
        self.first = 0  # the last serial of its first members
        self.leaders: tuple[int, ...] = ()
        self.kept = False  # has some holder been told to keep its token?


@mypyc_attr(allow_interpreted_subclasses=True)
class Plan(Part):
    """The sessions that are not known to be over, and the requests that wait for another one."""

    def __init__(self, selection: str, leaders: int) -> None:
        self.most_leaders = leaders
        self.sessions = [Session(0, NO_GROUP)]  # the running one, and those planned after it
        self.serial = 0
        self.haste = 0
        self.queue = Waiting(selection)
        self.mail: list[tuple[int, Message]] = []
        self.gathers = False  # requests, and plans nothing yet

    def inherit(self, process: int, group: int, n: int) -> None:
        """Session 0 runs already, and this is one of its members. It is closed as soon as others wait: its members may
        have been inside for long, and otherwise latecomers could keep it open from home to home."""
        session = self.sessions[0]
        session.group = group
        session.tokens[inherited_serial(process)] = process
        self.serial = inherited_serial(n - 1)

    def gather(self) -> None:
        """Those that waited for the last home ask this one, in any order."""
        self.gathers = bool(self.sessions[0].tokens)

    def serve(self, lot: int) -> list[tuple[int, Message]]:
        """They have. Whoever could join the inherited session does not if others wait. The lot decides which of these
        is next, whatever the policy says: how long each has waited is forgotten, and the same ones would always win."""
        if self.gathers:
            self.gathers = False
            others = [groups[0] for groups in self.queue.wanted if self.sessions[0].group not in groups]
            if others:
                group = others[lot % len(others)]
                self._begin(group, self.queue.take(group))
                self._forget_what_is_over()
            else:
                for process in self.queue.take(self.sessions[0].group):
                    self._join(process)
        return self._take_mail()

    def is_at_rest(self) -> bool:
        return not self.queue and len(self.sessions) == 1 and not self.sessions[0].tokens

    def floor(self) -> tuple[int, int]:
        return (self.sessions[-1].number, self.serial)

    def begin_above(self, floor: tuple[int, int]) -> None:
        self.sessions[0].number, self.serial = floor

    def on_ask(self, process: int, groups: Groups) -> list[tuple[int, Message]]:
        if self.sessions[-1].group in groups and not self.gathers:
            self._join(process)
        else:
            self.queue.add(process, groups)
            self._plan()
        return self._take_mail()

    def on_return(self, number: int, serial: int, late: bool) -> list[tuple[int, Message]]:
        """A token is back. Did it reach its holder later than it could have been used?"""
        session = self.sessions[number - self.sessions[0].number]
        del session.tokens[serial]
        if serial <= session.first:  # latecomers' tokens are always late
            self.haste = min(self.haste + LATE, MOST_HASTE) if late else max(self.haste - 1, 0)
        self._forget_what_is_over()
        self._plan()
        return self._take_mail()

    def _take_mail(self) -> list[tuple[int, Message]]:
        mail = self.mail
        self.mail = []
        return mail

    # -- the last session, which latecomers may join ---------------------------------------------------

    def _join(self, process: int) -> None:
        last = self.sessions[-1]
        self._admit(process, last if last.tokens else self._renew(last))

    def _renew(self, last: Session) -> Session:
        """All have left, and one comes for the same group. That is another session: a process may have forgotten that
        it was in the last one, and the fences must grow."""
        session = Session(last.number + 1, last.group)
        session.first = self.serial
        session.waits = len(self.sessions) > 1  # the last one was over before all have reported from the one before
        self.sessions.append(session)
        self._forget_what_is_over()
        return session

    def _admit(self, process: int, session: Session) -> None:
        if not session.waits:
            keep = not self.queue
            session.kept = session.kept or keep
            self._issue(process, session, 0, keep, ())
        else:
            self._issue(process, session, UNTIL_OVER, False, ())
            for leader in session.leaders:
                self.mail.append((leader, Joined(session.number, process)))

    def _issue(self, process: int, session: Session, awaited: int, keep: bool, fellows: tuple[int, ...]) -> None:
        self.serial += 1
        session.tokens[self.serial] = process
        self.mail.append((process, Token(session.number, self.serial, session.group, awaited, keep, fellows)))

    # -- the next session ------------------------------------------------------------------------------

    def _plan(self) -> None:
        if self.gathers:
            return
        queue = self.queue
        while queue and self._is_time(queue.largest):  # otherwise for no group
            group = queue.select()
            if not self._is_time(queue.sizes[group]):
                return
            self._begin(group, queue.take(group))
            self._forget_what_is_over()

    def _is_time(self, size: int) -> bool:
        """True if the next session, of so many members, should be planned now. Then nobody can join the last one."""
        last = self.sessions[-1]
        if not last.tokens:
            return True
        if len(self.sessions) == 1 and (last.kept or min(last.tokens) > last.first):
            return True  # kept tokens must be recalled; and latecomers must not keep a session open forever
        outstanding = sum([len(session.tokens) for session in self.sessions])
        return outstanding * HASTE <= size * (HASTE + self.haste)

    def _begin(self, group: int, members: list[int]) -> None:
        before = self.sessions[-1]
        session = Session(before.number + 1, group)
        self.sessions.append(session)
        awaited = len(before.tokens)
        session.waits = awaited > 0
        if awaited:
            others = [process for process in members if process != HOME]
            session.leaders = tuple(others[: self.most_leaders])
        for serial, holder in before.tokens.items():
            self.mail.append((holder, Next(before.number, serial, session.leaders)))
        for process in members:
            if process in session.leaders:
                fellows = tuple([fellow for fellow in members if fellow not in (HOME, process)])
                self._issue(process, session, awaited, False, fellows)
            else:
                self._issue(process, session, UNTIL_OVER if awaited else 0, False, ())
        session.first = self.serial

    def _forget_what_is_over(self) -> None:
        while len(self.sessions) > 1 and not self.sessions[0].tokens:
            over = Over(self.sessions.pop(0).number)
            session = self.sessions[0]
            if session.waits:
                session.waits = False
                for holder in session.tokens.values():
                    self.mail.append((holder, over))


def inherited_serial(process: int) -> int:
    """The serial of the token of a process that is inside at the beginning."""
    return process + 1
