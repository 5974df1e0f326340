"""What the network's tests share: clusters in one process, a witness outside it, and a cable that can be cut."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

from congenial.net.config import ClusterConfig, Timing
from congenial.net.locks import Cluster
from congenial.net.viewed import ViewedLocks

NAMES = "abcdefgh"
IN_EPOCHS = {"algorithm": "token-gme+epochs", "semaphores": "srimani-reddy+epochs"}
WITNESS = "witness.sock"
QUICK = Timing(heartbeat=0.1, suspect_after=1.0, gather=5.0, reconnect=0.002, reconnect_most=0.02)
PATIENT = Timing(heartbeat=0.1, suspect_after=30.0, gather=30.0, reconnect=0.002, reconnect_most=0.02)  # none crashes


def listener() -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", 0))
    return made


def address_of(made: socket.socket) -> str:
    return f"127.0.0.1:{made.getsockname()[1]}"


@contextlib.asynccontextmanager
async def clusters(n: int, ready: bool = True, **settings: Any) -> AsyncIterator[list[Cluster]]:
    """n members on loopback, in this process."""
    listeners = [listener() for _ in range(n)]
    nodes = {NAMES[at]: address_of(made) for at, made in enumerate(listeners)}
    config = ClusterConfig(nodes, timing=settings.pop("timing", QUICK), **settings)
    members = [Cluster(name, config, listener=made) for name, made in zip(nodes, listeners, strict=True)]
    try:
        for member in members:
            await member.start()
        if ready:
            for member in members:
                await member.ready(10)
        yield members
    finally:
        for member in members:
            await member.close()


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 120))


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.005)


def table(member: Cluster) -> ViewedLocks:
    """The locks of a member that follow views."""
    locks = member._host.locks
    assert isinstance(locks, ViewedLocks)
    return locks


async def crash(member: Cluster) -> None:
    """End a member as `kill -9` would, as far as that can be done in one process: nobody is told, nothing is saved."""
    host = member._host
    host.turn.silent = True
    host.membership.fall_silent()
    await asyncio.gather(*host.membership.tasks, return_exceptions=True)
    for entrance in host.locks.entrances():
        entrance.stop()
    host.storage.abandon()
    await asyncio.sleep(0.01)


def answers(path: Path) -> bool:
    """Whether somebody listens on a Unix socket."""
    with socket.socket(socket.AF_UNIX) as made:
        try:
            made.connect(str(path))
        except OSError:
            return False
    return True


@contextlib.contextmanager
def witness_process(folder: Path) -> Iterator[Path]:
    """A witness in a process of its own."""
    path = folder / WITNESS
    process = subprocess.Popen([sys.executable, "-m", "congenial.testing.witness", str(path)])
    try:
        deadline = time.monotonic() + 20
        while not answers(path):
            assert process.poll() is None, "the witness has died"
            assert time.monotonic() < deadline, "the witness does not start"
            time.sleep(0.02)
        yield path
    finally:
        process.kill()
        process.wait()


class Cable:
    """A TCP proxy to one member. Cut, it breaks every connection, in the middle of whatever is on its way."""

    def __init__(self, target: socket.socket, seed: int = 0) -> None:
        self.target = target.getsockname()
        self.rng = random.Random(seed)
        self.cuts = 0
        self.longest = 0  # bytes after which a connection is cut; 0: never
        self.down = False
        self.delay = 0.0  # seconds that everything takes on its way
        self.recording: dict[str, bytes] | None = None  # all that goes there and back, if it is to be recorded
        self.mute = False  # nothing that the member says arrives, but it hears the others
        self.times_cut = 0
        self.writers: set[asyncio.StreamWriter] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        self.server: asyncio.Server | None = None
        self.listener = listener()
        self.address = address_of(self.listener)

    async def start(self) -> None:
        self.server = await asyncio.start_server(self._serve, sock=self.listener)

    async def close(self) -> None:
        assert self.server is not None
        self.server.close()
        self.cut()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def cut(self) -> None:
        self.times_cut += 1
        for writer in list(self.writers):
            writer.transport.abort()
        self.writers.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        if self.down:
            writer.transport.abort()
            return
        times_cut = self.times_cut
        try:
            far_reader, far_writer = await asyncio.open_connection(*self.target)
        except OSError:
            writer.transport.abort()
            return
        if times_cut != self.times_cut:  # cut while it was being made
            writer.transport.abort()
            far_writer.transport.abort()
            return
        self.writers |= {writer, far_writer}
        budget = [self.rng.randint(1, self.longest) if self.longest else 1 << 60]
        await asyncio.wait(
            [
                asyncio.ensure_future(self._pump(reader, far_writer, budget, "there")),
                asyncio.ensure_future(self._pump(far_reader, writer, budget, "back")),
            ],
            return_when=asyncio.FIRST_COMPLETED,
        )
        for end in (writer, far_writer):
            self.writers.discard(end)
            end.transport.abort()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, budget: list[int], way: str
    ) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(4096):
                if self.mute and way == "back":
                    continue
                if self.delay:
                    await asyncio.sleep(self.delay)
                part = data[: budget[0]]
                if self.recording is not None:
                    self.recording[way] = self.recording.get(way, b"") + part
                budget[0] -= len(part)
                writer.write(part)
                await writer.drain()
                if budget[0] <= 0:
                    self.cuts += 1
                    return


@contextlib.asynccontextmanager
async def cabled_clusters(n: int, seed: int = 0, **settings: Any) -> AsyncIterator[tuple[list[Cluster], list[Cable]]]:
    """As `clusters`, but every call to a member goes through its cable."""
    listeners = [listener() for _ in range(n)]
    cables = [Cable(made, seed + at) for at, made in enumerate(listeners)]
    nodes = {NAMES[at]: cable.address for at, cable in enumerate(cables)}
    config = ClusterConfig(nodes, timing=settings.pop("timing", QUICK), **settings)
    members = [Cluster(name, config, listener=made) for name, made in zip(nodes, listeners, strict=True)]
    try:
        for cable in cables:
            await cable.start()
        for member in members:
            await member.start()
        for member in members:
            await member.ready(10)
        yield members, cables
    finally:
        for member in members:
            await member.close()
        for cable in cables:
            await cable.close()
