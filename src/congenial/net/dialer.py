"""Keeps calling the peers that this member is to call."""

from __future__ import annotations

import asyncio
import logging
import random
import ssl
from collections.abc import Callable
from typing import Any

from congenial.net import connection as connections
from congenial.net.addresses import address
from congenial.net.config import ClusterConfig
from congenial.net.connection import Connection
from congenial.net.link import Link
from congenial.net.logs import log
from congenial.net.porter import why_no_tls


class Dialer:
    """`connect(link)` makes the protocol object of a new connection."""

    def __init__(
        self,
        name: str,
        config: ClusterConfig,
        tls: ssl.SSLContext | None,
        may_call: Callable[[Link], bool],
        connect: Callable[[Link], Connection],
    ) -> None:
        self.name = name
        self.config = config
        self.may_call = may_call
        self.connect = connect
        self.turns = 0  # of the addresses of peers that have several
        self.options: dict[str, Any] = {}
        if tls is not None:
            self.options = {"ssl": tls, "ssl_handshake_timeout": connections.HANDSHAKE}
        self.witness: Link | None = None  # a peer that has told us that another process has our name

    async def keep_calling(self, link: Link) -> None:
        """Keep a connection to a peer, until cancelled."""
        timing = self.config.timing
        pause = timing.reconnect
        while True:
            if self.may_call(link) and link.places and (self.witness is None or self.witness is link):
                connection = await self._call(link)
                if connection is not None and connection.accepted:
                    pause = timing.reconnect
                if self.witness is link and (connection is None or not connection.contested):
                    self.witness = None
            await asyncio.sleep(pause * (0.5 + random.random()))
            pause = min(2 * pause, timing.reconnect_most)

    def hear_of_another(self, link: Link) -> None:
        """Another process has our name: ask only this peer again. Elsewhere we could get in its place, if its
        connection breaks there for a moment."""
        if self.witness is None:
            self.witness = link

    async def _call(self, link: Link) -> Connection | None:
        """Call a peer once, and wait until the connection is closed."""
        self.turns += 1
        place = link.places[self.turns % len(link.places)]
        options = self.options | {"server_hostname": link.name} if self.options else {}
        connection: Connection | None = None
        error: Exception | None = None
        try:
            async with asyncio.timeout(self.config.timing.suspect_after):  # wait_for could swallow our cancellation
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: self.connect(link), *address(place), **options
                )
            await connection.closed
            error = connection.error
        except (OSError, TimeoutError) as failure:
            error = failure
        if isinstance(error, ssl.SSLError) and (connection is None or not connection.accepted):
            reason = f"cannot be reached at {place}: {why_no_tls(error)}"
            if link.refusal != reason:
                link.refusal = reason
                log(logging.WARNING, "connection.failed", node=self.name, peer=link.name, reason=reason)
        return connection
