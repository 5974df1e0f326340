"""A program's end of the connection to a node (`congenial.net.service`).

    async with congenial.connect("/run/congenial/a.sock") as node:
        async with node.mutex("invoices") as held:
            ...

What the program holds is released when its connection ends: when the program ends, too. When the connection breaks, or
the node does not answer for too long, the program has lost what it held, and is told. It connects again, to the same
node or to another one, and what was waiting for a lock goes on waiting there.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import random
import socket
from collections.abc import Awaitable
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from congenial.kernel.errors import ConfigError, CongenialError
from congenial.net import forks
from congenial.net.acquiring import SEMAPHORE_MODE, Acquirable
from congenial.net.asks import ERRORS, REFUSED, RENUMBERED, Answer, Ask
from congenial.net.checked import Seconds, Text, checked
from congenial.net.config import ClusterConfig
from congenial.net.endpoints import Endpoint, LocalEndpoint, Where, endpoints_of
from congenial.net.entrance import RAN_OUT
from congenial.net.errors import ClusterDegraded
from congenial.net.held import ONLY_HERE, Losable
from congenial.net.lease import clock
from congenial.net.locks import LockForms
from congenial.net.logs import log
from congenial.net.members import Member, check_wish
from congenial.net.names import bytes_of, is_text, readable
from congenial.net.primitives.forms import Primitives
from congenial.net.remote_board import RemoteBoard
from congenial.net.reports import question_of
from congenial.net.tls import Tls

PATIENCE = 3.0  # seconds without an answer after which the node counts as gone
PINGS = 6  # in that time, or in that for which the node is a member for sure, if that is shorter
SHORTEST_PAUSE = 0.05  # seconds between two of them
FIRST_PAUSE, LAST_PAUSE = 0.05, 1.0  # seconds between attempts to connect
SILENT = "the node has not answered for too long"


class Broken(Exception):
    """The connection broke before the answer."""


class RemoteHeld(Losable):
    """A lock that a node holds for this program, like `Held`.

    >>> import asyncio, tempfile, congenial
    >>> from pathlib import Path
    >>> from congenial.net.service import serve
    >>> async def pay(folder: str) -> None:
    ...     async with congenial.join("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...         await serve(cluster, Path(folder, "a.sock"))
    ...         async with congenial.connect(Path(folder, "a.sock")) as node:
    ...             held = await node.mutex("invoices").acquire()
    ...             held.check()
    ...             held.release()
    ...             print(held)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     asyncio.run(pay(folder))
    <not held: 'invoices', fence ...>
    """

    __slots__ = ("_client", "_number")

    def __init__(self, client: Client, number: int, name: str, group: str | None, fence: int) -> None:
        super().__init__(name, group, fence)
        self._client = client
        self._number = number

    @property
    def _inside(self) -> bool:
        return self._client.held.get(self._number) is self

    def _has_run_out(self) -> bool:
        return self._inside and clock() >= self._client.until

    def _settle(self) -> None:
        if self._has_run_out():
            self._expire()

    def _expire(self) -> None:
        if self._inside:
            del self._client.held[self._number]
            with contextlib.suppress(CongenialError):
                self._client.tell(Ask("release", self._number))
            self._lose(self._client.why_over())

    def _lease_left(self) -> float:
        return max(self._client.until - clock(), 0.0)

    def _become(self, other: Any) -> None:
        self._number = other._number
        self._client.held[self._number] = self
        self._fence = other.fence

    def release(self) -> None:
        self._settle()
        if self._again and self._inside:
            self._again -= 1
            return
        if not self._inside:
            raise self._not_held()
        del self._client.held[self._number]
        self._client.tell(Ask("release", self._number))


class RemoteLock(Acquirable[RemoteHeld]):
    """A lock of a node that can be acquired, like `Lock`.

    >>> import asyncio, tempfile, congenial
    >>> from pathlib import Path
    >>> from congenial.net.service import serve
    >>> async def pay(folder: str) -> None:
    ...     async with congenial.join("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...         await serve(cluster, Path(folder, "a.sock"))
    ...         async with congenial.connect(Path(folder, "a.sock")) as node:
    ...             lock = node.mutex("invoices", timeout=2.5)
    ...             async with lock:
    ...                 print(lock.name, lock.locked())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     asyncio.run(pay(folder))
    invoices True
    """

    __slots__ = ("_ask", "_client")

    def __init__(self, client: Client, ask: Ask, reentrant: bool) -> None:
        name, group = ask.names()
        super().__init__(ask.mode, readable(name), readable(group) or None, ask.k, ask.timeout, reentrant)
        self._client = client
        self._ask = ask

    def _inside(self) -> list[RemoteHeld]:
        seats = self.mode == SEMAPHORE_MODE
        found = self._client.held.values()
        return [held for held in found if held.name == self.name and (held.mode == SEMAPHORE_MODE) == seats]

    def _joins_now(self) -> bool:
        return True  # the node finds out whether it does not

    async def _enter(self, limit: float | None, owner: object) -> RemoteHeld:
        here = limit == ONLY_HERE
        ask = msgspec.structs.replace(self._ask, timeout=0.0 if here else limit, here=here, owner=id(owner))
        answer = await self._client.ask(ask)
        held = RemoteHeld(self._client, answer.id, self.name, self.group, answer.fence)
        held.mode = self.mode
        self._client.held[answer.id] = held
        if held._has_run_out():  # the node could promise nothing when it was last asked, but now it can
            try:
                await self._client.renew()
            except BaseException:
                if held._inside:
                    held.release()
                raise
        return held

    def _place(self) -> str:
        return str(self._client._where)


class Client(LockForms[RemoteLock, Awaitable[RemoteHeld | None]], Primitives):
    """A program's connection to a node; it has the same locks as a `Cluster`. Made by `connect`.

    >>> import asyncio, tempfile, congenial
    >>> from pathlib import Path
    >>> from congenial.net.service import serve
    >>> async def pay(folder: str) -> None:
    ...     async with congenial.join("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...         await serve(cluster, Path(folder, "a.sock"))  # as `congenial node` does
    ...         async with congenial.connect(Path(folder, "a.sock")) as node, node.mutex("invoices") as held:
    ...             print(held.name, held.fence > 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     asyncio.run(pay(folder))
    invoices True
    """

    def __init__(
        self,
        where: str | os.PathLike[str] | list[Endpoint],
        *,
        check_user: bool = True,
        reconnect: bool = False,
        patience: float = PATIENCE,
    ) -> None:
        here = where if isinstance(where, list) else [LocalEndpoint(Path(where), check_user)]
        self._endpoints: list[Endpoint] = list(here)
        self._where = self._endpoints[0]  # the node that is used, or was last
        self.patience: float = checked("patience", patience, Seconds)
        self._reconnect = reconnect
        self._board = RemoteBoard(self)
        self._loop: asyncio.AbstractEventLoop | None = None
        self.held: dict[int, RemoteHeld] = {}
        self.until = -math.inf  # until when the node surely holds what it holds for this program, by `clock`
        self._excused = -math.inf  # before that, a missing answer of the node means nothing
        self._heard_at = -math.inf  # when the last ping was answered
        self._pause = SHORTEST_PAUSE  # between two pings
        self._answers: dict[int, asyncio.Future[Answer]] = {}
        self._told: dict[int, dict[str, dict[str, Any] | None]] = {}  # statuses, as far as they have arrived
        self._pings: dict[int, float] = {}  # when those were sent that are not answered
        self._ids = 0
        self._writer: asyncio.StreamWriter | None = None
        self._up = asyncio.Event()
        self._why_down = ""
        self._refused = ""  # why the node will never serve this program
        self._keeping: asyncio.Task[None] | None = None
        self._forked: ConfigError | None = None  # in a forked child: why it must not use this

    # -- life ------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Client:
        reader = await self._connect()
        self._loop = asyncio.get_running_loop()
        self._keeping = asyncio.create_task(self._stay_connected(reader), name="congenial client")
        forks.watch(self)
        try:
            await self._ask_once(Ask("ping", self.next_id(), timeout=self.patience))
        except Broken:
            await self.__aexit__(None, None, None)
            raise self._unreachable() from None
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._forked is not None:
            return
        forks.unwatch(self)
        self._reconnect = False
        self._lose_all("this program has closed its connection")  # before the node releases it
        if self._writer is not None:
            if self._writer.can_write_eof() and not self._writer.is_closing():
                self._writer.write_eof()  # other processes may have inherited the connection: for them, too, it is over
            self._writer.close()
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        self._break("this program has closed its connection")

    def on_fork(self) -> None:
        """This is a forked child: the connection, and what is held, is its parent's."""
        self._forked = ConfigError(
            f"this process was forked after connecting to the node on {self._where}: connect again in the child"
        )
        forks.drop_transports([self._writer.transport if self._writer is not None else None])
        if self._loop is not None:
            forks.leave_loop(self._loop)
        for held in self.held.values():
            held._abandon(str(self._forked))
        self.held.clear()

    def fileno(self) -> int:
        """The connection. While any process has it open, the node releases nothing that is held."""
        assert self._writer is not None
        connected: socket.socket = self._writer.get_extra_info("socket")
        return connected.fileno()

    # -- the connection --------------------------------------------------------------------------------

    async def _connect(self) -> asyncio.StreamReader:
        """Connect to the first node that answers, the present one before others."""
        start = self._endpoints.index(self._where)
        reasons = []
        for endpoint in [*self._endpoints[start:], *self._endpoints[:start]]:
            try:
                reader, writer = await endpoint.open()
            except ClusterDegraded as error:
                reasons.append(str(error))
                continue
            self._writer = writer
            self._where = endpoint
            self.until = -math.inf
            self._excused = clock() + self.patience
            self._pause = SHORTEST_PAUSE
            self._send_ping()  # answered before anything else that is asked: until then nothing is held
            self._up.set()
            return reader
        self._why_down = "; ".join(reasons)
        raise ClusterDegraded(self._why_down)

    async def _stay_connected(self, reader: asyncio.StreamReader) -> None:
        """Listen to the node, and connect again when the connection is broken."""
        while True:
            pinging = asyncio.create_task(self._ping())
            try:
                await self._listen(reader)
            finally:
                pinging.cancel()
                self._break(f"the node on {self._where} is gone")
            if self._refused or not self._reconnect:
                return
            log(logging.WARNING, "client.down", node=self._where)
            self._where = self._endpoints[(self._endpoints.index(self._where) + 1) % len(self._endpoints)]
            pause = FIRST_PAUSE
            while not self._up.is_set():
                try:
                    reader = await self._connect()
                except ClusterDegraded:
                    await asyncio.sleep(pause * (0.5 + random.random()))
                    pause = min(2 * pause, LAST_PAUSE)
            log(logging.INFO, "client.up", node=self._where)

    async def _ping(self) -> None:
        """Ask for signs of life, several in the time for which the node is a member for sure. If this program itself
        has paused, the node is given more time to answer."""
        while True:
            slept = clock()
            await asyncio.sleep(self._pause)
            now = clock()
            if now - slept > 3 * self.patience / PINGS:
                self._excused = now + self.patience
            if now >= max(self.until, self._excused):
                for held in list(self.held.values()):
                    held._settle()
            if now >= max(self._heard_at + self.patience, self._excused) and self._writer is not None:
                self._writer.transport.abort()
            self._send_ping()

    def _send_ping(self) -> None:
        number = self.next_id()
        self._pings[number] = clock()
        with contextlib.suppress(CongenialError):
            self.tell(Ask("ping", number, timeout=self.patience))

    def _break(self, why: str) -> None:
        """The connection is broken: what was held is lost, and calls that wait may ask again."""
        self._up.clear()
        self._why_down = self._refused or why
        self._pings.clear()
        if self._writer is not None:
            self._writer.close()
        self._lose_all(self._why_down)
        for number, future in self._answers.items():
            if not future.done():
                future.set_exception(Broken())
            elif answer := self._unseen(number):
                answer.text = self._why_down

    def _lose_all(self, why: str) -> None:
        held, self.held = self.held, {}
        for one in held.values():
            one._lose(why)

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        decode = msgspec.json.Decoder(Answer).decode
        with contextlib.suppress(OSError, ValueError, msgspec.MsgspecError):
            while line := await reader.readline():
                self._on_answer(decode(line))

    def _on_answer(self, answer: Answer) -> None:
        future = self._answers.get(answer.id)
        if answer.id in self._pings:
            self._extend(self._pings.pop(answer.id), answer)
        elif answer.more:
            self._add(answer)
        elif future is not None:
            if not future.done():
                future.set_result(answer)
            elif granted := self._unseen(answer.id):
                granted.text = answer.text
        elif answer.id in self.held:
            self.held.pop(answer.id)._lose(answer.text)
        elif answer.id == RENUMBERED:
            self._renumber(answer.held, answer.fence)
        elif answer.id == REFUSED:
            self._refused = f"the node on {self._where} refuses this program: {answer.text}"

    def _renumber(self, number: int, fence: int) -> None:
        """What was acquired with this number has another fence now."""
        if held := self.held.get(number):
            held._fence = fence
        elif granted := self._unseen(number):
            granted.fence = fence

    def _unseen(self, number: int) -> Answer | None:
        """The answer to this question, if the task that asked has yet to go on with it."""
        future = self._answers.get(number)
        if future is None or not future.done() or future.cancelled() or future.exception() is not None:
            return None
        return future.result()

    # -- asking ----------------------------------------------------------------------------------------

    def _extend(self, sent: float, answer: Answer) -> None:
        """The answer to a ping that was sent at this time."""
        allowed = self.patience if answer.lease is None else min(self.patience, answer.lease)
        self._heard_at = clock()
        self._pause = max(allowed / PINGS, SHORTEST_PAUSE)
        self.until = max(self.until, sent + allowed * (1 - answer.drift))
        self._board.hear_members(answer)

    def why_over(self) -> str:
        """Why what is held is lost, although the node has not said so yet."""
        return RAN_OUT if clock() - self._heard_at < PINGS / 2 * self._pause else SILENT

    async def renew(self) -> None:
        """Ask the node for how long it surely holds what it holds for this program."""
        with contextlib.suppress(Broken):
            await self._ask_once(Ask("ping", self.next_id(), timeout=self.patience))

    def next_id(self) -> int:
        self._ids += 1
        return self._ids

    async def ask(self, ask: Ask) -> Answer:
        """Ask the node, or the next one if the connection breaks, within the timeout that the question has."""
        if self._forked is not None:
            raise self._forked
        loop = asyncio.get_running_loop()
        deadline = None if ask.timeout is None else loop.time() + ask.timeout
        left = ask.timeout
        while True:
            if self._writer is None or self._writer.is_closing():
                self._up.clear()  # the listener will connect again: it has not heard of the end yet
            if not self._up.is_set():
                await self._wait_for_node(left)
                left = None if deadline is None else max(0.0, deadline - loop.time())
            with contextlib.suppress(Broken):
                return await self._ask_once(msgspec.structs.replace(ask, id=self.next_id(), timeout=left))
            left = None if deadline is None else max(0.0, deadline - loop.time())

    async def _wait_for_node(self, limit: float | None) -> None:
        if not self._up.is_set() and self._reconnect and not self._refused:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limit):
                    await self._up.wait()
        if not self._up.is_set():
            raise self._unreachable()

    def _unreachable(self) -> ClusterDegraded:
        others = f"; tried {', '.join(map(str, self._endpoints))}" if len(self._endpoints) > 1 else ""
        why = self._refused or self._why_down or f"the node on {self._where} is gone"
        return ClusterDegraded(f"{why}{others}")

    async def _ask_once(self, ask: Ask) -> Answer:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._answers[ask.id] = future
        if ask.do == "status":
            self._told[ask.id] = {}
        asked = clock()
        try:
            self.tell(ask)
            answer = await future
        except asyncio.CancelledError:
            with contextlib.suppress(CongenialError):  # withdraw the request, or release what was just granted
                self.tell(Ask("release", ask.id))
            raise
        finally:
            del self._answers[ask.id]
            told = self._told.pop(ask.id, None)
        if answer.error:
            raise ERRORS.get(answer.error, CongenialError)(answer.text)
        if ask.do == "acquire" and answer.text:  # it was lost before the task knew that it had it
            raise Broken
        if ask.do == "ping":
            self._extend(asked, answer)
        if told is not None:
            answer.status = told
        return answer

    def tell(self, ask: Ask) -> None:
        if self._forked is not None:
            raise self._forked
        if self._writer is None or self._writer.is_closing():
            raise self._unreachable()
        self._writer.write(msgspec.json.encode(ask) + b"\n")

    async def status_of_all(
        self, *, lock: str | None = None, top: int = 1000, find: str | None = None
    ) -> dict[str, dict[str, Any] | None]:
        """As `Cluster.status_of_all`."""
        question_of(lock, top, find)
        name: str = "" if lock is None else checked("lock", lock, Text)
        part: str = "" if find is None else checked("find", find, Text)
        return (await self.ask(Ask("status", 0, name=name, top=top, find=part))).status or {}

    async def members(self) -> list[Member]:
        """As `Cluster.members`."""
        return [Member(*told) for told in (await self.ask(Ask("members", 0))).members]

    async def assign(self, name: str, role: str) -> None:
        """As `Cluster.assign`."""
        check_wish(name, role)
        await self.ask(Ask("members", 0, name=name, role=role))

    def _add(self, answer: Answer) -> None:
        """A part of a status."""
        told = self._told.get(answer.id, {})
        for name, part in (answer.status or {}).items():
            known = told.setdefault(name, part)
            if known is not None and known is not part:
                known["locks"].update(part["locks"])

    def _lock(
        self, mode: str, name: str, group: str, k: int, timeout: float | None, reentrant: bool = False
    ) -> RemoteLock:
        raw = not is_text(name + group)
        if raw:
            name, group = [bytes_of(text).decode("latin-1") for text in (name, group)]
        ask = {"do": "acquire", "id": 0, "mode": mode, "name": name, "group": group, "k": k, "timeout": timeout}
        return RemoteLock(self, msgspec.convert({**ask, "raw": raw}, Ask), reentrant)

    def _try(self, lock: RemoteLock, here: bool) -> Awaitable[RemoteHeld | None]:
        return lock.try_acquire(here=here)


def connect(
    where: Where = None,
    *,
    tls: Tls | None = None,
    config: str | Path | ClusterConfig | None = None,
    patience: float = PATIENCE,
) -> Client:
    """Use the locks of a node, without being a member. `where` is the path of a node's socket on this machine, or
    several; or the names and addresses of nodes elsewhere, such as {"a": "10.0.0.1:7201"}, with `tls` for the program's
    own certificate. Without `where`: the socket in CONGENIAL_SOCKET, or the nodes of `config` (`cluster.toml`) that run
    on this machine.

    >>> try:
    ...     connect("/nowhere/a.sock", patience=0)
    ... except ConfigError as error:
    ...     print(error)
    patience = 0: must be seconds, above 0 and at most 1000000

    If the connection breaks, what is held is lost, as with any lock; the program connects again by itself. A node that
    has not answered for `patience` seconds counts as gone.
    """
    return Client(endpoints_of(where, tls, config), reconnect=True, patience=patience)
