"""Tries: a lock that nobody holds is acquired, and one that somebody holds is not waited for."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Coroutine
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from netlab import QUICK, clusters, crash

import congenial
from congenial.net.held import Held
from congenial.net.locks import Cluster, Lock
from congenial.net.service import serve
from congenial.net.view_door import FollowingDoor
from congenial.net.view_hall import ViewHall
from places import alone

FORMS: dict[str, Callable[[Cluster, str], Lock]] = {
    "mutex": lambda member, name: member.mutex(name, timeout=0),
    "shared": lambda member, name: member.shared(name, timeout=0),
    "group": lambda member, name: member.group(name, "g", timeout=0),
    "semaphore": lambda member, name: member.semaphore(name, 2, timeout=0),
}


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 120))


@pytest.mark.parametrize("form", FORMS)
def test_whoever_tries_a_free_lock_gets_it(form: str) -> None:
    """Whichever member is its home, and whichever member keeps what it used before."""

    async def story() -> None:
        async with clusters(3) as members:
            for at in range(4):
                for one, other in permutations(members, 2):
                    for member in (one, one, one, other):
                        held = await FORMS[form](member, f"lock {at}").try_acquire()
                        assert held is not None
                        held.release()

    run(story())


@pytest.mark.parametrize("holds", ["mutex", "shared", "group"])
@pytest.mark.parametrize("tries", ["mutex", "shared", "group"])
def test_whoever_tries_a_lock_that_is_held_does_not_wait(holds: str, tries: str) -> None:
    async def story() -> None:
        async with clusters(3, timing=QUICK) as members:
            for at, (one, other) in enumerate(permutations(members, 2)):
                held = await FORMS[holds](one, f"lock {at}").acquire()
                tried = await FORMS[tries](other, f"lock {at}").try_acquire()
                assert (tried is not None) == (holds == tries != "mutex")
                if tried is not None:
                    tried.release()
                held.release()
                async with other.mutex(f"lock {at}", timeout=10):
                    pass

    run(story())


def tries_here(member: Any, name: str) -> dict[str, Any]:
    """Every form of a try that asks nobody, at a member or a client, asynchronous or not."""
    return {
        "mutex": lambda: member.try_mutex(name, here=True),
        "exclusive": lambda: member.try_exclusive(name, here=True),
        "shared": lambda: member.try_shared(name, here=True),
        "group": lambda: member.try_group(name, "g", here=True),
        "semaphore": lambda: member.try_semaphore(name, 1, here=True),
        "object": lambda: member.mutex(name, timeout=5).try_acquire(here=True),
    }


def lock_of(member: Cluster, form: str, name: str) -> Lock:
    if form == "semaphore":
        return member.semaphore(name, 1, timeout=20)
    if form == "shared":
        return member.shared(name, timeout=20)
    return member.group(name, "g", timeout=20) if form == "group" else member.mutex(name, timeout=20)


async def use(member: Cluster, form: str, name: str) -> None:
    """Several times: after that the lock is at this member, and nowhere else."""
    if form != "semaphore":
        async with member.mutex(name, timeout=20):
            pass  # whatever others keep, they give back
    for _ in range(3):
        async with lock_of(member, form, name):
            pass


async def at_home(form: str, name: str, members: list[Cluster]) -> Cluster:
    """The member that keeps a lock's books."""
    for member in members:
        await use(member, form, name)
    locks = members[0]._host.locks
    entrance = next(entrance for entrance in locks.entrances() if entrance.name == name)
    assert isinstance(entrance, (FollowingDoor, ViewHall))
    return members[entrance.home()]


@pytest.mark.parametrize("form", tries_here(None, ""))
def test_a_lock_that_is_not_here_is_not_asked_for(form: str) -> None:
    """Only the member that has used it again and again, or its home, acquires it. Others get None, and ask nobody."""

    async def story() -> None:
        async with clusters(3) as members:
            home = await at_home(form, "x", members)
            others = [member for member in members if member is not home]
            for member, other in permutations(others):
                await use(member, form, "x")
                got = await tries_here(member, "x")[form]()
                assert got is not None
                sent = other._host.locks.tally.sessions
                assert await tries_here(other, "x")[form]() is None
                assert other._host.locks.tally.sessions == sent
                assert other._host.locks.entrances()[0].idle
                got.release()
                await use(other, form, "x")

    run(story())


@pytest.mark.parametrize("form", tries_here(None, ""))
def test_clients_and_threads_try_here_too(form: str) -> None:
    """For a client, here is its node."""

    async def story(folder: Path) -> None:
        async with clusters(3) as members:
            home = await at_home(form, "x", members)
            user, other = [member for member in members if member is not home]
            await serve(user, folder / "user.sock")
            await serve(other, folder / "other.sock")

            def threads() -> None:
                with congenial.connect_blocking(folder / "user.sock") as node:
                    got = tries_here(node, "x")[form]()
                    assert got is not None
                    got.release()
                with congenial.connect_blocking(folder / "other.sock") as node:
                    assert tries_here(node, "x")[form]() is None

            await use(user, form, "x")
            async with congenial.connect(folder / "user.sock") as node:
                got = await tries_here(node, "x")[form]()
                assert got is not None
                got.release()
            async with congenial.connect(folder / "other.sock") as node:
                assert await tries_here(node, "x")[form]() is None
            await asyncio.to_thread(threads)

    with tempfile.TemporaryDirectory() as folder:
        run(story(Path(folder)))


def test_a_member_without_asyncio_tries_here() -> None:
    with congenial.join_blocking("a", alone()) as cluster:
        for trying in tries_here(cluster, "x").values():
            held = trying()
            assert held is not None
            held.release()
        with pytest.raises(congenial.ConfigError, match=r"^timeout = 1: must be left out with here=True"):
            cluster.try_mutex("x", timeout=1, here=True)
        with pytest.raises(congenial.ConfigError, match=r'^here = "no": must be true or false'):
            cluster.try_mutex("x", here="no")  # type: ignore[arg-type]


def test_of_many_that_try_at_once_one_gets_it() -> None:
    async def story() -> None:
        async with clusters(4) as members:
            for at in range(20):
                tried = await asyncio.gather(*[member.try_mutex(f"lock {at % 3}") for member in members * 3])
                got = [held for held in tried if held is not None]
                assert len(got) == 1
                got[0].release()
                await asyncio.sleep(0.01)  # the requests of the others are granted, and given up

    run(story())


def test_a_semaphore_is_refused_when_all_places_are_taken() -> None:
    async def story() -> None:
        async with clusters(3) as members:
            held: list[Held] = []
            for at in range(5):
                got = await members[at % 3].semaphore("gpus", 5, timeout=0).acquire()
                held.append(got)
            for member in members:
                assert await member.semaphore("gpus", 5, timeout=0).try_acquire() is None
            held.pop().release()
            await asyncio.sleep(0.05)
            got = await members[0].semaphore("gpus", 5, timeout=10).acquire()
            for one in (*held, got):
                one.release()

    run(story())


@pytest.mark.parametrize("form", ["shared", "group", "semaphore"])
def test_tasks_of_one_member_that_try_at_once_all_get_in_if_they_may(form: str) -> None:
    async def story() -> None:
        async with clusters(3) as members:
            for at in range(6):
                for member in members:
                    got = await asyncio.gather(*[FORMS[form](member, f"lock {at}").try_acquire() for _ in range(2)])
                    assert all([held is not None for held in got])
                    for held in got:
                        held.release()

    run(story())


def test_a_try_survives_the_crash_of_the_home() -> None:
    async def story() -> None:
        async with clusters(3, timing=QUICK) as members:
            for at in range(6):
                async with members[0].mutex(f"lock {at}"), members[1].mutex(f"other {at}"):
                    pass
            await crash(members[2])
            tries = [members[0].mutex(f"fresh {at}", timeout=0).try_acquire() for at in range(6)]
            got = await asyncio.gather(*tries, return_exceptions=True)
            for held in got:
                if isinstance(held, Held):
                    held.release()
            async with members[0].mutex("fresh 0", timeout=20):
                pass

    run(story())
