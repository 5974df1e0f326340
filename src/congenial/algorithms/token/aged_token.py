"""What the fault-tolerant descendants of Suzuki and Kasami's algorithm share: a token with an age.

A token that is lost is made anew, with a higher age than any before; every process keeps the highest age it knows of,
and a token with a lower one is a duplicate and dies where it arrives. Ages of different makers differ: process i uses
i, n+i, 2n+i, ... Who asks sets a time-out; what happens when it runs out is the business of the descendants.

After a failure the numbers of requests may have gaps, so a request is outstanding if its number is above the one served
last, not only if it is the next. A process that comes back gives up what it had asked for; if the token comes for it
all the same, it is an idle holder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.algorithms.token.suzuki_kasami import Privilege, Request, SuzukiKasami
from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Messages
from congenial.kernel.node import WAITING
from congenial.kernel.out import Out
from congenial.kernel.spec import Option

TIME_OUT: Final = 0  # the one timer
FENCES: Final = 1 << 32  # of one age: what its holder did before a token was lost nobody can know


def build_time(text: str, n: int) -> float:
    """Units of time: '500', or '1000n' for that many for each process."""
    number = text.removesuffix("n")
    try:
        time = float(number) * (n if number != text else 1)
    except ValueError:
        time = -1.0
    if not 0 < time < float("inf"):
        raise ConfigError(f"a time-out must be a number above 0, like 500, or 1000n for n processes, not {text!r}")
    return time


PATIENCE: Final = Option("patience", "1000n", "time to wait for the token before it is looked for", build_time)
REPLY: Final = Option("reply", "1000", "time to wait for answers about the token", build_time)


@dataclass(frozen=True)
class AgedPrivilege(Privilege):
    age: int


@mypyc_attr(allow_interpreted_subclasses=True)
class AgedToken(SuzukiKasami):
    """`patience` should be above the time in which everybody can have had the token, `reply` above a round trip."""

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
        """A token has died here."""

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
