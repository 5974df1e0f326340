"""Links: whatever happens to connections, every message arrives once and in order."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from netlab import QUICK, Cable, address_of, cabled_clusters, listener

from congenial.algorithms.group.token_gme import Request
from congenial.net.config import ClusterConfig
from congenial.net.connection import Connection
from congenial.net.frames import encode_frame
from congenial.net.host import Host
from congenial.net.link import FULL, Link
from congenial.net.locks import Cluster
from congenial.net.names import first_holder, lock_key
from congenial.net.porter import start_listening
from congenial.net.storage import Storage
from congenial.net.turn import Turn
from congenial.net.wire import Ack, Data

CUTS = 2000
IMPATIENT = replace(QUICK, reconnect=0.0002, reconnect_most=0.001)


class Recorder(Host):
    """Writes down what is delivered instead of giving it to a node."""

    def __init__(self, name: str, config: ClusterConfig) -> None:
        super().__init__(name, config)
        self.got: list[int] = []
        self.link = self.membership.links[0]
        self.membership.handlers[Data] = self.deliver

    def deliver(self, link: Link, data: Data[Any]) -> None:
        message = self.vocabulary.message(data.body)
        assert isinstance(message, Request)
        self.got.append(message.number)


async def talk_through_cuts(cuts: int) -> None:
    ends = [listener(), listener()]
    cable = Cable(ends[1], seed=5)
    await cable.start()
    config = ClusterConfig(
        {"a": address_of(ends[0]), "b": cable.address}, timing=IMPATIENT, algorithm="token-gme+epochs"
    )
    hosts = [Recorder(name, config) for name in "ab"]
    for host, end in zip(hosts, ends, strict=True):
        start_listening(end)
        host.start([end])
    await asyncio.wait_for(asyncio.gather(*[host.membership.opened.wait() for host in hosts]), 10)
    cable.longest = 1500
    cable.cut()
    rng = random.Random(1)
    sent = [0, 0]
    while cable.cuts < cuts:
        for at, host in enumerate(hosts):
            if host.link.sent - host.link.acked < 300:  # what is kept is sent again after every cut
                with host.turn:
                    for _ in range(rng.randint(0, 30)):
                        sent[at] += 1
                        padding = (7,) * rng.choice([0, 0, 0, 40, 500])
                        host.link.send("lock", host.vocabulary.encode(Request(sent[at], padding)))
        await asyncio.sleep(0.0005)
    cable.longest = 0
    deadline = asyncio.get_running_loop().time() + 20
    while any(host.link.unacknowledged for host in hosts) and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(0.02)
    assert hosts[1].got == list(range(1, sent[0] + 1))
    assert hosts[0].got == list(range(1, sent[1] + 1))
    assert hosts[0].link.resent > cuts  # there was something to repair
    assert hosts[0].link.connections > cuts // 2
    for host in hosts:
        await host.close()
    await cable.close()


@pytest.mark.deep
def test_connections_cut_at_any_byte_lose_nothing_and_repeat_nothing() -> None:
    asyncio.run(talk_through_cuts(CUTS))


def test_locks_work_on_through_cut_connections() -> None:
    async def story() -> None:
        async with cabled_clusters(3, seed=3) as (members, cables):
            for cable in cables:
                cable.longest = 4000
                cable.cut()
            counter = 0

            async def work(member: Cluster) -> None:
                nonlocal counter
                for _ in range(150):
                    async with member.mutex("counter", timeout=30):
                        seen = counter
                        await asyncio.sleep(0)
                        counter = seen + 1

            await asyncio.gather(*[work(member) for member in members * 2])
            assert counter == 900
            assert sum([cable.cuts for cable in cables]) > 10

    asyncio.run(story())


def test_a_slow_link_is_only_slow() -> None:
    async def story() -> None:
        async with cabled_clusters(3) as (members, cables):
            async with members[2].mutex("x", timeout=10):
                pass
            for cable in cables:
                cable.delay = 0.05
            home = first_holder(lock_key("x"), 3)
            for number in (0, 2, 1):
                start = asyncio.get_running_loop().time()
                async with members[number].mutex("x", timeout=10):
                    # A request and its answer; at the home, the release of the one before.
                    assert asyncio.get_running_loop().time() - start >= (0.05 if number == home else 0.1)
            assert not [link for member in members for link in member._host.membership.links if link.away]

    asyncio.run(story())


@pytest.mark.deep
def test_a_full_link_holds_back_new_work_until_it_drains() -> None:
    async def story() -> None:
        patient = replace(QUICK, suspect_after=20.0, heartbeat=0.05)
        async with cabled_clusters(2, algorithm="ricart-agrawala", timing=patient) as (members, cables):
            host = members[0]._host.membership
            cables[1].down = True
            cables[1].cut()
            await asyncio.sleep(0.05)
            link = host.links[0]
            waiting = [asyncio.create_task(members[0].mutex(f"lock {at}").acquire()) for at in range(FULL + 50)]
            await asyncio.sleep(0.5)
            assert link.full
            assert not host.serving
            assert link.sent - link.acked == FULL  # the last 50 have not been asked for
            cables[1].down = False
            for held in await asyncio.wait_for(asyncio.gather(*waiting), 60):
                held.release()
            assert host.serving

    asyncio.run(story())


def test_a_peer_that_was_only_slow_is_given_more_time() -> None:
    async def story() -> None:
        brief = replace(QUICK, suspect_after=0.5, heartbeat=0.05)
        async with cabled_clusters(2, algorithm="ricart-agrawala", timing=brief) as (members, cables):
            link = members[0]._host.membership.links[0]
            allowed = []
            for _ in range(2):
                allowed.append(link.patience.allowed)
                cables[1].down = True
                cables[1].cut()
                await until(lambda: link.away)
                assert members[0].status()["links"][link.name]["patience"] == allowed[-1]
                cables[1].down = False
                await until(lambda: not link.away)
            allowed.append(link.patience.allowed)
            assert allowed == [0.5, 0.75, 1.0]

    asyncio.run(story())


def test_a_peer_that_left_was_not_misjudged() -> None:
    async def story() -> None:
        async with cabled_clusters(2, algorithm="ricart-agrawala", timing=QUICK) as (members, _):
            link = members[0]._host.membership.links[0]
            await members[1].close()
            await until(lambda: link.away)
            assert not link.misjudged
            assert link.patience.allowed == QUICK.suspect_after

    asyncio.run(story())


class Upstairs:
    """A membership, as far as a link needs it that gets acknowledgements only."""

    def __init__(self) -> None:
        self.told = 0

    def on_acknowledged(self, link: Link) -> None:
        self.told += 1


def test_a_link_tells_when_there_is_room_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a process whose links were full would never ask for a lock again."""

    class Pipe:
        where = ""

        def write(self, raw: bytes) -> None: ...

        def abort(self) -> None: ...

    monkeypatch.setattr("congenial.net.link.FULL", 10)
    above = Upstairs()
    link = Link(cast(Any, above), Turn(Storage()), 1, "b", lambda: 0.0, 1.0)
    for _ in range(10):
        link.send("lock", msgspec.Raw(b"\xc0"))
    assert link.full
    told = []
    for received in (2, 4, 6, 7, 8):
        link.on_frame(Ack(received))
        told.append((above.told, link.roomy))
    assert told == [(1, False), (2, False), (3, True), (3, True), (3, True)]
    for _ in range(8):
        link.send("lock", msgspec.Raw(b"\xc0"))
    assert link.full
    link.forget()  # the peer was restarted
    link.attach(Pipe(), 0)
    assert link.roomy
    assert above.told == 4


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


class Above:
    """A membership, as far as a connection needs it."""

    def __init__(self) -> None:
        self.name = "a"
        self.secret = SimpleNamespace(key=bytes(32))
        self.turn = Turn(Storage())
        self.connections: dict[Connection, None] = {}
        self.decode_frame = msgspec.msgpack.Decoder(Ack).decode
        self.heard: list[int] = []

    def on_frame(self, frame: Ack) -> None:
        self.heard.append(frame.received)
        self.turn.admits = frame.received == 2  # as if it had let a task in

    def detach(self, connection: Connection) -> None: ...


@pytest.mark.parametrize("lost", [False, True])
def test_a_task_that_is_let_in_runs_before_the_frames_after(lost: bool) -> None:
    def arrive(connection: Connection, *numbers: int) -> None:
        raw = b"".join([encode_frame(Ack(number)) for number in numbers])
        connection.get_buffer(-1)[: len(raw)] = raw
        connection.buffer_updated(len(raw))

    async def story() -> None:
        above: Any = Above()
        connection = Connection(above, asyncio.get_running_loop())
        connection.link, connection.accepted = above, True
        connection.stream.link = above
        connection.transport = cast(asyncio.Transport, object())
        arrive(connection, 1, 2, 3, 4)
        assert above.heard == [1, 2]
        arrive(connection, 5)
        assert above.heard == [1, 2]
        if lost:
            connection.connection_lost(None)
        else:
            await asyncio.sleep(0)
        assert above.heard == [1, 2, 3, 4, 5]
        connection.deadline.cancel()

    asyncio.run(story())
