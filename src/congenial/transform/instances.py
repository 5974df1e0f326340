"""A node that runs numbered instances of another algorithm, one after the other, each on some of the processes.

A crash can take a token, a permission or an answer from an algorithm. None of that has to be recovered if the remaining
processes start a new instance. Wrappers that do so differ in how they agree on the remaining processes; what they share
is here. An instance of m processes numbers them 0..m-1, in the order of their real numbers. Messages carry the number
of their instance, so that those of an earlier one are recognised.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.kernel.errors import ContractError
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups, Problem
from congenial.kernel.spec import Option, Settings, Spec
from congenial.parts.loopback import Loopback
from congenial.problems.mutex import MUTEX

OWN_TIMERS: Final = 16  # timers below are the wrapper's, the others the inner node's

_settled: dict[tuple[type[Node], int, tuple[tuple[str, str], ...]], Settings] = {}  # made once, not by every node


@dataclass(frozen=True)
class Inside(Message):
    """A message of the inner algorithm."""

    instance: int
    body: Message


class Setting:
    """An option of the inner algorithm, as a user wrote it, since instances of different sizes build different things
    from it. It is checked by building one for all processes."""

    def __init__(self, option: Option, text: str, n: int) -> None:
        value = option.build(text, n)
        self.text = text
        self._sizes: dict[str, int] = {}
        if hasattr(value, "sizes"):
            self._sizes = value.sizes()
        elif option.variable and isinstance(value, int):
            self._sizes = {option.variable: value}

    def sizes(self) -> dict[str, int]:
        return self._sizes


class SettingBuilder:
    """Builds a `Setting` for an option."""

    def __init__(self, option: Option) -> None:
        self.option = option

    def __call__(self, text: str, n: int) -> object:
        return Setting(self.option, text, n)


def settled(algorithm: type[Node], n: int, texts: tuple[tuple[str, str], ...]) -> Settings:
    """An algorithm's options for n processes."""
    key = (algorithm, n, texts)
    settings = _settled.get(key)
    if settings is None:
        settings = _settled[key] = Settings(algorithm.spec, algorithm.spec.name, n, dict(texts))
    return settings


@mypyc_attr(allow_interpreted_subclasses=True)
class Instances(Loopback):
    """Instance 0 runs on all processes from the start."""

    messages: ClassVar[Messages] = (Inside,)
    algorithm: ClassVar[type[Node]] = Node

    def __init__(self, me: int, n: int, **settings: Setting) -> None:
        super().__init__(me, n)
        self.settings = tuple([(name, settings[name].text) for name in sorted(settings)])
        self.instance = 0
        self.members = tuple(range(n))
        self.inner = self._new_inner()
        self.inner_timers: list[int] = []
        self.running = True  # the inner node works; otherwise its application waits
        self.wants: Groups = ()  # what the application waits for

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.wants = groups
        if self.running:
            self.inner.request(groups, self.inner_out(out))

    def begin(self, instance: int, members: tuple[int, ...], out: Out) -> None:
        """Replace the instance by a new one; this process must be a member."""
        self.drop_timers(out)
        self.instance = instance
        self.members = members
        self.inner = self._new_inner()

    def drop_timers(self, out: Out) -> None:
        for timer in self.inner_timers:
            out.cancel_timer(OWN_TIMERS + timer)
        self.inner_timers = []

    def _new_inner(self) -> Node:
        inner: Node = type(self).algorithm(self.place(self.me), len(self.members), **self._settings().arguments)
        return inner

    def inner_problem(self) -> Problem:
        """The problem that the inner algorithm solves, for the current members."""
        return (type(self).algorithm.spec.problem or MUTEX).sized(self._settings().sizes)

    def _settings(self) -> Settings:
        """The inner algorithm's options for as many processes as there are members."""
        return settled(type(self).algorithm, len(self.members), self.settings)

    def inner_out(self, out: Out) -> Out:
        """The `Out` of the inner node during one step."""
        return InstanceOut(self, out)

    def admit(self, group: int, fence: int, out: Out) -> None:
        """The inner node has entered."""
        raise NotImplementedError

    def hand_in(self, src: int, body: Message, out: Out) -> None:
        """Give the inner node a message of its instance."""
        place = self.place(src)
        if place < 0:
            raise ContractError(f"process {src} is no member of instance {self.instance}: {self.members}")
        self.inner.receive(place, body, self.inner_out(out))

    def place(self, process: int) -> int:
        """A member's number in the instance, or -1."""
        if len(self.members) == self.n:
            return process
        place = bisect_left(self.members, process)
        return place if place < len(self.members) and self.members[place] == process else -1

    def on_inner_timer(self, timer: int, out: Out) -> None:
        """`timer` is numbered as this node's. A timer that an earlier instance has set may still expire."""
        inner = timer - OWN_TIMERS
        if inner in self.inner_timers:
            self.inner_timers.remove(inner)
            self.inner.on_timer(inner, self.inner_out(out))


@mypyc_attr(allow_interpreted_subclasses=True)
class InstanceOut(Out):
    """Passes on what the inner node does, with the real numbers of processes and in `Inside` messages."""

    def __init__(self, outer: Instances, out: Out) -> None:
        self.outer = outer
        self.out = out

    def send(self, dst: int, msg: Message) -> None:
        self.out.send(self.outer.members[dst], Inside(self.outer.instance, msg))

    def broadcast(self, msg: Message) -> None:
        outer = self.outer
        wrapped = Inside(outer.instance, msg)
        if len(outer.members) == outer.n:
            self.out.broadcast(wrapped)
            return
        for member in outer.members:
            if member != outer.me:
                self.out.send(member, wrapped)

    def enter(self, group: int, fence: int) -> None:
        self.outer.admit(group, fence, self.out)

    def set_timer(self, timer: int, delay: float) -> None:
        if timer not in self.outer.inner_timers:
            self.outer.inner_timers.append(timer)
            self.outer.inner_timers.sort()
        self.out.set_timer(OWN_TIMERS + timer, delay)

    def cancel_timer(self, timer: int) -> None:
        if timer in self.outer.inner_timers:
            self.outer.inner_timers.remove(timer)
        self.out.cancel_timer(OWN_TIMERS + timer)

    def choose(self, options: int) -> int:
        return self.out.choose(options)

    def save(self) -> None:
        """The inner node's state is not saved: after a crash there is a new node."""


def transformed(algorithm: type[Node], wrapper: type[Instances], spec: Spec, problem: Problem) -> type[Node]:
    """The class of nodes that run instances of `algorithm`. `spec` holds the claims of the wrapper. The name, the title
    and the options are made from both."""
    namespace = {
        "algorithm": algorithm,
        "spec": combined(algorithm.spec, spec, problem),
        "made_of": (algorithm, *wrapper.made_of),
        "__doc__": f"{algorithm.__name__}, {spec.title}.",
        "__module__": __name__,
    }
    return type(f"{algorithm.__name__}{wrapper.__name__}", (wrapper,), namespace)


def combined(inner: Spec, spec: Spec, problem: Problem) -> Spec:
    """The claims of an algorithm and of what is made of it, in one."""
    return replace(
        spec,
        name=f"{inner.name}+{spec.name}",
        title=f"{inner.title}, {spec.title}",
        problem=problem,
        fifo=inner.fifo or spec.fifo,
        fences=inner.fences,
        size=inner.size,
        concurrency=inner.concurrency,
        concurrent_entry=inner.concurrent_entry,
        options=(*[replace(option, build=SettingBuilder(option)) for option in inner.options], *spec.options),
    )
