"""A lease: the time until which the others are certain not to go on without this process.

Where an algorithm survives crashes, the others go on without a process that has been silent for too long. It may be
alive, and must know by its own clock when that can have happened (Gray & Cheriton 1989). What it hears from them is not
enough, since they may not hear it. So it needs their answers: it sends a `Beat` with the time on its clock, and a peer
answers with an `Echo` of that time and with how long it may be silent from then on. The peer got the beat after it was
sent, so it will not suspect this process before that time is over, counted from the sending.

A majority is needed to go on without a process. The lease lasts as long as this process and the peers that do not
suspect it yet make a majority. While it is over, tasks do not enter, and nothing that is held counts as held.

No common time is needed, only clocks whose speeds differ by at most `Timing.drift`. The clock must not stop while the
machine sleeps. And it must be read directly: the time that an event loop gives may be as old as its last event.

What remains: a single peer can suspect this process and persuade a majority that does not. The lease is then cut short
by a message from that majority. If the message is lost together with the connection, this process learns of its
exclusion late, by one lease at most. So fences are still needed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Final

READ: Final[Callable[[], float]] = (
    partial(time.clock_gettime, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
)


class Simulated:
    """In the place of the machine's clock, where time is simulated."""

    def __init__(self) -> None:
        self.clock: Callable[[], float] | None = None


SIMULATED: Final = Simulated()


def clock() -> float:
    simulated = SIMULATED.clock
    return READ() if simulated is None else simulated()


class Lease:
    """`stopped` is a pause between two looks that means that this process was stopped itself; `grace` is how long the
    answers to what it sends after that may take."""

    def __init__(
        self, n: int, stopped: float, grace: float, drift: float = 0.0, clock: Callable[[], float] = clock
    ) -> None:
        self.needed = n // 2  # peers that make a majority with this process
        self.drift = drift  # seconds in a second: how differently clocks may run
        self.clock = clock
        self.stopped = stopped
        self.grace = grace
        self.granted: dict[int, float] = {}  # until when each peer does not suspect this process
        self.until = -math.inf if self.needed else math.inf
        self.lapsed = False  # it was seen to be over, and has not been renewed
        self.told = False  # and the holders know
        self.looked_at = clock()
        self.excused_until = self.looked_at

    def over(self) -> bool:
        if self.clock() < self.until:
            return False
        self.lapsed = True
        return True

    def has_run_out(self) -> bool:
        """The same for other threads: nothing changes."""
        return self.clock() >= self.until

    def left(self) -> float:
        """For how many seconds the lease lasts."""
        return max(self.until - self.clock(), 0.0)

    def granted_by(self, peer: int) -> bool:
        return not self.needed or self.clock() < self.granted.get(peer, -math.inf)

    def grant(self, peer: int, sent: float, allowed: float) -> bool:
        """A peer has answered what was sent at this time. True if the lease was over, and goes on."""
        until = sent + allowed * (1 - self.drift)
        if until > self.granted.get(peer, -math.inf):
            self.granted[peer] = until
            if len(self.granted) >= self.needed > 0:
                self.until = sorted(self.granted.values())[-self.needed]
        return self._goes_on()

    def _goes_on(self) -> bool:
        """True if the lease, which was seen to be over, goes on."""
        if not self.lapsed or self.clock() >= self.until:
            return False
        self.lapsed = self.told = False
        return True

    def look(self) -> bool:
        """True if holders have to be told now that the lease is over. To be called often. If it is over because this
        process was stopped, the others may not have gone on yet: their answers are waited for."""
        now = self.clock()
        if now - self.looked_at > self.stopped:
            self.excused_until = now + self.grace
        self.looked_at = now
        if not self.over() or now < self.excused_until or self.told:
            return False
        self.told = True
        return True


class Endless(Lease):
    """For algorithms that do not go on without a silent process, or that rely on suspicions that are never wrong."""

    def __init__(self) -> None:
        super().__init__(1, 0.0, 0.0)

    def over(self) -> bool:
        return False

    def has_run_out(self) -> bool:
        return False

    def left(self) -> float:
        return math.inf


ENDLESS = Endless()
OVER = Lease(2, 0.0, 0.0)  # which nobody grants
