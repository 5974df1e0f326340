"""Strangers are turned away with one line in the log, and nothing changes."""

from __future__ import annotations

import asyncio
import logging
import random
from typing import Any

import msgspec
import pytest
from netlab import clusters

from congenial.kernel.state import state_of
from congenial.net.config import address
from congenial.net.locks import Cluster
from congenial.net.wire import (
    VERSION,
    Ack,
    Data,
    Frame,
    FrameReader,
    Hello,
    Query,
    SeatData,
    View,
    encode_frame,
)

REQUEST = msgspec.Raw(msgspec.msgpack.encode([4, 1, [7]]))  # of token-gme


def picture(member: Cluster) -> Any:
    """All that a peer could change."""
    host = member._host
    nodes: dict[str, Any] = {key: state_of(door.node) for key, door in host.locks.doors.items()}
    nodes |= {key: [state_of(node) for node in hall.nodes] for key, hall in host.locks.halls.items()}
    links = [(link.sent, link.received, link.acked, link.away) for link in host.membership.links]
    return nodes, links, host.membership.roster.view, host.membership.roster.open


async def call(member: Cluster, raw: bytes) -> list[Frame]:
    """Send bytes, and return what comes back until the connection is closed."""
    reader, writer = await asyncio.open_connection(*address(member.config.nodes[member.name]))
    writer.write(raw)
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    return FrameReader(member._host.vocabulary.decode_frame).feed(answer)


def hello(member: Cluster, **changes: Any) -> Hello:
    schema = member._host.vocabulary.schema
    good = Hello(member.config.cluster, "a", member.name, member.config.members, schema, 1 << 40, 0, 0, ())
    return msgspec.structs.replace(good, **changes)


RAW = {
    "not our protocol": (b"GET / HTTP/1.1\r\n\r\n", "version"),
    "another version": (bytes([VERSION + 1, 0, 0, 1, 0]), f"version {VERSION + 1}"),
    "oversized": (bytes([VERSION, 255, 255, 255]), "too long"),
    "not msgpack": (bytes([VERSION, 0, 0, 2, 0xC1, 0xC1]), "not a frame"),
    "an unknown kind": (bytes([VERSION, 0, 0, 2]) + msgspec.msgpack.encode([99]), "not a frame"),
    "no hello": (encode_frame(Ack(0)), "before saying who it is"),
    "a question": (encode_frame(Query(1)), "before saying who it is"),
}
HELLOS: dict[str, tuple[dict[str, Any], str]] = {
    "another cluster": ({"cluster": "other"}, "belongs to cluster 'other'"),
    "another receiver": ({"receiver": "z"}, "looks for node 'z'"),
    "other members": ({"members": ("a", "b")}, "has members"),
    "an unknown sender": ({"sender": "zz"}, "must not call"),
    "the wrong direction": ({"sender": "c"}, "must not call"),
    "another algorithm": ({"schema": "0000"}, "does not run token-gme"),
    "no life": ({"incarnation": 0}, "in no life"),
    "another beginning": ({"founded": (1, 2, 3)}, "remembers another beginning"),
    "not a beginning": ({"founded": (1, 2)}, "remembers another beginning"),
}


@pytest.mark.parametrize("what", [*RAW, *HELLOS])
def test_strangers_are_turned_away(what: str, caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with clusters(3) as members:
            async with members[0].mutex("x"), members[1].mutex("y"):
                pass
            await asyncio.sleep(0.1)
            raw, reason = RAW[what] if what in RAW else (b"", HELLOS[what][1])
            if what in HELLOS:
                raw = encode_frame(hello(members[1], **HELLOS[what][0]))
            before = picture(members[1])[:1]
            caplog.clear()
            with caplog.at_level(logging.WARNING, "congenial.net"):
                (bye,) = await call(members[1], raw)
            assert reason in bye.reason  # type: ignore[attr-defined]
            refusals = [record for record in caplog.records if "connection.refused" in record.getMessage()]
            assert len(refusals) == 1
            assert reason in refusals[0].getMessage()
            assert picture(members[1])[:1] == before
            async with members[2].mutex("y", timeout=5):
                pass

    asyncio.run(story())


def test_any_bytes_change_nothing() -> None:
    async def story() -> None:
        rng = random.Random(3)
        async with clusters(2) as members:
            async with members[0].mutex("x"), members[1].mutex("y"):
                pass
            await asyncio.sleep(0.1)
            before = picture(members[1])
            good = encode_frame(hello(members[1], cluster="other"))
            for _ in range(150):
                raw = bytearray(good)
                for _ in range(rng.randint(1, 4)):
                    raw[rng.randrange(4, len(raw))] = rng.randrange(256)
                await call(members[1], bytes(raw))
            assert picture(members[1]) == before

    asyncio.run(story())


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (Data(9, 0, "x", REQUEST), "came where"),
        (Data(1, 99, "x", REQUEST), "acknowledges message 99"),
        (Data(1, 0, "x", msgspec.Raw(b"\x91\x63")), "not a frame"),
        (Data(1, 0, "k" * 100, REQUEST), "too long"),
        (Data(1, 0, "x", msgspec.Raw(msgspec.msgpack.encode([6, 5, 7, 0, [0, 0]]))), "cannot make sense"),
        (SeatData(1, 0, "\1x", 2, 5, 0, REQUEST), "from seat 5 to seat 0, where there are 2"),
        (SeatData(1, 0, "\1x", 2, 0, -2, REQUEST), "from seat 0 to seat -2"),
        (SeatData(1, 0, "\1x", 5000, 0, 0, REQUEST), "in a cluster of 2: at most 512"),
        (SeatData(1, 0, "\1x", 0, 0, 0, REQUEST), "at least one process"),
        (SeatData(1, 0, "k" * 100, 2, 0, 0, REQUEST), "too long"),
        (SeatData(1, 0, "\1x", 2, 0, -1, REQUEST), "cannot make sense"),
        (Ack(99), "acknowledges message 99"),
        (View((1, 2, 3), False), "met others than we did"),
        (Hello("congenial", "a", "b", ("a", "b"), "", 1, 0, 0, ()), "sent Hello twice"),
    ],
)
def test_a_member_that_talks_nonsense_is_cut_off_and_nothing_changes(
    frame: Frame, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The nonsense is sent by a's own connection, past a's link, which does not know of it."""

    async def story() -> None:
        async with clusters(2, algorithm="token-gme", semaphores="srimani-reddy") as members:
            sender = members[0]._host.membership.links[0].connection
            assert sender is not None
            before = picture(members[1])
            with caplog.at_level(logging.WARNING, "congenial.net"):
                sender.write(encode_frame(frame))
                await asyncio.wait_for(sender.closed, 5)
            assert reason in caplog.text
            after = picture(members[1])
            assert after == before
            async with members[1].mutex("x", timeout=5):  # it was a slip: they talk again
                pass
            async with members[0].mutex("x", timeout=5):
                pass

    asyncio.run(story())


def test_a_caller_that_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("congenial.net.connection.HANDSHAKE", 0.2)

    async def story() -> None:
        async with clusters(2) as members:
            (bye,) = await call(members[1], b"")
            assert "did not say who it is" in bye.reason  # type: ignore[attr-defined]

    asyncio.run(story())
