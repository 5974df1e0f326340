"""Small protocols made up at random, to try the checker on what nobody had in mind when it was written.

A protocol is a list of rules: on this event, in this situation, change the flags so, count so much, send these, set or
cancel the timer, perhaps at a choice of two. A process enters as soon as it waits and has the flags and the count that
entering takes. Some are safe, some are not, some get stuck. All come to an end: a message causes only messages of
smaller kinds (unless `lively`), and the timer is set by requests alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from congenial.kernel.message import Message
from congenial.kernel.node import IDLE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups, Problem
from congenial.kernel.spec import Spec
from congenial.problems.group import GROUP
from congenial.problems.mutex import MUTEX

Pick = Callable[[int], int]
"""Draws one of 0..k-1."""

REQUEST, RELEASE, TIMER, ALARM = "request", "release", "timer", 0
FLAGS = 4


@dataclass(frozen=True)
class Low(Message):
    pass


@dataclass(frozen=True)
class Middle(Message):
    pass


@dataclass(frozen=True)
class High(Message):
    pass


KINDS: tuple[type[Message], ...] = (Low, Middle, High)


class Anyone(Problem):
    """No exclusion at all: what remains to be judged is whether everybody gets in."""

    def __init__(self) -> None:
        super().__init__("anyone", False, False)

    def admits(self, inside: int, current: int, group: int) -> bool:
        return True


ANYONE = Anyone()


@dataclass(frozen=True)
class Rule:
    """What a process does on an event if it has all flags of `having`, none of `lacking`, and is in one of `phases`."""

    phases: tuple[int, ...]
    having: int
    lacking: int
    raised: int  # flags set,
    lowered: int  # cleared,
    flipped: int  # and turned over
    added: int  # to the count
    sends: tuple[tuple[int, int], ...]  # (receiver, kind); receiver: 0 the sender of the message, 1 the next, 2 all
    choice: int  # 0: none; otherwise a second way to go: these flags set, too
    alarm: int  # 1: set the timer, 2: cancel it


@dataclass(frozen=True)
class Protocol:
    rules: dict[str, tuple[Rule, ...]]
    need: int  # flags
    count: int
    fence: int  # 0: none; 1: own entries counted; 2: the number of messages counted
    problem: Problem


def rule(pick: Pick, event: str, below: int) -> Rule:
    """`below`: the kinds that it may send are smaller than that."""
    sends: list[tuple[int, int]] = []
    while below > 0 and pick(2) == 1 and len(sends) < 2:
        to = pick(3) if event in KIND_NAMES else 1 + pick(2)
        sends.append((to, pick(below)))
    phases = ((0, 1, 2), (0, 1, 2), (0,), (1,), (0, 2), (0, 1))[pick(6)]
    guarded = pick(3) == 1
    return Rule(
        phases=phases,
        having=1 << pick(FLAGS) if guarded and pick(2) else 0,
        lacking=1 << pick(FLAGS) if guarded and pick(2) else 0,
        raised=1 << pick(FLAGS) if pick(2) else 0,
        lowered=1 << pick(FLAGS) if pick(4) == 1 else 0,
        flipped=1 << pick(FLAGS) if pick(4) == 1 else 0,
        added=pick(2),
        sends=tuple(sends),
        choice=1 << pick(FLAGS) if pick(8) == 1 else 0,
        alarm=(1 + pick(2) if pick(3) == 1 else 0) if event == REQUEST else (2 if pick(8) == 1 else 0),
    )


KIND_NAMES = tuple(kind.__name__ for kind in KINDS)


def protocol(pick: Pick, lively: bool = False) -> Protocol:
    rules: dict[str, tuple[Rule, ...]] = {}
    for event in (REQUEST, RELEASE, TIMER):
        rules[event] = tuple([rule(pick, event, len(KINDS)) for _ in range(1 + pick(2))])
    for kind, event in enumerate(KIND_NAMES):
        rules[event] = tuple([rule(pick, event, kind + 1 if lively else kind) for _ in range(pick(3))])
    return Protocol(
        rules=rules,
        need=1 << pick(FLAGS) if pick(2) else 0,
        count=pick(3),
        fence=pick(3),
        problem=(ANYONE, MUTEX, GROUP)[pick(3)],
    )


class Player(Node):
    """A process of a protocol; `node_class` makes a class of its own for each."""

    protocol: ClassVar[Protocol]

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.flags = 0
        self.counted = 0
        self.entries = 0
        self.wanted = 0

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.wanted = groups[0]
        self.follow(REQUEST, self.me, out)

    def release(self, out: Out) -> None:
        self.leave()
        self.counted = 0
        self.follow(RELEASE, self.me, out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        self.follow(type(msg).__name__, src, out)

    def on_timer(self, timer: int, out: Out) -> None:
        self.follow(TIMER, self.me, out)

    def follow(self, event: str, src: int, out: Out) -> None:
        for rule in self.protocol.rules[event]:
            fits = self.flags & rule.having == rule.having and self.flags & rule.lacking == 0
            if fits and self.phase in rule.phases:
                self.obey(rule, src, out)
                break
        enough = self.flags & self.protocol.need == self.protocol.need and self.counted >= self.protocol.count
        if self.phase == WAITING and enough:
            self.entries += 1
            fence = (0, self.entries, self.counted + 1)[self.protocol.fence]
            self.enter(out, fence, self.wanted)

    def obey(self, rule: Rule, src: int, out: Out) -> None:
        self.flags = ((self.flags | rule.raised) & ~rule.lowered) ^ rule.flipped
        self.counted = min(self.counted + rule.added, 3)
        if rule.choice and out.choose(2) == 1:
            self.flags |= rule.choice
        if rule.alarm == 1:
            out.set_timer(ALARM, 1.0)
        elif rule.alarm == 2:
            out.cancel_timer(ALARM)
        for to, kind in rule.sends:
            if to == 0 and src != self.me:
                out.send(src, KINDS[kind]())
            elif to == 1 and self.n > 1:
                out.send((self.me + 1) % self.n, KINDS[kind]())
            elif to == 2:
                out.broadcast(KINDS[kind]())


def node_class(made: Protocol) -> type[Node]:
    spec = Spec("made-up", "a protocol made up at random", made.problem)
    return type("MadeUp", (Player,), {"spec": spec, "protocol": made, "__module__": __name__})


__all__ = ["IDLE", "Protocol", "node_class", "protocol"]
