"""Naimi and Trehel's algorithm with their recovery: search for one's own request, then for the token.

A process that has waited for Twait suspects a failure and consults all others: am I your next? If one of them says yes,
it continues to wait. If none does within Telec it queries: where is the token? The holder answers. A process without
the token remembers the query, in case the token is on its way to it. With an answer the process sends its request to
the holder. Without one the token is lost, and the process becomes a candidate for making another. Of several candidates
the one with the smallest number wins, and the others observe. An observer that hears nothing more becomes a candidate
itself. The elected process makes a token and tells all others: everyone makes it its father, forgets its next, and asks
again if it waits.

Naimi & Trehel 1988 and Velazquez 1993, section 4. They do not say how often a process may consult. If there is no end
to it, two processes that have become each other's next tell each other forever that all is well (docs/errata.md). Here
a process that was told so once queries the second time. The rest is added, for a process that recovers, which the paper
does not consider, and for a lost message:
- A process that recovers knows nothing, and begins with a query. Until that query (not one of an earlier life) is
  answered, or an election is over, it accepts no request and no token: the token may be an old one.
- Tokens are numbered by eras. An election begins a new era, which all processes keep through crashes. Older tokens are
  discarded. A fence is the era, in its high bits, and the entries of the token.
- A holder answers a candidate as it answers a query, so that one lost message does not lead to a second token.
- A request that returns to its origin is dropped: the origin will notice. A token that reaches a process that does not
  want it, because it asked twice, goes to that process's next or stays there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.algorithms.token import naimi_trehel
from congenial.algorithms.token.naimi_trehel import NOBODY, NaimiTrehel, Request, Token
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import IDLE, WAITING
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Option, Spec
from congenial.parts.options import build_time

SPEC = replace(
    naimi_trehel.SPEC,
    name="naimi-trehel-recovery",
    title="Naimi-Trehel, recovery",
    reference="Naimi & Trehel 1988; Velazquez 1993, section 4",
    patient=True,
    faults="a crash or a lost message at a time",
    options=(
        Option("wait", "2000", "time to wait for the token before a failure is suspected (Twait)", build_time),
        Option("answer", "200", "time within which any question is answered (Telec)", build_time),
    ),
    symmetry=None,
    flaws=(
        "an answer that takes longer than Telec can lead to two tokens",
        "several lost messages, or several simultaneous crashes, can lead to two tokens or a fence that does not grow",
    ),
)

ALARM: Final = 0
ERA: Final = 32  # bits of a fence that count entries; those above count eras

# stages
CALM: Final = 0
CONSULTING: Final = 1
QUERYING: Final = 2
CANDIDATE: Final = 3
OBSERVING: Final = 4


@dataclass(frozen=True)
class Consult(Message):
    """Am I your next?"""


@dataclass(frozen=True)
class Queued(Message):
    """You are."""


@dataclass(frozen=True)
class Query(Message):
    """Where is the token?"""

    life: int  # of the sender: answers to queries of an earlier life do not count


@dataclass(frozen=True)
class Present(Message):
    """Here it is, or was a moment ago."""

    era: int
    life: int


@dataclass(frozen=True)
class Election(Message):
    """I am a candidate."""

    life: int


@dataclass(frozen=True)
class Elected(Message):
    """I have made a token."""

    era: int


@mypyc_attr(allow_interpreted_subclasses=True)
class NaimiTrehelRecovery(NaimiTrehel):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (*NaimiTrehel.messages, Consult, Queued, Query, Present, Election, Elected)
    durable: ClassVar[tuple[str, ...]] = ("era", "life")

    def __init__(self, me: int, n: int, wait: float, answer: float) -> None:
        super().__init__(me, n)
        self.wait_time = wait  #                                                  Twait
        self.answer_time = answer  #                                              Telec
        self.stage = CALM
        self.queued = False  # I was told so
        self.awaiting: dict[int, int] = {}  # processes that asked me where the token is, with their lives
        self.era = 0  # how many tokens have been made
        self.life = 0  # how often I have recovered
        self.recovering = False  # I have recovered, and know nothing yet

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        if self.holding:
            self._enter(out)
        elif self.stage == CALM:
            self._ask(out)

    def release(self, out: Out) -> None:
        self.leave()
        if self.holding:
            self._pass_on(out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            self._on_request(msg.origin, out)
        elif isinstance(msg, Token):
            self._on_token(src, msg, out)
        elif isinstance(msg, Consult):
            if self.next == src and self.phase != IDLE:
                out.send(src, Queued())
        elif isinstance(msg, Queued):
            self._on_queued(out)
        elif isinstance(msg, Query):
            self._on_query(src, msg.life, out)
        elif isinstance(msg, Present):
            self._on_present(src, msg, out)
        elif isinstance(msg, Election):
            self._on_election(src, msg.life, out)
        elif isinstance(msg, Elected):
            self._on_elected(src, msg.era, out)
        else:
            raise self.unexpected(src, msg)

    def on_timer(self, timer: int, out: Out) -> None:
        if self.stage == CALM and not self.queued:
            self._begin(CONSULTING, Consult(), out)
        elif self.stage == CALM or self.stage == CONSULTING:
            self._begin(QUERYING, Query(self.life), out)
        elif self.stage == CANDIDATE:
            self._make_token(out)
        else:
            self._begin(CANDIDATE, Election(self.life), out)

    def on_recover(self, out: Out) -> None:
        self.holding = False
        self.father = self.me
        self.recovering = True
        self.life += 1
        out.save()
        self._begin(QUERYING, Query(self.life), out)

    # -- requests and the token ------------------------------------------------------------------------

    def _ask(self, out: Out) -> None:
        self.queued = False
        if self.father != self.me:  # else I have asked twice: one of the two is still on its way
            super()._ask(out)
        out.set_timer(ALARM, self.wait_time)

    def _on_request(self, origin: int, out: Out) -> None:
        if origin == self.me or self.recovering:
            return  # it has returned to its origin, or leads nowhere; the origin will notice
        if self.holding and self.next == NOBODY and self.phase == IDLE:
            self._pass_token(origin, out)
        elif self.father == self.me or (self.holding and self.next == NOBODY):
            self.next = origin
        elif self.father != origin:
            out.send(self.father, Request(origin))
        self.father = origin

    def _on_token(self, src: int, token: Token, out: Out) -> None:
        if self.recovering or self.holding or token.entries >> ERA < self.era:
            return
        self.holding = True
        self.entries = token.entries
        self._know(token.entries >> ERA, out)
        for process in sorted(self.awaiting):
            out.send(process, Present(self.era, self.awaiting[process]))
        self.awaiting.clear()
        if self.phase == WAITING:
            self._enter(out)
        elif self.phase == IDLE:
            self._pass_on(out)

    def _pass_on(self, out: Out) -> None:
        """To the next; without one the token rests here, and here is the root."""
        if self.next == NOBODY:
            self.father = self.me
        else:
            self._pass_token(self.next, out)
            self.next = NOBODY

    # -- recovery --------------------------------------------------------------------------------------

    def _begin(self, stage: int, question: Message, out: Out) -> None:
        self.stage = stage
        out.broadcast(question)
        out.set_timer(ALARM, self.answer_time)

    def _on_queued(self, out: Out) -> None:
        if self.stage == CONSULTING:
            self.stage = CALM
            self.queued = True
            out.set_timer(ALARM, self.wait_time)

    def _on_query(self, src: int, life: int, out: Out) -> None:
        if self.holding:
            out.send(src, Present(self.era, life))
        else:
            self.awaiting[src] = life

    def _on_present(self, src: int, answer: Present, out: Out) -> None:
        looking = self.stage != CALM and self.stage != CONSULTING
        if looking and answer.life == self.life and answer.era >= self.era:
            self._start_over(src, answer.era, out)

    def _on_election(self, src: int, life: int, out: Out) -> None:
        self._on_query(src, life, out)
        if not self.holding and not (self.stage == CANDIDATE and self.me < src):
            self.stage = OBSERVING
            out.set_timer(ALARM, 2 * self.answer_time)  # the candidate needs one

    def _make_token(self, out: Out) -> None:
        """I am elected."""
        self.holding = True
        self.father = self.me
        self.next = NOBODY
        self.awaiting.clear()
        self._know(self.era + 1, out)
        self.entries = self.era << ERA
        out.broadcast(Elected(self.era))
        if self.phase == WAITING:
            self._enter(out)

    def _on_elected(self, src: int, era: int, out: Out) -> None:
        if era > self.era:  # else it has waited while I was down
            self.holding = False
            self.awaiting.clear()
            self._start_over(src, era, out)

    def _start_over(self, father: int, era: int, out: Out) -> None:
        self.father = father
        self.next = NOBODY
        self._know(era, out)
        if self.phase == WAITING:
            self._ask(out)

    def _know(self, era: int, out: Out) -> None:
        """There is a token, in this era."""
        self.stage = CALM
        self.recovering = False
        out.cancel_timer(ALARM)
        if era > self.era:
            self.era = era
            out.save()
