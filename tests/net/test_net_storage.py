"""Durable state: on disk before a step's messages leave, and back after a restart."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from netlab import NAMES, QUICK, address_of, listener

from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.net import host as host_module
from congenial.net.config import ClusterConfig
from congenial.net.host import Host
from congenial.net.locks import Cluster
from congenial.net.storage import DirectoryStorage


@dataclass(frozen=True)
class Entered(Message):
    count: int


class Counter(Node):
    """Enters at once, counts its entries durably, and tells everyone. (No exclusion: it shows the driver's side.)"""

    durable: ClassVar[tuple[str, ...]] = ("count",)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.count = 0
        self.heard: list[int] = []
        self.suspected: list[int] = []
        self.recovered = False

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.count += 1
        out.broadcast(Entered(self.count))
        out.save()
        out.set_timer(1, 1.0)
        self.enter(out, self.count)

    def release(self, out: Out) -> None:
        self.leave()

    def receive(self, src: int, msg: Message, out: Out) -> None:
        assert isinstance(msg, Entered)
        self.heard.append(msg.count)

    def on_timer(self, timer: int, out: Out) -> None:
        out.broadcast(Entered(-timer))

    def on_suspect(self, peer: int, out: Out) -> None:
        self.suspected.append(peer)

    def on_trust(self, peer: int, out: Out) -> None:
        self.suspected.remove(peer)

    def on_recover(self, out: Out) -> None:
        self.recovered = True


COUNTER = f"{__file__}:Counter"


def test_durable_state_comes_back_and_timers_and_suspicion_reach_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    save, send = DirectoryStorage.save, host_module.Link.send
    monkeypatch.setattr(DirectoryStorage, "save", lambda *a: (order.append(f"save {a[1]}"), save(*a))[1])
    monkeypatch.setattr(host_module.Link, "send", lambda *a: (order.append("send"), send(*a))[1])

    async def life(expected: int) -> None:
        ends = [listener(), listener()]
        nodes = {NAMES[at]: address_of(end) for at, end in enumerate(ends)}
        members = [
            Cluster(
                name, ClusterConfig(nodes, algorithm=COUNTER, timing=QUICK, state=str(tmp_path / name)), listener=end
            )
            for name, end in zip(nodes, ends, strict=True)
        ]
        for member in members:
            await member.start()
        await members[0].ready()
        order.clear()
        async with members[0].mutex("x"):
            assert order == ["save lock x", "send"]
        node: Any = members[0]._host.doors["x"].node
        assert node.count == expected
        assert node.recovered == (expected > 1)
        await asyncio.sleep(0.1)
        other: Any = members[1]._host.doors["x"].node
        assert other.heard == [expected, -1]
        await members[1].close()
        await asyncio.sleep(0.05)
        assert node.suspected == [other.me]
        await members[0].close()

    asyncio.run(life(1))
    asyncio.run(life(2))


def test_incarnations_are_remembered(tmp_path: Path) -> None:
    async def incarnation() -> int:
        host = Host("a", ClusterConfig({"a": "127.0.0.1:7101"}, state=str(tmp_path)))
        return host.roster.view[0]

    DirectoryStorage(tmp_path).save("incarnation", 1 << 61)  # the clock was far ahead, once
    first = asyncio.run(incarnation())
    assert first > 1 << 61
    assert asyncio.run(incarnation()) > first


def test_unreadable_state_is_named(tmp_path: Path) -> None:
    storage = DirectoryStorage(tmp_path)
    assert storage.load("x") is None
    storage.save("x", (1, "two", (3,)))
    assert storage.load("x") == (1, "two", (3,))
    for path in tmp_path.glob("*.state"):
        path.write_bytes(b"rubbish")
    with pytest.raises(ConfigError, match="not readable as stored state"):
        storage.load("x")
    with pytest.raises(ConfigError, match="cannot keep state"):
        DirectoryStorage("/proc/nowhere")
