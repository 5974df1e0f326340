"""Strangers are turned away with one line in the log, and nothing changes."""

from __future__ import annotations

import asyncio
import logging
import random
from typing import Any

import msgspec
import pytest
from netlab import clusters
from visitors import Visitor, call, hello, picture

from congenial.net import kept
from congenial.net.frames import VERSION, encode_frame
from congenial.net.wire import Ack, Bye, Challenge, Data, Frame, Hello, Query, SeatData, View

REQUEST = msgspec.Raw(msgspec.msgpack.encode([4, 1, [7]]))  # of token-gme


RAW = {
    "not our protocol": (b"GET / HTTP/1.1\r\n\r\n", "version"),
    "another version": (bytes([VERSION + 1, 0, 0, 1, 0]), f"version {VERSION + 1}"),
    "oversized": (bytes([VERSION, 255, 255, 255]), "too long"),
    "not msgpack": (bytes([VERSION, 0, 0, 2, 0xC1, 0xC1]), "not a frame"),
    "an unknown kind": (bytes([VERSION, 0, 0, 2]) + msgspec.msgpack.encode([99]), "not a frame"),
    "no hello": (encode_frame(Ack(0)), "before saying who it is"),
    "no challenge": (encode_frame(Hello("congenial", "a", "b", ("a", "b"), "", 1, 0, 0, ())), "before saying who it"),
    "a short challenge": (encode_frame(Challenge(b"1234")), "a challenge of 4 bytes"),
    "two challenges": (2 * encode_frame(Challenge(bytes(32))), "sent Challenge before"),
    "a goodbye": (encode_frame(Challenge(bytes(32))) + encode_frame(Bye("", True, 7)), "does not accept our proof"),
    "a question": (encode_frame(Query(1)), "before saying who it is"),
}
HELLOS: dict[str, tuple[dict[str, Any], str]] = {
    "another cluster": ({"cluster": "other"}, "belongs to cluster 'other'"),
    "another receiver": ({"receiver": "z"}, "looks for node 'z'"),
    "other members": ({"members": ("a", "b")}, "has members"),
    "our own name": ({"sender": "b"}, "has our name"),
    "no address": ({"sender": "zz", "address": "nowhere"}, "is not an address"),
    "another algorithm": ({"schema": "0000"}, "does not run home-gme+views"),
    "no life": ({"incarnation": 0}, "sent no incarnation number"),
    "another beginning": ({"founded": (1, 2, 3)}, "remembers another beginning"),
    "not a beginning": ({"founded": (1, 2)}, "remembers another beginning"),
}


@pytest.mark.parametrize("what", RAW)
def test_strangers_are_turned_away_and_learn_nothing(what: str, caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with clusters(3) as members:
            async with members[0].mutex("x"), members[1].mutex("y"):
                pass
            raw, reason = RAW[what]
            before = picture(members[1])[2:]
            caplog.clear()
            with caplog.at_level(logging.WARNING, "congenial.net"):
                for _ in range(5):
                    answers = await call(members[1], raw)
                    assert [frame for frame in answers if type(frame) is not Challenge] in ([], [Bye("refused", False)])
            (line,) = [record.getMessage() for record in caplog.records]  # not one for each time
            assert "connection.refused" in line
            assert "127.0.0.1:" in line
            assert reason in line
            assert picture(members[1])[2:] == before
            async with members[2].mutex("y", timeout=5):
                pass

    asyncio.run(story())


@pytest.mark.parametrize("what", HELLOS)
def test_a_member_that_does_not_fit_is_told_why(what: str, caplog: pytest.LogCaptureFixture) -> None:
    """It has proven that it belongs to the cluster."""

    async def story() -> None:
        async with clusters(3) as members:
            async with members[0].mutex("x"), members[1].mutex("y"):
                pass
            changes, reason = HELLOS[what]
            before = picture(members[1])[2:]
            caplog.clear()
            with caplog.at_level(logging.WARNING, "congenial.net"):
                (bye,) = await Visitor(members[1]).greet(hello(members[1], **changes))
            assert reason in bye.reason  # type: ignore[attr-defined]
            (line,) = [record.getMessage() for record in caplog.records]
            assert "connection.refused" in line
            assert reason in line
            assert picture(members[1])[2:] == before
            assert members[0]._host.membership.links[0].connections == 1
            async with members[2].mutex("y", timeout=5):
                pass

    asyncio.run(story())


def test_any_bytes_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "IDLE_TIME", 1e9)  # no lock is forgotten meanwhile, however slow this machine is

    async def story() -> None:
        rng = random.Random(3)
        async with clusters(2) as members:
            async with members[0].mutex("x"), members[1].mutex("y"):
                pass
            await asyncio.sleep(0.1)
            before = picture(members[1])
            good = encode_frame(hello(members[1]))
            for at in range(150):
                raw = bytearray(good if at % 2 else encode_frame(Challenge(bytes(32))) + good)
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
        (SeatData(1, 0, "\1x", 0, 0, 0, REQUEST), "must be at least 1"),
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


def test_a_caller_that_says_nothing_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("congenial.net.connection.HANDSHAKE", 0.2)

    async def story() -> None:
        async with clusters(2) as members:
            assert await call(members[1], b"") == [Bye("refused", False)]

    with caplog.at_level(logging.WARNING, "congenial.net"):
        asyncio.run(story())
    assert "did not say who it is" in caplog.text
