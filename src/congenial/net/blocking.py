"""The same locks for programs without asyncio: `with congenial.join_blocking(...) as cluster`.

The cluster runs on an event loop of its own, in a thread of its own. All methods may be called from any thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Unpack

from congenial.kernel.errors import ConfigError
from congenial.net.blocking_locks import BlockingGuarded, BlockingHeld, BlockingLock
from congenial.net.config import ClusterConfig, ClusterFields, config_of
from congenial.net.locks import Cluster, LockForms
from congenial.net.loop_thread import LoopThread
from congenial.net.members import Member
from congenial.net.names import readable
from congenial.net.primitives.forms import BlockingPrimitives
from congenial.net.replica import Machine
from congenial.net.reports import question_of


class BlockingCluster(LockForms[BlockingLock, "BlockingHeld | None"], BlockingPrimitives):
    """This process as a member of a cluster, for programs without asyncio; made by `join_blocking`.

    >>> with join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...     with cluster.group("jukebox", "disc-7", timeout=2.5) as held:
    ...         print(held.name, held.group)
    jukebox disc-7
    """

    def __init__(self, cluster: Cluster) -> None:
        LoopThread.__init__(self, cluster.name, "use `with congenial.join_blocking(...) as cluster`")
        self.name = cluster.name
        self.config = cluster.config
        self._cluster = cluster

    def start(self) -> BlockingCluster:
        """Begin to listen and to call the others; returns immediately. Locks wait until all members are there."""
        self._begin(self._cluster.start())
        return self

    def close(self) -> None:
        """Leave the cluster. What threads of this process still hold is lost; as `Cluster.close`."""
        self._end(self._cluster.close())

    def __enter__(self) -> BlockingCluster:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ready(self, timeout: float | None = None) -> None:
        """Wait until all members have come together; raise `ClusterDegraded` if that takes too long."""
        self._run(self._cluster.ready(timeout))

    def wait_ended(self) -> str:
        """Wait until this process has permanently stopped taking part, and return why; as `Cluster.wait_ended`."""
        return self._run(self._cluster.wait_ended())

    def leave(self) -> None:
        """Leave the cluster permanently; as `Cluster.leave`."""
        self._end(self._cluster.leave())

    def members(self) -> list[Member]:
        """The members of the cluster; as `Cluster.members`."""
        return self._call(self._cluster.members)

    def assign(self, name: str, role: str) -> None:
        """Give a member another role; as `Cluster.assign`."""
        self._run(self._cluster.assign(name, role))

    def guarded(self, name: str | bytes, machine: Machine, *, timeout: float | None = None) -> BlockingGuarded:
        """A replicated object, whose operations are issued under a lock; as `Cluster.guarded`."""
        return BlockingGuarded(self, self._call(lambda: self._cluster.guarded(name, machine, timeout=timeout)))

    def status(self, *, lock: str | None = None, top: int = 1000, find: str | None = None) -> dict[str, Any]:
        """This process's links, locks, holders and queues, as plain data; as `Cluster.status`."""
        return self._run(self._cluster._host.reports.in_pieces(question_of(lock, top, find)))

    def status_of_all(
        self, *, lock: str | None = None, top: int = 1000, find: str | None = None
    ) -> dict[str, dict[str, Any] | None]:
        """Every member's status, by name; None for those that do not answer; as `Cluster.status_of_all`."""
        return self._run(self._cluster.status_of_all(lock=lock, top=top, find=find))

    def _lock(
        self, mode: str, name: str, group: str, k: int, timeout: float | None, reentrant: bool = False
    ) -> BlockingLock:
        make = partial(self._cluster._lock, mode, name, group, k, timeout, reentrant)
        return BlockingLock(self, mode, readable(name), readable(group) or None, k, reentrant, make)

    def _try(self, lock: BlockingLock, here: bool) -> BlockingHeld | None:
        return lock.try_acquire(here=here)

    @property
    def _inner(self) -> Cluster:
        return self._cluster

    @property
    def _forked(self) -> ConfigError | None:
        return self._cluster._forked


def join_blocking(
    name: str,
    peers: Mapping[str, str] | None = None,
    *,
    config: str | Path | ClusterConfig | None = None,
    metrics_port: int = 0,
    **settings: Unpack[ClusterFields],
) -> BlockingCluster:
    """As `join`, for programs without asyncio.

    >>> with join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster, cluster.mutex("invoices", timeout=2) as held:
    ...     print(held.name, held.fence > 0)
    invoices True
    """
    return BlockingCluster(Cluster(name, config_of(peers, config, settings), metrics_port))
