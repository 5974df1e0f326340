"""Very many locks: those that nobody uses cost nothing, and those in use take the steps that others take."""

from __future__ import annotations

import asyncio
import gc
import random
from dataclasses import replace
from typing import Any

import pytest
from netlab import QUICK, clusters, crash, run, table, until

from congenial.kernel.effects import Eject, Enter, Send
from congenial.kernel.message import Message
from congenial.kernel.node import IDLE, INSIDE
from congenial.kernel.out import PlainOut
from congenial.kernel.shell import Asked, Left, Process, ProcessEvent, Received
from congenial.kernel.state import state_of
from congenial.net.call import Call
from congenial.net.entrance import YIELD_EVERY
from congenial.net.locks import Cluster
from congenial.net.view_door import ViewDoor
from congenial.net.view_hall import ViewHall
from congenial.problems.epochs import InEpochs
from congenial.problems.group import GROUP
from congenial.systems.view_locks import HomeGMELock
from congenial.transform.lock_in_views import LockInViews

LOCKS = 300


async def use_all(member: Cluster, locks: int = LOCKS) -> None:
    for at in range(locks):
        async with member.mutex(f"lock {at}"):
            pass


def test_a_new_view_moves_only_locks_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[tuple[str, str]] = []

    def spy(kind: type[ViewDoor] | type[ViewHall]) -> None:
        move = kind.move

        def moving(self: Any, *arguments: Any) -> Any:
            moved.append((self.membership.name, self.key))
            return move(self, *arguments)

        monkeypatch.setattr(kind, "move", moving)

    spy(ViewDoor)
    spy(ViewHall)

    async def story() -> None:
        async with clusters(3, timing=replace(QUICK, suspect_after=2.0)) as (a, b, c):
            await use_all(a)
            async with a.semaphore("gone", 3):
                pass
            held = await a.mutex("held").acquire()
            places = await a.semaphore("places", 2).acquire()
            waiting = asyncio.create_task(b.mutex("held").acquire())
            await until(lambda: table(b).doors.get("held") is not None and table(b).doors["held"].queue)
            await until(lambda: len(table(a).kept.used) <= 2)
            moved.clear()
            await crash(c)
            await until(lambda: all([len(table(member).agreement.view.members) == 2 for member in (a, b)]))
            await until(lambda: table(a).is_settled() and table(b).is_settled())
            assert sorted(moved) == [("a", "\1places"), ("a", "held"), ("b", "held")]
            assert held.held
            assert places.held
            assert not waiting.done()
            held.release()
            (await waiting).release()
            places.release()
            for member in (a, b):
                await use_all(member, 30)

    run(story())


def doors_of(member: Cluster) -> int:
    """How many doors of a member there are in memory."""
    mine = member._host.membership
    return len([thing for thing in gc.get_objects() if type(thing) is ViewDoor and thing.membership is mine])


def test_locks_of_an_earlier_view_are_freed() -> None:
    async def story() -> None:
        async with clusters(3, timing=QUICK) as (a, b, c):
            await use_all(a)
            lock = a.mutex("lock 7")
            assert doors_of(a) >= LOCKS
            gc.disable()  # it is not needed for that
            try:
                await crash(c)
                await until(lambda: len(table(a).agreement.view.members) == 2)
                await until(lambda: not table(a).kept.dropped)
                assert doors_of(a) < 10
                async with lock:  # it stands for the name, not for what was forgotten
                    assert lock.locked()
            finally:
                gc.enable()
            async with b.mutex("lock 7"):
                assert not lock.locked()

    run(story())


@pytest.mark.parametrize("name", ["x", "y", "z"])  # at home at different members
def test_a_lock_that_is_forgotten_while_a_task_pauses_is_not_entered(name: str) -> None:
    """Once such a task asked for it all the same. The answer came to another node, which had not asked."""

    async def story() -> None:
        async with clusters(3, timing=QUICK) as (a, b, _):
            lock = a.mutex(name)
            table(a).tally.acquisitions = YIELD_EVERY - 1
            task = asyncio.create_task(lock.acquire())
            await asyncio.sleep(0)
            door = table(a).doors[name]
            assert isinstance(door, ViewDoor)
            table(a).kept.sweep(door)
            assert door.forgotten
            held = await task
            assert not door.inside
            assert held in table(a).doors[name].inside
            assert await b.mutex(name).acquire(timeout=0.1) is None
            held.release()
            async with b.mutex(name):
                pass

    run(story())


def test_groups_with_long_names_travel_too() -> None:
    async def story() -> None:
        async with clusters(2, timing=QUICK) as (a, b):
            for at in range(8):  # at home at either member
                async with a.group(f"lock {at}", "g" * 300), b.group(f"lock {at}", "g" * 300):
                    assert await b.group(f"lock {at}", "h" * 300).acquire(timeout=0.05) is None

    run(story())


def test_a_node_that_breaks_fails_its_lock_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with clusters(2, timing=QUICK) as (a, b):
            await use_all(a, 20)
            door = table(a).doors["lock 0"]
            assert isinstance(door, ViewDoor)

            class Broken(LockInViews):
                def request(self, groups: Any, out: Any) -> None:
                    raise ValueError("broken on purpose")

            door.lock = Broken(0, 2, ())
            with pytest.raises(Exception, match="a request broke Broken: ValueError\\('broken on purpose'\\)"):
                await a.mutex("lock 0").acquire()
            for member in (b, a):
                async with member.mutex("lock 1"):
                    pass

    run(story())


def test_a_node_that_breaks_when_members_change_fails_its_lock_alone() -> None:
    def breaks(*_: Any) -> None:
        raise ValueError("broken on purpose")

    async def story() -> None:
        async with clusters(3, timing=QUICK) as (a, b, c):
            held = [await a.mutex(f"lock {at}").acquire() for at in range(10)]
            doors = [table(a).doors[f"lock {at}"] for at in range(10)]
            await crash(c)
            fragile = type("Fragile", (LockInViews,), {"move": breaks})
            for door in doors[:5]:
                assert isinstance(door, ViewDoor)
                door.lock = fragile(0, 3, ())
            await until(lambda: table(a).is_settled() and len(table(a).agreement.view.members) == 2)
            assert [bool(each.lost) for each in held] == [True] * 5 + [False] * 5
            for each in held[5:]:
                each.release()
            for at in range(5, 10):
                async with b.mutex(f"lock {at}"):
                    pass
            with pytest.raises(Exception, match="a new view broke Fragile: ValueError"):
                await a.mutex("lock 0").acquire()

    run(story())


# -- steps ---------------------------------------------------------------------------------------------------------


class Twin:
    """A lock at one member, twice: in the process shell, and as a door calls it."""

    def __init__(self, me: int) -> None:
        self.shell = Process(self._begun(me), InEpochs(GROUP))
        self.bare = self._begun(me)
        self.out = PlainOut()
        self.ejected = 0

    def _begun(self, me: int) -> LockInViews:
        lock = HomeGMELock(me, 3, (("leaders", "auto"), ("selection", "priority")))
        lock.begin(1, (0, 1, 2), 1, True)
        lock.serving = lock.is_home()
        return lock

    def step(self, event: ProcessEvent) -> list[tuple[int, Message]]:
        effects = self.shell.step(event)
        event.reach(self.bare, self.out)
        sent = self.out.sent
        assert sent == [(effect.dst, effect.msg) for effect in effects if isinstance(effect, Send)]
        entered = [effect.fence for effect in effects if isinstance(effect, Enter)]
        assert entered == ([self.out.fence] if self.out.has_entered else [])
        ejected = [effect for effect in effects if isinstance(effect, Eject)]
        assert len(ejected) == self.out.has_ejected
        assert len(effects) == len(sent) + len(entered) + len(ejected), "a door carries out nothing else"
        self.ejected += len(ejected)
        assert state_of(self.bare) == state_of(self.shell.node)
        self.out.clear()
        return sent


@pytest.mark.parametrize("seed", range(20))
def test_a_door_takes_the_steps_of_the_process_shell(seed: int) -> None:
    rng = random.Random(seed)
    twins = [Twin(me) for me in range(3)]
    channels: dict[tuple[int, int], list[Message]] = {}
    entries = 0
    for _ in range(400):
        full = [pair for pair in channels if channels[pair]]
        me = rng.randrange(3)
        if full and rng.random() < 0.6:
            src, me = rng.choice(full)
            event: Asked | Left | Received = Received(src, channels[src, me].pop(0))
        elif twins[me].bare.phase == IDLE:
            event = Asked((rng.randrange(2),))
        elif twins[me].bare.phase == INSIDE:
            event = Left()
            entries += 1
        else:
            continue
        for dst, message in twins[me].step(event):
            channels.setdefault((me, dst), []).append(message)
    assert entries > 10


@pytest.mark.parametrize("seed", range(20))
def test_a_door_moves_as_the_process_shell_does(seed: int) -> None:
    """From view to view, with a member left out now and then, and another home; and a lock that gives back."""
    rng = random.Random(seed)
    twins = [Twin(me) for me in range(3)]
    members: tuple[int, ...] = (0, 1, 2)
    since = [1, 1, 1]  # the view from which on each has been a member; -1: it is none
    channels: dict[tuple[int, int], list[Message]] = {}
    entries = 0

    def happen(me: int, event: ProcessEvent) -> None:
        for dst, message in twins[me].step(event):
            channels.setdefault((me, dst), []).append(message)

    def move(view: int) -> None:
        nonlocal members
        channels.clear()  # what is under way belongs to the view before
        members = tuple(sorted(rng.sample(range(3), rng.choice([2, 3]))))
        home = rng.randrange(len(members))
        for me in range(3):
            since[me] = -1 if me not in members else view if since[me] < 0 else since[me]
            happen(me, Call(lambda lock, out, me=me: lock.move(view, members, home, since[me], out)))
        first = members[home]
        for me in members:
            group, fence = twins[me].bare.holding()
            if fence:
                happen(first, Call(lambda lock, _, me=me, group=group, fence=fence: lock.take_over(me, group, fence)))
        happen(first, Call(lambda lock, out: lock.serve(out)))

    for view in range(2, 42):
        for _ in range(rng.randrange(40)):
            full = [pair for pair in channels if channels[pair]]
            me = rng.randrange(3)
            if full and rng.random() < 0.6:
                src, me = rng.choice(full)
                happen(me, Received(src, channels[src, me].pop(0)))
            elif twins[me].bare.phase == IDLE:
                happen(
                    me, Asked((rng.randrange(2),)) if rng.random() < 0.7 else Call(lambda lock, out: lock.relax(out))
                )
            elif twins[me].bare.phase == INSIDE:
                entries += 1
                happen(me, Left())
        move(view)
    assert entries > 10
    assert sum([twin.ejected for twin in twins]) > 0
