"""The failure detector: perfect except for scripted mistakes, and late by a constant time."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from mypy_extensions import i64

from congenial.kernel.trace import SUSPECT, TRUST, Event
from congenial.sim.events import ANNOUNCE, DOWN, PAUSED
from congenial.sim.faults import Faults

if TYPE_CHECKING:
    from congenial.sim.engine import Engine


@final
class FailureDetector:
    """Tells every process that is up which others have crashed, or recovered.

    A crash that is over before it would have been announced goes unnoticed. A process that has recovered learns which
    others are down.
    """

    def __init__(self, n: int, faults: Faults) -> None:
        self.n = n
        self.delay = faults.detection  # from a crash or recovery to its announcement; negative: there is none
        active = faults.detection >= 0.0 or bool(faults.suspicions)
        self.falsely_suspected: list[int] = [0] * n  # how many false suspicions of each process are in force
        self.announced: list[bool] = [False] * n  # was the process last announced as crashed?
        self.suspects: list[set[int]] = [set() for _ in range(n)] if active else []  # of each process

    def notice(self, engine: Engine, process: i64) -> None:
        """The process has crashed or recovered."""
        if self.delay >= 0.0:
            engine.queue.push(engine.now + self.delay, ANNOUNCE | process)

    def forget(self, process: i64) -> None:
        """A process that has just recovered suspects no other."""
        if self.suspects:
            self.suspects[process] = set()

    def announce(self, engine: Engine, peer: i64) -> None:
        """Tell all processes whether `peer` is up."""
        gone = engine.status[peer] == DOWN
        self.announced[peer] = gone
        for process in range(self.n):
            if process != peer:
                self.update(engine, process, peer)
                if not gone and (self.announced[process] or self.falsely_suspected[process] > 0):
                    self.update(engine, peer, process)

    def suspect_falsely(self, engine: Engine, peer: i64, begins: bool) -> None:
        """A false suspicion of `peer`, by all others, begins or ends."""
        self.falsely_suspected[peer] += 1 if begins else -1
        for process in range(self.n):
            if process != peer:
                self.update(engine, process, peer)

    def update(self, engine: Engine, process: i64, peer: i64) -> None:
        """Tell one process about `peer`, if that is news to it."""
        status = engine.status[process]
        if status == PAUSED:
            engine.disturbances.defer(process, ANNOUNCE | peer)
            return
        gone = self.falsely_suspected[peer] > 0 or (self.announced[peer] and engine.status[peer] == DOWN)
        suspects = self.suspects[process]
        if status == DOWN or gone == (peer in suspects):
            return
        engine.current = process
        if engine.trace is not None:
            engine.trace.record(Event(engine.now, SUSPECT if gone else TRUST, process, peer))
        if gone:
            suspects.add(peer)
            engine.nodes[process].on_suspect(peer, engine)
        else:
            suspects.discard(peer)
            engine.nodes[process].on_trust(peer, engine)
        engine.after_step(process)
