"""Tiny algorithms of which one can tell by hand what the checker must say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from protocols import ANYONE

from congenial.kernel.message import Message
from congenial.kernel.node import WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Spec
from congenial.problems.group import GROUP
from congenial.problems.mutex import MUTEX

FREE = Spec("free", "nobody is kept out", ANYONE)
EXCLUSIVE = Spec("exclusive", "one at a time", MUTEX)


@dataclass(frozen=True)
class Question(Message):
    pass


@dataclass(frozen=True)
class Answer(Message):
    pass


class Polite(Node):
    """Asks its neighbour and enters when that one answers; everybody answers always."""

    spec: ClassVar[Spec] = FREE

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        out.send((self.me + 1) % self.n, Question())

    def release(self, out: Out) -> None:
        self.leave()

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Question):
            out.send(src, Answer())
        else:
            self.enter(out)


class Tolerant(Polite):
    """The same, but an answer that comes twice does no harm."""

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Question) or self.phase == WAITING:
            super().receive(src, msg, out)


class Persistent(Tolerant):
    """The same, and it asks again whenever its patience ends: a lost message does no harm."""

    def request(self, groups: Groups, out: Out) -> None:
        super().request(groups, out)
        out.set_timer(1, 10.0)

    def on_timer(self, timer: int, out: Out) -> None:
        if self.phase == WAITING:
            out.send((self.me + 1) % self.n, Question())
            out.set_timer(1, 10.0)


class OnceAgain(Tolerant):
    """It asks again once."""

    def request(self, groups: Groups, out: Out) -> None:
        super().request(groups, out)
        out.set_timer(1, 10.0)

    def on_timer(self, timer: int, out: Out) -> None:
        if self.phase == WAITING:
            out.send((self.me + 1) % self.n, Question())


class Suspicious(Tolerant):
    """Enters, too, when it suspects the neighbour it has asked; after a crash it answers what it may have missed."""

    def on_recover(self, out: Out) -> None:
        out.broadcast(Answer())

    def on_suspect(self, peer: int, out: Out) -> None:
        if self.phase == WAITING and peer == (self.me + 1) % self.n:
            self.enter(out)


class Ledger(Node):
    """Process 0 alone may enter, each time with a higher fence; it saves the fence before it enters, or does not."""

    spec: ClassVar[Spec] = EXCLUSIVE
    durable: ClassVar[tuple[str, ...]] = ("fence",)
    careful: ClassVar[bool] = True

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.fence = 0

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.fence += 1
        if self.careful:
            out.save()
        self.enter(out, self.fence)

    def release(self, out: Out) -> None:
        self.leave()


class Careless(Ledger):
    careful: ClassVar[bool] = False


class Gambler(Node):
    """Enters on one of six throws only; with `stuck` numbers it stays outside."""

    spec: ClassVar[Spec] = FREE
    stuck: ClassVar[tuple[int, ...]] = ()

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.thrown = 0

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.thrown = 3 * out.choose(2) + out.choose(3)
        if self.thrown not in self.stuck:
            self.enter(out)

    def release(self, out: Out) -> None:
        self.leave()


class Unlucky(Gambler):
    stuck: ClassVar[tuple[int, ...]] = (5,)


class Ruined(Gambler):
    """Cannot bear one of the throws."""

    def request(self, groups: Groups, out: Out) -> None:
        super().request(groups, out)
        if self.thrown == 5:
            raise RuntimeError("ruined")


class Haunted(Gambler):
    """Cannot bear one of two throws after a crash."""

    def on_recover(self, out: Out) -> None:
        if out.choose(2) == 1:
            raise RuntimeError("haunted")


class Hasty(Polite):
    """Takes it for impossible that its timer runs out, for the answer comes long before."""

    def request(self, groups: Groups, out: Out) -> None:
        super().request(groups, out)
        out.set_timer(1, 1000.0)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Question):
            out.send(src, Answer())
        elif self.phase == WAITING:
            out.cancel_timer(1)
            self.enter(out)

    def on_timer(self, timer: int, out: Out) -> None:
        raise RuntimeError("the timer ran out")


class Accurate(Hasty):
    """The same, and it says that it needs time-outs to be right."""

    spec: ClassVar[Spec] = replace(FREE, patient=True)


class HastyTogether(Hasty):
    """The same, where processes of one group are inside together."""

    spec: ClassVar[Spec] = replace(FREE, problem=GROUP)


class Overstayed(Polite):
    """Takes it for impossible that it is inside for long."""

    def receive(self, src: int, msg: Message, out: Out) -> None:
        super().receive(src, msg, out)
        if isinstance(msg, Answer):
            out.set_timer(1, 1000.0)

    def release(self, out: Out) -> None:
        super().release(out)
        out.cancel_timer(1)

    def on_timer(self, timer: int, out: Out) -> None:
        raise RuntimeError("too long")


class Impatient(Persistent):
    """Takes it for impossible that it has to ask three times."""

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.asked = 0

    def on_timer(self, timer: int, out: Out) -> None:
        super().on_timer(timer, out)
        self.asked += 1
        if self.asked == 3:
            raise RuntimeError("asked in vain")


class OneOfTwo(Polite):
    """Two timers: one is set again and again, the other ends the waiting."""

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        out.set_timer(1, 10.0)
        out.set_timer(2, 1000.0)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        """It is of no use."""

    def on_timer(self, timer: int, out: Out) -> None:
        if timer == 2:
            out.cancel_timer(1)
            self.enter(out)
        else:
            out.send((self.me + 1) % self.n, Question())
            out.set_timer(1, 10.0)


class PingPong(Polite):
    """Answers are answered, forever, and nobody gets in."""

    def receive(self, src: int, msg: Message, out: Out) -> None:
        out.send(src, Question() if isinstance(msg, Answer) else Answer())
