"""Locks that follow views: what they forget, and what they go on with."""

from __future__ import annotations

import asyncio

import pytest
from netlab import QUICK, clusters, run, table, until
from story import Story, play

from congenial.algorithms.group.home_plan import Over
from congenial.net.errors import LockTimeout
from congenial.net.frames import HEADER, encode_frame
from congenial.net.link import LOCK_DATA
from congenial.net.locks import Cluster
from congenial.net.names import first_holder, lock_key
from congenial.problems.weak import Counter


async def forgotten(members: list[Cluster]) -> None:
    """Wait until no member knows any lock."""
    await until(lambda: not any([table(member).doors or table(member).halls for member in members]))


def test_locks_that_nobody_uses_are_forgotten_and_their_fences_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("congenial.net.kept.IDLE_TIME", 0.1)

    async def story() -> None:
        async with clusters(3, timing=QUICK) as members:
            fences: dict[str, int] = {}
            for round in range(3):
                for at in range(20):
                    for member in members:
                        async with member.mutex(f"lock {at}") as held:
                            assert held.fence > fences.get(held.name, 0)
                            fences[held.name] = held.fence
                        async with member.semaphore(f"lock {at}", 2 + round), member.group(f"lock {at}", "g"):
                            pass
                await forgotten(members)

    run(story())


def test_a_member_that_has_forgotten_a_lock_gets_larger_fences_than_before() -> None:
    """Once it was let into the session again that it had left and its home still knew, with the same fence."""

    async def story() -> None:
        async with clusters(2, timing=QUICK) as (a, b):
            name = next(name for name in map(str, range(50)) if first_holder(lock_key(name), 2) == 1)
            fences = []
            for turn in range(6):
                for _ in range(1 + turn % 3):
                    async with a.mutex(name) as held:
                        fences.append(held.fence)
                while lock_key(name) in table(a).doors:
                    table(a).kept.sweep(table(a).doors[lock_key(name)])
                assert lock_key(name) in table(b).doors
            assert fences == sorted(set(fences))

    run(story())


@pytest.mark.parametrize("home", [0, 1])
def test_what_nobody_holds_any_more_when_the_view_changes_is_released_in_the_new_one(home: int) -> None:
    """A member has entered for tasks that have given up while its lease was over. Once that broke the lock, if the
    member was its home: it released what it had not yet been told that it holds."""

    async def story() -> None:
        async with clusters(2, timing=QUICK) as members:
            name = next(name for name in map(str, range(50)) if first_holder(lock_key(name), 2) == home)
            await members[0].mutex(name).acquire()
            door = table(members[0]).doors[lock_key(name)]
            door._lose_all("the task has given up")
            before = members[0]._host.locks.agreement.view.number
            members[0]._host.locks.agreement.renew()
            await until(lambda: all([member._host.locks.agreement.view.number > before for member in members]))
            for member in members:
                async with member.mutex(name, timeout=5):
                    pass

    run(story())


def test_many_locks_make_room_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("congenial.net.kept.MOST_IDLE", 50)

    async def story() -> None:
        async with clusters(3, timing=QUICK) as members:
            fences: dict[str, int] = {}
            most = 0
            held = [await members[0].group(f"lock {at}", "g").acquire() for at in range(20)]
            for member in (members[0], members[1], members[0]):
                for at in range(20, 600):
                    async with member.mutex(f"lock {at}") as entered:
                        assert entered.fence > fences.get(entered.name, 0)
                        fences[entered.name] = entered.fence
                    if at % 2:
                        async with member.semaphore(f"lock {at}", 2):
                            pass
                    most = max(most, *[len(table(one).doors) + len(table(one).halls) for one in members])
            assert 50 < most < 300
            for one in held:
                one.check()
                with pytest.raises(LockTimeout):
                    await members[1].mutex(one.name, timeout=0).acquire()

    run(story())


def test_what_one_member_has_forgotten_says_nothing_about_the_locks_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a member took the sessions of other locks, whose home it was, for those of the lock that it asked for. It
    entered although another member was inside."""
    monkeypatch.setattr("congenial.net.kept.IDLE_TIME", 0.1)

    async def story() -> None:
        async with clusters(3, timing=QUICK) as members:
            a, b, c = members
            busy = next(name for name in map(str, range(100)) if first_holder(lock_key(name), 3) == 2)  # at home at c
            for member in (a, b) * 20:
                async with member.mutex(busy):
                    pass
            await forgotten(members)
            for name in ("jukebox", "gramophone", "radio", "organ"):
                held = await a.group(name, "disc").acquire()
                async with b.group(name, "disc"):
                    pass
                for member in (c, b):
                    with pytest.raises(LockTimeout):
                        await member.exclusive(name, timeout=0.1).acquire()
                held.release()

    run(story())


def test_a_lock_object_outlives_what_it_stands_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("congenial.net.kept.IDLE_TIME", 0.1)

    async def story() -> None:
        async with clusters(2, timing=QUICK) as members:
            locks = [member.mutex("x") for member in members] + [member.semaphore("x", 1) for member in members]
            for _ in range(2):
                for one, other in ((locks[0], locks[1]), (locks[2], locks[3])):
                    async with one:
                        assert await other.acquire(timeout=0.05) is None
                    async with other:
                        pass
                await forgotten(members)

    run(story())


@pytest.mark.parametrize("view", [-1, 0, 1])
def test_a_message_of_another_view_does_not_reach_a_lock(view: int) -> None:
    async def story() -> None:
        async with clusters(2, timing=QUICK) as (a, b):
            name = next(name for name in map(str, range(50)) if first_holder(lock_key(name), 2) == 1)
            async with a.mutex(name), b.mutex("another"):
                pass
            there = table(b)
            present, key, link = there.agreement.view.number, lock_key(name), b._host.membership.links[0]
            others: list[tuple[str, int]] = []
            there.dispatch.other = lambda link, key, message: others.append((key, message.view))
            heard = b._host.vocabulary.forms[Over].heard
            raw = encode_frame((LOCK_DATA, 1, 0, key, view, 0, b._host.vocabulary.dump(Over(0))))[HEADER:]
            there.dispatch.on_lock_data(link, b._host.vocabulary.decode_frame(raw))
            assert b._host.vocabulary.forms[Over].heard == heard + 1
            assert others == ([] if view == present else [(key, view)])
            there.dispatch.number = -1  # as while this process is no member
            there.dispatch.on_lock_data(link, b._host.vocabulary.decode_frame(raw))
            assert others[-1] == (key, view)
            there.dispatch.number, there.dispatch.moving = present, True
            there.dispatch.on_lock_data(link, b._host.vocabulary.decode_frame(raw))
            assert len(others) == (2 if view == present else 3)

    run(story())


def test_many_guarded_objects_leave_room_for_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once locks were forgotten while they were made, if there were more objects, which are never forgotten, than locks
    that are kept. Messages went to locks that were forgotten, and one fence was given twice."""
    monkeypatch.setattr("congenial.net.kept.MOST_IDLE", 5)
    wrong: list[str] = []
    fences: dict[str, int] = {}

    async def use(cluster: Cluster, story: Story) -> None:
        for turn in range(20):
            name = f"lock {turn % 4}"
            async with cluster.mutex(name, timeout=3.0) as held:
                if held.fence <= fences.get(name, 0):
                    wrong.append(f"{cluster.name} gets a fence of {name} that is not above the last one")
                fences[name] = held.fence
                await asyncio.sleep(0.005)
            async with cluster.semaphore(name, 2, timeout=3.0):
                story.entries += 1

    async def tell(story: Story) -> None:
        async def name_objects(cluster: Cluster) -> None:
            for at in range(10):
                cluster.guarded(f"object {at}", Counter())

        for name in "abc":
            await story.at(name, name_objects)
        await asyncio.sleep(0.5)
        await asyncio.gather(*[story.at(name, lambda cluster: use(cluster, story)) for name in "abc"])
        assert story.entries == 60
        assert wrong == []

    play(tell)
