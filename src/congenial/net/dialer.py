"""Listens for peers, and keeps calling those that this member is to call."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import ssl
from collections.abc import Callable
from typing import Any

from congenial.kernel.errors import ConfigError
from congenial.net import connection as connections
from congenial.net.addresses import address
from congenial.net.config import ClusterConfig
from congenial.net.connection import Connection
from congenial.net.link import Link
from congenial.net.logs import log


class Dialer:
    """`connect(link)` makes the protocol object of a new connection; without a link, of one that a peer has made."""

    def __init__(self, name: str, config: ClusterConfig, connect: Callable[[Link | None], Connection]) -> None:
        self.name = name
        self.config = config
        self.connect = connect
        self.server: asyncio.Server | None = None
        self.called_tls: ssl.SSLContext | None = None
        self.calling_tls: ssl.SSLContext | None = None
        if config.tls is not None:
            self.called_tls, self.calling_tls = config.tls.contexts(name)

    async def listen(self, listener: socket.socket | None = None) -> None:
        """Listen on this member's address, or on a socket that is bound to it already."""
        loop = asyncio.get_running_loop()
        place = self.config.nodes[self.name]
        try:
            if listener is None:
                self.server = await loop.create_server(
                    lambda: self.connect(None), *address(place), reuse_address=True, **_options(self.called_tls)
                )
            else:
                self.server = await loop.create_server(
                    lambda: self.connect(None), sock=listener, **_options(self.called_tls)
                )
        except OSError as error:
            raise ConfigError(f"node {self.name!r} cannot listen on {place}: {error.strerror or error}") from error

    async def keep_calling(self, link: Link) -> None:
        """Keep a connection to a peer, until cancelled."""
        loop = asyncio.get_running_loop()
        timing = self.config.timing
        pause = timing.reconnect
        place = self.config.nodes[link.name]
        name = link.name if self.calling_tls else None
        while True:
            try:
                async with asyncio.timeout(timing.suspect_after):  # wait_for could swallow our cancellation
                    _, connection = await loop.create_connection(
                        lambda: self.connect(link),
                        *address(place),
                        server_hostname=name,
                        **_options(self.calling_tls),
                    )
                await connection.closed
                if connection.greeted:
                    pause = timing.reconnect
            except (OSError, ssl.SSLError, TimeoutError) as error:
                reason = f"cannot be reached at {place}: {error or type(error).__name__}"
                if isinstance(error, ssl.SSLError) and link.refusal != reason:
                    log(logging.WARNING, "connection.failed", node=self.name, peer=link.name, reason=reason)
                    link.refusal = reason
            await asyncio.sleep(pause * (0.5 + random.random()))
            pause = min(2 * pause, timing.reconnect_most)

    def close(self) -> None:
        if self.server is not None:
            self.server.close()


def _options(context: ssl.SSLContext | None) -> dict[str, Any]:
    return {} if context is None else {"ssl": context, "ssl_handshake_timeout": connections.HANDSHAKE}
