"""The same for programs without asyncio: `with congenial.connect_blocking(...) as node`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from congenial.kernel.errors import ConfigError
from congenial.net.blocking_locks import BlockingHeld, BlockingLock
from congenial.net.client import PATIENCE, Client, connect
from congenial.net.config import ClusterConfig
from congenial.net.endpoints import Where
from congenial.net.locks import LockForms
from congenial.net.loop_thread import LoopThread
from congenial.net.members import Member
from congenial.net.names import readable
from congenial.net.primitives.forms import BlockingPrimitives
from congenial.net.tls import Tls


class BlockingClient(LockForms[BlockingLock, "BlockingHeld | None"], BlockingPrimitives):
    """A program's connection to a node, for threads; it has the same locks as a `BlockingCluster`. Made by
    `connect_blocking`.

    >>> BlockingClient(connect("/nowhere/a.sock")).mutex("invoices").acquire()
    Traceback (most recent call last):
    congenial.kernel.errors.ConfigError: ... is not in use: use `with congenial.connect_blocking(...) as node`
    """

    def __init__(self, client: Client) -> None:
        LoopThread.__init__(self, str(client._where), "use `with congenial.connect_blocking(...) as node`")
        self._client = client

    def start(self) -> BlockingClient:
        """Connect; `ClusterDegraded` if there is no node."""
        self._begin(self._client.__aenter__())
        return self

    def close(self) -> None:
        """End the connection. What this program still holds is lost, and released."""
        self._end(self._client.__aexit__(None, None, None))

    def __enter__(self) -> BlockingClient:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def status_of_all(
        self, *, lock: str | None = None, top: int = 1000, find: str | None = None
    ) -> dict[str, dict[str, Any] | None]:
        """As `BlockingCluster.status_of_all`."""
        return self._run(self._client.status_of_all(lock=lock, top=top, find=find))

    def members(self) -> list[Member]:
        """As `Cluster.members`."""
        return self._run(self._client.members())

    def assign(self, name: str, role: str) -> None:
        """As `Cluster.assign`."""
        self._run(self._client.assign(name, role))

    @property
    def _inner(self) -> Client:
        return self._client

    @property
    def _forked(self) -> ConfigError | None:
        return self._client._forked

    def _lock(
        self, mode: str, name: str, group: str, k: int, timeout: float | None, reentrant: bool = False
    ) -> BlockingLock:
        make = partial(self._client._lock, mode, name, group, k, timeout, reentrant)
        return BlockingLock(self, mode, readable(name), readable(group) or None, k, reentrant, make)

    def _try(self, lock: BlockingLock, here: bool) -> BlockingHeld | None:
        return lock.try_acquire(here=here)


def connect_blocking(
    where: Where = None,
    *,
    tls: Tls | None = None,
    config: str | Path | ClusterConfig | None = None,
    patience: float = PATIENCE,
) -> BlockingClient:
    """As `connect`, for programs without asyncio.

    >>> try:
    ...     connect_blocking("/nowhere/a.sock").start()
    ... except ClusterDegraded as error:
    ...     print(error)
    no node is listening on /nowhere/a.sock (No such file or directory): start one with `congenial node`
    """
    return BlockingClient(connect(where, tls=tls, config=config, patience=patience))
