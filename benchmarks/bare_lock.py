"""The least that a lock between two Python processes can be: a token that goes to and fro, with asyncio and msgspec.

It has what no such lock can do without: frames of msgpack, locks found by their names, a future for the task that
waits, and `async with`. It has nothing else. It knows no crash, no third process, no queue of tasks, no timeout, no
lease and no metrics. So it tells what Python costs, and the difference to Congenial what all that costs.
"""

from __future__ import annotations

import asyncio
import socket
import time
from typing import Any

import msgspec

from workers import hear, say

Frame = tuple[bool, str, int]  # does it ask for the token, or bring it; of which lock; its fence

encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Frame).decode


class Channel(asyncio.Protocol):
    """One end of the connection. A byte gives the length of each frame."""

    def __init__(self, first: bool) -> None:
        self.first = first  # has all tokens in the beginning
        self.loop = asyncio.get_running_loop()
        self.open: asyncio.Future[None] = self.loop.create_future()
        self.locks: dict[str, BareLock] = {}
        self.data = b""

    def connection_made(self, transport: Any) -> None:
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.transport = transport
        self.open.set_result(None)

    def send(self, asks: bool, name: str, fence: int) -> None:
        body = encode((asks, name, fence))
        self.transport.write(bytes((len(body),)) + body)

    def data_received(self, data: bytes) -> None:
        data = self.data + data
        start = 0
        while start < len(data) and (stop := start + 1 + data[start]) <= len(data):
            asks, name, fence = decode(data[start + 1 : stop])
            start = stop
            if asks:
                self.lock(name).on_ask()
            else:
                self.lock(name).on_token(fence)
        self.data = data[start:]

    def lock(self, name: str) -> BareLock:
        lock = self.locks.get(name)
        if lock is None:
            lock = self.locks[name] = BareLock(self, name)
        return lock


class BareLock:
    def __init__(self, channel: Channel, name: str) -> None:
        self.channel = channel
        self.name = name
        self.here = channel.first
        self.inside = False
        self.wanted = False  # by the other process
        self.fence = 0
        self.token: asyncio.Future[None] | None = None

    async def __aenter__(self) -> int:
        if not self.here:
            self.token = self.channel.loop.create_future()
            self.channel.send(True, self.name, 0)
            await self.token
        self.inside = True
        self.fence += 1
        return self.fence

    async def __aexit__(self, *exception: object) -> None:
        self.inside = False
        if self.wanted:
            self.give()

    def on_ask(self) -> None:
        self.wanted = True
        if self.here and not self.inside:
            self.give()

    def on_token(self, fence: int) -> None:
        self.here = self.inside = True  # the task that waits has not run yet
        self.fence = fence
        assert self.token is not None
        self.token.set_result(None)

    def give(self) -> None:
        self.here = self.wanted = False
        self.channel.send(False, self.name, self.fence)


async def work(job: dict[str, Any], visit: Any) -> None:
    """What a process does: `visit` uses the locks, as it uses Congenial's."""
    loop = asyncio.get_running_loop()
    host, _, port = job["nodes"]["b"].rpartition(":")
    channel = Channel(job["name"] == "b")
    if job["name"] == "b":
        await loop.create_server(lambda: channel, host, int(port))
    elif job["name"] == "a":
        while not channel.open.done():
            try:
                await loop.create_connection(lambda: channel, host, int(port))
            except ConnectionRefusedError:
                await asyncio.sleep(0.05)
    if job["name"] != "c":
        await channel.open
    say("ready")
    await loop.run_in_executor(None, hear)
    began = time.process_time()
    spans: list[tuple[float, float, float]] = []
    if job["active"]:
        await visit(job, 0, Bare(channel), spans)
    else:
        await asyncio.sleep(job["seconds"])
    say([spans, time.process_time() - began])
    await loop.run_in_executor(None, hear)


class Bare:
    """In the place of a cluster."""

    def __init__(self, channel: Channel) -> None:
        self.exclusive = channel.lock
