"""Mishra and Srimani's algorithm: Suzuki and Kasami's, and a token lost with one failed process is replaced.

A process that waits too long for the token searches for it: it asks all others (PRIVILEGE_CHECK). A process that has
the token says so, and it was a false alarm. The others answer that they do not have it (NO_CRIT). If several search,
the one with the smallest number continues. If nobody has the token, it was lost with the one process that may have
failed. The searcher announces a new token (CREATE_PRIVILEGE). The others answer with what the token must know of their
requests (UPDATE). Then the searcher enters and announces that the system has recovered.

Mishra & Srimani 1990, as described in Velazquez 1993, section 4; the original was not available. Filled in or changed:

- N-2 answers are enough only after a second timeout (`reply`). As we read the description they are enough after the
  first, and a holder that answers last is taken for the failed process (see the errata).
- A process that stops searching in favour of another answers it like one that never searched. Otherwise answers would
  be missing.
- A PRIVILEGE_CHECK repeats the request. The holder may have recovered from a failure and forgotten it.
- A process that waits for another's search waits for one more timeout, and then searches itself: the other may fail.
- Duplicates are recognised by their age (see `aged_token`). A holder that learns of a new token objects, and its own
  token takes over the new age. A holder that learns of it too late is ejected.
- A failed process may recover. It keeps its number and the age on disk; the token is lost with it.

Not here: the paper's second algorithm. The survey says of it only that "a central coordination control for mutual
exclusion is moved among the nodes in the system" and that "At any given time, there exists only one central
coordinator": not when and to which process the coordinator moves, how processes find it, nor what happens if it fails.

The survey's L*N + (N-1) messages for L entries are those of bounded numbers (`suzuki-kasami-bounded`); here numbers are
not bounded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.algorithms.token import suzuki_kasami
from congenial.algorithms.token.aged_token import PATIENCE, REPLY, TIME_OUT, AgedToken
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import INSIDE, WAITING
from congenial.kernel.out import Out
from congenial.kernel.spec import Spec

SPEC = replace(
    suzuki_kasami.SPEC,
    name="mishra-srimani",
    title="Mishra-Srimani",
    reference="Mishra & Srimani 1990; Velazquez 1993, section 4",
    patient=True,
    faults="one crash at a time",
    options=(PATIENCE, REPLY),
    flaws=(
        "if a timeout expires while messages are in transit, two processes can be inside",
        "while two processes are down, a lost token is not replaced",
        "lost messages (three are enough) can lead to two tokens",
    ),
)

CALM: Final = 0  # idle, waiting for the token, or inside
CHECKING: Final = 1  # is the token lost?
CREATING: Final = 2  # it is


@dataclass(frozen=True)
class PrivilegeCheck(Message):
    number: int  # of the request that waits


@dataclass(frozen=True)
class RepCritical(Message):
    """I have the token."""


@dataclass(frozen=True)
class NoCritical(Message):
    """I do not have the token, and know of none with a higher age."""

    age: int


@dataclass(frozen=True)
class FalseAlarm(Message):
    pass


@dataclass(frozen=True)
class CreatePrivilege(Message):
    age: int


@dataclass(frozen=True)
class Update(Message):
    age: int
    number: int  # of my latest request
    granted: int  # of my latest request that was granted


@dataclass(frozen=True)
class Recovered(Message):
    age: int


@mypyc_attr(allow_interpreted_subclasses=True)
class MishraSrimani(AgedToken):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (
        *AgedToken.messages,
        PrivilegeCheck,
        RepCritical,
        NoCritical,
        FalseAlarm,
        CreatePrivilege,
        Update,
        Recovered,
    )
    durable: ClassVar[tuple[str, ...]] = ("requested", "age")

    def __init__(self, me: int, n: int, patience: float, reply: float) -> None:
        super().__init__(me, n, patience, reply)
        self.stage = CALM
        self.checker = -1  # another process that searches for the token
        self.answered: set[int] = set()
        self.highest = 0  # age known from answers

    def on_recover(self, out: Out) -> None:
        self.holding = False

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, PrivilegeCheck):
            self._on_check(src, msg.number, out)
        elif isinstance(msg, RepCritical):
            self._call_off(out)
        elif isinstance(msg, NoCritical):
            if self.stage == CHECKING:
                self.highest = max(self.highest, msg.age)
                self._on_answer(src, out)
        elif isinstance(msg, CreatePrivilege):
            self._on_create(src, msg.age, out)
        elif isinstance(msg, Update):
            if self.stage == CREATING and msg.age == self.age:
                self.requested[src] = max(self.requested[src], msg.number)
                self.served[src] = msg.granted
                self._on_answer(src, out)
        elif isinstance(msg, (FalseAlarm, Recovered)):
            if isinstance(msg, Recovered) and msg.age > self.age:
                self._on_new_token(msg.age, out)
            self._stand_back(-1, out)
        else:
            super().receive(src, msg, out)

    def on_timer(self, timer: int, out: Out) -> None:
        if self.stage == CALM and self.checker >= 0:
            self._stand_back(-1, out)
        elif self.stage != CALM and len(self.answered) >= self.n - 2:  # at most one has failed
            self._go_on(out)
        else:
            self._check(out)

    # -- the process that searches for the token -----------------------------------------------------------

    def _check(self, out: Out) -> None:
        self.stage = CHECKING
        self.highest = self.age
        self.answered = set()
        out.broadcast(PrivilegeCheck(self.requested[self.me]))
        self._await_answers(out)

    def _create(self, out: Out) -> None:
        self.stage = CREATING
        self.age = self._age_above(self.highest)
        self.answered = set()
        out.save()
        out.broadcast(CreatePrivilege(self.age))
        self._await_answers(out)

    def _regenerate(self, out: Out) -> None:
        for process in range(self.n):
            if process not in self.answered:
                self.served[process] = self.requested[process]  # it has failed, so it waits for nothing
        self.served[self.me] = self._granted()
        self.queue = []
        self.holding = True
        self.stage = CALM
        out.broadcast(Recovered(self.age))
        self._enter(out)

    def _await_answers(self, out: Out) -> None:
        out.set_timer(TIME_OUT, self.reply)
        if self.n == 1:
            self._go_on(out)

    def _on_answer(self, src: int, out: Out) -> None:
        self.answered.add(src)
        if len(self.answered) == self.n - 1:
            self._go_on(out)

    def _go_on(self, out: Out) -> None:
        if self.stage == CHECKING:
            self._create(out)
        else:
            self._regenerate(out)

    def _call_off(self, out: Out) -> None:
        if self.stage != CALM:
            self._stand_back(-1, out)
            out.broadcast(FalseAlarm())

    def _enter(self, out: Out) -> None:
        self._call_off(out)  # the token came while I searched for it
        super()._enter(out)

    # -- the processes that are asked ----------------------------------------------------------------------

    def _on_check(self, src: int, number: int, out: Out) -> None:
        if self.holding:
            self.served[src] = min(self.served[src], number - 1)  # it waits, whatever the maker of the token assumed
            out.send(src, RepCritical())
        elif self.stage == CALM or src < self.me:
            self._stand_back(src, out)
            out.send(src, NoCritical(self.age))
        self._on_request(src, number, out)

    def _on_create(self, src: int, age: int, out: Out) -> None:
        if self.holding:
            self.age = max(self.age, age)
            out.save()
            out.send(src, RepCritical())
        elif age > self.age:
            self._stand_back(src, out)
            self.age = age
            out.save()
            out.send(src, Update(age, self.requested[self.me], self._granted()))

    def _on_new_token(self, age: int, out: Out) -> None:
        self.age = age
        out.save()
        if self.holding:  # mine is a duplicate
            self.holding = False
            if self.phase == INSIDE:
                self.lose(out)

    def _stand_back(self, checker: int, out: Out) -> None:
        """Stop searching; wait for the token, or for the process that searches for it."""
        self.stage = CALM
        self.checker = checker
        if self.phase == WAITING:
            out.set_timer(TIME_OUT, self.patience)
