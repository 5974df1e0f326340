"""A program's end of the connection to the node on its machine (`congenial.net.service`).

    async with Client("/run/user/1000/congenial-jukebox-a.sock") as client:
        async with client.mutex("invoices") as held:
            ...

What the program holds is released when its connection ends: when the program ends, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from congenial.kernel.errors import ConfigError, CongenialError
from congenial.net import forks
from congenial.net.acquiring import SEMAPHORE, Acquirable
from congenial.net.checked import Text, checked
from congenial.net.errors import ClusterDegraded
from congenial.net.held import Losable
from congenial.net.local import check_length, is_trusted, user_of
from congenial.net.locks import LockForms
from congenial.net.names import bytes_of, is_text, readable
from congenial.net.reports import check_question
from congenial.net.service import ERRORS, LONGEST_LINE, Answer, Ask


class RemoteHeld(Losable):
    """A lock that the node holds for this program."""

    __slots__ = ("_client", "_number")

    def __init__(self, client: Client, number: int, name: str, group: str | None, fence: int) -> None:
        super().__init__(name, group, fence)
        self._client = client
        self._number = number

    @property
    def held(self) -> bool:
        return self._number in self._client.held

    def release(self) -> None:
        if self._again and self.held:
            self._again -= 1
            return
        if self._client.held.pop(self._number, None) is None:
            raise self._not_held()
        self._client.tell(Ask("release", self._number))


class RemoteLock(Acquirable[RemoteHeld]):
    """A lock of the node that can be acquired."""

    __slots__ = ("_ask", "_client")

    def __init__(self, client: Client, ask: Ask, reentrant: bool) -> None:
        name, group = ask.names()
        super().__init__(ask.mode, readable(name), readable(group) or None, ask.k, ask.timeout, reentrant)
        self._client = client
        self._ask = ask

    def _inside(self) -> list[RemoteHeld]:
        seats = self.mode == SEMAPHORE
        found = self._client.held.values()
        return [held for held in found if held.name == self.name and (held.mode == SEMAPHORE) == seats]

    def _joins_now(self) -> bool:
        return True  # the node finds out whether it does not

    async def _enter(self, limit: float | None, owner: object) -> RemoteHeld:
        ask = msgspec.structs.replace(self._ask, id=self._client.next_id(), timeout=limit, owner=id(owner))
        try:
            answer = await self._client.ask(ask)
        except asyncio.CancelledError:
            with contextlib.suppress(ClusterDegraded):  # withdraw the request, or release what was just granted
                self._client.tell(Ask("release", ask.id))
            raise
        held = RemoteHeld(self._client, ask.id, self.name, self.group, answer.fence)
        self._client.held[ask.id] = held
        return held

    def _place(self) -> str:
        return str(self._client.path)


class Client(LockForms[RemoteLock, Awaitable[RemoteHeld | None]]):
    """A program's connection to the node on its machine; it has the same locks as a `Cluster`.

    With `check_user` the node must run as the same user as the program, or as root: anybody may listen at a path.
    """

    def __init__(self, path: str | Path, *, check_user: bool = True) -> None:
        self.path = Path(path)
        self._check_user = check_user
        self._gone = f"the node on {path} is gone"
        self.held: dict[int, RemoteHeld] = {}
        self._answers: dict[int, asyncio.Future[Answer]] = {}
        self._told: dict[int, dict[str, dict[str, Any] | None]] = {}  # statuses, as far as they have arrived
        self._ids = 0
        self._writer: asyncio.StreamWriter | None = None
        self._listening: asyncio.Task[None] | None = None
        self._forked: ConfigError | None = None  # in a forked child: why it must not use this

    async def __aenter__(self) -> Client:
        check_length(self.path)
        try:
            reader, self._writer = await asyncio.open_unix_connection(str(self.path), limit=LONGEST_LINE)
        except OSError as error:
            raise ClusterDegraded(
                f"no node is listening on {self.path} ({error.strerror}): start one with `congenial node`"
            ) from error
        user = user_of(self._socket)
        if self._check_user and not is_trusted(user):
            self._writer.close()
            raise ClusterDegraded(f"another user ({user}) is listening on {self.path}: that is not your node")
        self._loop = asyncio.get_running_loop()
        self._listening = asyncio.create_task(self._listen(reader))
        forks.watch(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._forked is not None:
            return
        forks.unwatch(self)
        if self._writer is not None:
            if self._writer.can_write_eof() and not self._writer.is_closing():
                self._writer.write_eof()  # other processes may have inherited the connection: for them, too, it is over
            self._writer.close()
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)

    def on_fork(self) -> None:
        """This is a forked child: the connection, and what is held, is its parent's."""
        self._forked = ConfigError(
            f"this process was forked after connecting to the node on {self.path}: connect again in the child"
        )
        forks.drop_transports([self._writer.transport if self._writer is not None else None])
        forks.leave_loop(self._loop)
        for held in self.held.values():
            held._abandon(str(self._forked))
        self.held.clear()

    def fileno(self) -> int:
        """The connection. While any process has it open, the node releases nothing that is held."""
        return self._socket.fileno()

    @property
    def _socket(self) -> socket.socket:
        assert self._writer is not None
        connected: socket.socket = self._writer.get_extra_info("socket")
        return connected

    async def status_of_all(self, *, lock: str | None = None, top: int = 1000) -> dict[str, dict[str, Any] | None]:
        """As `Cluster.status_of_all`."""
        check_question(lock, top)
        name: str = "" if lock is None else checked("lock", lock, Text)
        ask = Ask("status", self.next_id(), name=name, top=top)
        told: dict[str, dict[str, Any] | None] = {}
        self._told[ask.id] = told
        try:
            await self.ask(ask)
        finally:
            del self._told[ask.id]
        return told

    def next_id(self) -> int:
        self._ids += 1
        return self._ids

    async def ask(self, ask: Ask) -> Answer:
        if self._forked is not None:
            raise self._forked
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._answers[ask.id] = future
        try:
            self.tell(ask)
            answer = await future
        finally:
            del self._answers[ask.id]
        if answer.error:
            raise ERRORS.get(answer.error, CongenialError)(answer.text)
        return answer

    def tell(self, ask: Ask) -> None:
        if self._forked is not None:
            raise self._forked
        if self._writer is None or self._writer.is_closing():
            raise ClusterDegraded(self._gone)
        self._writer.write(msgspec.json.encode(ask) + b"\n")

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        decode = msgspec.json.Decoder(Answer).decode
        try:
            while line := await reader.readline():
                answer: Answer = decode(line)
                future = self._answers.get(answer.id)
                if answer.more:
                    self._add(answer)
                elif future is not None and not future.done():
                    future.set_result(answer)
                elif answer.id in self.held:
                    self._lose(answer.id, answer.text)
                elif answer.id == -1:  # the node ends the connection, and says why
                    self._gone = f"the node on {self.path} refuses this program: {answer.text}"
        except (OSError, ValueError, msgspec.MsgspecError):
            pass
        finally:
            for future in self._answers.values():
                if not future.done():
                    future.set_exception(ClusterDegraded(self._gone))
            for number in list(self.held):
                self._lose(number, self._gone)
            if self._writer is not None:
                self._writer.close()

    def _add(self, answer: Answer) -> None:
        """A part of a status."""
        told = self._told.get(answer.id, {})
        for name, part in (answer.status or {}).items():
            known = told.setdefault(name, part)
            if known is not None and known is not part:
                known["locks"].update(part["locks"])

    def _lose(self, number: int, why: str) -> None:
        self.held.pop(number)._lose(why)

    def _lock(
        self, mode: str, name: str, group: str, k: int, timeout: float | None, reentrant: bool = False
    ) -> RemoteLock:
        raw = not is_text(name + group)
        if raw:
            name, group = [bytes_of(text).decode("latin-1") for text in (name, group)]
        ask = {"do": "acquire", "id": 0, "mode": mode, "name": name, "group": group, "k": k, "timeout": timeout}
        return RemoteLock(self, msgspec.convert({**ask, "raw": raw}, Ask), reentrant)

    def _try(self, lock: RemoteLock) -> Awaitable[RemoteHeld | None]:
        return lock.try_acquire()
