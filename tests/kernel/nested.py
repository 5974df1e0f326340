"""Nodes made of others: a wrapper whose messages carry the inner node's, and a part with messages and state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from congenial.algorithms.permission.ricart_agrawala import RicartAgrawala
from congenial.algorithms.token.raymond_tree import RaymondTree
from congenial.algorithms.token.suzuki_kasami import SuzukiKasami
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.kernel.part import Part
from congenial.kernel.spec import Interchangeable, Option, Spec
from congenial.parts.trees import build_tree
from congenial.problems.mutex import MUTEX
from congenial.transform.wrapper import Wrapper, WrapperOut


@dataclass(frozen=True)
class Inner(Message):
    instance: int
    body: Message


@dataclass(frozen=True)
class Batch(Message):
    bodies: tuple[Message, ...]
    last: Message | None


class TaggedOut(WrapperOut):
    def send(self, dst: int, msg: Message) -> None:
        self.out.send(dst, Inner(7, msg))

    def broadcast(self, msg: Message) -> None:
        self.out.broadcast(Inner(7, msg))


class Tagged(Wrapper):
    """All that the inner node says travels in messages of the outer one."""

    spec: ClassVar[Spec] = Spec(name="tagged", title="a wrapper", problem=MUTEX)
    messages = (Inner, Batch)

    def inner_out(self, out: Out) -> Out:
        return TaggedOut(self, out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if not isinstance(msg, Inner):
            raise self.unexpected(src, msg)
        super().receive(src, msg.body, out)


class TaggedSuzukiKasami(Tagged):
    made_of = (SuzukiKasami,)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n, SuzukiKasami(me, n))


class TaggedRicartAgrawala(Tagged):
    made_of = (RicartAgrawala,)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n, RicartAgrawala(me, n))


class TaggedStar(Tagged):
    """Raymond's algorithm on a star, whose leaves are alike."""

    made_of = (RaymondTree,)
    spec: ClassVar[Spec] = Spec(
        name="tagged-star", title="a wrapper", problem=MUTEX, symmetry=Interchangeable((0,), ("holder", "queue"))
    )

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n, RaymondTree(me, n, build_tree("star", n)))


class TaggedAny(Tagged):
    """An option says what is inside."""

    spec: ClassVar[Spec] = Spec(
        name="tagged-any",
        title="a wrapper",
        problem=MUTEX,
        options=(Option("inner", "", "the inner algorithm", lambda text, n: SuzukiKasami),),
    )

    def __init__(self, me: int, n: int, inner: type[Node]) -> None:
        super().__init__(me, n, inner(me, n))
        self.kind = inner


@dataclass(frozen=True)
class Count(Message):
    value: int


class Counter(Part):
    """Counts up, and tells."""

    durable = ("best",)
    messages = (Count,)

    def __init__(self) -> None:
        self.best = 0
        self.heard: dict[int, list[int]] = {}

    def up(self, out: Out) -> None:
        self.best += 1
        out.save()
        out.broadcast(Count(self.best))

    def receive(self, src: int, msg: Count) -> None:
        self.heard.setdefault(src, []).append(msg.value)
        self.best = max(self.best, msg.value)


class Counting(RicartAgrawala):
    """A mutex with two counters, one of which survives a crash."""

    made_of = (Counter,)
    durable = ("counter", "recoveries")

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.counter = Counter()
        self.other = Counter()
        self.history = [Counter()]
        self.recoveries = 0

    def release(self, out: Out) -> None:
        self.counter.up(out)
        super().release(out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Count):
            self.counter.receive(src, msg)
        else:
            super().receive(src, msg, out)

    def on_recover(self, out: Out) -> None:
        self.recoveries += 1
        out.save()
