"""How a process becomes a member: `congenial.join`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Unpack, overload

from congenial.net.checked import Flag, checked
from congenial.net.config import ClusterConfig, ClusterFields, config_of
from congenial.net.locks import Cluster
from congenial.net.threaded import ThreadedCluster


@overload
def join(
    name: str,
    peers: Mapping[str, str] | None = None,
    *,
    config: str | Path | ClusterConfig | None = None,
    metrics_port: int = 0,
    own_thread: Literal[False] = False,
    **settings: Unpack[ClusterFields],
) -> Cluster: ...


@overload
def join(
    name: str,
    peers: Mapping[str, str] | None = None,
    *,
    config: str | Path | ClusterConfig | None = None,
    metrics_port: int = 0,
    own_thread: Literal[True],
    **settings: Unpack[ClusterFields],
) -> ThreadedCluster: ...


def join(
    name: str,
    peers: Mapping[str, str] | None = None,
    *,
    config: str | Path | ClusterConfig | None = None,
    metrics_port: int = 0,
    own_thread: bool = False,
    **settings: Unpack[ClusterFields],
) -> Cluster | ThreadedCluster:
    """Become member `name` of a cluster. `peers` gives the addresses of all members that found it, perhaps of this one
    alone. With `seeds`, the addresses of some members, a process enters a cluster that runs; its own `address` is a
    free port if it is not given. Or `config` gives the cluster, as a `ClusterConfig` or the path of a `cluster.toml`.
    The other settings are those of `ClusterConfig`: `algorithm` is any of `congenial list`, `semaphores` any of those
    for k entries.

    >>> import asyncio
    >>> async def pay() -> None:
    ...     async with join("a", {"a": "127.0.0.1:7101"}) as cluster, cluster.mutex("invoices", timeout=2) as held:
    ...         print(held.name, held.fence > 0)
    >>> asyncio.run(pay())
    invoices True

    With `own_thread` the node has an event loop and a thread of its own: it goes on while the program's event loop is
    blocked. Every call takes longer then.

    With a `metrics_port`, Prometheus metrics are served on it, on this machine only. With `metrics`, at any address.
    """
    cluster = Cluster(name, config_of(peers, config, settings), metrics_port)
    return ThreadedCluster(cluster) if checked("own_thread", own_thread, Flag) else cluster
