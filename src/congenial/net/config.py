"""What a cluster is: its members and where they listen, how they trust each other, what they run.

All of that is in a `ClusterConfig`. It comes from the arguments of `join`, or from a file:

    cluster = "jukebox"
    algorithm = "token-gme+epochs"      # the same everywhere
    semaphores = "srimani-reddy+epochs" # the algorithm of semaphores, also the same everywhere
    state = "state/{name}"              # what survives a restart; {name} is the node's name

    [nodes]
    a = "10.0.0.1:7101"
    b = "10.0.0.2:7101"
    c = "10.0.0.3:7101"

    [tls]                               # paths are relative to this file; {name} is the node's name
    ca = "certs/ca.pem"
    certificate = "certs/{name}.pem"
    key = "certs/{name}.key"
"""

from __future__ import annotations

import socket
import ssl
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypedDict

from congenial.kernel.errors import ConfigError
from congenial.problems.epochs import within_epoch
from congenial.problems.kmutex import KMUTEX
from congenial.systems.catalogue import find_algorithm
from congenial.systems.system import System

DEFAULT_ALGORITHM = "token-gme+epochs"
SEMAPHORE_ALGORITHM = "srimani-reddy+epochs"
LONGEST_NODE_NAME = 63


@dataclass(frozen=True)
class Tls:
    """The files with the certificates; both ends of every connection show theirs. `{name}` is the node's name.

    >>> tls = Tls(ca="certs/ca.pem", certificate="certs/{name}.pem", key="certs/{name}.key")

    `congenial certs` makes such files for a test cluster.
    """

    ca: str
    certificate: str
    key: str

    def contexts(self, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
        """The contexts for the end that is called, and for the end that calls."""
        called = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        calling = ssl.create_default_context(ssl.Purpose.SERVER_AUTH)
        called.verify_mode = ssl.CERT_REQUIRED
        for context in (called, calling):
            context.minimum_version = ssl.TLSVersion.TLSv1_3
            certificate, key = self.certificate.format(name=name), self.key.format(name=name)
            try:
                context.load_verify_locations(self.ca)
                context.load_cert_chain(certificate, key)
            except (OSError, ssl.SSLError) as error:
                raise ConfigError(
                    f"node {name!r}: cannot use the certificates {self.ca}, {certificate}, {key}: {error} "
                    "(`congenial certs` makes them for a test cluster)"
                ) from error
        return called, calling


@dataclass(frozen=True)
class Timing:
    """How fast a cluster reacts, in seconds. All members should have the same.

    >>> Timing(heartbeat=0.1, suspect_after=1.0)
    Timing(heartbeat=0.1, suspect_after=1.0, gather=30.0, reconnect=0.05, reconnect_most=1.0, timer_unit=0.01)
    """

    heartbeat: float = 0.5  # a sign of life, at least so often
    suspect_after: float = 3.0  # silence after which a peer is believed to have crashed; longer after mistakes
    gather: float = 30.0  # how long the members may take to come together
    reconnect: float = 0.05  # pause before a connection is tried again; doubles, up to `reconnect_most`
    reconnect_most: float = 1.0
    timer_unit: float = 0.01  # one unit of the algorithms' timers

    def __post_init__(self) -> None:
        if not 0 < self.heartbeat < self.suspect_after:
            raise ConfigError(
                f"heartbeat ({self.heartbeat} s) must be above 0 and below suspect_after ({self.suspect_after} s)"
            )


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

    nodes: Mapping[str, str]  # address of every member, by name
    cluster: str = "congenial"
    algorithm: str = DEFAULT_ALGORITHM
    options: Mapping[str, str] = field(default_factory=dict)
    tls: Tls | None = None
    insecure: bool = False  # without certificates, allow addresses beyond this machine
    timing: Timing = field(default_factory=Timing)
    state: str = ""  # a directory for what must survive a restart ({name}: the node's); none by default
    semaphores: str = SEMAPHORE_ALGORITHM  # the algorithm of semaphores
    secret: str = ""  # a file with a secret that all members know; by default this user's, if all are on this machine

    def __post_init__(self) -> None:
        if not self.nodes:
            raise ConfigError("a cluster needs at least one node: name them with their addresses")
        for name, text in self.nodes.items():
            if not name or len(name) > LONGEST_NODE_NAME or not all(c.isalnum() or c in "-." for c in name):
                raise ConfigError(f"node name {name!r}: use 1 to {LONGEST_NODE_NAME} letters, digits, '-' or '.'")
            host, _ = address(text)
            if self.tls is None and not self.insecure and not is_loopback(host):
                raise ConfigError(
                    f"node {name!r} is at {text}, beyond this machine, and there are no certificates: "
                    "give them ([tls] in cluster.toml, or tls=...), or set insecure = true"
                )
        spec = self.system().spec
        if spec.mended_by:
            raise ConfigError(
                f"no locks on {spec.name!r}, it is kept for its flaw ({spec.flaws[0]}): use {spec.mended_by!r}"
            )
        if within_epoch(self.system().problem).name == KMUTEX.name:
            raise ConfigError(
                f"{self.algorithm} lets in several at a time: it is for semaphores (semaphores = {self.algorithm!r})"
            )
        if within_epoch(self.semaphore_system(1).problem).name != KMUTEX.name:
            raise ConfigError(f"{self.semaphores} is no algorithm for semaphores: it cannot let in several at a time")

    @property
    def members(self) -> tuple[str, ...]:
        """All names in the order that numbers them."""
        return tuple(sorted(self.nodes))

    def index(self, name: str) -> int:
        if name not in self.nodes:
            raise ConfigError(f"{name!r} is not a node of cluster {self.cluster!r}: it has {', '.join(self.members)}")
        return self.members.index(name)

    def system(self) -> System:
        return System(find_algorithm(self.algorithm), len(self.nodes), self.options)

    def semaphore_system(self, k: int) -> System:
        """The algorithm of semaphores, for a process at each of every member's k seats."""
        algorithm = find_algorithm(self.semaphores)
        known = [option.name for option in algorithm.spec.options]
        return System(algorithm, k * len(self.nodes), {"k": str(k)} if "k" in known else {})


class ClusterFields(TypedDict, total=False):
    """The fields of `ClusterConfig` besides `nodes`, as keyword arguments; None stands for the default."""

    cluster: str
    algorithm: str
    options: Mapping[str, str] | None
    tls: Tls | None
    insecure: bool
    timing: Timing | None
    state: str
    semaphores: str
    secret: str


def config_of(
    peers: Mapping[str, str] | None, config: str | Path | ClusterConfig | None, settings: ClusterFields
) -> ClusterConfig:
    """The cluster that the arguments of `join` describe. What is given besides `config` replaces what is in it."""
    given: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    if peers is not None:
        given["nodes"] = dict(peers)
    if config is not None:
        described = config if isinstance(config, ClusterConfig) else load_config(config)
        return replace(described, **given) if given else described
    if peers is None:
        raise ConfigError("name the members of the cluster: peers={name: 'host:port', ...} or config='cluster.toml'")
    return ClusterConfig(**given)


def address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ConfigError(f"{text!r} is not an address: write host:port, such as 127.0.0.1:7101")
    return host.strip("[]"), int(port)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def load_config(path: str | Path) -> ClusterConfig:
    """The cluster that a `cluster.toml` describes."""
    path = Path(path)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    try:
        tls = _part(data, "tls", Tls)
        if tls is not None:
            tls = Tls(*[str(path.parent / getattr(tls, part.name)) for part in fields(Tls)])
        timing = _part(data, "timing", Timing) or Timing()
        options = {name: str(value) for name, value in data.pop("options", {}).items()}
        unknown = set(data) - {part.name for part in fields(ClusterConfig)}
        if unknown:
            raise ConfigError(f"unknown setting {', '.join(sorted(unknown))}")
        for place in ("state", "secret"):
            if data.get(place):
                data[place] = str(path.parent / data[place])
        return ClusterConfig(**{"nodes": {}, **data}, options=options, tls=tls, timing=timing)
    except (ConfigError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path}: {error}") from error


def _part(data: dict[str, Any], name: str, kind: Any) -> Any:
    table = data.pop(name, None)
    if table is None:
        return None
    known = {part.name for part in fields(kind)}
    unknown = set(table) - known
    if unknown:
        raise ConfigError(f"[{name}] has no {', '.join(sorted(unknown))}; it has {', '.join(sorted(known))}")
    try:
        return kind(**table)
    except TypeError as error:
        raise ConfigError(f"[{name}]: {str(error).replace('__init__() ', '')}") from None


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
