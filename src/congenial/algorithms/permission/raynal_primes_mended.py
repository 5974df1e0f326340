"""Raynal's prime-number algorithm, mended: a process that does not want to enter passes the turn on.

As in `raynal-primes` the right to enter goes round a ring. The product of all values X_i is Q/A_p, where p is the
process whose turn it is, and a process knows that it is its turn when the product of the values it knows is Q/A_i. But
nobody asks for values: all processes know them from the start, and a process that changes its value tells all others. A
process whose turn it is enters if it wants to. Otherwise it behaves as if it were leaving: the turn goes to the next.

The modification is that of Velazquez 1993, section 5, with one of ours. As printed the turn never rests, even if nobody
wants to enter: messages per entry are not bounded, in particular not by (n-1)^2. So here a process that wants to enter
out of turn tells all others, and the turn rests where it is while nobody waits. Requests are numbered, and with its
value a process tells which of its requests was served last. A process has been told all that happened up to its turn,
so it then knows exactly which requests have been served. The sum of those numbers is the fence.

Cost: a request to all, and a value to all for every step round the ring, at most n-1 of them: n(n-1) in total. (With
two processes, any algorithm that rests needs at least one message to wake the other, and one to answer it.) The values
grow by two primes with every round; this is an algorithm to study, not to use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import IDLE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Spec
from congenial.parts.primes import Ratio, first_primes, product, times
from congenial.problems.mutex import MUTEX

SPEC = Spec(
    name="raynal-primes-mended",
    title="Raynal (primes), mended",
    problem=MUTEX,
    reference="Raynal 1989; Velazquez 1993, section 5",
    fences=True,
    messages=Law("0", "n*(n-1)"),
    size="3",
    waiting=Law("0", "n"),
    sync_delay=Law("1", "n-1"),
    flaws=("its numbers grow with every round of the ring",),
)


@dataclass(frozen=True)
class Request(Message):
    number: int


@dataclass(frozen=True)
class Inform(Message):
    numerator: int
    denominator: int
    served: int


@mypyc_attr(allow_interpreted_subclasses=True)
class RaynalPrimesMended(Node):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Inform)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.primes = first_primes(n)  #                                                              A
        self.values: list[Ratio] = [(1, 1) if p == 0 else (self.primes[p], 1) for p in range(n)]  #   X
        self.total = product(self.values)  # of all values
        self.my_total = product([(p, 1) for p in self.primes if p != self.primes[me]])  #             Q/A_i
        self.my_turn = me == 0
        self.asked = [0] * n  # the number of everyone's latest request, as far as I know
        self.served = [0] * n  # and of the latest that was served
        self.waiting: set[int] = set()  # the other processes with requests that were not

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.asked[self.me] += 1
        if self.my_turn:
            self._enter(out)
        else:
            out.broadcast(Request(self.asked[self.me]))

    def release(self, out: Out) -> None:
        self.leave()
        if self._somebody_waits():
            self._pass_on(out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            self._on_request(src, msg.number, out)
        elif isinstance(msg, Inform) and self._can_be(src, (msg.numerator, msg.denominator)):
            self._on_inform(src, msg, out)
        else:
            raise self.unexpected(src, msg)

    def _on_request(self, src: int, number: int, out: Out) -> None:
        self.asked[src] = max(self.asked[src], number)
        self._note(src)
        if self.my_turn and self.phase == IDLE and self._somebody_waits():
            self._pass_on(out)

    def _on_inform(self, src: int, msg: Inform, out: Out) -> None:
        self._change(src, (msg.numerator, msg.denominator))
        self.served[src] = msg.served
        self._note(src)
        if self._total() != self.my_total:
            return
        self.my_turn = True
        if self.phase == WAITING:
            self._enter(out)
        elif self._somebody_waits():
            self._pass_on(out)

    def _note(self, process: int) -> None:
        """A request may arrive after the message that it was served; the numbers show that."""
        if self.asked[process] > self.served[process]:
            self.waiting.add(process)
        else:
            self.waiting.discard(process)

    def _somebody_waits(self) -> bool:
        return len(self.waiting) > 0

    def _total(self) -> Ratio:
        """The product of all values, which is Q/A_i if it is my turn."""
        return self.total

    def _change(self, process: int, value: Ratio) -> None:
        """The value of a process after a turn, which changes the product of all by the same factor."""
        self.values[process] = value
        self.total = self._passed_on(self.total, process)

    def _enter(self, out: Out) -> None:
        self.served[self.me] = self.asked[self.me]
        self.enter(out, fence=sum(self.served))

    def _pass_on(self, out: Out) -> None:
        self.my_turn = False
        numerator, denominator = self._after_a_turn(self.me)
        self._change(self.me, (numerator, denominator))
        out.broadcast(Inform(numerator, denominator, self.served[self.me]))

    def _after_a_turn(self, process: int) -> Ratio:
        return self._passed_on(self.values[process], process)

    def _passed_on(self, value: Ratio, process: int) -> Ratio:
        """X_i * A_i/A_j, with j the next in the ring."""
        return times(value, self.primes[process], self.primes[(process + 1) % self.n])

    def _can_be(self, src: int, value: Ratio) -> bool:
        """While it is my turn nobody else has one, and a value changes in one way only."""
        return not self.my_turn and value == self._after_a_turn(src)
