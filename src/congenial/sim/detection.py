"""The quality of failure detectors: detection time, mistake rate, mistake duration (Chen, Toueg and Aguilera 2002).

The processes of a run do nothing but watch each other. About the middle of the run, at a random moment, the last one
crashes. What every process thinks of every other is recorded, and so is the cost: messages per process and unit of
time.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import ClassVar, Unpack

from congenial.kernel import inputs
from congenial.kernel.inputs import amount, whole
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.parts.detectors import parse_heartbeats
from congenial.sim.engine import Engine
from congenial.sim.faults import Outage, several
from congenial.sim.scenario import NetworkFields, Scenario
from congenial.sim.statistics import mean
from congenial.systems.streams import stream
from congenial.transform.monitored import Monitored, monitored

MOST_NODES = 1000  # every process watches every other


class Watcher(Node):
    """Waits forever, so that a run goes on until its time is up."""

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()

    def receive(self, src: int, msg: Message, out: Out) -> None:
        raise self.unexpected(src, msg)


Opinion = tuple[float, int, int, bool]
"""A time, the process that changes its mind, the process it does so about, and whether it suspects that from now on."""


class Observed(Monitored):
    """Records what it thinks."""

    engine: ClassVar[Engine | None] = None
    opinions: ClassVar[list[Opinion]] = []

    def on_suspect(self, peer: int, out: Out) -> None:
        self._record(peer, True)

    def on_trust(self, peer: int, out: Out) -> None:
        self._record(peer, False)

    def _record(self, peer: int, suspected: bool) -> None:
        engine = type(self).engine
        assert engine is not None
        type(self).opinions.append((engine.now, self.me, peer, suspected))


@dataclass(frozen=True)
class Quality:
    """Means over all runs and all pairs of processes; times in units of simulated time."""

    detector: str
    nodes: int
    runs: int
    detection_time: float
    """From the crash until it is suspected for good."""
    detection_time_max: float
    undetected: int
    """How often a process had not noticed the crash when the run was over."""
    mistake_rate: float
    """Mistakes of one process about one other per unit of time."""
    mistake_duration: float
    accuracy: float
    """The probability that a process that is up is not suspected, at a random moment."""
    mistakes: int
    messages_per_time: float
    """Of one process."""

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def measure_detector(
    detector: str,
    *,
    nodes: int = 5,
    duration: float = 0.0,
    runs: int = 20,
    seed: int = 1,
    **network: Unpack[NetworkFields],
) -> Quality:
    """Measure a detector, such as 'heartbeat:10,40'. `network` are parameters of `Scenario`: delay, loss, pause, ...
    A run takes 200 periods unless `duration` says otherwise.

    >>> measure_detector("heartbeat:10,25", delay="constant:5", runs=2).mistakes
    0
    """
    period, timeout = parse_heartbeats(detector)
    whole(nodes, "nodes", 2, MOST_NODES)
    whole(runs, "runs", 1)
    inputs.seed(seed, runs)
    end = amount(duration, "duration") or 200 * period
    found = Findings()
    messages = 0
    alive = 0.0  # process times time
    for number in range(runs):
        crash = end * 0.5 + period * stream(seed + number, 0).random()
        observed = monitored(Watcher, period, timeout, Observed)
        assert issubclass(observed, Observed)
        disturbed = network.copy()
        disturbed["crash"] = (*several(network.get("crash", ())), Outage(nodes - 1, crash))
        engine = Scenario(observed, nodes=nodes, load="burst", until=end, **disturbed).engine(seed + number)
        observed.engine, observed.opinions = engine, []
        engine.run()
        found.add(observed.opinions, nodes, crash, end)
        alive += end * (nodes - 1) + crash
        messages += sum([int(kind.count) for kind in engine.meter.kinds.values()])
    return Quality(
        detector=detector,
        nodes=nodes,
        runs=runs,
        detection_time=mean(found.detections),
        detection_time_max=max(found.detections, default=0.0),
        undetected=found.undetected,
        mistake_rate=found.mistakes / found.watched,
        mistake_duration=mean(found.durations),
        accuracy=1.0 - found.wrong / found.watched,
        mistakes=found.mistakes,
        messages_per_time=messages / alive,
    )


class Findings:
    """What follows from the opinions of several runs."""

    def __init__(self) -> None:
        self.detections: list[float] = []
        self.undetected = 0
        self.mistakes = 0
        self.durations: list[float] = []  # of the mistakes that were taken back
        self.wrong = 0.0  # time spent in error, over all pairs
        self.watched = 0.0  # time in which one process watched another that was up, over all pairs

    def add(self, opinions: list[Opinion], nodes: int, crash: float, end: float) -> None:
        for watcher in range(nodes - 1):
            for peer in range(nodes):
                if peer != watcher:
                    of_pair = [
                        (when, bad) for when, whose, about, bad in opinions if whose == watcher and about == peer
                    ]
                    self._pair(of_pair, crash if peer == nodes - 1 else end, end)

    def _pair(self, changes: list[tuple[float, bool]], down: float, end: float) -> None:
        """Count one process's opinions of another, which is up until `down`."""
        self.watched += down
        since = -1.0  # since when it is suspected, if it is
        for when, suspected in changes:
            if when < down:
                if suspected:
                    self.mistakes += 1
                else:
                    self.durations.append(when - since)
                    self.wrong += when - since
            since = when if suspected else -1.0
        if down < end:
            if since < 0.0:
                self.undetected += 1
            else:
                self.detections.append(max(0.0, since - down))
        if 0.0 <= since < down:
            self.wrong += down - since
