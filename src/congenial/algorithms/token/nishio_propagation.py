"""Nishio, Li and Manning's algorithm where nothing survives a failure: others tell what was forgotten.

A controller that has lost its memory asks all others what they know (LOST). Each answers with the highest age of a
token that it knows of, its own latest request, and the latest request that it has seen of the process that asks
(KNOWN). Until all have answered, the process makes no promise and takes no token: it might have promised not to. Then
it takes part as one that has nothing. If it had the token, that is lost and a new one will be made.

Nishio, Li & Manning 1990, as described in Velazquez 1993, section 4: since what a controller stores "is difficult to
keep and might not be recoverable in a catastrophic controller failure, a mechanism that uses information propagation is
described for the recovery from these failures". The survey does not describe it; the messages are ours, and so is what
must be asked: any token in use has an age that all but its maker have agreed to, so each of the others knows an age at
least as high.

The survey also says that the mechanism "can be easily modified to include the recovery from a node insertion, or
removal", and no more. A process that is inserted knows nothing either. If its number was planned for, which means that
it counts as one that is down until then, its first start is such a recovery. For numbers that were not planned for, and
for removals, all would have to agree on who takes part; the survey does not say how, and we do not guess.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.algorithms.token import nishio_li_manning
from congenial.algorithms.token.aged_token import TIME_OUT
from congenial.algorithms.token.nishio_li_manning import NishioLiManning
from congenial.algorithms.token.suzuki_kasami import Privilege, Request
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import WAITING
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Spec

SPEC = replace(
    nishio_li_manning.SPEC,
    name="nishio-propagation",
    title="Nishio-Li-Manning, propagation",
    faults="one crash at a time, nothing kept; loss",
    flaws=(
        *nishio_li_manning.SPEC.flaws,
        "two processes that have lost their memory at the same time wait for each other forever",
        "an answer that is still in transit at the next failure of the process may be taken for a new one",
    ),
)


@dataclass(frozen=True)
class Lost(Message):
    """I have forgotten everything."""


@dataclass(frozen=True)
class Known(Message):
    age: int  # the highest I know of
    number: int  # of my latest request
    yours: int  # the number of your latest request that I have seen


@mypyc_attr(allow_interpreted_subclasses=True)
class NishioPropagation(NishioLiManning):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (*NishioLiManning.messages, Lost, Known)
    durable: ClassVar[tuple[str, ...]] = ()

    def __init__(self, me: int, n: int, patience: float, reply: float) -> None:
        super().__init__(me, n, patience, reply)
        self.learning = False
        self.told: set[int] = set()  # the processes that have told me what they know

    def request(self, groups: Groups, out: Out) -> None:
        if self.learning:
            self.wait()
        else:
            super().request(groups, out)

    def on_recover(self, out: Out) -> None:
        self.holding = False
        self.learning = True
        self._inquire(out)
        self._take_part_if_told(out)

    def on_timer(self, timer: int, out: Out) -> None:
        if self.learning:
            self._inquire(out)
        else:
            super().on_timer(timer, out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Known):
            if self.learning:
                self._on_known(src, msg, out)
        elif isinstance(msg, Lost):
            if not self.learning:
                out.send(src, Known(self.age, self.requested[self.me], self.requested[src]))
        elif not self.learning or isinstance(msg, Request):
            super().receive(src, msg, out)

    def _inquire(self, out: Out) -> None:
        for process in range(self.n):
            if process != self.me and process not in self.told:
                out.send(process, Lost())
        out.set_timer(TIME_OUT, self.reply)

    def _on_known(self, src: int, msg: Known, out: Out) -> None:
        self.age = max(self.age, msg.age)
        self.requested[src] = max(self.requested[src], msg.number)
        self.requested[self.me] = max(self.requested[self.me], msg.yours)
        self.told.add(src)
        self._take_part_if_told(out)

    def _take_part_if_told(self, out: Out) -> None:
        if len(self.told) == self.n - 1:
            self.learning = False
            self.told = set()
            out.cancel_timer(TIME_OUT)
            if self.phase == WAITING:
                self._ask(out)

    def _on_privilege(self, src: int, token: Privilege, out: Out) -> None:
        """It may have been sent for a request that all but the sender had not seen when I asked them."""
        if not self.holding:
            self.requested[self.me] = max(self.requested[self.me], token.served[self.me] + 1)
        super()._on_privilege(src, token, out)
