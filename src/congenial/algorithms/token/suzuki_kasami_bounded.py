"""Suzuki and Kasami's algorithm with bounded numbers.

The requests of a process come in rounds of L, numbered 1..L and L+1..2L in turn. Before a process begins a new round,
no request of the old one may be in transit, because an old number would be taken for a new one. So every process counts
the requests it gets from each other one. When it has received all L of a round it acknowledges the round. The sender
begins the next round when all others have acknowledged. That is n-1 messages more for L requests: L*n + (n-1).

Velazquez 1993, section 4, gives this cost, "where L is a fixed integer greater than or equal to 2", and says that the
idea is that of Suzuki & Kasami 1985, whose paper was not at hand. How the rounds are kept apart is our reconstruction.
It does not depend on the order of messages. One round of numbers is not enough: a late request 1 would look like the
successor of its own round's L, already served. What a process knows of another's requests is at most L+1 behind what
was served next, so L+2 numbers are needed, and two rounds have them if L >= 2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.algorithms.token import suzuki_kasami
from congenial.algorithms.token.suzuki_kasami import SuzukiKasami
from congenial.kernel.message import Message, Messages
from congenial.kernel.out import Out
from congenial.kernel.spec import Law, Option, Spec
from congenial.parts.options import whole_number


def build_round(text: str, n: int) -> int:
    return whole_number(text, "round", 2)


SPEC = replace(
    suzuki_kasami.SPEC,
    name="suzuki-kasami-bounded",
    title="Suzuki-Kasami, bounded",
    messages=Law("0", "n + (n-1)/L"),
    waiting=Law("0", "2"),
    options=(
        Option("round", "8", "requests of a process before its numbers start again", build_round, "L", ("2", "3", "8")),
    ),
)


@dataclass(frozen=True)
class RoundReceived(Message):
    pass


@mypyc_attr(allow_interpreted_subclasses=True)
class SuzukiKasamiBounded(SuzukiKasami):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (*SuzukiKasami.messages, RoundReceived)

    def __init__(self, me: int, n: int, round: int) -> None:
        super().__init__(me, n)
        self.round = round  #                                                          L
        self.received = [0] * n  # requests received from each process in its current round
        self.unacknowledged = 0  # processes that have not acknowledged my last round
        self.postponed = False  # I will ask when all have acknowledged

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, RoundReceived) and self.unacknowledged > 0:
            self.unacknowledged -= 1
            if self.unacknowledged == 0 and self.postponed:
                self.postponed = False
                self._ask(out)
        else:
            super().receive(src, msg, out)

    def _ask(self, out: Out) -> None:
        if self.unacknowledged:
            self.postponed = True
            return
        self.requested[self.me] = self._successor(self.requested[self.me])
        if self.requested[self.me] % self.round == 0:  # the last of its round
            self.unacknowledged = self.n - 1
        out.broadcast(suzuki_kasami.Request(self.requested[self.me]))

    def _on_request(self, src: int, number: int, out: Out) -> None:
        if self.received[src] == 0:
            self.requested[src] = number  # a new round: numbers of the old one no longer count
        self.received[src] += 1
        super()._on_request(src, number, out)
        if self.received[src] == self.round:
            self.received[src] = 0
            out.send(src, RoundReceived())

    def _is_outstanding(self, process: int) -> bool:
        return self.requested[process] == self._successor(self.served[process])

    def _successor(self, number: int) -> int:
        return number % (2 * self.round) + 1
