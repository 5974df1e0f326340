"""A node that programs share: on the same machine over a Unix socket, or from elsewhere over TLS. What they say to each
other is in `congenial.net.asks`; the programs' end is `congenial.net.client`.
"""

from __future__ import annotations

import asyncio
import math
import os
import ssl
from functools import partial
from pathlib import Path

import msgspec

from congenial.kernel.errors import ConfigError, CongenialError
from congenial.net import forks
from congenial.net.addresses import address, checked_place
from congenial.net.asks import LONGEST_LINE, REFUSED, RENUMBERED, Answer, Ask
from congenial.net.held import ONLY_HERE, Held
from congenial.net.local import LocalListener, is_trusted, listen, process_of, user_of
from congenial.net.locks import Cluster
from congenial.net.names import lock_key
from congenial.net.notes import Note
from congenial.net.reports import PAGE, question_of

UNHEARD = 1.5  # times as long as a program waits for an answer, a node waits for the program, if it is elsewhere
CLOSING = 0.002  # seconds, before looking again whether programs have hung up
FIRST_PATIENCE = 10.0  # seconds until it has said how long that is
WATCH = 0.5  # seconds, at most, until a note that is watched is told as it is


class Service:
    """What serves the programs: made by `serve`."""

    def __init__(self, cluster: Cluster, listener: LocalListener | None) -> None:
        self.cluster = cluster
        self.listener = listener  # None: from elsewhere
        self.server: asyncio.Server | None = None
        self.forked = self.closed = False
        self.sessions: set[Session] = set()
        forks.watch(self)

    async def start(self) -> None:
        assert self.listener is not None
        self.server = await asyncio.start_unix_server(self._run, sock=self.listener.socket, limit=LONGEST_LINE)

    async def start_at(self, place: str, tls: ssl.SSLContext) -> None:
        host, port = address(place)
        try:
            self.server = await asyncio.start_server(self._run, host, port, ssl=tls, limit=LONGEST_LINE)
        except OSError as error:
            raise ConfigError(f"cannot listen for programs at {place}: {error.strerror or error}") from error

    async def _run(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = Session(self, reader, writer)
        self.sessions.add(session)
        try:
            await session.run()
        finally:
            self.sessions.discard(session)

    def close(self) -> None:
        """Stop listening, and end all connections. The programs lose what they hold."""
        if self.forked or self.closed:
            return  # in a forked child it is for the parent to do
        self.closed = True
        forks.unwatch(self)
        if self.server is not None:
            self.server.close()
        if self.listener is not None:
            self.listener.close()
        for session in self.sessions:
            if session.writer.can_write_eof():
                session.writer.write_eof()  # the program hangs up when it has heard that it has lost what it held
            else:
                session.writer.close()

    async def end(self) -> None:
        """The same, and wait until the programs know it, or can no longer rely on what they hold."""
        self.close()
        now = asyncio.get_running_loop().time
        deadline = now() + min(self.cluster._host.locks.lease.left(), FIRST_PATIENCE)
        while any([session.held for session in self.sessions]) and now() < deadline:
            await asyncio.sleep(CLOSING)
        for session in self.sessions:
            session.writer.close()

    def on_fork(self) -> None:
        """This is a forked child: only the parent serves programs."""
        self.forked = True
        forks.drop_server(self.server)
        forks.drop_transports([session.writer.transport for session in self.sessions])


async def serve(cluster: Cluster, at: Path | LocalListener, *, mode: int = 0o600, group: str = "") -> Service:
    """Let programs on this machine use the node's locks: those of the same user, or those that `mode` and `group` let
    connect to the socket."""
    service = Service(cluster, at if isinstance(at, LocalListener) else await listen(at, mode, group))
    await service.start()
    cluster._before_leaving.append(service.end)  # programs must not believe that they hold what the node has released
    return service


def check_clients(cluster: Cluster, place: str) -> None:
    """`ConfigError` if programs from elsewhere cannot be served at this place; it may be empty."""
    checked_place("clients", place)
    if place and cluster.config.tls is None:
        raise ConfigError("programs from elsewhere need TLS: give the cluster certificates ([tls] in cluster.toml)")


async def serve_at(cluster: Cluster, place: str) -> Service:
    """Let programs from elsewhere use the node's locks, over TLS: with a certificate of the cluster's authority."""
    check_clients(cluster, place)
    assert cluster.config.tls is not None
    porter = cluster._host.membership.porter
    context, _ = cluster.config.tls.contexts(cluster.name)
    context.sni_callback = lambda connection, name, first: setattr(connection, "context", porter.tls)  # as renewed
    service = Service(cluster, None)
    await service.start_at(place, context)
    cluster._before_leaving.append(service.end)
    return service


class Session:
    """One program's connection."""

    def __init__(self, service: Service, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.service = service
        self.cluster = service.cluster
        self.reader = reader
        self.writer = writer
        self.held: dict[int, Held] = {}
        self.tasks: dict[int, asyncio.Task[None]] = {}  # each waits for a lock, or for its loss
        self.patience: float | None = FIRST_PATIENCE if service.listener is None else None  # with its silence

    async def run(self) -> None:
        decode = msgspec.json.Decoder(Ask).decode
        stranger = self._stranger()
        if stranger:
            self._answer(Answer(REFUSED, error="ProtocolError", text=stranger))
            self.writer.close()
            return
        try:
            while line := await self._line():
                self._on_ask(decode(line))
                await self.writer.drain()
        except (msgspec.MsgspecError, ValueError) as error:  # a line that is too long is a ValueError
            self._answer(Answer(REFUSED, error="ProtocolError", text=str(error)))
        except (OSError, TimeoutError, asyncio.CancelledError):
            pass
        finally:
            for task in self.tasks.values():
                task.cancel()
            for held in self.held.values():
                if held.held:
                    held.release()
            self.writer.close()

    def __str__(self) -> str:
        """The program, as people may recognise it: by its process, if it is on this machine."""
        process = None if self.service.listener is None else process_of(self.writer.get_extra_info("socket"))
        return "a program elsewhere" if process is None else f"process {process}"

    def _stranger(self) -> str:
        """Why this program is not served; empty if it is. TLS has checked those from elsewhere."""
        listener = self.service.listener
        if listener is None or listener.open_to_others:
            return ""
        user = user_of(self.writer.get_extra_info("socket"))
        return "" if is_trusted(user) else f"this node serves user {os.geteuid()}, not {user}"

    async def _line(self) -> bytes:
        async with asyncio.timeout(self.patience):
            return await self.reader.readline()

    def _on_ask(self, ask: Ask) -> None:
        if ask.do == "release":
            self._release(ask.id)
        elif ask.do == "ping":
            self._on_ping(ask)
        elif ask.id in self.tasks:
            self._answer(Answer(ask.id, error="ProtocolError", text=f"id {ask.id} is in use"))
        else:
            jobs = {"acquire": self._acquire, "status": self._status, "members": self._members}
            task = self.tasks[ask.id] = asyncio.create_task(jobs.get(ask.do, self._note)(ask))
            task.add_done_callback(lambda _: self.tasks.pop(ask.id, None))

    def _on_ping(self, ask: Ask) -> None:
        if self.service.listener is None and ask.timeout:
            self.patience = UNHEARD * ask.timeout
        left = self.cluster._host.locks.lease.left()
        told = None if math.isinf(left) else left
        self._answer(self._with_members(Answer(ask.id, lease=told, drift=self.cluster.config.timing.drift)))

    def _with_members(self, answer: Answer) -> Answer:
        board = self.cluster._board
        answer.me, answer.there = board.me, board.present()
        return answer

    async def _note(self, ask: Ask) -> None:
        """What a program does with a note."""
        board = self.cluster._board
        note, kept = Note(ask.fence, ask.turn, ask.value), True
        try:
            if ask.do == "read":
                note = await board.read(ask.name, ask.fence)
            elif ask.do == "write":
                await board.write(ask.name, ask.fence, ask.value)
                note = board.local(ask.name)
            elif ask.do == "fresh":
                note = await board.fresh(ask.name)
            elif ask.do == "confirm":
                kept = await board.confirm(ask.name, note)
            else:
                await board.changed(ask.name, note, WATCH if ask.timeout is None else min(ask.timeout, WATCH))
                note = board.local(ask.name)
        except CongenialError as error:
            self._answer(Answer(ask.id, error=type(error).__name__, text=str(error)))
            return
        self._answer(self._with_members(Answer(ask.id, note.fence, turn=note.turn, value=note.value, kept=kept)))

    async def _acquire(self, ask: Ask) -> None:
        try:
            name, group = ask.names()
            lock = self.cluster._lock(ask.mode, name, group, ask.k, None)
            limit = ONLY_HERE if ask.here else ask.timeout
            held = await lock._acquire((self, ask.owner or object()), limit, True)
            assert held is not None
        except CongenialError as error:
            self._answer(Answer(ask.id, error=type(error).__name__, text=str(error)))
            return
        self.held[ask.id] = held
        held._on_fence = partial(asyncio.get_running_loop().call_soon, self._renumber, ask.id, held)
        self._answer(Answer(ask.id, fence=held.fence, lock=held.name))
        why = await held.lost
        self.held.pop(ask.id, None)
        self._answer(Answer(ask.id, error="LockLost", text=why))

    def _renumber(self, number: int, held: Held) -> None:
        """Tell the present fence, which is on disk now: the turn that gave it is over."""
        if self.held.get(number) is held and held._inside:
            self._answer(Answer(RENUMBERED, fence=held.fence, held=number))

    async def _status(self, ask: Ask) -> None:
        reports = self.cluster._host.reports
        try:
            asked = question_of(ask.name or None, ask.top, None if ask.name else ask.find or None)
            if ask.watch:
                keys = tuple([lock_key(name) for name in ask.shown])
                asked = msgspec.structs.replace(asked, find=ask.find, by=ask.by, names=keys, watch=True)
            told = await reports.of_all(asked, ask.timeout)
        except CongenialError as error:
            self._answer(Answer(ask.id, error=type(error).__name__, text=str(error)))
            return
        if ask.watch:
            told[self.cluster.name] = {**(told[self.cluster.name] or {}), "asked": True}
        for name, status in told.items():
            locks = [] if status is None else list(status["locks"].items())
            with reports.meter:
                self._answer(Answer(ask.id, status={name: status and {**status, "locks": {}}}, more=True))
            for start in range(0, len(locks), PAGE):
                with reports.meter:
                    part = {"locks": dict(locks[start : start + PAGE])}
                    self._answer(Answer(ask.id, status={name: part}, more=True))
                await self.writer.drain()
        self._answer(Answer(ask.id))

    async def _members(self, ask: Ask) -> None:
        try:
            if ask.role:
                await self.cluster.assign(ask.name, ask.role)
            self._answer(Answer(ask.id, members=[(*member,) for member in self.cluster.members()]))
        except CongenialError as error:
            self._answer(Answer(ask.id, error=type(error).__name__, text=str(error)))

    def _release(self, number: int) -> None:
        held = self.held.pop(number, None)
        task = self.tasks.pop(number, None)
        if task is not None:
            task.cancel()
        if held is not None and held.held:
            held.release()

    def _answer(self, answer: Answer) -> None:
        if not self.writer.is_closing() and not self.service.closed:
            self.writer.write(msgspec.json.encode(answer) + b"\n")
