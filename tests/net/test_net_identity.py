"""Only a peer that takes part counts: refusals, duplicates of a name, forged and replayed greetings."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from netlab import IN_EPOCHS, QUICK, address_of, cabled_clusters, clusters, crash, listener
from visitors import Visitor, call, hello, picture

from congenial.net.addresses import address
from congenial.net.certs import make_certificates
from congenial.net.config import ClusterConfig, Tls
from congenial.net.errors import ClusterDegraded, ProtocolError
from congenial.net.frames import FrameReader, encode_frame
from congenial.net.link import Link
from congenial.net.locks import Cluster
from congenial.net.membership import Membership
from congenial.net.roster import Roster, new_incarnation
from congenial.net.wire import Bye, Challenge, Data, LockData


async def until(condition: Callable[[], bool], limit: float = 30) -> None:
    async with asyncio.timeout(limit):
        while not condition():
            await asyncio.sleep(0.01)


def membership(member: Cluster) -> Membership:
    return member._host.membership


def link(member: Cluster, peer: str) -> Link:
    (found,) = [link for link in membership(member).links if link.name == peer]
    return found


def hang_up(member: Cluster) -> None:
    for connection in list(membership(member).connections):
        connection.abort()


@contextlib.asynccontextmanager
async def started(name: str, config: ClusterConfig, **changes: Any) -> AsyncIterator[Cluster]:
    """One more process, at an address of its own."""
    end = listener()
    nodes = {**config.nodes, name: address_of(end)}
    member = Cluster(name, ClusterConfig(nodes, timing=config.timing, **changes), listener=end)
    try:
        yield await member.start()
    finally:
        await member.close()


# -- refusals --------------------------------------------------------------------------------------


def test_a_refusal_is_no_sign_of_life(caplog: pytest.LogCaptureFixture) -> None:
    """a and b have dropped messages for c, so they refuse it from now on, and it cannot know what it has missed."""

    async def story() -> None:
        async with clusters(3, **IN_EPOCHS) as members:
            held = await members[2].mutex("x").acquire()
            for member in members[:2]:
                link(member, "c").gap = True
            hang_up(members[2])
            await until(lambda: held.lost)
            async with members[0].mutex("x", timeout=20):
                with pytest.raises(ClusterDegraded, match=r"apart for so long that messages .* were dropped: restart"):
                    await members[2].mutex("x", timeout=1).acquire()
                for name in ("new", "newer", "newest"):
                    with pytest.raises(
                        ClusterDegraded, match=r"apart for so long that messages .* were dropped: restart"
                    ):
                        await members[2].mutex(name, timeout=0.2).acquire()

    with caplog.at_level(logging.WARNING, "congenial.net"):
        asyncio.run(story())
    assert re.search(r"link.refused node=c peer=a reason='[ac]' and '[ac]' were apart for so long", caplog.text)


def test_a_peer_that_refuses_whatever_is_sent_does_not_count() -> None:
    """It accepts every connection, and ends it at the first message."""

    def refuse(link: Link, data: Any) -> None:
        raise ProtocolError("does not want this")

    async def story() -> None:
        async with clusters(3) as members:
            held = await members[2].mutex("x").acquire()
            for member in members[:2]:
                membership(member).handlers |= {Data: refuse, LockData: refuse}
                membership(member).deliver_to(None)  # but to these handlers
            waiting = asyncio.create_task(members[2].mutex("y").acquire())
            await until(lambda: held.lost)
            await until(lambda: all([link.away for link in membership(members[2]).links]))
            assert not waiting.done()
            waiting.cancel()

    asyncio.run(story())


# -- the same name twice ---------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["token-gme+epochs", "token-gme"])
def test_a_second_process_of_a_name_is_refused_and_the_first_is_not_harmed(
    algorithm: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with clusters(3, algorithm=algorithm) as members:
            held = await members[0].mutex("x").acquire()
            async with started("a", members[0].config, algorithm=algorithm) as second:
                with pytest.raises(ClusterDegraded, match="another process has the name 'a'"):
                    await second.ready(1.5)
                dialer = membership(second).dialer
                await until(lambda: dialer.witness is not None)  # it asks only one of them again
            assert held.held
            assert [link(member, "a").connections for member in members[1:]] == [1, 1]
            held.release()
            for member in members[1], members[0]:
                async with member.mutex("x", timeout=5), member.mutex("new", timeout=5):
                    pass

    with caplog.at_level(logging.WARNING, "congenial.net"):
        asyncio.run(story())
    lines = [record.getMessage() for record in caplog.records if "another process" in record.getMessage()]
    for peer in "bc":
        assert len([line for line in lines if f"link.refused node=a peer={peer}" in line]) == 1
        assert len([line for line in lines if f"connection.refused node={peer} peer=a" in line]) == 1


def test_a_second_process_gets_in_when_the_first_is_gone() -> None:
    async def story() -> None:
        async with clusters(3) as members, started("a", members[0].config) as second:
            await until(lambda: membership(second).dialer.witness is not None)
            await crash(members[0])
            await second.ready(20)
            async with second.mutex("x", timeout=20):
                pass

    asyncio.run(story())


def test_a_broken_connection_is_no_chance_for_a_second_process() -> None:
    async def story() -> None:
        slow = replace(QUICK, suspect_after=4.0, reconnect=0.5, reconnect_most=0.5)  # a busy machine loses tenths
        async with clusters(3, timing=slow) as members, started("a", members[0].config) as second:
            await until(lambda: membership(second).dialer.witness is not None)
            held = await members[0].mutex("x", timeout=20).acquire()
            for _ in range(5):
                hang_up(members[0])
                await until(lambda: all([link.connection is not None for link in membership(members[0]).links]))
            assert held.held
            assert not membership(second).took_part

    asyncio.run(story())


def test_if_a_name_is_started_twice_before_the_founding_one_of_the_two_gets_in() -> None:
    async def story() -> None:
        async with clusters(3, ready=False) as members, started("a", members[0].config) as second:
            for member in members[1:]:
                await member.ready(20)
            await until(lambda: members[0].status()["open"] or second.status()["open"])
            first_in, second_in = members[0].status()["open"], second.status()["open"]
            assert first_in != second_in
            async with (members[0] if first_in else second).mutex("x", timeout=20):
                pass

    asyncio.run(story())


def test_a_process_that_ends_before_the_founding_says_so_at_once() -> None:
    async def story() -> None:
        async with clusters(2, ready=False) as members:
            waiting = [asyncio.create_task(members[0].ready(60)), asyncio.create_task(members[0].mutex("x").acquire())]
            await asyncio.sleep(0)
            membership(members[0]).end("its name was taken")
            for task in waiting:
                with pytest.raises(ClusterDegraded, match="its name was taken"):
                    await asyncio.wait_for(task, 20)

    asyncio.run(story())


def test_a_process_whose_name_was_taken_stops_for_good(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with clusters(3) as members:
            first = membership(members[0])
            held = await members[0].mutex("x").acquire()
            calls = [task for task in first.tasks if "calls" in task.get_name()]
            for task in calls:
                task.cancel()  # it is cut off for a moment: it calls nobody, and cannot be called
            first.porter.close()
            hang_up(members[0])
            async with started("a", members[0].config) as second:
                await second.ready(20)
                await until(lambda: all([link(member, "a").connection is not None for member in members[1:]]))
                waiting = asyncio.create_task(members[0].mutex("x", timeout=60).acquire())
                await asyncio.sleep(0)
                first.tasks += [asyncio.create_task(first.dialer.keep_calling(each)) for each in first.links]
                with pytest.raises(ClusterDegraded, match=r"has stopped.*started later"):
                    await waiting
                assert held.lost
                for name in ("x", "new"):
                    with pytest.raises(ClusterDegraded, match=r"has stopped.*started later"):
                        await members[0].mutex(name, timeout=5).acquire()
                with pytest.raises(ClusterDegraded, match=r"has stopped.*started later"):
                    await members[0].ready(5)
                await asyncio.gather(*first.tasks, return_exceptions=True)  # it calls nobody any more
                assert not first.connections
                async with second.mutex("x", timeout=20), members[1].mutex("new", timeout=20):
                    pass

    with caplog.at_level(logging.WARNING, "congenial.net"):
        asyncio.run(story())
    assert len([record for record in caplog.records if "node.ended" in record.getMessage()]) == 1


def test_a_restarted_member_with_a_slow_clock_gets_in(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with clusters(3) as members:
            nodes = members[1].config.nodes
            await crash(members[1])
            monkeypatch.setattr(time, "time", lambda: 1_750_000_000.0)
            async with Cluster("b", ClusterConfig(nodes, timing=QUICK)) as again:
                await again.ready(20)
                async with again.mutex("x", timeout=20):
                    pass

    asyncio.run(story())


def test_an_earlier_process_of_a_name_never_returns() -> None:
    roster = Roster(3, 0, 5, rejoins=True)
    assert roster.recognise(1, 7)
    assert not roster.recognise(1, 6)
    assert not roster.recognise(1, 0)
    assert roster.incarnations[1] == 7
    assert roster.recognise(1, 8)
    assert not roster.recognise(1, 7)


def test_a_process_that_is_restarted_at_once_comes_after_its_predecessor() -> None:
    incarnations = []
    for _ in range(100):
        incarnations.append(new_incarnation())
        time.sleep(0.0001)
    assert incarnations == sorted(set(incarnations))


# -- greetings that are not true -------------------------------------------------------------------


@pytest.mark.parametrize("secret", [b"", b"another secret of the same length"])
def test_a_forged_greeting_changes_nothing_and_is_told_nothing(secret: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with clusters(3) as members:
            held = await members[0].mutex("x").acquire()
            before = [picture(member)[2:] for member in members]
            for member in members[1:]:
                forged = Visitor(member, secret)
                assert await forged.greet(hello(member)) == [Bye("refused", False)]
                for word in ("congenial", "a", "b", "c"):
                    assert word.encode() not in forged.raw.replace(forged.raw[:78], b"").replace(b"refused", b"")
                assert await call(member, encode_frame(hello(member))) == [Bye("refused", False)]
            await asyncio.sleep(2 * QUICK.suspect_after)
            assert held.held
            assert [picture(member)[2:] for member in members] == before
            assert [link(member, "a").connections for member in members[1:]] == [1, 1]

    with caplog.at_level(logging.WARNING, "congenial.net"):
        asyncio.run(story())
    assert "its proof does not fit: do both run as the same user, and with the same secret?" in caplog.text


def test_a_replayed_recording_changes_nothing() -> None:
    """What a sends to b, and what b sends to a, played back to each of them later."""

    async def story() -> None:
        async with cabled_clusters(2) as (members, cables):
            cables[1].recording = {}
            cables[1].cut()
            await until(lambda: link(members[1], "a").connections > 1)
            async with members[0].mutex("x", timeout=5):
                pass
            async with members[1].mutex("x", timeout=5):
                pass
            await asyncio.sleep(0.2)
            to_b, to_a = cables[1].recording.values()
            cables[1].recording = None
            before = picture(members[1])[2:], link(members[1], "a").connections
            visitor = Visitor(members[1])
            where = cables[1].target
            visitor.input, visitor.output = await asyncio.open_connection(*where)
            visitor.output.write(to_b)
            answers = await visitor.rest()
            assert [type(frame) for frame in answers] == [Challenge, Bye]
            assert answers[1] == Bye("refused", False)
            assert (picture(members[1])[2:], link(members[1], "a").connections) == before

            heard: list[bytes] = []

            async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                writer.write(to_a)
                with contextlib.suppress(ConnectionError):
                    heard.append(await reader.read())
                writer.close()

            await cables[1].close()
            await crash(members[1])
            server = await asyncio.start_server(play, *address(cables[1].address))
            await until(lambda: len(heard) >= 3)
            server.close()
            assert link(members[0], "b").connection is None
            for raw in heard:  # a fake is told nothing
                frames = FrameReader(members[0]._host.vocabulary.decode_frame).feed(raw)
                assert [type(frame) for frame in frames] == [Challenge, Bye]
                assert frames[1] == Bye("refused", False)
            await until(lambda: link(members[0], "b").away)

    asyncio.run(story())


def test_members_with_different_secrets_say_so_on_both_sides(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = [tmp_path / name for name in "ab"]
    for file in files:
        file.write_text(f"the secret of the node {file.name}\n")
        file.chmod(0o600)

    async def story() -> None:
        ends = [listener(), listener()]
        nodes = dict(zip("ab", [address_of(end) for end in ends], strict=True))
        members = [
            Cluster(name, ClusterConfig(nodes, timing=QUICK, secret=str(file)), listener=end)
            for name, file, end in zip("ab", files, ends, strict=True)
        ]
        for member in members:
            await member.start()
        await until(lambda: bool(link(members[0], "b").refusal))
        with pytest.raises(ClusterDegraded, match="with the same secret"):
            await members[0].ready(0.5)
        await until(lambda: "node=b" in caplog.text)
        for member in members:
            await member.close()

    with caplog.at_level(logging.WARNING, "congenial.net"):
        asyncio.run(story())
    for name in "ab":
        (line,) = [record.getMessage() for record in caplog.records if f"node={name}" in record.getMessage()]
        own = tmp_path / name
        assert f"do both run as the same user, and with the same secret? (here: {own})" in line


# -- connections that say nothing ------------------------------------------------------------------


@pytest.mark.parametrize("secure", [False, True])
def test_idle_connections_keep_nobody_out(secure: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings: dict[str, Any] = {"timing": QUICK}
    if secure:
        make_certificates("abc", tmp_path)
        paths = [str(tmp_path / name) for name in ("ca.pem", "{name}.pem", "{name}.key")]
        settings["tls"] = Tls(*paths)

    async def story() -> None:
        async with clusters(3, **settings) as members:
            idle = [await asyncio.open_connection(*address(members[1].config.nodes["b"])) for _ in range(300)]
            nodes = members[0].config.nodes
            await crash(members[0])
            idle += [await asyncio.open_connection(*address(nodes["b"])) for _ in range(100)]
            async with Cluster("a", ClusterConfig(nodes, **settings)) as again:
                await again.ready(20)
                async with again.mutex("x", timeout=20):
                    pass
                assert len(membership(members[1]).porter.strangers) <= 64
                assert await asyncio.wait_for(idle[0][0].read(), 20) == b""  # the oldest is closed
            for _, writer in idle:
                writer.close()

    with caplog.at_level(logging.WARNING, "congenial.net"):
        asyncio.run(story())
    assert len([record for record in caplog.records if "connection.crowd" in record.getMessage()]) == 1


def test_of_strangers_the_silent_ones_go_first() -> None:
    async def story() -> None:
        async with clusters(2) as members:
            talkative = Visitor(members[1])
            await talkative.call()
            talkative.output.write(encode_frame(Challenge(bytes(32))))
            assert type(await talkative.next()) is Challenge
            idle = [await asyncio.open_connection(*address(members[1].config.nodes["b"])) for _ in range(200)]
            assert await asyncio.wait_for(idle[0][0].read(), 20) == b""
            talkative.output.write(encode_frame(hello(members[1])))
            assert await talkative.next() == Bye("refused", False)  # it was still there
            for _, writer in idle:
                writer.close()

    asyncio.run(story())
