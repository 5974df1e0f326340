"""Any algorithm with a failure detector of its own: heartbeats between the processes.

The inner node's messages travel unchanged. Its timers are renumbered to make room for the detector's. The detector
starts with the process's first step. It tells the inner node its suspicions by `on_suspect` and `on_trust`. If the
driver has a detector as well, its suspicions are passed on too.
"""

from __future__ import annotations

from typing import Any, ClassVar

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.parts.detectors import NOBODY, Heartbeat, Heartbeats
from congenial.transform.wrapper import Wrapper, WrapperOut


@mypyc_attr(allow_interpreted_subclasses=True)
class Monitored(Wrapper):
    """Use `monitored` to make one."""

    durable: ClassVar[tuple[str, ...]] = ("inner",)
    period: ClassVar[float] = 1.0
    timeout: ClassVar[float] = 2.0

    def __init__(self, me: int, n: int, inner: Node) -> None:
        super().__init__(me, n, inner)
        self.detector = Heartbeats(me, n, type(self).period, type(self).timeout)

    def inner_out(self, out: Out) -> Out:
        self.detector.start(out)
        return MovedTimers(self, out, self.detector.timers)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if not isinstance(msg, Heartbeat):
            super().receive(src, msg, out)
            return
        self.detector.start(out)
        if self.detector.heard(src, out):
            self.on_trust(src, out)

    def on_timer(self, timer: int, out: Out) -> None:
        if timer >= self.detector.timers:
            super().on_timer(timer - self.detector.timers, out)
            return
        suspected = self.detector.on_timer(timer, out)
        if suspected != NOBODY:
            self.on_suspect(suspected, out)


@mypyc_attr(allow_interpreted_subclasses=True)
class MovedTimers(WrapperOut):
    def __init__(self, outer: Wrapper, out: Out, by: int) -> None:
        super().__init__(outer, out)
        self.by = by

    def set_timer(self, timer: int, delay: float) -> None:
        self.out.set_timer(timer + self.by, delay)

    def cancel_timer(self, timer: int) -> None:
        self.out.cancel_timer(timer + self.by)


def monitored(algorithm: type[Node], period: float, timeout: float, base: type[Monitored] = Monitored) -> type[Node]:
    """The algorithm with heartbeats, under its own name."""

    def build(self: Monitored, me: int, n: int, **options: Any) -> None:
        base.__init__(self, me, n, algorithm(me, n, **options))

    about = {
        "__init__": build,
        "spec": algorithm.spec,
        "made_of": (algorithm, Heartbeats),
        "period": period,
        "timeout": timeout,
        "__module__": __name__,
    }
    return type(algorithm.__name__, (base,), about)
