"""Durable state: on disk before a step's messages leave, and back after a restart."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from netlab import NAMES, QUICK, address_of, clusters, crash, listener

from congenial.kernel.errors import ConfigError, ContractError, IllegalStep
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.net import host as host_module
from congenial.net.codec import Vocabulary
from congenial.net.config import ClusterConfig, free_addresses
from congenial.net.errors import ClusterDegraded, LockLost
from congenial.net.host import Host
from congenial.net.joining import join
from congenial.net.journal import Owner
from congenial.net.locks import Cluster
from congenial.net.storage import DirectoryStorage, Storage
from places import alone


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


def owner(name: str, config: ClusterConfig) -> Owner:
    return Owner(name, config.cluster, config.members, config.system().name, config.semaphore_system(1).name)


def test_durable_state_comes_back_and_timers_and_suspicion_reach_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    save, encode = DirectoryStorage.save, Vocabulary.encode
    monkeypatch.setattr(DirectoryStorage, "save", lambda *a: (order.append(f"save {a[1]}"), save(*a))[1])
    monkeypatch.setattr(Vocabulary, "encode", lambda *a: (order.append("send"), encode(*a))[1])

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
    config = ClusterConfig(alone(), state=str(tmp_path))

    async def incarnation() -> int:
        host = Host("a", config)
        host.storage.close()
        return host.membership.incarnation

    storage = DirectoryStorage(tmp_path, owner("a", config))
    storage.save("incarnation", 1 << 61)  # the clock was far ahead, once
    storage.close()
    first = asyncio.run(incarnation())
    assert first > 1 << 61
    assert asyncio.run(incarnation()) > first


def test_a_node_whose_address_is_taken_leaves_no_directory(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nodes = {"a": f"127.0.0.1:{taken.getsockname()[1]}", "b": free_addresses(1)[0]}
        config = ClusterConfig(nodes, state=str(tmp_path / "state"))
        with pytest.raises(ConfigError, match="node 'a' cannot listen"):
            asyncio.run(Cluster("a", config).start())
    assert not (tmp_path / "state").exists()


# -- a node that cannot save ---------------------------------------------------------------------------------------


def test_a_node_that_cannot_save_falls_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Kept(Storage):
        lasting = True

    async def story() -> None:
        async with clusters(3, algorithm=COUNTER, state="unused") as members:

            def fail() -> None:
                raise OSError(28, "No space left on device")

            heard: Any = members[1]._host
            monkeypatch.setattr(members[0]._host.storage, "sync", fail)
            for name in ("x", "x", "new"):
                with pytest.raises(ClusterDegraded, match=r"cannot save its state and has stopped.*: No space left"):
                    await members[0].mutex(name).acquire()
            await asyncio.sleep(0.1)
            assert "x" not in heard.locks.doors, "nothing was promised"

    monkeypatch.setattr(host_module, "DirectoryStorage", lambda *_: Kept())
    asyncio.run(story())


def test_a_full_disk_ends_a_member_cleanly(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its holders lose what they hold, all that wait get the reason, the log has one line, the others go on, and the
    directory can be used again immediately."""

    async def story() -> None:
        async with clusters(3, state=f"{tmp_path}/{{name}}") as members:
            held = await members[0].mutex("x").acquire()
            waiting = asyncio.create_task(members[0].mutex("x").acquire())
            await asyncio.sleep(0.05)
            storage = members[0]._host.storage
            assert isinstance(storage, DirectoryStorage)
            assert storage.log is not None
            full = os.open("/dev/full", os.O_WRONLY)
            os.dup2(full, storage.log.file)  # every write fails from now on
            os.close(full)
            storage.check = lambda: None  # type: ignore[method-assign]
            await crash(members[2])
            with pytest.raises(ClusterDegraded, match="No space left on device; restart it when that is fixed"):
                await asyncio.wait_for(waiting, 10)
            with pytest.raises(LockLost, match="cannot save its state"):
                held.check()
            for lock in (members[0].mutex("x"), members[0].mutex("y", timeout=1), members[0].semaphore("z", 2)):
                with pytest.raises(ClusterDegraded, match="cannot save its state"):
                    await asyncio.wait_for(lock.acquire(), 10)
            again = Host("a", members[0].config)  # the directory is free
            assert again.membership.roster.past == "recovered"
            again.storage.close()

    with caplog.at_level(logging.WARNING, "congenial"):
        asyncio.run(story())
    failed = [record.getMessage() for record in caplog.records if "node.ended" in record.getMessage()]
    assert len(failed) == 1
    assert not [record for record in caplog.records if record.name == "asyncio"], "no traceback of a callback"


def test_a_directory_that_is_deleted_while_a_member_runs_ends_it(tmp_path: Path) -> None:
    """Even if there is nothing to save at the moment."""

    async def story() -> None:
        async with clusters(3, state=f"{tmp_path}/{{name}}") as members:
            held = await members[0].mutex("x").acquire()
            shutil.rmtree(tmp_path / "a")
            await asyncio.wait_for(held.lost.wait(), 10)
            with pytest.raises(ClusterDegraded, match=r"state.log was removed or replaced while the node was running"):
                await members[0].mutex("y").acquire()
            async with members[1].mutex("x", timeout=20):
                pass

    asyncio.run(story())


# -- starting --------------------------------------------------------------------------------------------------------


def start_and_close(name: str, config: ClusterConfig) -> None:
    async def story() -> None:
        async with join(name, config=config) as cluster:
            await cluster.mutex("x", timeout=10).acquire()

    asyncio.run(story())


def test_the_directory_of_another_node_is_refused(tmp_path: Path) -> None:
    config = ClusterConfig(alone(), state=str(tmp_path / "state"))
    start_and_close("a", config)
    start_and_close("a", config)
    for other in (
        ClusterConfig({"b": "127.0.0.1:7101"}, state=config.state),
        ClusterConfig({"a": "127.0.0.1:7101", "b": "127.0.0.1:7102"}, state=config.state),
        ClusterConfig(dict(config.nodes), state=config.state, cluster="bakery"),
        ClusterConfig(dict(config.nodes), state=config.state, algorithm="maekawa"),
    ):
        with pytest.raises(ConfigError, match="is the state directory of node 'a' of cluster 'congenial'"):
            start_and_close(other.members[-1], other)
    start_and_close("a", config)


def test_a_state_file_cut_to_half_is_refused(tmp_path: Path) -> None:
    config = ClusterConfig(alone(), state=str(tmp_path))
    start_and_close("a", config)
    os.truncate(tmp_path / "state.log", (tmp_path / "state.log").stat().st_size // 2)
    with pytest.raises(ConfigError, match=r"state.log is (cut off|damaged).*lost its memory"):
        start_and_close("a", config)
    for file in tmp_path.iterdir():
        file.unlink()
    start_and_close("a", config)


def test_a_member_that_could_not_start_does_not_keep_the_directory(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        config = ClusterConfig({"a": address_of(taken), "b": "127.0.0.1:7102"}, state=str(tmp_path))

        async def story() -> None:
            for _ in range(2):
                with pytest.raises(ConfigError, match="cannot listen"):
                    await Cluster("a", config).start()

        asyncio.run(story())
    DirectoryStorage(tmp_path, owner("a", config)).close()


@pytest.mark.parametrize("broken", ["membership", "locks", "metrics"])
def test_whatever_goes_wrong_at_the_start_the_directory_is_free_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    config = ClusterConfig(alone(), state=str(tmp_path))
    places = {
        "membership": "congenial.net.host.Membership",
        "locks": "congenial.net.host.ViewedLocks",
        "metrics": "congenial.net.locks.MetricsServer",
    }

    def fail(*args: object) -> None:
        raise ConfigError("not today")

    async def start() -> None:
        await Cluster("a", config, metrics_port=7199).start()

    with monkeypatch.context() as patch:
        patch.setattr(places[broken], fail)
        with pytest.raises(ConfigError, match="not today"):
            asyncio.run(start())
    start_and_close("a", config)


def test_a_disk_that_is_full_at_the_start_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = ClusterConfig(alone(), state=str(tmp_path))

    def full(*args: object) -> int:
        raise OSError(28, "No space left on device")

    for call in ("write", "pwrite", "fsync", "fdatasync"):
        with monkeypatch.context() as patch:
            patch.setattr(f"os.{call}", full)
            with pytest.raises(ConfigError, match=r"cannot keep state in .*: No space left on device"):
                start_and_close("a", config)
    start_and_close("a", config)


# -- what a node may save --------------------------------------------------------------------------------------------


class Careless(Counter):
    """Keeps a file."""

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.notes = open(os.devnull)


class CarelessLater(Counter):
    """Saves what cannot be saved."""

    durable: ClassVar[tuple[str, ...]] = ("count", "notes")

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.notes: object = None

    def request(self, groups: Groups, out: Out) -> None:
        self.notes = [open(os.devnull)]
        super().request(groups, out)


@dataclass(frozen=True)
class Visit:
    """A record in a node's state, which is no message."""

    number: int
    before: tuple[Entered, ...]


class Diary(Counter):
    durable: ClassVar[tuple[str, ...]] = ("count", "visits", "last")

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.visits: dict[int, Visit] = {}
        self.last: Entered | None = None

    def request(self, groups: Groups, out: Out) -> None:
        before = () if self.last is None else (self.last,)
        self.last = Entered(self.count + 1)
        self.visits[self.count + 1] = Visit(1 << 70, before)
        super().request(groups, out)


def test_a_file_as_node_state_is_refused(tmp_path: Path) -> None:
    config = ClusterConfig(alone(), algorithm=f"{__file__}:Careless", state=str(tmp_path))
    with pytest.raises(ContractError, match=r"^Careless.notes is a _io.TextIOWrapper: .* plain data only"):
        start_and_close("a", config)
    config = ClusterConfig(alone(), algorithm=f"{__file__}:CarelessLater", state=str(tmp_path / "b"))
    with pytest.raises(IllegalStep, match=r"lock 'x': Asked broke CarelessLater.*CarelessLater.notes"):
        start_and_close("a", config)


def test_messages_and_records_in_a_node_s_state_come_back(tmp_path: Path) -> None:
    config = ClusterConfig(alone(), algorithm=f"{__file__}:Diary", state=str(tmp_path))
    for _ in range(3):
        start_and_close("a", config)

    async def state() -> Any:
        host = Host("a", config)
        node = host.locks.door("x", "x").node
        host.start([])
        await host.close()
        return node

    node = asyncio.run(state())
    assert node.count == 3
    assert repr(node.last) == "Entered(count=3)"
    assert repr(node.visits[2]) == f"Visit(number={1 << 70}, before=(Entered(count=1),))"


def test_state_that_does_not_fit_the_program_any_more_is_refused(tmp_path: Path) -> None:
    program = Path(__file__).read_text(encoding="utf-8")
    file = tmp_path / "mine.py"
    file.write_text(program, encoding="utf-8")
    config = ClusterConfig(alone(), algorithm=f"{file}:Diary", state=str(tmp_path / "a"))
    start_and_close("a", config)
    file.write_text(program.replace('("count", "visits", "last")', '("count", "visits")'), encoding="utf-8")
    with pytest.raises(IllegalStep, match="another version of the program: count, visits, last instead of count, vis"):
        start_and_close("a", config)
    file.write_text(program.replace("Visit", "Stay"), encoding="utf-8")
    with pytest.raises(IllegalStep, match=r"'lock x' does not fit this version of the program .*mine:Visit"):
        start_and_close("a", config)
    file.write_text(program, encoding="utf-8")
    start_and_close("a", config)
