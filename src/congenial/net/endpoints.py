"""Where nodes serve programs: Unix sockets of this machine, and addresses elsewhere, over TLS."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from congenial.kernel.errors import ConfigError
from congenial.net.addresses import address, check_nodes
from congenial.net.asks import LONGEST_LINE
from congenial.net.checked import wrong
from congenial.net.config import ClusterConfig, load_config
from congenial.net.errors import ClusterDegraded
from congenial.net.local import check_length, is_trusted, sockets_here, user_of
from congenial.net.tls import Tls

CALLING = 5.0  # seconds that a connection may take
USUAL_CONFIG = "cluster.toml"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Endpoint:
    """A node, as a program reaches it."""

    def __init__(self, text: str) -> None:
        self.text = text

    async def open(self) -> Streams:
        """`ClusterDegraded` if there is no node."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.text


class LocalEndpoint(Endpoint):
    """A socket of this machine. With `check_user` the node must run as the same user as the program, or as root:
    anybody may listen at a path."""

    def __init__(self, path: Path, check_user: bool) -> None:
        super().__init__(str(path))
        self.path = path
        self.check_user = check_user

    async def open(self) -> Streams:
        check_length(self.path)
        try:
            reader, writer = await asyncio.open_unix_connection(str(self.path), limit=LONGEST_LINE)
        except OSError as error:
            raise ClusterDegraded(
                f"no node is listening on {self.path} ({error.strerror}): start one with `congenial node`"
            ) from error
        connected: socket.socket = writer.get_extra_info("socket")
        user = user_of(connected)
        if self.check_user and not is_trusted(user):
            writer.close()
            raise ClusterDegraded(f"another user ({user}) is listening on {self.path}: that is not your node")
        return reader, writer


class DistantEndpoint(Endpoint):
    """A node at an address. Its certificate must be for its name."""

    def __init__(self, name: str, place: str, context: ssl.SSLContext) -> None:
        super().__init__(f"{name} at {place}")
        self.name = name
        self.place = place
        self.context = context

    async def open(self) -> Streams:
        host, port = address(self.place)
        try:
            async with asyncio.timeout(CALLING):
                return await asyncio.open_connection(
                    host, port, ssl=self.context, server_hostname=self.name, limit=LONGEST_LINE
                )
        except (OSError, TimeoutError) as error:
            raise ClusterDegraded(f"node {self.name!r} cannot be reached at {self.place}: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return f"{error.reason or error}: both ends need certificates of the cluster's authority"
    return error.strerror or str(error) or "no answer"


Where = str | os.PathLike[str] | Mapping[str, str] | Sequence[str | os.PathLike[str]] | None


def endpoints_of(where: Where, tls: Tls | None, config: str | Path | ClusterConfig | None) -> list[Endpoint]:
    """What a program says about where its nodes are."""
    if isinstance(where, Mapping):
        check_nodes("where", where)
        if not isinstance(tls, Tls):
            raise wrong("tls", tls, "a Tls with the program's certificate: nodes elsewhere are reached over TLS only")
        _, calling = tls.contexts("program")
        return [DistantEndpoint(name, place, calling) for name, place in where.items()]
    if where is None and (given := os.environ.get("CONGENIAL_SOCKET")):
        where = given
    if where is None:
        described = config if isinstance(config, ClusterConfig) else load_config(config or USUAL_CONFIG)
        found = sockets_here(described, described.members)
        if not found:
            raise ClusterDegraded(
                f"no node of {described.cluster!r} on this machine: start one with `congenial node`, or say where it is"
            )
        return [LocalEndpoint(path, True) for path in found]
    paths: list[Any] = list(where) if isinstance(where, (list, tuple)) else [where]
    if not paths or not all([isinstance(path, (str, os.PathLike)) and os.fspath(path) for path in paths]):
        raise wrong("where", where, "the path of a node's socket, several of them, or names and addresses of nodes")
    if tls is not None:
        raise ConfigError("tls is for nodes elsewhere: give their names and addresses, such as {'a': '10.0.0.1:7201'}")
    return [LocalEndpoint(Path(path), False) for path in paths]
