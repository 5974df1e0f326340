"""Ricart and Agrawala's token algorithm: ask everyone for the one token, which goes round the circle.

A process numbers its requests and sends them to all others. The token carries, for every process, the number of its
last request that was granted. A holder that leaves searches the circle, starting behind itself, for the first process
of which it knows a higher number, and sends it the token. So requests are not served in the order in which they were
made, but once a request has reached everyone, its process is not passed over. An idle token stays where it is, and its
holder enters without a message.

Ricart & Agrawala 1983; Velazquez 1993, section 4. In the survey an idle holder that receives a request sends the token
to the sender. Channels need not keep the order of messages, so the request may be an old one, granted long ago, and its
sender would get a token that it has not asked for. Like the original we check that the request is not granted yet.
Added: the token counts its entries, for the fence.
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
from congenial.problems.mutex import MUTEX

SPEC = Spec(
    name="ricart-agrawala-token",
    title="Ricart-Agrawala (token)",
    problem=MUTEX,
    reference="Ricart & Agrawala 1983; Velazquez 1993, section 4",
    fences=True,
    messages=Law("0", "n"),
    size="n+1",
    waiting=Law("0", "2"),
    sync_delay=Law("1"),
)


@dataclass(frozen=True)
class Request(Message):
    number: int


@dataclass(frozen=True)
class Token(Message):
    granted: tuple[int, ...]
    entries: int


@mypyc_attr(allow_interpreted_subclasses=True)
class RicartAgrawalaToken(Node):
    """Process 0 holds the token first."""

    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Token)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.requested = [0] * n  # latest request known of each process     request_data
        self.holding = me == 0
        # the token's content, while I hold it
        self.granted = [0] * n  # latest request granted to each process     token_data
        self.entries = 0

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        if self.holding:
            self._enter(out)
        else:
            self.requested[self.me] += 1
            out.broadcast(Request(self.requested[self.me]))

    def release(self, out: Out) -> None:
        self.leave()
        self.granted[self.me] = self.requested[self.me]
        self._pass_token(out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            self._on_request(src, msg.number, out)
        elif isinstance(msg, Token) and self.phase == WAITING and not self.holding:
            self._on_token(msg, out)
        else:
            raise self.unexpected(src, msg)

    def _on_request(self, src: int, number: int, out: Out) -> None:
        self.requested[src] = max(self.requested[src], number)
        if self.holding and self.phase == IDLE:
            self._pass_token(out)

    def _on_token(self, token: Token, out: Out) -> None:
        self.holding = True
        self.granted = list(token.granted)
        self.entries = token.entries
        self._enter(out)

    def _enter(self, out: Out) -> None:
        self.entries += 1
        self.enter(out, fence=self.entries)

    def _pass_token(self, out: Out) -> None:
        """Send the token to the next in the circle with an ungranted request; if there is none it stays, idle."""
        for step in range(1, self.n):
            process = (self.me + step) % self.n
            if self._is_ungranted(process):
                self.holding = False
                out.send(process, Token(tuple(self.granted), self.entries))
                return

    def _is_ungranted(self, process: int) -> bool:
        return self.requested[process] > self.granted[process]
