"""What a process inherits when its parent, a member of a cluster, calls `os.fork`.

A forked child has a copy of everything: of what the parent holds, of its open connections, of its event loop. Only the
parent is a member, though. If the child used its copy, two processes would speak for one member on the same connections
and each would believe that it holds what the other released. So in a child everything that belongs to a cluster is
disabled. It raises an error when it is used, and the child's copies of connections and files are closed; the parent
notices nothing.

A connection cannot be closed in the usual way: that could send bytes, and it would tell the event loop, which shares
its list of connections (epoll) with the parent's. Instead /dev/null takes the place of each file descriptor. Then
nothing reaches the peer, whatever the child does, and objects that close the descriptor later close nothing else. If
the parent crashes, its peers notice: the child does not keep the connections open.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import selectors
import socket
import weakref
from collections.abc import Iterable
from typing import Any, Protocol

from congenial.net.logs import log_exception


class ParentsOnly(Protocol):
    """Something that must not be used in a forked child."""

    def on_fork(self) -> None:
        """Called in the child, before anything else happens there."""


_epolls: list[object] = []
_parents_only: dict[int, weakref.ref[ParentsOnly]] = {}


def watch(thing: ParentsOnly) -> None:
    """Tell `thing` in every child that is forked from now on."""
    number = id(thing)
    _parents_only[number] = weakref.ref(thing, lambda _: _parents_only.pop(number, None))


def unwatch(thing: ParentsOnly) -> None:
    _parents_only.pop(id(thing), None)


def _in_child() -> None:
    for known in list(_parents_only.values()):
        thing = known()
        if thing is not None:
            try:
                thing.on_fork()
            except Exception:  # the others must be told nevertheless
                log_exception(logging.ERROR, "fork.failed", process=os.getpid())
    _parents_only.clear()


os.register_at_fork(after_in_child=_in_child)


def only_the_parent(name: str) -> str:
    """What is said in a child that uses a cluster of its parent."""
    return (
        f"this process was forked after joining as {name!r}, and only its parent is a member: join again in the child, "
        "under a name of its own (docs/locks.md, Forking)"
    )


def drop_transports(transports: Iterable[asyncio.BaseTransport | None]) -> None:
    """Close this child's copies of connections, in silence; those too which the parent was just closing."""
    for transport in transports:
        if transport is not None:
            connected: Any = transport.get_extra_info("socket")
            if connected is not None and _is_still(connected.fileno(), transport.get_extra_info("peername")):
                drop(connected.fileno())


def drop_server(server: asyncio.AbstractServer | None) -> None:
    """Close this child's copies of listening sockets."""
    for listening in getattr(server, "sockets", None) or ():
        drop(listening.fileno())


def drop(descriptor: int) -> None:
    """Put /dev/null in the place of an open file or socket. It is closed first: there may be no descriptor left. (No
    other thread can take its number: a forked child has one thread.)"""
    if descriptor >= 0:
        os.close(descriptor)
        nothing = os.open(os.devnull, os.O_RDWR)
        if nothing != descriptor:
            os.dup2(nothing, descriptor, inheritable=False)
            os.close(nothing)


def _is_still(descriptor: int, peer: object) -> bool:
    """The connection may have ended just before the fork, and its number may be that of another file by now."""
    try:
        found = socket.socket(fileno=descriptor)
    except (OSError, ValueError):  # it is closed; asyncio's own socket says -1 then
        return False
    try:
        return bool(found.getpeername() == peer)
    except OSError:
        return False
    finally:
        found.detach()


def leave_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Let the copy of an event loop have a list of connections of its own, so that closing it does not disturb the
    parent's. (uvloop does that itself, and other systems than Linux share nothing.)"""
    selector: Any = getattr(loop, "_selector", None)
    kind = getattr(selectors, "EpollSelector", None)
    if kind is not None and isinstance(selector, kind) and not loop.is_closed():
        number = selector.fileno()
        os.close(number)
        fresh = select.epoll()
        if fresh.fileno() == number:
            _epolls.append(fresh)  # the selector closes it
        else:
            os.dup2(fresh.fileno(), number, inheritable=False)
            fresh.close()
