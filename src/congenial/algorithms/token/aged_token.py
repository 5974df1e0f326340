"""What the fault-tolerant descendants of Suzuki and Kasami's algorithm share: a token with an age.

A lost token is replaced by a new one with a higher age than any before. Every process remembers the highest age it
knows of, and discards a token with a lower age: it is a duplicate. Ages of different makers differ: process i uses i,
n+i, 2n+i, ... A process that asks sets a timeout. The descendants decide what happens when it expires.

After a failure the numbers of requests may have gaps. So a request is outstanding if its number is above the one served
last, not only if it is the next. A process that recovers gives up its old request. If the token still arrives for it,
the process is an idle holder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.algorithms.token.suzuki_kasami import Privilege, Request, SuzukiKasami
from congenial.kernel.message import Messages
from congenial.kernel.node import WAITING
from congenial.kernel.out import Out
from congenial.kernel.spec import Option
from congenial.parts.options import build_time

TIME_OUT: Final = 0  # the one timer
FENCES: Final = 1 << 32  # of one age: nobody can know how often a token was used before it was lost


PATIENCE: Final = Option("patience", "1000n", "time to wait for the token before searching for it", build_time)
REPLY: Final = Option("reply", "1000", "time to wait for answers about the token", build_time)


@dataclass(frozen=True)
class AgedPrivilege(Privilege):
    age: int


@mypyc_attr(allow_interpreted_subclasses=True)
class AgedToken(SuzukiKasami):
    """`patience` should exceed the time in which every process can use the token once, `reply` a round trip."""

    messages: ClassVar[Messages] = (Request, AgedPrivilege)

    def __init__(self, me: int, n: int, patience: float, reply: float) -> None:
        super().__init__(me, n)
        self.patience = patience
        self.reply = reply
        self.age = 0  # the highest I know of, and that of the token I hold

    def _ask(self, out: Out) -> None:
        self.requested[self.me] += 1
        out.save()
        self._call(out)

    def _call(self, out: Out) -> None:
        out.broadcast(Request(self.requested[self.me]))
        out.set_timer(TIME_OUT, self.patience)

    def _on_privilege(self, src: int, token: Privilege, out: Out) -> None:
        if not isinstance(token, AgedPrivilege):
            raise self.unexpected(src, token)
        if token.age < self.age:
            self._on_duplicate(out)
            return
        if self.holding or token.served[self.me] >= self.requested[self.me]:
            raise self.unexpected(src, token)
        self.holding = True
        self.queue = list(token.queue)
        self.served = list(token.served)
        self.entries = token.entries
        self.age = token.age
        out.save()
        if self.phase == WAITING:
            self._enter(out)
        else:
            self._hand_on(out)

    def _on_duplicate(self, out: Out) -> None:
        """A token was discarded here."""

    def _is_outstanding(self, process: int) -> bool:
        return self.requested[process] > self.served[process]

    def _enter(self, out: Out) -> None:
        out.cancel_timer(TIME_OUT)
        self.entries += 1
        self.enter(out, fence=self.age * FENCES + self.entries)

    def _pass_token(self, dst: int, out: Out) -> None:
        self.holding = False
        out.send(dst, AgedPrivilege(tuple(self.queue), tuple(self.served), self.entries, self.age))
        self.queue = []

    def _granted(self) -> int:
        """The number of my latest request that was granted, or given up."""
        return self.requested[self.me] - (1 if self.phase == WAITING else 0)

    def _age_above(self, highest: int) -> int:
        age = highest - highest % self.n + self.me
        return age if age > highest else age + self.n
