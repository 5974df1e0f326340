"""Nishio, Li and Manning's algorithm: a token with an age; a new one only with the consent of all.

As in Suzuki and Kasami's algorithm a process asks all others. But the token has no queue: it goes to the nearest
process on a ring whose latest request has not been granted. A process that waits too long proposes a new token to all
others, with an age above all it knows of (TOKEN_MISSING). A process that has the token, or knows of a higher age,
refuses (NACK), and the proposer asks for the token again. When all others have agreed (ACK, with their latest requests
granted), the proposer makes the token and enters. If an answer is missing it proposes again, as often as necessary.

Nishio, Li & Manning 1990, as described in Velazquez 1993, section 4; the original was not available. A node is a
processor (the application) and a controller (this class), whose memory survives failures: what it must not forget is
saved. Where nothing can be saved see `nishio-propagation`, also on the insertion of nodes.

- *A processor fails*: a crash and a recovery with nothing in between. The application's request or stay is over. The
  controller knows all it knew, and sends the token on if it has it.
- *A controller fails*: a crash, and a recovery some time later. Messages are lost meanwhile; what it saved is there.
- *A link fails*: messages are lost. The simulator's partitions cut many links for a time.

Filled in or changed: an ACK is a promise. A process that sends it takes over the proposed age, so that a token that was
in transit all the time is discarded where it arrives. As we read the description, ages are learnt from tokens only, and
two tokens can be in use (see the errata); the original may mean what we do. A holder that refuses gives its own token
that age, because otherwise its token would be discarded after a false alarm. It has made no promise for that age and
makes none. So there are never two tokens, however wrong the timeouts are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.algorithms.token import suzuki_kasami
from congenial.algorithms.token.aged_token import PATIENCE, REPLY, TIME_OUT, AgedToken
from congenial.algorithms.token.suzuki_kasami import Privilege
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import WAITING
from congenial.kernel.out import Out
from congenial.kernel.spec import Spec

SPEC = replace(
    suzuki_kasami.SPEC,
    name="nishio-li-manning",
    title="Nishio-Li-Manning",
    reference="Nishio, Li & Manning 1990; Velazquez 1993, section 4",
    size="n + 2",
    patient=True,
    faults="crashes with recovery, loss, partitions",
    options=(PATIENCE, REPLY),
    flaws=(
        "a lost token is replaced only when all processes are up",
        "a token that arrives twice causes an error, or a second token",
    ),
)


@dataclass(frozen=True)
class TokenMissing(Message):
    age: int  # proposed for a new token


@dataclass(frozen=True)
class Ack(Message):
    age: int  # agreed to
    granted: int  # my latest request that was granted


@dataclass(frozen=True)
class Nack(Message):
    age: int  # the highest I know of


@mypyc_attr(allow_interpreted_subclasses=True)
class NishioLiManning(AgedToken):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (*AgedToken.messages, TokenMissing, Ack, Nack)
    durable: ClassVar[tuple[str, ...]] = ("requested", "holding", "served", "entries", "age", "promised")

    def __init__(self, me: int, n: int, patience: float, reply: float) -> None:
        super().__init__(me, n, patience, reply)
        self.promised = -1  # the age I have agreed to, until I have a token of that age
        self.proposing = False  # a new token, of age `age`
        self.agreed: set[int] = set()  # the processes that have agreed to it
        self.highest = 0  # age in a refusal

    def on_recover(self, out: Out) -> None:
        if self.holding:
            self._hand_on(out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, TokenMissing):
            self._on_missing(src, msg.age, out)
        elif isinstance(msg, Ack):
            if self.proposing and msg.age == self.age:
                self.served[src] = msg.granted
                self.agreed.add(src)
                self._make_if_agreed(out)
        elif isinstance(msg, Nack):
            if self.proposing:
                self.proposing = False
                self.highest = max(self.highest, msg.age)
                self._call(out)
        else:
            super().receive(src, msg, out)

    def on_timer(self, timer: int, out: Out) -> None:
        if not self.proposing:
            self.proposing = True
            self.age = self._age_above(max(self.age, self.highest))
            self.agreed = set()
            out.save()
        out.broadcast(TokenMissing(self.age))
        out.set_timer(TIME_OUT, self.reply)
        self._make_if_agreed(out)

    def _make_if_agreed(self, out: Out) -> None:
        if len(self.agreed) == self.n - 1:
            self.served[self.me] = self._granted()
            self.holding = True
            self._enter(out)

    def _on_missing(self, src: int, age: int, out: Out) -> None:
        if self.holding:
            self.age = max(self.age, age)
            out.save()
            out.send(src, Nack(self.age))
        elif age > self.age or age == self.promised:
            self.age = age
            self.promised = age
            self.proposing = False
            out.save()
            out.send(src, Ack(age, self._granted()))
            if self.phase == WAITING:
                out.set_timer(TIME_OUT, self.patience)
        else:
            out.send(src, Nack(self.age))

    def _on_request(self, src: int, number: int, out: Out) -> None:
        super()._on_request(src, number, out)
        out.save()

    def _on_privilege(self, src: int, token: Privilege, out: Out) -> None:
        super()._on_privilege(src, token, out)
        if self.holding:
            self.promised = -1

    def _on_duplicate(self, out: Out) -> None:
        if self.phase == WAITING and not self.proposing:
            self._call(out)

    def _enter(self, out: Out) -> None:
        self.proposing = False
        self.promised = -1
        super()._enter(out)
        out.save()

    def _pass_token(self, dst: int, out: Out) -> None:
        super()._pass_token(dst, out)
        self.promised = -1
        out.save()

    def _next_holder(self) -> int:
        for step in range(1, self.n):
            process = (self.me + step) % self.n
            if self._is_outstanding(process):
                return process
        return -1
