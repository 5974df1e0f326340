"""Programs that call a member and are none: with and without the cluster's secret."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from congenial.kernel.state import state_of
from congenial.net.addresses import address
from congenial.net.frames import FrameReader
from congenial.net.handshake import Handshake
from congenial.net.locks import Cluster
from congenial.net.secret import secret_of
from congenial.net.wire import Challenge, Frame, Hello


def picture(member: Cluster) -> Any:
    """All that a peer could change."""
    host = member._host
    nodes: dict[str, Any] = {key: state_of(door.node) for key, door in host.locks.doors.items()}
    nodes |= {key: [state_of(node) for node in hall.nodes] for key, hall in host.locks.halls.items()}
    links = [(link.sent, link.received, link.acked, link.away) for link in host.membership.links]
    return nodes, links, host.membership.roster.view, host.membership.roster.open


class Visitor:
    """A connection to a member, one frame at a time."""

    def __init__(self, member: Cluster, secret: bytes | None = None) -> None:
        self.member = member
        self.secret = secret_of(member.config).key if secret is None else secret
        self.reader = FrameReader(member._host.vocabulary.decode_frame)
        self.frames: list[Frame] = []
        self.raw = b""  # all that came back

    async def call(self) -> None:
        where = address(self.member.config.nodes[self.member.name])
        self.input, self.output = await asyncio.open_connection(*where)

    async def next(self) -> Frame | None:
        """The next frame; None when the connection is closed."""
        async with asyncio.timeout(20):
            while not self.frames:
                data = await self.input.read(1 << 16)
                if not data:
                    return None
                self.raw += data
                self.frames += self.reader.feed(data)
        return self.frames.pop(0)

    async def rest(self) -> list[Frame]:
        """All frames until the connection is closed."""
        frames: list[Frame] = []
        while (frame := await self.next()) is not None:
            frames.append(frame)
        self.output.close()
        return frames

    async def greet(self, hello: Hello) -> list[Frame]:
        """Go through the handshake, and return what comes after the member's challenge."""
        await self.call()
        handshake = Handshake(self.secret)
        self.output.write(handshake.say(handshake.challenge()))
        challenge = await self.next()
        assert type(challenge) is Challenge
        handshake.proven(challenge)
        self.output.write(handshake.prove(hello))
        return await self.rest()


async def call(member: Cluster, raw: bytes) -> list[Frame]:
    """Send bytes, and return what comes back until the connection is closed."""
    visitor = Visitor(member)
    await visitor.call()
    visitor.output.write(raw)
    return await visitor.rest()


def hello(member: Cluster, **changes: Any) -> Hello:
    schema = member._host.vocabulary.schema
    good = Hello(member.config.cluster, "a", member.name, member.config.members, schema, 1 << 62, 0, 0, ())
    return msgspec.structs.replace(good, **changes)
