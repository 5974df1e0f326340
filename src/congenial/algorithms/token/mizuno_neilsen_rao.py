"""Mizuno, Neilsen and Rao's algorithm: ask a quorum for the token; its new holder tells another quorum.

The token, with its queue, is Suzuki and Kasami's. But a request goes only to the members of the sender's request set,
and a process that receives the token tells the members of its acquired set. The sets are a quorum agreement: every
request set meets every acquired set. So some process learns both of the request and of the holder, and forwards the
request. If all processes are asked and none is told, the algorithm is Suzuki and Kasami's.

Mizuno, Neilsen & Rao 1991; Velazquez 1993, section 4, which leaves open when requests are forwarded. Here a process
forwards when it knows of a holder and of a request that the token did not know of when the holder got it, in whichever
order it learned of the two. It does so once per holder: the request that it forwards makes the holder send the token
away, and then the next holder is told. So every ACQUIRED is answered at most once, though perhaps
during a later entry. With r others in a request set and a in an acquired set an entry costs at most r + 2a + 1
messages, averaged over a run; a single one can cost more. That gives both bounds of the survey: 3q + 1 in a projective
plane of order q, about 3 sqrt(n), and 2 sqrt(2) sqrt(n) - 2 in a grid twice as high as wide.

Changed: LN, the numbers in the token, counts a request when it enters the queue, not when it has been served, because
from then on it need not be forwarded. What is forwarded is not the whole array RN, but the entries that are above LN.
ACQUIRED carries the number of the entry, to tell a later holder from an earlier one, since channels need not keep the
order of messages. That number is the fence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import IDLE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Option, Spec
from congenial.parts.quorums.agreements import AGREEMENTS, Agreement, build_agreement
from congenial.problems.mutex import MUTEX

SPEC = Spec(
    name="mizuno-neilsen-rao",
    title="Mizuno-Neilsen-Rao",
    problem=MUTEX,
    reference="Mizuno, Neilsen & Rao 1991; Velazquez 1993, section 4",
    fences=True,
    messages=Law("0", "r + 2*a + 1"),
    size="2n",
    waiting=Law("0", "3"),
    sync_delay=Law("1"),
    options=(Option("agreement", "grid", "grid, plane, tree or everyone", build_agreement, choices=tuple(AGREEMENTS)),),
)

NOBODY: Final = -1


@dataclass(frozen=True)
class Request(Message):
    number: int


@dataclass(frozen=True)
class Requests(Message):
    """Requests of others, forwarded."""

    processes: tuple[int, ...]
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Acquired(Message):
    """The sender has the token."""

    queued: tuple[int, ...]
    entry: int


@dataclass(frozen=True)
class Privilege(Message):
    """The token."""

    queue: tuple[int, ...]
    queued: tuple[int, ...]
    entries: int


@mypyc_attr(allow_interpreted_subclasses=True)
class MizunoNeilsenRao(Node):
    """Process 0 holds the token first, and its acquired set knows that."""

    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Requests, Acquired, Privilege)

    def __init__(self, me: int, n: int, agreement: Agreement) -> None:
        super().__init__(me, n)
        self.asked = agreement.requests[me]  # these learn of my requests                      R_i
        self.told = agreement.acquired[me]  # these learn that I have the token                A_i
        self.number = 0  # of my latest request                                                RN[i]
        self.news: dict[int, int] = {}  # requests the token may not know of                   RN, where it is above LN
        # what I last heard of the token, or its content while I hold it
        self.holder = 0 if me in agreement.acquired[0] else NOBODY
        self.passed_on = False  # have I told the holder of a request?
        self.queue: list[int] = []  # the next holders                                         Q
        self.queued = (0,) * n if me == 0 else ()  # latest request of each that was queued    LN
        self.entries = 0

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        if self.holder == self.me:
            self._enter(out)
            return
        self.number += 1
        for member in self.asked:
            if member != self.me:
                out.send(member, Request(self.number))
        self.news[self.me] = self.number
        self._pass_on(out)

    def release(self, out: Out) -> None:
        self.leave()
        self._pass_token(out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            self._learn(src, msg.number)
            self._serve(out)
        elif isinstance(msg, Requests) and src in self.told and len(msg.processes) == len(msg.numbers):
            for place in range(len(msg.processes)):
                self._learn(msg.processes[place], msg.numbers[place])
            self._serve(out)
        elif isinstance(msg, Acquired) and not (self.holder == self.me and msg.entry > self.entries):
            self._on_acquired(src, msg, out)
        elif isinstance(msg, Privilege) and self.phase == WAITING and self.holder != self.me:
            self._on_privilege(msg, out)
        else:
            raise self.unexpected(src, msg)

    def _on_acquired(self, src: int, acquired: Acquired, out: Out) -> None:
        if acquired.entry > self.entries:  # otherwise I know of a later one
            self.holder = src
            self.passed_on = False
            self.entries = acquired.entry
            self._forget_queued(acquired.queued)
            self._pass_on(out)

    def _on_privilege(self, token: Privilege, out: Out) -> None:
        self.holder = self.me
        self.queue = list(token.queue)
        self.entries = token.entries
        self._forget_queued(token.queued)
        self._enter(out)
        for member in self.told:
            if member != self.me:
                out.send(member, Acquired(self.queued, self.entries))

    def _learn(self, process: int, number: int) -> None:
        if number > self.news.get(process, 0) and (not self.queued or number > self.queued[process]):
            self.news[process] = number

    def _forget_queued(self, queued: tuple[int, ...]) -> None:
        self.queued = queued
        self.news = {process: number for process, number in self.news.items() if number > queued[process]}

    def _serve(self, out: Out) -> None:
        """Serve the requests that I know of: send the token, or tell its holder of them."""
        if self.holder != self.me:
            self._pass_on(out)
        elif self.phase == IDLE:
            self._pass_token(out)

    def _pass_on(self, out: Out) -> None:
        if self.holder != NOBODY and self.news and not self.passed_on:
            self.passed_on = True
            processes = tuple(sorted(self.news))
            out.send(self.holder, Requests(processes, tuple([self.news[process] for process in processes])))

    def _pass_token(self, out: Out) -> None:
        """Queue new requests, in ascending order, and send the token to the head of the queue, if there is one."""
        if self.news:
            queued = list(self.queued)
            for process in sorted(self.news):
                self.queue.append(process)
                queued[process] = self.news[process]
            self._forget_queued(tuple(queued))
        if self.queue:
            first = self.queue.pop(0)
            self.holder = NOBODY
            out.send(first, Privilege(tuple(self.queue), self.queued, self.entries))
            self.queue = []

    def _enter(self, out: Out) -> None:
        self.entries += 1
        self.enter(out, fence=self.entries)
