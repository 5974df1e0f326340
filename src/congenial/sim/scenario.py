"""A scenario: everything that determines a run, as data, checked before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from congenial.kernel import inputs
from congenial.kernel.errors import ConfigError
from congenial.kernel.inputs import MOST_GROUPS, algorithm_options, amount, flag, shown, text, whole
from congenial.kernel.node import Node
from congenial.kernel.trace import Trace
from congenial.parts.detectors import parse_heartbeats
from congenial.sim.arrivals import Arrival, as_arrivals, read_arrivals
from congenial.sim.chance import Constant, Distribution, DistributionLike, as_distribution, plain
from congenial.sim.engine import Engine
from congenial.sim.events import MOST_PROCESSES
from congenial.sim.faults import (
    FOREVER,
    NO_FAULTS,
    Faults,
    MessageFaultsLike,
    OutagesLike,
    PartitionsLike,
    as_message_faults,
    as_outages,
    as_partitions,
    several,
)
from congenial.sim.workload import ClosedLoop, GroupChoice, Recorded, Turns, Workload
from congenial.systems.catalogue import find_algorithm
from congenial.systems.system import System
from congenial.transform.monitored import monitored

WHOLE = ("nodes", "groups", "requests")  # at least 1
AMOUNTS = ("bandwidth", "warmup", "until", "detection")  # not negative
TEXTS = ("skew", "detector")
FAULTS = ("loss", "duplicate", "reorder", "crash", "pause", "partition", "suspect")  # any number of each


@dataclass(frozen=True)
class Scenario:
    """The parameters of a run. Times are in units of simulated time, sizes in integers.

    Delays, loads and faults are values, or the texts that the command line takes. These two are the same run:

    >>> from congenial.sim.chance import Uniform
    >>> from congenial.sim.faults import Outage
    >>> values = Scenario("suzuki-kasami", delay=Uniform(5, 15), pause=[Outage(process=2, start=100, end=200)])
    >>> texts = Scenario("suzuki-kasami", delay="uniform:5,15", pause="2@100-200")
    >>> values.faults() == texts.faults()
    True
    """

    algorithm: str | type[Node]
    """A name from the catalogue, the path of a file and a class in it, or a class."""
    nodes: int = 10
    """How many processes there are."""
    groups: int = 1
    """How many groups there are to ask for."""
    requests: int = 100
    """How often each process asks."""
    think: DistributionLike = 50.0
    """Time between requests. A bare mean is exponential."""
    hold: DistributionLike = 20.0
    """Time inside. A bare mean x is uniform on 0..2x."""
    delay: DistributionLike = 10.0
    """Time that a message takes. A bare mean is exponential."""
    bandwidth: float = 0.0
    """Integers that a channel carries per unit of time; 0: no limit."""
    skew: str = ""
    """'20/80': 20% of the groups draw 80% of the requests."""
    fifo: bool | None = None
    """Do channels keep the order of messages? None: if the algorithm needs it."""
    load: str | Sequence[Arrival] = "closed"
    """closed (every process thinks, asks and holds, `requests` times), burst (all ask once, at time 0), single (only
    the last process asks, once), turns (one request at a time), a CSV file of arrivals, or arrivals."""
    warmup: float = 0.0
    """Measure from this time on."""
    until: float = FOREVER
    """Stop at this time."""
    loss: MessageFaultsLike = ()
    """Messages are lost."""
    duplicate: MessageFaultsLike = ()
    """Messages arrive twice."""
    reorder: MessageFaultsLike = ()
    """Messages on FIFO channels are overtaken."""
    crash: OutagesLike = ()
    """Processes crash, and recover with what they had saved."""
    pause: OutagesLike = ()
    """Processes stop for a while, and lose nothing."""
    partition: PartitionsLike = ()
    """The network splits."""
    suspect: OutagesLike = ()
    """Processes are falsely suspected by all others."""
    detector: str = ""
    """'heartbeat:PERIOD,TIMEOUT': every process watches the others by messages."""
    detection: float | None = None
    """Time after which all processes learn of a crash or a recovery, without messages; None: they do not."""
    operations: int = 0
    """Under weak exclusion: how many operations a process that has entered issues, one after the other."""
    options: Mapping[str, str] = field(default_factory=dict)
    """The algorithm's own options."""

    def __post_init__(self) -> None:
        whole(self.nodes, "nodes", 1, MOST_PROCESSES - 1)
        whole(self.groups, "groups", 1, MOST_GROUPS)
        whole(self.requests, "requests", 1)
        whole(self.operations, "operations", 0)
        for name in AMOUNTS:
            if name != "detection" or self.detection is not None:
                amount(getattr(self, name), name, endless=name == "until")
        for name in TEXTS:
            text(getattr(self, name), name)
        if self.fifo is not None:
            flag(self.fifo, "fifo")
        if self.until <= self.warmup and self.warmup > 0:
            raise ConfigError(f"until ({plain(self.until)}) must be after warmup ({plain(self.warmup)})")
        for name in FAULTS:
            object.__setattr__(self, name, several(getattr(self, name)))
        object.__setattr__(self, "options", algorithm_options(self.options))
        self.faults()

    def system(self) -> System:
        algorithm = find_algorithm(self.algorithm)
        if self.detector:
            algorithm = monitored(algorithm, *parse_heartbeats(self.detector))
        return System(algorithm, self.nodes, self.settings())

    def settings(self) -> dict[str, str]:
        """The algorithm's options. If it has an option `groups`, that is the scenario's unless `options` say."""
        names = [option.name for option in find_algorithm(self.algorithm).spec.options]
        told = {"groups": str(self.groups)} if "groups" in names else {}
        return {**told, **self.options}

    def keeps_order(self, system: System) -> bool:
        return system.spec.fifo if self.fifo is None else self.fifo

    def faults(self) -> Faults:
        n = self.nodes
        faults = Faults(
            loss=as_message_faults(self.loss, "loss"),
            duplication=as_message_faults(self.duplicate, "duplicate"),
            reordering=as_message_faults(self.reorder, "reorder"),
            crashes=as_outages(self.crash, "crash", n),
            pauses=as_outages(self.pause, "pause", n),
            partitions=as_partitions(self.partition, "partition", n),
            suspicions=as_outages(self.suspect, "suspect", n),
            detection=-1.0 if self.detection is None else self.detection,
        )
        return faults if faults.any else NO_FAULTS

    def workload(self) -> Workload:
        n = self.nodes
        think = as_distribution(self.think, "think")
        hold = as_distribution(self.hold, "hold", "uniform")
        choice = GroupChoice(self.groups, self.skew)
        if not isinstance(self.load, str):
            return Recorded(as_arrivals(self.load, n), n, hold)
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
            try:
                return Recorded(read_arrivals(self.load, n), n, hold)
            except ConfigError as error:
                raise ConfigError(f"load: {error}") from None
        raise ConfigError(f"unknown load {shown(self.load)}: closed, burst, single, turns or a .csv file of arrivals")

    def channel_delay(self) -> Distribution:
        return as_distribution(self.delay, "delay")

    def engine(self, seed: int, trace: Trace | None = None, progress: Callable[[int], None] | None = None) -> Engine:
        """A run, ready to go."""
        system = self.system()
        inputs.seed(seed)
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


class NetworkFields(TypedDict, total=False):
    """The parameters of `Scenario` that describe the network and its faults."""

    delay: DistributionLike
    bandwidth: float
    fifo: bool | None
    loss: MessageFaultsLike
    duplicate: MessageFaultsLike
    reorder: MessageFaultsLike
    crash: OutagesLike
    pause: OutagesLike
    partition: PartitionsLike


class ScenarioFields(NetworkFields, total=False):
    """All parameters of `Scenario` but the algorithm, for functions that take them as keywords."""

    nodes: int
    groups: int
    requests: int
    think: DistributionLike
    hold: DistributionLike
    skew: str
    load: str | Sequence[Arrival]
    warmup: float
    until: float
    suspect: OutagesLike
    detector: str
    detection: float | None
    operations: int
    options: Mapping[str, str]
