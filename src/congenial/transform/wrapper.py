"""A node with another node inside that behaves as the inner one does: the base of all wrappers.

The inner node is given a `WrapperOut` as its `Out`. A wrapper that changes what the inner node sends (puts its messages
into its own, holds some back, ...) overrides it there; what the inner node receives it changes in `receive`. A
wrapper's application is the inner node's: the two are always in the same phase.
"""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups


@mypyc_attr(allow_interpreted_subclasses=True)
class Wrapper(Node):
    """List the inner node's class in `made_of`, unless an option chooses it."""

    def __init__(self, me: int, n: int, inner: Node) -> None:
        super().__init__(me, n)
        self.inner = inner

    def inner_out(self, out: Out) -> Out:
        """The `Out` of the inner node during one step."""
        return WrapperOut(self, out)

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.inner.request(groups, self.inner_out(out))

    def release(self, out: Out) -> None:
        self.leave()
        self.inner.release(self.inner_out(out))

    def could_enter(self) -> bool:
        return self.inner.could_enter()

    def issue(self, operation: object, out: Out) -> None:
        self.inner.issue(operation, self.inner_out(out))

    def receive(self, src: int, msg: Message, out: Out) -> None:
        self.inner.receive(src, msg, self.inner_out(out))

    def on_timer(self, timer: int, out: Out) -> None:
        self.inner.on_timer(timer, self.inner_out(out))

    def on_suspect(self, peer: int, out: Out) -> None:
        self.inner.on_suspect(peer, self.inner_out(out))

    def on_trust(self, peer: int, out: Out) -> None:
        self.inner.on_trust(peer, self.inner_out(out))

    def has_issued(self, count: int) -> None:
        self.inner.has_issued(count)

    def on_recover(self, out: Out) -> None:
        self.inner.on_recover(self.inner_out(out))

    def on_amnesia(self, out: Out) -> None:
        self.inner.on_amnesia(self.inner_out(out))

    def has_beliefs(self) -> bool:
        return type(self).belief is not Wrapper.belief or self.inner.has_beliefs()

    def belief(self) -> object:
        return self.inner.belief()

    def contradiction(self, one: object, other: object) -> str:
        return self.inner.contradiction(one, other)


@mypyc_attr(allow_interpreted_subclasses=True)
class WrapperOut(Out):
    """Passes on all that the inner node does. Each step has a new one, which is never part of a node's state."""

    def __init__(self, outer: Wrapper, out: Out) -> None:
        self.outer = outer
        self.out = out

    def send(self, dst: int, msg: Message) -> None:
        self.out.send(dst, msg)

    def broadcast(self, msg: Message) -> None:
        self.out.broadcast(msg)

    def enter(self, group: int, fence: int) -> None:
        self.outer.enter(self.out, fence, group)

    def eject(self) -> None:
        self.outer.lose(self.out)

    def execute(self, issuer: int, number: int, operation: object, result: object) -> None:
        self.out.execute(issuer, number, operation, result)

    def answer(self, number: int, result: object) -> None:
        self.out.answer(number, result)

    def restore(self, count: int) -> None:
        self.out.restore(count)

    def rest(self) -> None:
        self.out.rest()

    def set_timer(self, timer: int, delay: float) -> None:
        self.out.set_timer(timer, delay)

    def cancel_timer(self, timer: int) -> None:
        self.out.cancel_timer(timer)

    def choose(self, options: int) -> int:
        return self.out.choose(options)

    def save(self) -> None:
        self.out.save()
