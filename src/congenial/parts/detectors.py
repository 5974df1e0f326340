"""Failure detectors: which processes seem to have crashed.

A perfect detector never errs. It exists only where crashes are known: in the simulator (`Scenario.detection`) and in
the checker. On a real network there is only silence, and a silent process may just be slow. `Heartbeats` suspects a
process that has been silent for too long. It takes the suspicion back at the next sign of life, and is then more
patient with that process. Where delays are bounded in the end, it errs only finitely often about each process, and so
becomes eventually perfect (Chandra and Toueg 1996). How good it is until then depends on two numbers: how often to send
a sign of life, and how long to wait for one; see `congenial.sim.detection`.

It is a part: a node hands it its timers and the `Heartbeat` messages. It needs no clock, only timers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.kernel import inputs
from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message, Messages
from congenial.kernel.out import Out
from congenial.kernel.part import Part

NOBODY: Final = -1
BEAT: Final = 0  # the timer of our own signs of life; 1 + peer is that of a peer's silence


@dataclass(frozen=True)
class Heartbeat(Message):
    """I am alive."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Patience:
    """How long one process may be silent: longer after every mistake, up to a limit."""

    def __init__(self, first: float, step: float, most: float) -> None:
        self.allowed = first
        self.step = step
        self.most = most

    def was_wrong(self) -> None:
        self.allowed = min(self.allowed + self.step, self.most)


@mypyc_attr(allow_interpreted_subclasses=True)
class Heartbeats(Part):
    """Sends a sign of life to everyone each `period`, and suspects a process that sends none for `timeout`. After a
    mistake about a process, that process may be silent for a `period` longer."""

    messages: ClassVar[Messages] = (Heartbeat,)

    def __init__(self, me: int, n: int, period: float, timeout: float, most: float = 1e9) -> None:
        self.me = me
        self.n = n
        self.period = period
        self.patience = [Patience(timeout, period, most) for _ in range(n)]
        self.suspects: set[int] = set()
        self.started = False

    @property
    def timers(self) -> int:
        """How many timers it needs: those with the numbers below."""
        return self.n + 1

    def start(self, out: Out) -> None:
        """Begin, if it has not begun yet."""
        if self.started:
            return
        self.started = True
        self._beat(out)
        for peer in range(self.n):
            if peer != self.me:
                out.set_timer(1 + peer, self.patience[peer].allowed)

    def heard(self, peer: int, out: Out) -> bool:
        """A sign of life has arrived. Was the peer suspected until now?"""
        wrong = peer in self.suspects
        if wrong:
            self.suspects.remove(peer)
            self.patience[peer].was_wrong()
        out.set_timer(1 + peer, self.patience[peer].allowed)
        return wrong

    def on_timer(self, timer: int, out: Out) -> int:
        """The process that is suspected from now on, or NOBODY."""
        if timer == BEAT:
            self._beat(out)
            return NOBODY
        self.suspects.add(timer - 1)
        return timer - 1

    def _beat(self, out: Out) -> None:
        out.broadcast(Heartbeat())
        out.set_timer(BEAT, self.period)


def parse_heartbeats(text: Any) -> tuple[float, float]:
    """Period and timeout, from 'heartbeat:PERIOD,TIMEOUT'."""
    kind, _, numbers = inputs.text(text, "detector").partition(":")
    try:
        period, timeout = [float(number) for number in numbers.split(",")]
    except ValueError:
        period = timeout = 0.0
    if kind != "heartbeat" or not 0 < period < 1e9 or not 0 < timeout < 1e9:
        raise ConfigError(f"a detector is written heartbeat:PERIOD,TIMEOUT, both above 0, not {inputs.shown(text)}")
    return period, timeout
