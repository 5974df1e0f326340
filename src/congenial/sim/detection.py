"""How good a failure detector is, measured: detection time, mistake rate, mistake duration (Chen, Toueg and Aguilera
2002).

Each run has processes that do nothing but watch each other. In the middle of it, at a random moment, the last of them
crashes. Every other process's opinion of every other is followed. What it costs is measured, too: messages per process
and unit of time.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.parts.detectors import parse_heartbeats
from congenial.sim.engine import Engine
from congenial.sim.scenario import Scenario
from congenial.sim.statistics import mean
from congenial.systems.streams import stream
from congenial.transform.monitored import Monitored, monitored


class Watcher(Node):
    """Waits for ever, so that a run goes on until its time is up."""

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()

    def receive(self, src: int, msg: Message, out: Out) -> None:
        raise self.unexpected(src, msg)


Opinion = tuple[float, int, int, bool]
"""When, who, about whom, and whether that one is suspected from now on."""


class Observed(Monitored):
    """Tells the experimenter what it thinks."""

    engine: ClassVar[Engine | None] = None
    opinions: ClassVar[list[Opinion]] = []

    def on_suspect(self, peer: int, out: Out) -> None:
        self._tell(peer, True)

    def on_trust(self, peer: int, out: Out) -> None:
        self._tell(peer, False)

    def _tell(self, peer: int, suspected: bool) -> None:
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
    """Crashes that somebody had not noticed when the run was over."""
    mistake_rate: float
    """Mistakes of one process about one other per unit of time."""
    mistake_duration: float
    accuracy: float
    """The chance that a process which is up is not suspected, at a random moment."""
    mistakes: int
    messages_per_time: float
    """Of one process."""

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def measure_detector(
    detector: str, *, nodes: int = 5, duration: float = 0.0, runs: int = 20, seed: int = 1, **network: Any
) -> Quality:
    """Measure a detector, as in 'heartbeat:10,40'. `network` are parameters of `Scenario`: delay, loss, pause, ...
    A run takes 200 periods unless `duration` says otherwise.

    >>> measure_detector("heartbeat:10,25", delay="constant:5", runs=2).mistakes
    0
    """
    period, timeout = parse_heartbeats(detector)
    if nodes < 2 or runs < 1:
        raise ConfigError(f"a detector needs at least 2 --nodes and 1 of --runs, not {nodes} and {runs}")
    end = duration if duration > 0 else 200 * period
    found = Findings()
    messages = 0
    alive = 0.0  # process times time
    for number in range(runs):
        crash = end * 0.5 + period * stream(seed + number, 0).random()
        observed = monitored(Watcher, period, timeout, Observed)
        assert issubclass(observed, Observed)
        crashes = (*network.get("crash", ()), f"{nodes - 1}@{crash}")
        parameters = {**network, "load": "burst", "until": end, "crash": crashes}
        engine = Scenario(observed, nodes=nodes, **parameters).engine(seed + number)
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
    """What the opinions of several runs come to."""

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
                    of_pair = [(when, bad) for when, who, whom, bad in opinions if who == watcher and whom == peer]
                    self._pair(of_pair, crash if peer == nodes - 1 else end, end)

    def _pair(self, changes: list[tuple[float, bool]], down: float, end: float) -> None:
        """One process's opinions of another, which is up until `down`."""
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
