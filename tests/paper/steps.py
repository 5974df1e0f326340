"""Single steps of a node, told shortly: what it did, as text."""

from __future__ import annotations

from collections.abc import Callable
from re import sub

from congenial.kernel.effects import EVERYONE
from congenial.kernel.message import Message, field_values
from congenial.kernel.node import Node
from congenial.kernel.out import Outbox
from congenial.systems.system import System


def node(algorithm: type[Node], me: int, n: int, **options: str) -> Node:
    return System(algorithm, n, options).node(me)


def request(process: Node) -> list[str]:
    return step(lambda out: process.request((0,), out))


def release(process: Node) -> list[str]:
    return step(process.release)


def receive(process: Node, source: int, message: Message) -> list[str]:
    return step(lambda out: process.receive(source, message, out))


def step(act: Callable[[Outbox], None]) -> list[str]:
    """What a step did: 'Request(number=1) to all', 'Reply() to 2', 'enters'."""
    out = Outbox()
    act(out)
    done = [f"{told(message)} to {'all' if to == EVERYONE else to}" for to, message in out.sent]
    return done + (["enters"] if out.entered is not None else [])


def told(message: Message) -> str:
    fields = ", ".join([f"{name}={value}" for name, value in field_values(message).items()])
    return f"{type(message).__name__}({fields})"


def untimed(done: list[str]) -> list[str]:
    """The same without the times of answers, which grow with every message; that of a request is its number."""
    return [event if event.startswith("Request") else sub(r"time=\d+(, )?", "", event) for event in done]
