"""Seats: what a node does is carried out in order, and a node that breaks fails its own lock and nothing else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import pytest
from netlab import clusters

from congenial.algorithms.kmutex.srimani_reddy import SrimaniReddy
from congenial.kernel.errors import IllegalStep
from congenial.kernel.message import Message
from congenial.kernel.node import INSIDE, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.net.errors import ProtocolError
from congenial.net.numbering import Numbering
from congenial.net.seat import RandomOutbox
from congenial.net.storage import Storage
from congenial.net.turn import Turn, Writer


@dataclass(frozen=True)
class Poke(Message):
    what: int


HARMLESS, REFUSED, BREAKS, STARTS_TIMER, THROWS_OUT = range(5)


class Fragile(Node):
    """Enters immediately, and does what a test asks for. (No exclusion: it shows the driver's side.)"""

    messages: ClassVar[tuple[type[Message], ...]] = (Poke,)
    breaks_in: ClassVar[str] = ""
    waits: ClassVar[bool] = False
    drawn: ClassVar[list[int]] = []

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        if self.breaks_in == "request":
            raise ValueError("boom")
        self.drawn.append(out.choose(1000))
        if not self.waits:
            self.enter(out)

    def release(self, out: Out) -> None:
        self.leave()
        if self.breaks_in == "release":
            raise ValueError("boom")

    def receive(self, src: int, msg: Message, out: Out) -> None:
        assert isinstance(msg, Poke)
        if msg.what == REFUSED:
            raise self.unexpected(src, msg)
        if msg.what == BREAKS:
            raise ValueError("boom")
        if msg.what == STARTS_TIMER:
            out.set_timer(3, 0.5)
        if msg.what == THROWS_OUT:
            self.enter(out, 5)
            out.send(src, Poke(HARMLESS))
            self.lose(out)

    def on_timer(self, timer: int, out: Out) -> None:
        raise ValueError("boom")

    def on_suspect(self, peer: int, out: Out) -> None:
        if self.breaks_in == "suspect":
            raise ValueError("boom")


class Forgetful(Fragile):
    """Breaks when it is to recover."""

    rejoins: ClassVar[bool] = True
    durable: ClassVar[tuple[str, ...]] = ("count",)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.count = 0

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.count += 1
        out.save()
        self.enter(out, self.count)

    def on_recover(self, out: Out) -> None:
        raise ValueError("boom")


class FragileSemaphore(SrimaniReddy):
    """Breaks at the second request that it hears of."""

    heard: ClassVar[int] = 0

    def receive(self, src: int, msg: Message, out: Out) -> None:
        FragileSemaphore.heard += 1
        if FragileSemaphore.heard >= 2:
            raise ValueError("boom")
        super().receive(src, msg, out)


def poke(sender: Any, lock: str, what: int) -> None:
    host = sender._host
    with host.turn:
        host.membership.links[0].send(lock, host.vocabulary.encode(Poke(what)))


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("what", [BREAKS, STARTS_TIMER])
def test_a_node_that_breaks_fails_its_lock_and_no_other(what: int, caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with clusters(2, algorithm=Fragile) as (a, b):
            held, other = await b.mutex("x").acquire(), await b.mutex("y").acquire()
            waiting = asyncio.create_task(b.mutex("x").acquire())
            await asyncio.sleep(0.01)
            with caplog.at_level(logging.ERROR, "congenial.net"):
                poke(a, "x", what)
                await until(lambda: held.lost)
            kind = ProtocolError if what == BREAKS else IllegalStep
            with pytest.raises(kind, match=r"lock 'x': .* broke Fragile: ValueError\('boom'\)"):
                await waiting
            with pytest.raises(kind, match="broke Fragile"):
                await b.mutex("x").acquire()
            (line,) = [record.getMessage() for record in caplog.records if "lock.failed" in record.getMessage()]
            assert "node=b lock=x reason=" in line
            assert other.held
            other.release()
            async with b.mutex("y", timeout=5), a.mutex("x", timeout=5):
                pass
            poke(a, "x", HARMLESS)  # the link goes on
            poke(a, "y", HARMLESS)
            await until(lambda: b._host.membership.links[0].received == 3)

    asyncio.run(story())


def test_a_message_that_is_refused_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with clusters(2, algorithm=Fragile) as (a, b):
            held = await b.mutex("x").acquire()
            poke(a, "x", REFUSED)
            await until(lambda: "cannot make sense of Poke" in caplog.text)
            assert held.held
            assert "lock.failed" not in caplog.text

    asyncio.run(story())


@pytest.mark.parametrize("step", ["request", "release", "suspect"])
def test_whatever_step_breaks_fails_the_lock(
    step: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with clusters(2, algorithm=Fragile) as (a, b):
            door = b._host.locks.door("x", "x")
            monkeypatch.setattr(Fragile, "breaks_in", step)
            if step == "release":
                (await b.mutex("x").acquire()).release()
            elif step == "suspect":
                await a.close()
                await until(lambda: door.error is not None)
            with pytest.raises(IllegalStep, match=r"broke Fragile: ValueError\('boom'\)"):
                await b.mutex("x").acquire()
            assert "lock.failed" in caplog.text
            assert b.status()["locks"]["x"]["holders"] == 0

    asyncio.run(story())


def test_a_node_that_breaks_while_it_recovers_fails_its_lock(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def story(again: bool) -> None:
        async with clusters(1, algorithm=Forgetful, state=str(tmp_path / "{name}")) as (a,):
            if again:
                with pytest.raises(IllegalStep, match="Recovered broke Forgetful"):
                    await a.mutex("x").acquire()
                assert "lock.failed" in caplog.text
            else:
                async with a.mutex("x"):
                    pass

    asyncio.run(story(False))
    asyncio.run(story(True))


def test_a_seat_that_breaks_fails_its_semaphore_and_no_other() -> None:
    FragileSemaphore.heard = 0

    async def story() -> None:
        async with clusters(3, algorithm="token-gme", semaphores=FragileSemaphore) as members:
            tasks = [asyncio.create_task(member.semaphore("gpus", 2).acquire()) for member in members for _ in range(2)]
            await until(lambda: any(member._host.locks.halls["\1gpus"].error is not None for member in members))
            broken = [member for member in members if member._host.locks.halls["\1gpus"].error is not None]
            with pytest.raises((IllegalStep, ProtocolError), match=r"broke FragileSemaphore: ValueError\('boom'\)"):
                await broken[0].semaphore("gpus", 2).acquire()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for member in members:
                async with member.mutex("x", timeout=5):
                    pass

    asyncio.run(story())


def test_a_node_may_enter_and_be_ejected_in_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with clusters(2, algorithm=Fragile) as (a, b):
            door = b._host.locks.door("x", "x")
            monkeypatch.setattr(Fragile, "waits", True)
            waiting = asyncio.create_task(b.mutex("x").acquire())
            await asyncio.sleep(0.01)
            monkeypatch.setattr(Fragile, "waits", False)
            poke(a, "x", THROWS_OUT)
            held = await asyncio.wait_for(waiting, 5)  # it was asked for once more
            assert held.held
            assert door.node.phase == INSIDE
            assert (door.sessions, door.entries) == (2, 1)
            await until(lambda: a._host.membership.links[0].received == 1)

    asyncio.run(story())


def test_choices_are_drawn_at_random() -> None:
    async def story() -> None:
        async with clusters(1, algorithm=Fragile) as (a,):
            for _ in range(50):
                async with a.mutex("x"):
                    pass

    del Fragile.drawn[:]
    asyncio.run(story())
    drawn = Fragile.drawn
    assert len(drawn) == 50
    assert len(set(drawn)) > 20
    assert all(0 <= draw < 1000 for draw in drawn)
    assert {RandomOutbox().choose(3) for _ in range(200)} == {0, 1, 2}


# -- numbers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "seats"), list(product([1, 2, 3, 5], [1, 2, 4])))
def test_processes_and_members_are_numbered_one_to_one(n: int, seats: int) -> None:
    for offset in range(n):
        numbering = Numbering(n, offset, seats)
        places = [(member, seat) for member in range(n) for seat in range(seats)]
        processes = [numbering.process(member, seat) for member, seat in places]
        assert sorted(processes) == list(range(numbering.processes))
        assert [(numbering.member(process), numbering.seat(process)) for process in processes] == places
        assert numbering.member(0) == offset
        assert {numbering.member(process) for process in range(min(n, seats))} == {
            (offset + at) % n for at in range(min(n, seats))
        }


def test_locks_begin_at_different_members() -> None:
    assert {Numbering.of(f"lock {at}", 3).offset for at in range(30)} == {0, 1, 2}
    assert Numbering.of("x", 3).offset == Numbering.of("x", 3, 4).offset


# -- turns -------------------------------------------------------------------------------------------------


class Recorder(Storage):
    lasting = True

    def __init__(self) -> None:
        self.order: list[str] = []

    def sync(self) -> None:
        self.order.append("sync")


class Pen(Writer):
    def __init__(self, storage: Recorder, what: str = "write") -> None:
        self.storage = storage
        self.what = what

    def flush(self) -> None:
        self.storage.order.append(self.what)


def test_a_turn_syncs_and_writes_once_at_its_end() -> None:
    storage = Recorder()
    turn = Turn(storage)
    with turn:
        with turn:
            turn.unwritten.append(Pen(storage))
        with turn:
            turn.unwritten.append(Pen(storage))
        assert storage.order == []
    assert storage.order == ["sync", "write", "write"]
    turn.unwritten.append(Pen(storage))
    with pytest.raises(ZeroDivisionError), turn:
        assert 1 / 0
    assert storage.order[3:] == ["sync", "write"]


def test_a_task_that_is_let_in_runs_before_what_was_sent_leaves() -> None:
    storage, soon = Recorder(), []
    turn = Turn(storage)
    turn.soon = soon.append
    with turn:
        turn.unwritten.append(Pen(storage))
        turn.admits = True
    assert storage.order == ["sync"]  # before the task runs
    soon.pop()()
    assert storage.order == ["sync", "write"]
    with turn:
        turn.unwritten.append(Pen(storage))
        turn.admits = True
    with turn:  # what the task sends takes the rest along
        turn.unwritten.append(Pen(storage))
    assert storage.order[2:] == ["sync", "sync", "write", "write"]
    soon.pop()()
    with turn:
        turn.unwritten.append(Pen(storage))
        turn.admits = True
    turn.silent = True
    soon.pop()()
    assert storage.order[6:] == ["sync"]


def test_a_release_tells_the_last_peer_when_the_task_pauses_or_with_what_it_sends() -> None:
    storage, soon = Recorder(), []
    turn = Turn(storage)
    turn.soon = soon.append

    def release(*peers: str) -> None:
        turn.depth += 1
        turn.unwritten += [Pen(storage, peer) for peer in peers]
        turn.leave_after_release()

    release("home")
    assert storage.order == ["sync", "home"]
    assert not soon
    release("one", "two", "home")
    assert storage.order[2:] == ["sync", "one", "two"]
    soon.pop()()
    assert storage.order[5:] == ["home"]
    release("one", "home")
    with turn:
        turn.unwritten.append(Pen(storage, "next"))
    assert storage.order[6:] == ["sync", "one", "sync", "home", "next"]
    soon.pop()()
    assert storage.order[11:] == []
    with turn:
        release("one", "home")  # within another turn: nothing is urgent before that ends
        assert storage.order[11:] == []
    assert storage.order[11:] == ["sync", "one", "home"]
    assert not soon
    turn.silent = True
    release("one", "home")
    assert storage.order[14:] == []


def test_a_turn_that_cannot_save_writes_nothing_and_nor_does_a_later_one() -> None:
    class Full(Recorder):
        def sync(self) -> None:
            raise OSError(28, "No space left on device")

    storage = Full()
    turn = Turn(storage)
    failures: list[OSError] = []
    turn.on_failure = failures.append
    with turn:  # which raises nothing: it may be any task or callback that is in it
        turn.unwritten.append(Pen(storage))
    assert [failure.strerror for failure in failures] == ["No space left on device"]
    with turn:
        turn.unwritten.append(Pen(storage))
    assert storage.order == []
