"""Srimani and Reddy's algorithm: k tokens, each with its own view of which requests have been served.

It is Suzuki and Kasami's algorithm with k tokens. A process without a token numbers its request and sends it to all
others. A process with a spare token sends it, and a process that leaves sends its token to the head of that token's
queue. The k tokens travel apart, so none knows all that has been served, and a process may be sent several tokens for
one request. It enters with the first and sends the others on, or keeps them. A process with a spare token enters
without a message. To send few tokens that are not needed, every process remembers what any token has told it (PLN) and
tells it to every token that it sends.

Srimani & Reddy 1992; Velazquez 1993, section 6. Changed: a token counts a request as served when a token is sent for
it, or used for it, not only when its process leaves. It will be served, and fewer tokens are sent. The k tokens
start at k different processes. Left out: the bound on numbers. There, rounds of L requests are kept apart by
acknowledgements (the survey corrects the condition at their start, RN[i] = 2 for "RN[i] := 1" in procedure P1). But a
token that is in transit for long knows nothing of several rounds, and the survey does not say how its numbers are then
told from new ones. There is no fence: k tokens have no common count of entries.

Cost: n-1 requests, and at most k tokens, since no token comes twice for one request: n+k-1, or 0 for a process with a
spare token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import INSIDE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Spec
from congenial.problems.kmutex import K_OPTION, KMUTEX

SPEC = Spec(
    name="srimani-reddy",
    title="Srimani-Reddy",
    problem=KMUTEX,
    reference="Srimani & Reddy 1992; Velazquez 1993, section 6",
    messages=Law("0", "n+k-1"),
    size="2n",
    waiting=Law("0", "2"),
    sync_delay=Law("1"),
    concurrency="k",
    options=(K_OPTION,),
)


@dataclass(frozen=True)
class Request(Message):
    number: int


@dataclass(frozen=True)
class Privilege(Message):
    """One of the tokens."""

    queue: tuple[int, ...]
    served: tuple[int, ...]


@mypyc_attr(allow_interpreted_subclasses=True)
class SrimaniReddy(Node):
    """Processes 0..k-1 have a token each at first."""

    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Privilege)

    def __init__(self, me: int, n: int, k: int) -> None:
        super().__init__(me, n)
        self.tokens = min(k, n)  # in the system
        self.spare = 1 if me < k else 0  # unused tokens here
        self.requested = [0] * n  # latest request known of each process             RN
        self.served = [0] * n  # latest request that any token is known to serve     PLN, LN
        self.queue: list[int] = []  # of the token in use                            Q

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        if self.spare:
            self.spare -= 1
            self.enter(out)
        else:
            self.requested[self.me] += 1
            out.broadcast(Request(self.requested[self.me]))

    def release(self, out: Out) -> None:
        self.leave()
        queue = self.queue
        self.queue = []
        self._send_on(queue, out)

    def could_enter(self) -> bool:
        return self.spare > 0

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            self._on_request(src, msg.number, out)
        elif isinstance(msg, Privilege) and self._may_come(msg):
            self._on_privilege(msg, out)
        else:
            raise self.unexpected(src, msg)

    def _on_request(self, src: int, number: int, out: Out) -> None:
        self.requested[src] = max(self.requested[src], number)
        if self.spare and self._is_outstanding(src):
            self.spare -= 1
            self._send_token([src], out)

    def _on_privilege(self, token: Privilege, out: Out) -> None:
        for process in token.queue:  # its request may not have arrived here yet
            self.requested[process] = max(self.requested[process], token.served[process] + 1)
        for process in range(self.n):
            self.served[process] = max(self.served[process], token.served[process])
        if self.phase == WAITING:
            self.served[self.me] = self.requested[self.me]
            self.queue = list(token.queue)
            self.enter(out)
        else:  # another token came first
            self._send_on(list(token.queue), out)

    def _send_on(self, queue: list[int], out: Out) -> None:
        """Send a token to the next process: first those in its queue, then the others. If none waits, keep it."""
        waiting = [process for process in queue if self._is_outstanding(process)]
        queued = set(waiting)
        for process in range(self.n):
            if process not in queued and self._is_outstanding(process):  # never true of me
                waiting.append(process)
        if waiting:
            self._send_token(waiting, out)
        else:
            self.spare += 1

    def _send_token(self, queue: list[int], out: Out) -> None:
        dst = queue[0]
        self.served[dst] = self.requested[dst]
        out.send(dst, Privilege(tuple(queue[1:]), tuple(self.served)))

    def _is_outstanding(self, process: int) -> bool:
        """True if a request is known that no token is known to serve. It may have been served nevertheless."""
        return self.requested[process] > self.served[process]

    def _may_come(self, token: Privilege) -> bool:
        """I have asked before, and there are not more tokens here than there can be."""
        here = self.spare + (1 if self.phase == INSIDE else 0)
        known = len(token.served) == self.n and (not token.queue or 0 <= min(token.queue) <= max(token.queue) < self.n)
        return known and self.requested[self.me] > 0 and here < self.tokens
