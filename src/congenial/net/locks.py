"""The locks that programs use.

    async with congenial.join("a", peers={"a": "127.0.0.1:7101", "b": "127.0.0.1:7102"}) as cluster:
        async with cluster.mutex("invoices") as held:
            ...

A lock needs no declaration: its name is enough, and all forms of one name exclude each other. `mutex` and `exclusive`
let in one task at a time; `shared` lets in all who share; `group` lets in all who name the same group.

`semaphore(name, k)` lets in k tasks. It runs on an algorithm for k entries (`congenial.net.hall`), gives no fence, and
has nothing to do with a lock of the same name.
"""

from __future__ import annotations

import asyncio
import socket
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar

from congenial.kernel.errors import ConfigError
from congenial.net.config import DEFAULT_ALGORITHM, SEMAPHORE_ALGORITHM, ClusterConfig, Timing, Tls, load_config
from congenial.net.door import ALONE_WANT, Door
from congenial.net.entrance import Entrance, Want
from congenial.net.errors import LockTimeout
from congenial.net.guarded import Guarded
from congenial.net.held import Held, WithBody, innermost
from congenial.net.host import Host
from congenial.net.metrics import serve_metrics
from congenial.net.names import READERS, group_number, guarded_key, lock_key, semaphore_key
from congenial.net.replica import Machine

EXCLUSIVE, SHARED, GROUP, SEMAPHORE = ("exclusive", "shared", "group", "semaphore")

L = TypeVar("L")
T = TypeVar("T")


class LockForms(ABC, Generic[L, T]):
    """The forms of locks, for all who offer them. L is a lock to enter; T is what trying gives."""

    def mutex(self, name: str, *, timeout: float | None = None) -> L:
        """One task of one process at a time."""
        return self._lock(EXCLUSIVE, name, "", 1, timeout)

    def exclusive(self, name: str, *, timeout: float | None = None) -> L:
        """One at a time, and none of those who share: the writer of `shared`'s readers."""
        return self._lock(EXCLUSIVE, name, "", 1, timeout)

    def shared(self, name: str, *, timeout: float | None = None) -> L:
        """Together with all others who share."""
        return self._lock(SHARED, name, "", 0, timeout)

    def group(self, name: str, group: str, *, timeout: float | None = None) -> L:
        """Together with all others of the same group."""
        return self._lock(GROUP, name, group, 0, timeout)

    def semaphore(self, name: str, k: int, *, timeout: float | None = None) -> L:
        """At most k at a time. Everyone must give the same k."""
        if k < 1:
            raise ConfigError(f"semaphore {name!r} lets in {k} at a time: let it be at least 1")
        return self._lock(SEMAPHORE, name, "", k, timeout)

    def try_mutex(self, name: str, *, timeout: float = 0.0) -> T:
        """As `mutex`, but the answer is None if it is not to be had within `timeout`; with 0, without asking anybody
        else, which succeeds where the lock was last held, if nobody else has asked for it."""
        return self._try(self.mutex(name, timeout=timeout))

    def try_exclusive(self, name: str, *, timeout: float = 0.0) -> T:
        return self._try(self.exclusive(name, timeout=timeout))

    def try_shared(self, name: str, *, timeout: float = 0.0) -> T:
        return self._try(self.shared(name, timeout=timeout))

    def try_group(self, name: str, group: str, *, timeout: float = 0.0) -> T:
        return self._try(self.group(name, group, timeout=timeout))

    def try_semaphore(self, name: str, k: int, *, timeout: float = 0.0) -> T:
        return self._try(self.semaphore(name, k, timeout=timeout))

    @abstractmethod
    def _lock(self, mode: str, name: str, group: str, k: int, timeout: float | None) -> L: ...

    @abstractmethod
    def _try(self, lock: L) -> T: ...


class Lock:
    """A lock, ready to be entered: `async with`, or `acquire` and `Held.release`. May be entered again and again."""

    __slots__ = ("_bodies", "_entrance", "_timeout", "_want", "name")

    def __init__(self, name: str, entrance: Entrance, want: Want, timeout: float | None) -> None:
        self._entrance = entrance
        self._want = want
        self._timeout = timeout
        self._bodies: list[WithBody] = []
        self.name = name

    async def acquire(self) -> Held:
        """Acquire the lock, or raise `LockTimeout` when its timeout is over."""
        return await self._entrance.acquire(self._want, self._timeout)

    async def try_acquire(self) -> Held | None:
        """Acquire the lock; None if that takes longer than its timeout."""
        try:
            return await self.acquire()
        except LockTimeout:
            return None

    async def __aenter__(self) -> Held:
        held = await self.acquire()
        self._bodies.append(WithBody(held))
        return held

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        innermost(self._bodies).end(error)


class Cluster(LockForms[Lock, Awaitable[Held | None]]):
    """This process's membership of a cluster; made by `join`."""

    def __init__(
        self, name: str, config: ClusterConfig, metrics_port: int = 0, listener: socket.socket | None = None
    ) -> None:
        config.index(name)
        self.name = name
        self.config = config
        self._metrics_port = metrics_port
        self._listener = listener
        self._started: Host | None = None
        self._doors: dict[str, Door] = {}  # by name
        self._stop_metrics: Any = None

    @property
    def _host(self) -> Host:
        if self._started is None:
            raise ConfigError("join the cluster first: async with congenial.join(...) as cluster")
        return self._started

    async def start(self) -> Cluster:
        """Begin to listen and to call the others; returns at once. Locks wait until everyone is there."""
        host = Host(self.name, self.config)
        await host.start(self._listener)
        self._started = host
        if self._metrics_port:
            self._stop_metrics = serve_metrics(host, self._metrics_port)
        return self

    async def close(self) -> None:
        """Leave the cluster. What this process holds is released."""
        if self._stop_metrics is not None:
            self._stop_metrics()
        if self._started is not None:
            await self._started.close()

    async def __aenter__(self) -> Cluster:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def ready(self, timeout: float | None = None) -> None:
        """Returns when all members have come together."""
        membership = self._host.membership
        try:
            await asyncio.wait_for(membership.opened.wait(), self.config.timing.gather if timeout is None else timeout)
        except TimeoutError:
            raise membership.absence() from None

    def guarded(self, name: str, machine: Machine, *, timeout: float | None = None) -> Guarded:
        """A replicated object, whose operations are issued under a lock (`congenial.net.guarded`).

        Every member must name it, as soon as it has joined, with an object of the same class in the same state: there
        its replica, a copy, begins. Who names it again has the same replica. `timeout` is for entering.
        """
        guard = self._host.locks.guard(guarded_key(name), name, machine)
        return Guarded(guard, Lock(name, guard, ALONE_WANT, timeout))

    def status(self) -> dict[str, Any]:
        """This process's links, locks, holders and queues, as plain data."""
        return self._host.status()

    async def status_of_all(self) -> dict[str, dict[str, Any] | None]:
        """Every member's status, by name; None for those that do not answer."""
        return await self._host.ask_everyone()

    def _lock(self, mode: str, name: str, group: str, k: int, timeout: float | None) -> Lock:
        host = self._started or self._host
        if mode == SEMAPHORE:
            return Lock(name, host.locks.hall(semaphore_key(name), name, k), ALONE_WANT, timeout)
        door = self._doors.get(name)
        if door is None:
            door = self._doors[name] = host.locks.door(lock_key(name), name)
        if mode == EXCLUSIVE:
            want = ALONE_WANT
        elif not door.grouped:
            raise ConfigError(
                f"{self.config.algorithm} lets in one process at a time: {mode} locks need an algorithm with groups"
            )
        elif mode == SHARED:
            want = Want(READERS, True, None)
        else:
            want = Want(group_number(group), True, group)
        return Lock(name, door, want, timeout)

    def _try(self, lock: Lock) -> Awaitable[Held | None]:
        return lock.try_acquire()


def make_config(
    peers: Mapping[str, str] | None,
    config: str | Path | ClusterConfig | None,
    cluster: str,
    algorithm: str,
    options: Mapping[str, str] | None,
    tls: Tls | None,
    insecure: bool,
    timing: Timing | None,
    state: str,
    semaphores: str,
) -> ClusterConfig:
    if isinstance(config, ClusterConfig):
        return config
    if config is not None:
        return load_config(config)
    if peers is None:
        raise ConfigError("say who is in the cluster: peers={name: 'host:port', ...} or config='cluster.toml'")
    return ClusterConfig(
        dict(peers), cluster, algorithm, options or {}, tls, insecure, timing or Timing(), state, semaphores
    )


def join(
    name: str,
    peers: Mapping[str, str] | None = None,
    *,
    config: str | Path | ClusterConfig | None = None,
    cluster: str = "congenial",
    algorithm: str = DEFAULT_ALGORITHM,
    options: Mapping[str, str] | None = None,
    tls: Tls | None = None,
    insecure: bool = False,
    timing: Timing | None = None,
    state: str = "",
    semaphores: str = SEMAPHORE_ALGORITHM,
    metrics_port: int = 0,
) -> Cluster:
    """Become node `name` of a cluster, given by all members' addresses or by a `cluster.toml`.

    Use it as `async with join(...) as cluster`. `algorithm` is any of `congenial list`, `semaphores` any of those for k
    entries, both the same for all members; with a `metrics_port`, Prometheus metrics are served on it (on this machine
    only).
    """
    made = make_config(peers, config, cluster, algorithm, options, tls, insecure, timing, state, semaphores)
    return Cluster(name, made, metrics_port)
