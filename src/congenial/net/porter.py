"""Listens for peers, and accepts them.

A connection is a stranger until it has proven which member it is. Strangers cost little and for a short time only: if
there are too many, one is closed, first of all the oldest that has said nothing. So idle connections keep no member
out.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Callable
from functools import partial

from congenial.kernel.errors import ConfigError
from congenial.net import connection as connections
from congenial.net import forks
from congenial.net.addresses import address, listening_address
from congenial.net.connection import Connection, place_of
from congenial.net.logs import Seldom, log

MOST_STRANGERS = 64
AT_ONCE = 8  # connections that are accepted before those that are there get a turn to say something
BACKLOG = 100
PAUSE = 1.0  # seconds after which connections are accepted again, if there were no file descriptors left


async def listen_at(name: str, place: str) -> list[socket.socket]:
    """Listen at a node's address, for the porter that is to come: before anything else is begun that would have to be
    undone if another process has the address."""
    made: list[socket.socket] = []
    try:
        host, port = address(place)
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, where in dict.fromkeys(found):
            made.append(socket.socket(family, kind, protocol))
            made[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:  # or it would listen on the IPv4 address, too
                made[-1].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            made[-1].bind(where)
            start_listening(made[-1])
    except OSError as error:
        for bound in made:
            bound.close()
        raise ConfigError(f"node {name!r} cannot listen on {place}: {error.strerror or error}") from error
    return made


async def listen_anywhere(name: str, listen: str, seed: str) -> tuple[list[socket.socket], str]:
    """Listen on a free port; and the address at which others can call there, as a member at `seed` would see it."""
    loop = asyncio.get_running_loop()
    host, port = address(seed)
    try:
        family, _, _, _, there = (await loop.getaddrinfo(host, port, type=socket.SOCK_DGRAM))[0]
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(there)  # sends nothing
            here = probe.getsockname()[0]
        if listen and listening_address(listen, "[::1]:1") == listen:  # with a port
            made = await listen_at(name, listen)
        else:
            made = [socket.socket(family, socket.SOCK_STREAM)]
            made[0].bind((listen.strip("[]") or here, 0))
            start_listening(made[0])
    except OSError as error:
        raise ConfigError(f"node {name!r} cannot find an address to listen on: {error.strerror or error}") from error
    free = made[0].getsockname()[1]
    return made, f"[{here}]:{free}" if ":" in here else f"{here}:{free}"


def start_listening(bound: socket.socket) -> None:
    bound.setblocking(False)
    bound.listen(BACKLOG)


class Stranger:
    def __init__(self, caller: socket.socket, where: str) -> None:
        self.caller = caller
        self.where = where
        self.connection: Connection | None = None  # there is none during the TLS handshake

    @property
    def silent(self) -> bool:
        return self.connection is None or not self.connection.challenged


class Porter:
    """`connect` makes the protocol object of a new connection."""

    def __init__(self, name: str, tls: ssl.SSLContext | None, connect: Callable[[], Connection], news: Seldom) -> None:
        self.loop = asyncio.get_running_loop()
        self.name = name
        self.tls = tls
        self.connect = connect
        self.news = news
        self.listeners: list[socket.socket] = []
        self.strangers: dict[asyncio.Task[None], Stranger] = {}  # oldest first

    def listen(self, listeners: list[socket.socket]) -> None:
        self.listeners = listeners
        for listener in listeners:
            self.loop.add_reader(listener.fileno(), self._on_callers, listener)

    def close(self) -> None:
        for made in self.listeners:
            if made.fileno() >= 0:
                self.loop.remove_reader(made.fileno())
                made.close()
        for task in list(self.strangers):
            task.cancel()

    def on_fork(self) -> None:
        """This is a forked child: its copies of the sockets are not for use."""
        for made in (*self.listeners, *[stranger.caller for stranger in self.strangers.values()]):
            forks.drop(made.fileno())
        for task in self.strangers:
            with contextlib.suppress(RuntimeError):  # a loop in debug mode minds that this is not its thread
                task.cancel()

    # -- callers ---------------------------------------------------------------------------------------

    def _on_callers(self, listener: socket.socket) -> None:
        for _ in range(AT_ONCE):
            try:
                caller, place = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._pause(listener, error)
                return
            caller.setblocking(False)
            self._let_in(caller, place_of(place))

    def _pause(self, listener: socket.socket, error: OSError) -> None:
        """There are no file descriptors left, or no memory."""
        if self.news.first("accept", str(error)):
            log(logging.ERROR, "connection.failed", node=self.name, reason=f"cannot accept connections: {error}")
        self.loop.remove_reader(listener.fileno())
        self.loop.call_later(PAUSE, self._resume, listener)

    def _resume(self, listener: socket.socket) -> None:
        if listener.fileno() >= 0:
            self.loop.add_reader(listener.fileno(), self._on_callers, listener)

    def _let_in(self, caller: socket.socket, where: str) -> None:
        stranger = Stranger(caller, where)
        task = self.loop.create_task(self._meet(stranger), name=f"congenial meets {where}")
        self.strangers[task] = stranger
        task.add_done_callback(partial(self._forget, caller))
        if len(self.strangers) > MOST_STRANGERS:
            silent = [task for task, stranger in self.strangers.items() if stranger.silent]
            first = silent[0] if silent else next(iter(self.strangers))
            del self.strangers[first]
            first.cancel()
            if self.news.first("crowd"):
                reason = f"more than {MOST_STRANGERS} connections have not said who they are: the oldest are closed"
                log(logging.WARNING, "connection.crowd", node=self.name, at=where, reason=reason)

    def _forget(self, caller: socket.socket, task: asyncio.Task[None]) -> None:
        self.strangers.pop(task, None)
        if task.cancelled():
            caller.close()  # nothing else does if the task had not begun

    async def _meet(self, stranger: Stranger) -> None:
        """Wait until a connection is a member's, or closed."""
        try:
            patience = connections.HANDSHAKE if self.tls is not None else None
            made = self.connect()
            await self.loop.connect_accepted_socket(  # with TLS, uvloop returns a protocol of its own
                lambda: made, stranger.caller, ssl=self.tls, ssl_handshake_timeout=patience
            )
            stranger.connection = made
            await made.settled
        except OSError as error:
            self._warn(stranger.where, error)
        except asyncio.CancelledError:
            if stranger.connection is not None:
                stranger.connection.abort()
            raise

    def _warn(self, where: str, error: OSError) -> None:
        """A caller comes again and again, from a new port each time: tell it once in a while."""
        reason = why_no_tls(error)
        if self.tls is not None and self.news.first(where.rpartition(":")[0], reason):
            log(logging.WARNING, "tls.failed", node=self.name, peer="unknown", at=where, reason=reason)


NOT_TLS = (  # what OpenSSL makes of other protocols
    "http request",
    "wrong version number",
    "unexpected message",
    "record layer failure",
    "unknown protocol",
    "packet length too long",
    "bad record type",
)


def why_no_tls(error: OSError) -> str:
    """What went wrong when TLS began, and what to do about it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"{_why_no_certificate(error)} ({error.verify_message})"
    words = str(error.reason if isinstance(error, ssl.SSLError) else "").replace("_", " ").lower()
    if "did not return a certificate" in words:
        return "it shows no certificate: it needs one from this cluster's authority ([tls] in its cluster.toml)"
    if "alert" in words:
        return f"it does not accept our certificate: both must be from the same authority, and valid now ({words})"
    if words in NOT_TLS:
        return "it does not speak TLS: members need [tls] in their cluster.toml, and other programs cannot connect here"
    if "taking longer" in str(error):
        return "it did not finish the TLS handshake in time"
    if isinstance(error, ConnectionError):
        return "it ended the TLS handshake; if it is a member, its log says why"
    return f"the TLS handshake failed: {error}"


def _why_no_certificate(error: ssl.SSLCertVerificationError) -> str:
    if "expired" in error.verify_message:
        return "its certificate has expired: make a new one"
    if "not yet valid" in error.verify_message:
        return "its certificate is not valid yet: do the clocks of both machines agree?"
    if "mismatch" in error.verify_message:
        return "its certificate is for another name: each node needs its own"
    return "its certificate is not from this cluster's authority ([tls] ca): make both with the same one"
