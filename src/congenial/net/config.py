"""What a cluster is: its members and where they listen, how they trust each other, what they run.

All of that is in a `ClusterConfig`. It comes from the arguments of `join`, or from a file:

    cluster = "jukebox"
    algorithm = "home-gme+views"        # the same everywhere
    state = "state/{name}"              # what survives a restart; {name} is the node's name

    listen = "0.0.0.0"                  # where members listen, if not at their addresses below
    metrics = "127.0.0.1:9100"          # where Prometheus metrics are served, and whether the member is healthy

    [nodes]
    a = "10.0.0.1:7101"
    b = "10.0.0.2:7101"
    c = "10.0.0.3:7101"

Or it names members of a running cluster, by any of which a process enters that is not in the list:

    cluster = "jukebox"
    seeds = ["10.0.0.1:7101", "10.0.0.2:7101"]
    address = "10.0.0.4:7101"           # where the others call this process; if not given, a free port

    [tls]                               # paths are relative to this file; {name} is the node's name
    ca = "certs/ca.pem"
    certificate = "certs/{name}.pem"
    key = "certs/{name}.key"
"""

from __future__ import annotations

import os
import socket
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, TypedDict

from msgspec import Meta

from congenial.kernel.errors import ConfigError
from congenial.kernel.node import Node
from congenial.net.addresses import (
    Address,
    Listen,
    Place,
    Seeds,
    address,
    check_name,
    check_nodes,
    check_seeds,
    checked_place,
    is_loopback,
    listening_address,
)
from congenial.net.checked import (
    Drift,
    Flag,
    FolderPath,
    PlainFile,
    Seconds,
    Text,
    check_fields,
    decode,
    did_you_mean,
    hints,
    shown,
    wrong,
)
from congenial.net.tls import Tls
from congenial.problems.epochs import within_epoch
from congenial.problems.kmutex import KMUTEX
from congenial.systems.catalogue import ALGORITHMS, find_algorithm
from congenial.systems.system import System
from congenial.transform.views import InViews

DEFAULT_ALGORITHM = "home-gme+views"
SEMAPHORES_IN_VIEWS = "home-k+views"
OTHER_SEMAPHORES = "srimani-reddy+epochs"
LONGEST_FILE = 1 << 20  # bytes of a cluster.toml

ClusterName = Annotated[
    str, Meta(pattern="^[^\\x00-\\x1f\\x7f]{1,63}$", description="1 to 63 characters, none of them a control character")
]
AlgorithmName = Annotated[str, Meta(min_length=1, description="the name of an algorithm, as `congenial list` gives it")]
SemaphoresName = Annotated[
    str, Meta(description="the name of an algorithm, as `congenial list` gives it, or empty for one that fits")
]


@dataclass(frozen=True)
class Timing:
    """How fast a cluster reacts, in seconds. All members should have the same.

    >>> Timing(heartbeat=0.1, suspect_after=1.0)
    Timing(heartbeat=0.1, suspect_after=1.0, gather=30.0, reconnect=0.05, reconnect_most=1.0, ...)
    """

    heartbeat: Seconds = 0.5  # a sign of life, at least so often
    suspect_after: Seconds = 3.0  # silence after which a peer is believed to have crashed; longer after mistakes
    gather: Seconds = 30.0  # how long the members may take to come together
    reconnect: Seconds = 0.05  # pause before a connection is tried again; doubles, up to `reconnect_most`
    reconnect_most: Seconds = 1.0
    timer_unit: Seconds = 0.01  # one unit of the algorithms' timers
    drift: Drift = 0.001  # how differently the clocks of two machines may run: seconds in a second

    def __post_init__(self) -> None:
        check_fields(self)
        if self.heartbeat >= self.suspect_after:
            raise wrong("heartbeat", self.heartbeat, f"below suspect_after, which is {self.suspect_after}")
        if self.reconnect > self.reconnect_most:
            raise wrong("reconnect", self.reconnect, f"at most reconnect_most, which is {self.reconnect_most}")


@dataclass(frozen=True)
class ClusterConfig:
    """A cluster: the addresses of its members, and what all of them must agree on.

    >>> config = ClusterConfig({"a": "127.0.0.1:7101", "b": "127.0.0.1:7102"}, cluster="jukebox")
    >>> config.members
    ('a', 'b')
    >>> ClusterConfig({"a": "10.0.0.1:7101"})
    Traceback (most recent call last):
    congenial.kernel.errors.ConfigError: node 'a' is at 10.0.0.1:7101, beyond this machine, and there are no ...
    """

    nodes: Mapping[str, Address] = field(default_factory=dict)  # address of every founder, by name
    cluster: ClusterName = "congenial"
    algorithm: AlgorithmName | type[Node] = DEFAULT_ALGORITHM
    options: Mapping[str, Text] = field(default_factory=dict)
    tls: Tls | None = None
    insecure: Flag = False  # without certificates, allow addresses beyond this machine
    timing: Timing = field(default_factory=Timing)
    state: FolderPath = ""  # a directory for what must survive a restart ({name}: the node's); none by default
    semaphores: SemaphoresName | type[Node] = ""  # the algorithm of semaphores; empty for one that fits the other
    secret: PlainFile = ""  # a file with a secret that all members know; this user's, if all are on this machine
    listen: Listen = ""  # where members listen, if not at their addresses in `nodes`: a host, or host:port
    metrics: Place = ""  # host:port where Prometheus metrics, /healthz and /readyz are served
    metrics_by_lock: Flag = False  # whether metrics tell locks apart, by a label with the lock's name
    spans: Flag = False  # whether to make OpenTelemetry spans of locks
    seeds: Seeds = ()  # addresses of members of a running cluster, by any of which a process enters it
    address: Place = ""  # where others call a process that enters by seeds; empty for a free port

    def __post_init__(self) -> None:
        if self.nodes or not self.seeds:
            check_nodes("nodes", self.nodes)
        check_fields(self)
        check_seeds(self.seeds)
        checked_place("address", self.address)
        self._check_reach()
        checked_place("metrics", self.metrics)
        try:
            system = self.system()
        except ValueError as error:
            raise ConfigError(f"algorithm = {shown(self.algorithm)}: {error}") from None
        spec = ALGORITHMS.get(system.name.partition("+")[0], system.algorithm).spec  # no transform mends it
        if spec.mended_by:
            raise ConfigError(
                f"no locks on {spec.name!r}, it is kept for its flaw ({spec.flaws[0]}): use {spec.mended_by!r}"
            )
        if within_epoch(system.problem).name == KMUTEX.name:
            raise ConfigError(
                f"{system.name} admits several at a time: it is for semaphores (semaphores = {system.name!r})"
            )
        try:
            semaphores = self.semaphore_system(1)
        except ValueError as error:
            raise ConfigError(f"semaphores = {shown(self.semaphores)}: {error}") from None
        if within_epoch(semaphores.problem).name != KMUTEX.name:
            raise ConfigError(f"{semaphores.name} is not an algorithm for semaphores: it admits one process at a time")
        if self.seeds and not self.elastic:
            raise ConfigError(f"seeds: the members are fixed with {system.name}; they change with {DEFAULT_ALGORITHM}")

    def _check_reach(self) -> None:
        """Beyond this machine members need certificates."""
        if self.tls is not None or self.insecure:
            return
        advice = "give them ([tls] in cluster.toml, or tls=...), or set insecure = true"
        for name, text in self.nodes.items():
            if not is_loopback(address(text)[0]):
                raise ConfigError(
                    f"node {name!r} is at {text}, beyond this machine, and there are no certificates: {advice}"
                )
        for key, text in [("address", self.address), *[("seeds", seed) for seed in self.seeds]]:
            if text and not is_loopback(address(text)[0]):
                raise ConfigError(f"{key}: {text} is beyond this machine, and there are no certificates: {advice}")
        for text in self.nodes.values() or [self.address or self.seeds[0]]:
            place = listening_address(self.listen, text)
            if not is_loopback(address(place)[0]):
                raise ConfigError(
                    f"listen = {shown(self.listen)}: that is beyond this machine, and there are no certificates: "
                    f"{advice}"
                )

    @property
    def elastic(self) -> bool:
        """True if members may come and go."""
        return follows_views(self.algorithm) and (not self.semaphores or follows_views(self.semaphores))

    @property
    def members(self) -> tuple[str, ...]:
        """The founders, in the order that numbers them."""
        return tuple(sorted(self.nodes))

    def check_member(self, name: str) -> None:
        """`ConfigError` if no process can be a member with this name."""
        if not isinstance(name, str):
            raise wrong("name", name, "the name of a node")
        if self.seeds:
            check_name(name)
        elif name not in self.nodes:
            raise ConfigError(f"{name!r} is not a node of cluster {self.cluster!r}: {did_you_mean(name, self.members)}")

    def places(self) -> list[str]:
        """All addresses of members that are known before any of them is called."""
        return [*self.nodes.values(), *self.seeds, *([self.address] if self.address else [])]

    def called_at(self, name: str) -> str:
        """The address at which others call a member; empty if any free port will do. A founder that enters by seeds
        may have moved."""
        moved = self.address if self.seeds else ""
        return moved or self.nodes.get(name, "")

    def listening(self, name: str) -> str:
        """The address at which a member listens, where that is given."""
        return listening_address(self.listen, self.called_at(name))

    def system(self) -> System:
        return System(find_algorithm(self.algorithm), max(len(self.nodes), 1), self.options)

    def semaphore_system(self, k: int) -> System:
        """The algorithm of semaphores, for a process at each of every member's k seats."""
        fitting = SEMAPHORES_IN_VIEWS if follows_views(self.algorithm) else OTHER_SEMAPHORES
        algorithm = find_algorithm(self.semaphores or fitting)
        known = [option.name for option in algorithm.spec.options]
        return System(algorithm, k * max(len(self.nodes), 1), {"k": str(k)} if "k" in known else {})


def follows_views(algorithm: str | type[Node]) -> bool:
    return algorithm.endswith("+views") if isinstance(algorithm, str) else issubclass(algorithm, InViews)


class ClusterFields(TypedDict, total=False):
    """The fields of `ClusterConfig` besides `nodes`, as keyword arguments; None stands for the default."""

    cluster: str
    algorithm: str | type[Node]
    options: Mapping[str, str] | None
    tls: Tls | None
    insecure: bool
    timing: Timing | None
    state: str
    semaphores: str | type[Node]
    secret: str
    listen: str
    metrics: str
    metrics_by_lock: bool
    spans: bool
    seeds: Sequence[str]
    address: str


def config_of(
    peers: Mapping[str, str] | None, config: str | Path | ClusterConfig | None, settings: ClusterFields
) -> ClusterConfig:
    """The cluster that the arguments of `join` describe. What is given besides `config` replaces what is in it."""
    given: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    if isinstance(given.get("seeds"), list):
        given["seeds"] = tuple(given["seeds"])
    if peers is not None:
        check_nodes("peers", peers)
        given["nodes"] = peers
    if config is not None:
        described = config if isinstance(config, ClusterConfig) else load_config(config)
        return replace(described, **given) if given else described
    if peers is None and not given.get("seeds"):
        raise ConfigError(
            "name the members of the cluster: peers={name: 'host:port', ...} or config='cluster.toml'; "
            "or some of a running one: seeds=['host:port', ...]"
        )
    return ClusterConfig(**given)


# -- cluster.toml ---------------------------------------------------------------------------------------------------


def load_config(path: str | Path) -> ClusterConfig:
    """The cluster that a `cluster.toml` describes."""
    path = _path(path)
    data = read_toml(path)
    try:
        if not data.get("seeds"):
            check_nodes("nodes", data.get("nodes", {}))
        options = data.get("options", {})
        if isinstance(options, dict):  # a number may be written as a number
            data["options"] = {name: str(value) if type(value) is int else value for name, value in options.items()}
        return decode(data, ClusterConfig, path.parent)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}{_misplaced(data)}") from error


def _misplaced(data: dict[str, Any]) -> str:
    """A hint for the usual mistake in TOML: what stands below the head of a table belongs to that table."""
    known = hints(ClusterConfig)
    for name, table in data.items():
        inside = [key for key in table if key in known] if isinstance(table, dict) else []
        if inside:
            return f" (if {inside[0]} is a setting of the cluster, write it above [{name}])"
    return ""


def load_nodes(path: str | Path) -> dict[str, str]:
    """Only the nodes of a `cluster.toml`, which may lack certificates yet."""
    path = _path(path)
    nodes = read_toml(path).get("nodes", {})
    try:
        check_nodes("nodes", nodes)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    return dict(nodes)


def read_toml(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            raw = file.read(LONGEST_FILE + 1)
    except (OSError, ValueError) as error:
        named = str(path) if str(path).isprintable() else shown(str(path))
        raise ConfigError(f"cannot read {named}: {getattr(error, 'strerror', None) or error}") from error
    if len(raw) > LONGEST_FILE:
        raise ConfigError(f"{path} is too long for the description of a cluster: {LONGEST_FILE} bytes are allowed")
    try:
        return tomllib.loads(raw.decode("utf-8-sig"))  # some editors begin a file with a mark
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}: line {line} is not UTF-8 text") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not a TOML file: {error}") from error


def _path(path: object) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise wrong("config", path, "the path of a cluster.toml, or a ClusterConfig")
    return Path(path)


def free_addresses(count: int) -> list[str]:
    """Addresses on this machine that are free now; for demonstrations and tests."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for made in sockets:
            made.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{made.getsockname()[1]}" for made in sockets]
    finally:
        for made in sockets:
            made.close()
