"""Locks on an algorithm that a user has written, as a subclass of `Homed`: they work, are forgotten, and move from view
to view as ours do. Their nodes take their steps in a process shell: one that does what it must not fails its lock, and
says why."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from netlab import QUICK, clusters, crash, run, table, until

from congenial.kernel.errors import IllegalStep
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import IDLE, INSIDE, WAITING
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Spec
from congenial.net.errors import ProtocolError
from congenial.net.locks import Cluster
from congenial.net.names import first_holder, lock_key
from congenial.net.view_door import LockDoor, ViewDoor
from congenial.parts.homed import Floor, Homed
from congenial.problems.mutex import MUTEX
from congenial.transform.views import in_views


@dataclass(frozen=True)
class Want(Message):
    pass


@dataclass(frozen=True)
class Go(Message):
    fence: int


@dataclass(frozen=True)
class Done(Message):
    pass


class Queue(Homed):
    """The home lets processes in, one after the other."""

    spec: ClassVar[Spec] = Spec("queue", "Queue", MUTEX, fences=True, fifo=True)
    messages: ClassVar[Messages] = (Want, Go, Done)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.queue: list[int] = []  # at the home: the holder, then those that wait
        self.latest = 0  # fence

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self._tell(0, Want(), out)
        self._hear_myself(out)

    def release(self, out: Out) -> None:
        self.leave()
        self._tell(0, Done(), out)
        self._hear_myself(out)

    def _handle(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Want) and self.me == 0:
            self.queue.append(src)
            if len(self.queue) == 1:
                self._admit(out)
        elif isinstance(msg, Done) and self.me == 0 and self.queue[:1] == [src]:
            del self.queue[0]
            if self.queue:
                self._admit(out)
        elif isinstance(msg, Go) and self.phase == WAITING:
            self.enter(out, msg.fence)
        else:
            raise self.unexpected(src, msg)

    def _admit(self, out: Out) -> None:
        self.latest += 1
        self._tell(self.queue[0], Go(self.latest), out)

    def inherit(self, process: int, group: int) -> None:
        self.queue.append(process)

    def resume(self, group: int) -> None:
        self.phase = INSIDE

    def holders(self) -> list[int]:
        return self.queue[:1]

    def relax(self, out: Out) -> None:
        """Nothing is kept."""

    def is_at_rest(self) -> bool:
        return self.phase == IDLE and not self.queue

    def floor(self) -> Floor:
        return (self.latest, 0)

    def begin_above(self, floor: Floor) -> None:
        self.latest = floor[0]


Deed = Callable[[Homed, Out], object]


class Breach(Queue):
    """What it must not do, it does at a request, if it is not the home."""

    deed: ClassVar[Deed]

    def request(self, groups: Groups, out: Out) -> None:
        if self.me:
            type(self).deed(self, out)
        super().request(groups, out)


class BreaksInANewView(Queue):
    def resume(self, group: int) -> None:
        raise ValueError("broken on purpose")


class ChoosesWhenToldToGo(Queue):
    def _handle(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Go) and self.me:
            out.choose(2)
        super()._handle(src, msg, out)


def name_of_home(member: int, members: int) -> str:
    """The name of a lock that is at home at this member in the first view."""
    return next(name for name in map(str, range(1000)) if first_holder(lock_key(name), members) == member)


def door_of(member: Cluster, name: str) -> Any:
    return table(member).doors[lock_key(name)]


def test_only_our_own_algorithms_do_without_a_seat() -> None:
    async def story() -> None:
        for algorithm, kind in (("home-gme+views", ViewDoor), (in_views(Queue), LockDoor)):
            async with clusters(2, timing=QUICK, algorithm=algorithm) as (a, _), a.mutex("x"):
                assert type(door_of(a, "x")) is kind

    run(story())


def test_tasks_of_several_members_take_turns() -> None:
    inside: list[str] = []
    fences: dict[str, int] = {}

    async def work(member: Cluster, name: str) -> None:
        for _ in range(20):
            async with member.mutex(name) as held:
                assert name not in inside
                inside.append(name)
                assert held.fence > fences.get(name, 0)
                fences[name] = held.fence
                await asyncio.sleep(0)
                inside.remove(name)

    async def story() -> None:
        async with clusters(3, timing=QUICK, algorithm=in_views(Queue)) as members:
            await asyncio.gather(*[work(member, name) for member in members for name in "xyz" for _ in range(2)])
            assert await members[0].mutex("x").acquire(timeout=0) is not None
            assert await members[1].mutex("x").acquire(timeout=0) is None

    run(story())


def test_locks_that_nobody_uses_are_forgotten_and_their_fences_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("congenial.net.kept.IDLE_TIME", 0.1)

    async def story() -> None:
        async with clusters(3, timing=QUICK, algorithm=in_views(Queue)) as members:
            lock, highest = members[0].mutex("x"), 0
            for _ in range(3):
                for member in members:
                    async with member.mutex("x") as held:
                        assert held.fence > highest
                        highest = held.fence
                await until(lambda: not any([table(member).doors for member in members]))
            async with lock as held:  # it stands for the name, not for what was forgotten
                assert held.fence > highest

    run(story())


def test_holders_and_tasks_that_wait_move_to_the_next_view() -> None:
    async def story() -> None:
        async with clusters(3, timing=QUICK, algorithm=in_views(Queue)) as (a, b, c):
            held = [await a.mutex(name).acquire() for name in "vwxyz"]
            waiting = [asyncio.create_task(b.mutex(name).acquire()) for name in "vwxyz"]
            await until(lambda: all([lock_key(name) in table(b).doors for name in "vwxyz"]))
            await crash(c)
            await until(lambda: all([table(each).is_settled() and table(each).size() == 2 for each in (a, b)]))
            assert all([each.held for each in held])
            assert not any([task.done() for task in waiting])
            for each in held:
                each.release()
            for old, task in zip(held, waiting, strict=True):
                assert (await task).fence > old.fence

    run(story())


def test_a_node_that_breaks_when_members_change_fails_its_lock_and_holds_it_no_longer() -> None:
    async def story() -> None:
        async with clusters(3, timing=QUICK, algorithm=in_views(BreaksInANewView)) as (a, b, c):
            name = name_of_home(1, 2)
            held = await a.mutex(name).acquire()
            await crash(c)
            await until(lambda: all([table(each).is_settled() and table(each).size() == 2 for each in (a, b)]))
            assert "ValueError('broken on purpose')" in str(held.lost)
            async with b.mutex(name, timeout=10):
                pass

    run(story())


@pytest.mark.parametrize("method", ["relax", "is_at_rest", "floor"])
def test_a_node_that_breaks_when_nobody_uses_its_lock_fails_its_lock_alone(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it ended all that the member does by the clock, and the others took it for dead."""
    monkeypatch.setattr("congenial.net.kept.IDLE_TIME", 0.1)

    def breaks(*_: object) -> None:
        raise ValueError("broken on purpose")

    async def story() -> None:
        algorithm = in_views(type("Fragile", (Queue,), {method: breaks}))
        async with clusters(2, timing=QUICK, algorithm=algorithm) as (a, b):
            async with a.mutex("x"):
                pass
            await until(lambda: door_of(a, "x").error is not None)
            with pytest.raises(IllegalStep, match="broke FragileLock: ValueError\\('broken on purpose'\\)"):
                await a.mutex("x").acquire()
            await asyncio.sleep(1.2 * QUICK.suspect_after)
            async with a.mutex("y", timeout=10), b.mutex("z", timeout=10):
                assert [table(each).agreement.view.number for each in (a, b)] == [0, 0]

    run(story())


NO_PROCESS = "which is no other process"
DEEDS: list[tuple[Deed, str]] = [
    (lambda node, out: out.send(node.me, Want()), NO_PROCESS),
    (lambda node, out: out.send(node.n, Want()), NO_PROCESS),
    (lambda node, out: out.send(-1, Want()), NO_PROCESS),
    (lambda node, out: out.broadcast(Want()), "can only send to one process at a time and enter, not broadcast"),
    (lambda node, out: out.choose(2), "not choose"),
    (lambda node, out: out.set_timer(1, 1.0), "not set a timer"),
    (lambda node, out: out.cancel_timer(1), "not cancel a timer"),
    (lambda node, out: out.save(), "not save"),
    (lambda node, out: out.eject(), "not eject"),
    (lambda node, out: out.answer(1, None), "not answer"),
    (lambda node, out: out.execute(node.me, 1, None, None), "not execute"),
    (lambda node, out: out.restore(1), "not restore"),
    (lambda node, out: out.rest(), "not rest"),
]


@pytest.mark.parametrize(("deed", "why"), DEEDS)
def test_what_a_lock_must_not_do_fails_it_and_says_why(deed: Deed, why: str) -> None:
    async def story() -> None:
        algorithm = in_views(type("Breaching", (Breach,), {"deed": deed}))
        async with clusters(2, timing=QUICK, algorithm=algorithm) as (a, _):
            with pytest.raises(IllegalStep, match=why):
                await a.mutex(name_of_home(1, 2)).acquire(timeout=10)
            async with a.mutex(name_of_home(0, 2), timeout=10):
                pass

    run(story())


def test_a_breach_on_a_message_fails_the_lock_as_well() -> None:
    async def story() -> None:
        async with clusters(2, timing=QUICK, algorithm=in_views(ChoosesWhenToldToGo)) as (a, _):
            with pytest.raises(ProtocolError, match="not choose"):
                await a.mutex(name_of_home(1, 2)).acquire(timeout=10)
            async with a.mutex(name_of_home(0, 2), timeout=10):
                pass

    run(story())
