"""Raynal's prime-number algorithm, as published: it shows what primes can do, and gets stuck.

The right to enter goes round a ring. Process i has a prime A_i and a value X_i, initially A_i, but 1 for process 0. Let
Q be the product of all primes. The product of all values is always Q/A_p, where p is the process whose turn it is: when
i leaves it multiplies X_i by A_i/A_j, where j is the next in the ring. A process that wants to enter asks all others
for their values and multiplies them. Between two of its own turns each value changes at most once. So whatever mixture
of old and new values it receives, by unique factorisation their product is Q/A_i only if all of them are those of its
turn. If it is not its turn it waits for a time, and asks again.

Raynal 1989; Velazquez 1993, section 5. The survey multiplies "all values Xj received"; one's own must be included,
otherwise the turn never leaves process 0. The flaw, known to the survey: if the process whose turn it is does not want
to enter, nobody else ever can. Nor are 2(n-1)^2 messages a bound, since how often a process asks depends on how long
the others stay inside; and the values grow without bound. Use `raynal-primes-mended` instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import IDLE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Spec
from congenial.parts.primes import Ratio, first_primes, product
from congenial.problems.mutex import MUTEX

RETRY: Final = 0  # the timer, and how long it runs
PAUSE: Final = 10.0

SPEC = Spec(
    name="raynal-primes",
    title="Raynal (primes)",
    problem=MUTEX,
    reference="Raynal 1989; Velazquez 1993, section 5",
    messages=Law("2*(n-1)", "2*(n-1)**2"),
    size="2",
    flaws=(
        "if the next process in the ring does not ask, all others wait forever",
        "the number of attempts is not bounded",
        "its numbers grow with every entry",
    ),
    mended_by="raynal-primes-mended",
)


@dataclass(frozen=True)
class Request(Message):
    pass


@dataclass(frozen=True)
class Reply(Message):
    numerator: int
    denominator: int


@mypyc_attr(allow_interpreted_subclasses=True)
class RaynalPrimes(Node):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Reply)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        primes = first_primes(n)
        self.prime = primes[me]  #                                            A_i
        self.next_prime = primes[(me + 1) % n]  #                             A_j
        self.all_primes = product([(prime, 1) for prime in primes])[0]  #     Q
        self.value: Ratio = (1, 1) if me == 0 else (self.prime, 1)  #         X_i
        self.received: list[Ratio] = []  # the values of others
        self.answered: list[int] = []  # the processes that sent them

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self._ask(out)

    def release(self, out: Out) -> None:
        self.leave()
        self.value = product([self.value, (self.prime, self.next_prime)])

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            out.send(src, Reply(self.value[0], self.value[1]))
        elif isinstance(msg, Reply) and self._awaits(src):
            self.received.append((msg.numerator, msg.denominator))
            self.answered.append(src)
            if len(self.answered) == self.n - 1:
                self._decide(out)
        else:
            raise self.unexpected(src, msg)

    def on_timer(self, timer: int, out: Out) -> None:
        if self.phase != IDLE:
            self._ask(out)

    def _ask(self, out: Out) -> None:
        self.received = []
        self.answered = []
        if self.n > 1:
            out.broadcast(Request())
        else:
            self._decide(out)

    def _decide(self, out: Out) -> None:
        """True if the product is Q/A_i."""
        numerator, denominator = product([self.value, *self.received])
        if numerator * self.prime == self.all_primes * denominator:
            self.enter(out)
        else:
            out.set_timer(RETRY, PAUSE)

    def _awaits(self, src: int) -> bool:
        return self.phase == WAITING and src not in self.answered
