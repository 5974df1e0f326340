"""Durable state: on disk before a step's messages leave, and back after a restart."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from netlab import NAMES, QUICK, address_of, clusters, listener

from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.net import host as host_module
from congenial.net.config import ClusterConfig
from congenial.net.errors import ClusterDegraded
from congenial.net.host import Host
from congenial.net.link import Link
from congenial.net.locks import Cluster
from congenial.net.storage import LEAST_GARBAGE, NAME, DirectoryStorage, Storage


@dataclass(frozen=True)
class Entered(Message):
    count: int


class Counter(Node):
    """Enters immediately, counts its entries durably, tells everyone. (No exclusion: it shows the driver's side.)"""

    durable: ClassVar[tuple[str, ...]] = ("count",)
    messages = (Entered,)

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
    save, send = DirectoryStorage.save, Link.send
    monkeypatch.setattr(DirectoryStorage, "save", lambda *a: (order.append(f"save {a[1]}"), save(*a))[1])
    monkeypatch.setattr(Link, "send", lambda *a: (order.append("send"), send(*a))[1])

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
        node: Any = members[0]._host.locks.doors["x"].node
        assert node.count == expected
        assert node.recovered == (expected > 1)
        await asyncio.sleep(0.1)
        other: Any = members[1]._host.locks.doors["x"].node
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
        host.storage.close()
        return host.membership.incarnation

    storage = DirectoryStorage(tmp_path)
    storage.save("incarnation", 1 << 61)  # the clock was far ahead, once
    storage.close()
    first = asyncio.run(incarnation())
    assert first > 1 << 61
    assert asyncio.run(incarnation()) > first


# -- the file ------------------------------------------------------------------------------------------------------


def stored(folder: Path) -> dict[str, object]:
    storage = DirectoryStorage(folder)
    found = {key: storage.load(key) for key in storage.values}
    storage.close()
    return found


def write_five(folder: Path) -> tuple[bytes, list[int]]:
    """The file with five records, two of the same key, and where each begins."""
    storage = DirectoryStorage(folder)
    sizes = [0]
    for number, key in enumerate(("x", "y", "x", "z", "w")):
        storage.save(key, ("value", number))
        storage.sync()
        sizes.append(storage.size)
    storage.close()
    return (folder / NAME).read_bytes(), sizes


@pytest.mark.deep
def test_a_write_that_was_cut_off_at_any_byte_is_as_if_it_had_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("fsync", "fdatasync"):  # thousands of them take their time
        monkeypatch.setattr(f"congenial.net.storage.os.{name}", lambda file: None)
    whole, begins = write_five(tmp_path)
    states = [{}, {"x": 0}, {"x": 0, "y": 1}, {"x": 2, "y": 1}, {"x": 2, "y": 1, "z": 3}]
    states.append({**states[-1], "w": 4})
    for cut in range(len(whole) + 1):
        for tail in (b"", b"\0" * 7, b"\0" * (len(whole) - cut)):
            (tmp_path / NAME).write_bytes(whole[:cut] + tail)
            complete = len([begin for begin in begins[1:] if begin <= cut])
            assert stored(tmp_path) == {key: ("value", number) for key, number in states[complete].items()}
            storage = DirectoryStorage(tmp_path)  # and it can be added to
            storage.save("new", cut)
            storage.close()
            assert stored(tmp_path)["new"] == cut


@pytest.mark.deep
def test_a_flipped_bit_is_noticed(tmp_path: Path) -> None:
    whole, _ = write_five(tmp_path)
    for place in range(len(whole)):
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << bit
            (tmp_path / NAME).write_bytes(damaged)
            with pytest.raises(ConfigError, match=r"state\.log is damaged.*lost its memory"):
                DirectoryStorage(tmp_path)


@pytest.mark.deep
def test_the_file_does_not_grow_for_ever(tmp_path: Path) -> None:
    storage = DirectoryStorage(tmp_path)
    storage.save("old", "stays")
    for number in range(400):
        storage.save("x", (number, "y" * 10_000))
        storage.sync()
    assert (tmp_path / NAME).stat().st_size == storage.size < 3 * LEAST_GARBAGE
    storage.close()
    assert stored(tmp_path) == {"old": "stays", "x": (399, "y" * 10_000)}


def test_a_directory_has_one_user(tmp_path: Path) -> None:
    storage = DirectoryStorage(tmp_path)
    assert storage.load("x") is None
    with pytest.raises(ConfigError, match="in use: every node needs a state directory of its own"):
        DirectoryStorage(tmp_path)
    storage.close()
    DirectoryStorage(tmp_path).close()
    with pytest.raises(ConfigError, match="cannot keep state"):
        DirectoryStorage("/proc/nowhere")


def test_a_node_that_cannot_save_falls_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with clusters(3, algorithm=COUNTER, state="unused") as members:
            lock = members[0].mutex("x")
            for member in members:
                member._host.locks.doors.get("x")

            def fail() -> None:
                raise OSError(28, "No space left on device")

            heard: Any = members[1]._host
            monkeypatch.setattr(members[0]._host.storage, "sync", fail)
            with pytest.raises(OSError, match="No space left"):
                await lock.acquire()
            await asyncio.sleep(0.1)
            assert "x" not in heard.locks.doors, "nothing was promised"
            with pytest.raises(ClusterDegraded, match="cannot save its state: No space left"):
                await members[0].mutex("x").acquire()

    monkeypatch.setattr(host_module, "DirectoryStorage", lambda _: Storage())
    asyncio.run(story())
