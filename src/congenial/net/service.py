"""A node that programs on the same machine share over a Unix socket, and the programs' end of it.

One JSON object a line, both ways. A program asks:

    {"do": "acquire", "id": 1, "mode": "group", "name": "jukebox", "group": "disc-7", "k": 0, "timeout": 2.5}
    {"do": "release", "id": 1}
    {"do": "status", "id": 2}

and the node answers {"id": 1, "fence": 17} or {"id": 1, "error": "LockTimeout", "text": "..."}. What a program holds is
released when its connection ends. When a lock is lost, the node sends {"id": 1, "error": "LockLost", ...} unasked.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import msgspec

from congenial.kernel.errors import ConfigError, CongenialError, IllegalStep
from congenial.net.config import ClusterConfig
from congenial.net.errors import ClusterDegraded, LockLost, LockTimeout, NotHeld, ProtocolError
from congenial.net.held import Held, Losable, WithBody, innermost
from congenial.net.locks import Cluster, LockForms

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


class Answer(msgspec.Struct, omit_defaults=True):
    id: int
    fence: int = 0
    lock: str = ""
    error: str = ""
    text: str = ""
    status: dict[str, Any] | None = None


def socket_path(config: ClusterConfig, name: str) -> Path:
    """Where a node listens for programs by default."""
    folder = os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("TMPDIR") or "/tmp"
    return Path(folder) / f"congenial-{config.cluster}-{name}.sock"


# -- the node's end ---------------------------------------------------------------------------------------------


async def serve(cluster: Cluster, path: Path) -> asyncio.Server:
    """Let programs on this machine, run by the same user, use the node's locks."""
    if path.exists():
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_unix_connection(str(path))
            writer.close()
            raise ConfigError(f"{path}: another node is listening there")
        path.unlink()
    mask = os.umask(0o177)  # only the same user may use the socket
    try:
        return await asyncio.start_unix_server(lambda r, w: Session(cluster, r, w).run(), str(path), limit=LONGEST_LINE)
    except OSError as error:
        raise ConfigError(f"cannot listen on {path}: {error.strerror}") from error
    finally:
        os.umask(mask)


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
            held = await self.cluster._lock(ask.mode, ask.name, ask.group, ask.k, ask.timeout).acquire()
        except CongenialError as error:
            self._answer(Answer(ask.id, error=type(error).__name__, text=str(error)))
            return
        self.held[ask.id] = held
        self._answer(Answer(ask.id, fence=held.fence, lock=held.name))
        why = await held.lost
        self.held.pop(ask.id, None)
        self._answer(Answer(ask.id, error="LockLost", text=why))

    async def _status(self, ask: Ask) -> None:
        self._answer(Answer(ask.id, status=dict(await self.cluster.status_of_all())))

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


# -- a program's end --------------------------------------------------------------------------------------------


class RemoteHeld(Losable):
    """A lock that the node holds for this program."""

    def __init__(self, client: Client, number: int, name: str, group: str | None, fence: int) -> None:
        super().__init__(name)
        self._client = client
        self._number = number
        self.group = group
        self.fence = fence

    @property
    def held(self) -> bool:
        return self._number in self._client.held

    def release(self) -> None:
        if self._client.held.pop(self._number, None) is None:
            raise self._not_held()
        self._client.tell(Ask("release", self._number))


class RemoteLock:
    """A lock of the node that can be acquired."""

    def __init__(self, client: Client, ask: Ask) -> None:
        self._client = client
        self._ask = ask
        self._bodies: list[WithBody] = []

    async def acquire(self) -> RemoteHeld:
        ask = msgspec.structs.replace(self._ask, id=self._client.next_id())
        try:
            answer = await self._client.ask(ask)
        except asyncio.CancelledError:
            with contextlib.suppress(ClusterDegraded):  # withdraw the request, or release what was just granted
                self._client.tell(Ask("release", ask.id))
            raise
        held = RemoteHeld(self._client, ask.id, answer.lock or ask.name, ask.group or None, answer.fence)
        self._client.held[ask.id] = held
        return held

    async def try_acquire(self) -> RemoteHeld | None:
        try:
            return await self.acquire()
        except LockTimeout:
            return None

    async def __aenter__(self) -> RemoteHeld:
        held = await self.acquire()
        self._bodies.append(WithBody(held))
        return held

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        innermost(self._bodies).end(error)


class Client(LockForms[RemoteLock, Awaitable[RemoteHeld | None]]):
    """A program's connection to the node on its machine; it has the same locks as a `Cluster`."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.held: dict[int, RemoteHeld] = {}
        self._answers: dict[int, asyncio.Future[Answer]] = {}
        self._ids = 0
        self._writer: asyncio.StreamWriter | None = None
        self._listening: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Client:
        try:
            reader, self._writer = await asyncio.open_unix_connection(str(self.path), limit=LONGEST_LINE)
        except OSError as error:
            raise ClusterDegraded(
                f"no node is listening on {self.path} ({error.strerror}): start one with `congenial node`"
            ) from error
        self._listening = asyncio.create_task(self._listen(reader))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is not None:
            self._writer.close()
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)

    async def status_of_all(self) -> dict[str, dict[str, Any] | None]:
        answer = await self.ask(Ask("status", self.next_id()))
        return answer.status or {}

    def next_id(self) -> int:
        self._ids += 1
        return self._ids

    async def ask(self, ask: Ask) -> Answer:
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
        if self._writer is None or self._writer.is_closing():
            raise ClusterDegraded(f"the node on {self.path} is gone")
        self._writer.write(msgspec.json.encode(ask) + b"\n")

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        decode = msgspec.json.Decoder(Answer).decode
        try:
            while line := await reader.readline():
                answer: Answer = decode(line)
                future = self._answers.get(answer.id)
                if future is not None and not future.done():
                    future.set_result(answer)
                elif answer.id in self.held:
                    self._lose(answer.id, answer.text)
        except (OSError, ValueError, msgspec.MsgspecError):
            pass
        finally:
            gone = f"the node on {self.path} is gone"
            for future in self._answers.values():
                if not future.done():
                    future.set_exception(ClusterDegraded(gone))
            for number in list(self.held):
                self._lose(number, gone)
            if self._writer is not None:
                self._writer.close()

    def _lose(self, number: int, why: str) -> None:
        self.held.pop(number)._lose(why)

    def _lock(self, mode: str, name: str, group: str, k: int, timeout: float | None) -> RemoteLock:
        ask = {"do": "acquire", "id": 0, "mode": mode, "name": name, "group": group, "k": k, "timeout": timeout}
        return RemoteLock(self, msgspec.convert(ask, Ask))

    def _try(self, lock: RemoteLock) -> Awaitable[RemoteHeld | None]:
        return lock.try_acquire()
