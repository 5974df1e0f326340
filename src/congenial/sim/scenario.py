"""A scenario: everything that determines a run, as data, checked before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from congenial.kernel.errors import ConfigError
from congenial.kernel.node import Node
from congenial.kernel.trace import Trace
from congenial.parts.detectors import parse_heartbeats
from congenial.sim.chance import Constant, Distribution, parse_distribution
from congenial.sim.engine import Engine
from congenial.sim.events import MOST_PROCESSES
from congenial.sim.faults import (
    FOREVER,
    NO_FAULTS,
    Faults,
    parse_message_fault,
    parse_outage,
    parse_partition,
)
from congenial.sim.workload import ClosedLoop, GroupChoice, Recorded, Turns, Workload
from congenial.systems.catalogue import find_algorithm
from congenial.systems.system import System
from congenial.transform.monitored import monitored

Number = float | str
"""A mean, or a distribution as users write it: 'uniform:5,15'."""


@dataclass(frozen=True)
class Scenario:
    """The parameters of a run. Times are in units of simulated time, sizes in integers.

    `load` is closed (every process thinks, asks, holds, `requests` times), burst (all ask once at time 0), single
    (only the last process asks, once), turns (one request at a time) or a CSV file of arrivals. Under weak exclusion a
    process that has entered issues `operations` operations, one after the other, before it holds.
    """

    algorithm: str | type[Node]
    nodes: int = 10
    groups: int = 1
    requests: int = 100
    think: Number = 50.0
    hold: Number = 20.0
    delay: Number = 10.0
    bandwidth: float = 0.0
    skew: str = ""
    fifo: bool | None = None  # None: as the algorithm needs it
    load: str = "closed"
    warmup: float = 0.0
    until: float = FOREVER
    loss: tuple[str, ...] = ()
    duplicate: tuple[str, ...] = ()
    reorder: tuple[str, ...] = ()
    crash: tuple[str, ...] = ()
    pause: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()
    suspect: tuple[str, ...] = ()
    detector: str = ""
    detection: float = -1.0
    operations: int = 0
    options: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        whole = {"nodes": self.nodes, "groups": self.groups, "requests": self.requests}
        for name, value in whole.items():
            if value < 1:
                raise ConfigError(f"--{name} must be at least 1, not {value}")
        if self.nodes >= MOST_PROCESSES:
            raise ConfigError(f"--nodes must be below {MOST_PROCESSES}, not {self.nodes}")
        for name, amount in {"bandwidth": self.bandwidth, "warmup": self.warmup, "until": self.until}.items():
            if not amount >= 0:
                raise ConfigError(f"--{name} must not be negative, and is {amount:g}")
        if self.until <= self.warmup and self.warmup > 0:
            raise ConfigError(f"--until {self.until:g} comes before the warm-up is over (--warmup {self.warmup:g})")

    def system(self) -> System:
        algorithm = find_algorithm(self.algorithm)
        if self.detector:
            algorithm = monitored(algorithm, *parse_heartbeats(self.detector))
        return System(algorithm, self.nodes, self.settings())

    def settings(self) -> dict[str, str]:
        """The algorithm's options. One that must know how many groups there are is told, unless `options` do."""
        names = [option.name for option in find_algorithm(self.algorithm).spec.options]
        told = {"groups": str(self.groups)} if "groups" in names else {}
        return {**told, **self.options}

    def keeps_order(self, system: System) -> bool:
        return system.spec.fifo if self.fifo is None else self.fifo

    def faults(self) -> Faults:
        n = self.nodes
        faults = Faults(
            loss=tuple([parse_message_fault(text, "loss") for text in self.loss]),
            duplication=tuple([parse_message_fault(text, "duplicate") for text in self.duplicate]),
            reordering=tuple([parse_message_fault(text, "reorder") for text in self.reorder]),
            crashes=tuple([parse_outage(text, "crash", n) for text in self.crash]),
            pauses=tuple([parse_outage(text, "pause", n) for text in self.pause]),
            partitions=tuple([parse_partition(text, n) for text in self.partition]),
            suspicions=tuple([parse_outage(text, "suspect", n) for text in self.suspect]),
            detection=self.detection,
        )
        return faults if faults.any else NO_FAULTS

    def workload(self) -> Workload:
        n = self.nodes
        think = self._distribution("think", self.think)
        hold = self._distribution("hold", self.hold, "uniform")
        choice = GroupChoice(self.groups, self.skew)
        if self.load == "closed":
            return ClosedLoop(n, self.requests, think, hold, choice)
        if self.load == "burst":
            return ClosedLoop(n, 1, Constant(0.0), hold, choice)
        if self.load == "single":
            return ClosedLoop(n, 1, Constant(0.0), hold, choice, first=n - 1)
        if self.load == "turns":
            gap = 2 * hold.mean + 1000 * (1 + self.channel_delay().mean) + n
            return Turns(n, self.requests, gap, hold, choice)
        if self.load.endswith(".csv"):
            return Recorded(self.load, n, hold)
        raise ConfigError(f"unknown load {self.load!r}: closed, burst, single, turns or a .csv file of arrivals")

    def channel_delay(self) -> Distribution:
        return self._distribution("delay", self.delay)

    def engine(self, seed: int, trace: Trace | None = None, progress: Callable[[int], None] | None = None) -> Engine:
        """A run, ready to go."""
        system = self.system()
        if not -(2**63) <= seed < 2**63:
            raise ConfigError(f"--seed must fit into 64 bits, and is {seed}")
        return Engine(
            system,
            self.workload(),
            self.channel_delay(),
            seed,
            fifo=self.keeps_order(system),
            bandwidth=self.bandwidth,
            faults=self.faults(),
            warmup=self.warmup,
            until=self.until,
            trace=trace,
            progress=progress,
            operations=system.operations(self.operations),
        )

    def _distribution(self, name: str, value: Number, bare: str = "exponential") -> Distribution:
        return parse_distribution(value if isinstance(value, str) else repr(float(value)), f"--{name}", bare)
