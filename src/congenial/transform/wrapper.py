"""A node with another node inside, which behaves as the inner one does: what every wrapper begins with.

The inner node's way out is a `Relay`: a wrapper that changes what the inner node says (puts its messages into its own,
keeps some back, ...) overrides it there, and in `receive` what the inner node hears. A wrapper's application is the
inner node's: the two are always in the same phase.
"""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups


@mypyc_attr(allow_interpreted_subclasses=True)
class Wrapper(Node):
    """List the inner node's class in `made_of`, unless an option says which it is."""

    def __init__(self, me: int, n: int, inner: Node) -> None:
        super().__init__(me, n)
        self.inner = inner

    def relay(self, out: Out) -> Out:
        """The way out for the inner node during one step."""
        return Relay(self, out)

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.inner.request(groups, self.relay(out))

    def release(self, out: Out) -> None:
        self.leave()
        self.inner.release(self.relay(out))

    def issue(self, operation: object, out: Out) -> None:
        self.inner.issue(operation, self.relay(out))

    def receive(self, src: int, msg: Message, out: Out) -> None:
        self.inner.receive(src, msg, self.relay(out))

    def on_timer(self, timer: int, out: Out) -> None:
        self.inner.on_timer(timer, self.relay(out))

    def on_suspect(self, peer: int, out: Out) -> None:
        self.inner.on_suspect(peer, self.relay(out))

    def on_trust(self, peer: int, out: Out) -> None:
        self.inner.on_trust(peer, self.relay(out))

    def on_recover(self, out: Out) -> None:
        self.inner.on_recover(self.relay(out))


@mypyc_attr(allow_interpreted_subclasses=True)
class Relay(Out):
    """Passes on all that the inner node does. Made anew for every step; never part of a node's state."""

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
