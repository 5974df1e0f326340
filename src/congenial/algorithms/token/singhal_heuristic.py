"""Singhal's heuristic algorithm: ask only the processes that are believed to be asking.

Every process keeps, for each process, its state (requesting or not) and its latest request number, as far as known. So
does the token. A process that wants the token asks the processes that it believes to be requesting: one of them has the
token, or will get it. If a process that is asked is requesting too, and did not know that the other is, it asks the
other in turn, since that one may get the token first. A holder that leaves merges its vectors with the token's: for
each process the entry with the higher number is the later one, and in a tie the token's. Then it sends the token to the
requesting process with the lowest number; among equals, to the nearest in the circle.

The vectors begin as a staircase: process i believes all below it to be requesting, and 0 has the token. So of any two
processes one asks the other. That stays true: a process that has had the token believes nobody to be requesting, while
all others go on believing it of the processes that have had the token since they had it.

Singhal 1989; Velazquez 1993, section 4. The survey leaves out the start; we know it from other accounts of the original
(Singhal & Shivaratri 1994). Two things are wrong in the survey's account (docs/errata.md). First, outdated requests are
simply discarded. But a process that receives one has learned from the token of a request that had not reached it yet.
The sender has had the token meanwhile and believes nobody to be requesting. It will never ask this process, although
this process may have the token by now: deadlock. So an outdated request is answered with one's own latest, unless the
sender has been sent that already. Every request still goes to a process at most once, and an entry costs at most n
messages. Second, the rule by which the token is granted does not, as the survey says, prevent "a node from obtaining
the token twice while some other node is waiting for it": a process that has asked seldom has low numbers, and goes
first until it has asked as often as the other. Nobody starves, since numbers grow. Added: the token counts its entries,
for the fence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import IDLE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Spec
from congenial.problems.mutex import MUTEX

SPEC = Spec(
    name="singhal-heuristic",
    title="Singhal (heuristic)",
    problem=MUTEX,
    reference="Singhal 1989; Velazquez 1993, section 4",
    fences=True,
    messages=Law("0", "n"),
    size="2n+1",
    waiting=Law("0", "2"),
    sync_delay=Law("1"),
)

NOBODY: Final = -1


@dataclass(frozen=True)
class Request(Message):
    number: int


@dataclass(frozen=True)
class Token(Message):
    requesting: tuple[bool, ...] = field(metadata={"type": tuple[bool, ...]})
    numbers: tuple[int, ...]
    entries: int


@mypyc_attr(allow_interpreted_subclasses=True)
class SinghalHeuristic(Node):
    """Process 0 holds the token first."""

    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Token)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        # The paper's four states: requesting is kept for everyone, the others concern oneself only, and are `phase`
        # (executing its critical section) and `holding` (an idle token).
        self.requesting = [process < me for process in range(n)]  #       SV
        self.numbers = [0] * n  # latest request known of each process    SN
        self.sent = [False] * n  # has my latest request been sent to a process?
        self.holding = me == 0
        # the token's content, while I hold it
        self.token_requesting = [False] * n  #                            TSV
        self.token_numbers = [0] * n  #                                   TSN
        self.entries = 0

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        if self.holding:
            self._enter(out)
            return
        self.numbers[self.me] += 1
        self.sent = [False] * self.n
        for process in range(self.n):
            if self.requesting[process]:
                self._ask(process, out)
        self.requesting[self.me] = True

    def release(self, out: Out) -> None:
        self.leave()
        self._merge()
        chosen = self._arbitrate()
        if chosen != NOBODY:
            self._pass_token(chosen, out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            if self._is_outdated(src, msg.number):
                self._on_outdated_request(src, out)
            else:
                self._on_request(src, msg.number, out)
        elif isinstance(msg, Token) and self.phase == WAITING and not self.holding:
            self._on_token(msg, out)
        else:
            raise self.unexpected(src, msg)

    def _on_request(self, src: int, number: int, out: Out) -> None:
        known = self.requesting[src]
        self.requesting[src] = True
        self.numbers[src] = number
        if self.phase == WAITING and not known:
            self._ask(src, out)
        elif self.phase == IDLE and self.holding:
            self.token_requesting[src] = True
            self.token_numbers[src] = number
            self._pass_token(src, out)

    def _is_outdated(self, src: int, number: int) -> bool:
        return number <= self.numbers[src] or (self.holding and number <= self.token_numbers[src])

    def _on_outdated_request(self, src: int, out: Out) -> None:
        """I have learned more from the token; but does `src` know of my request?"""
        self._ask(src, out)

    def _on_token(self, token: Token, out: Out) -> None:
        self.holding = True
        self.requesting[self.me] = False
        self.token_requesting = list(token.requesting)
        self.token_numbers = list(token.numbers)
        self.entries = token.entries
        self._enter(out)

    def _ask(self, process: int, out: Out) -> None:
        if not self.sent[process]:
            self.sent[process] = True
            out.send(process, Request(self.numbers[self.me]))

    def _merge(self) -> None:
        """Merge my vectors and the token's: the newer entries win."""
        self.token_requesting[self.me] = False
        for process in range(self.n):
            if self.numbers[process] > self.token_numbers[process]:
                self.token_requesting[process] = self.requesting[process]
                self.token_numbers[process] = self.numbers[process]
            else:
                self.requesting[process] = self.token_requesting[process]
                self.numbers[process] = self.token_numbers[process]

    def _arbitrate(self) -> int:
        """The requesting process with the lowest number; among equals, the nearest behind me in the circle."""
        chosen = NOBODY
        for step in range(1, self.n):
            process = (self.me + step) % self.n
            if self.requesting[process] and (chosen == NOBODY or self.numbers[process] < self.numbers[chosen]):
                chosen = process
        return chosen

    def _enter(self, out: Out) -> None:
        self.entries += 1
        self.enter(out, fence=self.entries)

    def _pass_token(self, dst: int, out: Out) -> None:
        self.holding = False
        out.send(dst, Token(tuple(self.token_requesting), tuple(self.token_numbers), self.entries))
