"""A node that programs on the same machine share over a Unix socket. The programs' end is `congenial.net.client`.

One JSON object a line, both ways. A program asks:

    {"do": "acquire", "id": 1, "mode": "group", "name": "jukebox", "group": "disc-7", "k": 0, "timeout": 2.5}
    {"do": "release", "id": 1}
    {"do": "status", "id": 2, "top": 20}

and the node answers {"id": 1, "fence": 17} or {"id": 1, "error": "LockTimeout", "text": "..."}. A status comes in
several lines, each with a part of it; all but the last one say "more". What a program holds is released when its
connection ends. When a lock is lost, the node sends {"id": 1, "error": "LockLost", ...} unasked.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any, Literal

import msgspec

from congenial.kernel.errors import ConfigError, CongenialError, IllegalStep
from congenial.net import forks
from congenial.net.acquiring import Terms
from congenial.net.errors import (
    ClusterDegraded,
    LockLost,
    LockTimeout,
    NotHeld,
    ProtocolError,
    TimeoutTooLong,
    WouldDeadlock,
)
from congenial.net.held import Held
from congenial.net.local import LocalListener, is_trusted, listen, user_of
from congenial.net.locks import Cluster
from congenial.net.reports import PAGE

LONGEST_LINE = 1 << 20
ERRORS: dict[str, type[CongenialError]] = {
    kind.__name__: kind
    for kind in (
        LockTimeout,
        ClusterDegraded,
        NotHeld,
        LockLost,
        ProtocolError,
        ConfigError,
        WouldDeadlock,
        TimeoutTooLong,
        IllegalStep,
        CongenialError,
    )
}


class Ask(msgspec.Struct, forbid_unknown_fields=True):
    """What a program asks of the node."""

    do: Literal["acquire", "release", "status"]
    id: int
    mode: Literal["exclusive", "shared", "group", "semaphore"] = "exclusive"
    name: str = ""
    group: str = ""
    k: int = 1
    timeout: float | None = None
    top: int = 1000
    owner: int = 0  # which task or thread of the program asks: if it waits for itself, it is told
    raw: bool = False  # name and group stand for bytes, each written as the character of that number

    def names(self) -> tuple[str, str]:
        if not self.raw:
            return self.name, self.group
        try:
            name, group = [
                text.encode("latin-1").decode("utf-8", "surrogateescape") for text in (self.name, self.group)
            ]
        except UnicodeEncodeError as error:
            raise ProtocolError(f"a raw name has characters that are no bytes: {error}") from None
        return name, group


class Answer(msgspec.Struct, omit_defaults=True):
    id: int
    fence: int = 0
    lock: str = ""
    error: str = ""
    text: str = ""
    status: dict[str, Any] | None = None
    more: bool = False


# -- the node's end ---------------------------------------------------------------------------------------------


class Service:
    """What serves the programs: made by `serve`."""

    def __init__(self, cluster: Cluster, listener: LocalListener) -> None:
        self.cluster = cluster
        self.listener = listener
        self.server: asyncio.Server | None = None
        self.forked = self.closed = False
        self.sessions: set[Session] = set()
        forks.watch(self)

    async def start(self) -> None:
        self.server = await asyncio.start_unix_server(self._run, sock=self.listener.socket, limit=LONGEST_LINE)

    async def _run(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = Session(self.cluster, reader, writer)
        self.sessions.add(session)
        try:
            await session.run()
        finally:
            self.sessions.discard(session)

    def close(self) -> None:
        """Listen no more, and end all connections. The programs lose what they hold."""
        if self.forked or self.closed:
            return  # in a forked child it is for the parent to do
        self.closed = True
        forks.unwatch(self)
        if self.server is not None:
            self.server.close()
        self.listener.close()
        for session in self.sessions:
            session.writer.close()

    def on_fork(self) -> None:
        """This is a forked child: only the parent serves programs."""
        self.forked = True
        forks.drop_server(self.server)
        forks.drop_transports([session.writer.transport for session in self.sessions])


async def serve(cluster: Cluster, at: Path | LocalListener) -> Service:
    """Let programs on this machine, run by the same user, use the node's locks."""
    service = Service(cluster, at if isinstance(at, LocalListener) else await listen(at))
    await service.start()
    cluster._before_leaving.append(service.close)  # programs must not believe to hold what the node has released
    return service


class Session:
    """One program's connection."""

    def __init__(self, cluster: Cluster, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.cluster = cluster
        self.reader = reader
        self.writer = writer
        self.held: dict[int, Held] = {}
        self.tasks: dict[int, asyncio.Task[None]] = {}  # each waits for a lock, or for its loss

    async def run(self) -> None:
        decode = msgspec.json.Decoder(Ask).decode
        user = user_of(self.writer.get_extra_info("socket"))
        if not is_trusted(user):
            self._answer(Answer(-1, error="ProtocolError", text=f"this node serves user {os.geteuid()}, not {user}"))
            self.writer.close()
            return
        try:
            while line := await self.reader.readline():
                self._on_ask(decode(line))
                await self.writer.drain()
        except (msgspec.MsgspecError, ValueError) as error:  # a line that is too long is a ValueError
            self._answer(Answer(-1, error="ProtocolError", text=str(error)))
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            for task in self.tasks.values():
                task.cancel()
            for held in self.held.values():
                if held.held:
                    held.release()
            self.writer.close()

    def _on_ask(self, ask: Ask) -> None:
        if ask.do == "release":
            self._release(ask.id)
        elif ask.id in self.tasks:
            self._answer(Answer(ask.id, error="ProtocolError", text=f"id {ask.id} is in use"))
        else:
            job = self._acquire(ask) if ask.do == "acquire" else self._status(ask)
            task = self.tasks[ask.id] = asyncio.create_task(job)
            task.add_done_callback(lambda _: self.tasks.pop(ask.id, None))

    async def _acquire(self, ask: Ask) -> None:
        try:
            name, group = ask.names()
            lock = self.cluster._lock(ask.mode, name, group, ask.k, None)
            held = await lock._acquire((self, ask.owner) if ask.owner else object(), Terms(True, -1.0, ask.timeout))
            assert held is not None
        except CongenialError as error:
            self._answer(Answer(ask.id, error=type(error).__name__, text=str(error)))
            return
        self.held[ask.id] = held
        self._answer(Answer(ask.id, fence=held.fence, lock=held.name))
        why = await held.lost
        self.held.pop(ask.id, None)
        self._answer(Answer(ask.id, error="LockLost", text=why))

    async def _status(self, ask: Ask) -> None:
        try:
            told = await self.cluster.status_of_all(lock=ask.name or None, top=ask.top)
        except CongenialError as error:
            self._answer(Answer(ask.id, error=type(error).__name__, text=str(error)))
            return
        for name, status in told.items():
            locks = [] if status is None else list(status["locks"].items())
            self._answer(Answer(ask.id, status={name: status and {**status, "locks": {}}}, more=True))
            for start in range(0, len(locks), PAGE):
                part = {"locks": dict(locks[start : start + PAGE])}
                self._answer(Answer(ask.id, status={name: part}, more=True))
                await self.writer.drain()
        self._answer(Answer(ask.id))

    def _release(self, number: int) -> None:
        held = self.held.pop(number, None)
        task = self.tasks.pop(number, None)
        if task is not None:
            task.cancel()
        if held is not None and held.held:
            held.release()

    def _answer(self, answer: Answer) -> None:
        if not self.writer.is_closing():
            self.writer.write(msgspec.json.encode(answer) + b"\n")
