"""Semaphores: k at a time, of all members together or of one; what they cost, and what happens if k is in dispute."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from netlab import IN_EPOCHS, PATIENT, QUICK, cabled_clusters, clusters

import congenial
from congenial.kernel.errors import ConfigError
from congenial.net.config import ClusterConfig
from congenial.net.errors import ClusterDegraded, LockTimeout, NotHeld
from congenial.net.hall import Hall
from congenial.net.held import Held
from congenial.net.lease import Lease
from congenial.net.locks import Cluster
from places import alone


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 60))


async def until(condition: Any, seconds: float = 10.0) -> None:
    end = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < end, "it does not happen"
        await asyncio.sleep(0.005)


def quiet(members: list[Cluster]) -> bool:
    return all(hall.idle for member in members for hall in member._host.locks.halls.values())


def sent(members: list[Cluster]) -> int:
    return sum([sum(member.status()["messages"].values()) for member in members])


@pytest.mark.parametrize(("n", "k"), [(1, 1), (1, 3), (3, 1), (3, 3), (2, 5)])
@pytest.mark.parametrize("semaphores", ["srimani-reddy+epochs", "srimani-reddy", "raymond-k", "kakugawa"])
def test_it_lets_in_k(n: int, k: int, semaphores: str) -> None:
    async def story() -> None:
        async with clusters(n, semaphores=semaphores) as members:
            inside = most = 0

            async def work(member: Cluster) -> None:
                nonlocal inside, most
                for _ in range(6):
                    async with member.semaphore("gpus", k) as held:
                        assert held.held
                        inside += 1
                        most = max(most, inside)
                        await asyncio.sleep(0.002)
                        inside -= 1

            await asyncio.gather(*[work(member) for member in members for _ in range(3 + k)])
            assert most == k
            await until(lambda: quiet(members))
            told = members[0].status()["locks"]["gpus (semaphore)"]
            assert told["entries"] == 6 * (3 + k)
            assert told["k"] == k

    run(story())


def test_all_k_may_be_tasks_of_one_member() -> None:
    async def story() -> None:
        async with clusters(3) as members:
            holders = [await members[1].semaphore("gpus", 4, timeout=5).acquire() for _ in range(4)]
            for member in members:
                with pytest.raises(LockTimeout):
                    await member.semaphore("gpus", 4, timeout=0.05).acquire()
            waiting = asyncio.create_task(members[2].semaphore("gpus", 4).acquire())
            await asyncio.sleep(0.02)
            assert not waiting.done()
            holders[2].release()
            (await asyncio.wait_for(waiting, 5)).release()
            with pytest.raises(NotHeld, match="has been released"):
                holders[2].release()
            for at in (0, 1, 3):
                holders[at].release()
            await until(lambda: quiet(members))

    run(story())


def test_where_a_token_rests_nobody_is_asked() -> None:
    async def story() -> None:
        async with clusters(3) as members:
            async with members[0].semaphore("gpus", 2):
                pass
            before = sent(members)
            for _ in range(50):
                async with members[0].semaphore("gpus", 2) as held:
                    assert held.fence == members[1]._host.membership.fence_base  # of epoch 0
            held_now = await members[0].try_semaphore("gpus", 2)
            assert held_now is not None
            held_now.release()
            assert sent(members) == before
            for member in members:
                async with member.semaphore("gpus", 2):
                    pass
            assert sent(members) - before <= 3 * (2 + 2)  # n-1 requests and at most k tokens for each

    run(story())


def test_trying_what_others_hold() -> None:
    async def story() -> None:
        async with clusters(3) as members, members[0].semaphore("gpus", 1):
            assert [await member.try_semaphore("gpus", 1) for member in members] == [None, None, None]
            assert await members[1].try_semaphore("gpus", 1, timeout=0.05) is None

    run(story())


def test_a_lock_of_the_same_name_is_something_else() -> None:
    async def story() -> None:
        async with clusters(2) as members:
            held = await members[0].mutex("x").acquire()
            async with members[0].semaphore("x", 1), members[1].semaphore("y" * 1000, 2):
                assert set(members[0].status()["locks"]) >= {"x", "x (semaphore)"}
            held.release()

    run(story())


def test_tasks_wait_in_order() -> None:
    async def story() -> None:
        async with clusters(2) as members:
            order: list[int] = []

            async def work(number: int) -> None:
                async with members[0].semaphore("x", 2):
                    order.append(number)
                    await asyncio.sleep(0.001)

            holders = [await members[0].semaphore("x", 2).acquire() for _ in range(2)]
            tasks = []
            for number in range(8):
                tasks.append(asyncio.create_task(work(number)))
                await asyncio.sleep(0)
            for held in holders:
                held.release()
            await asyncio.gather(*tasks)
            assert order == list(range(8))

    run(story())


def test_a_seat_that_was_let_in_before_the_members_changed_gives_the_present_fence() -> None:
    """The task did not get it while this process could not be sure that it still is a member."""

    async def story() -> None:
        async with clusters(2, timing=PATIENT) as (a, b):
            first = await a.semaphore("gpus", 1).acquire()
            waiting = asyncio.create_task(b.semaphore("gpus", 1).acquire())
            hall = await hall_that_asks(b)
            lease, hall.lease = hall.lease, Lease(2, 0.0, 0.0)
            first.release()
            await until(lambda: hall.granted)
            async with congenial.join("c", seeds=list(a.config.nodes.values()), timing=PATIENT) as c:
                await c.ready(20)
                hall.lease = lease
                hall.pump()
                held = await waiting
                assert held.fence > first.fence
                free = asyncio.create_task(c.semaphore("gpus", 1).acquire())
                await asyncio.sleep(0)
                held.release()
                assert (await free).fence == held.fence

    run(story())


async def hall_that_asks(member: Cluster) -> Hall:
    """The semaphore of a member, once its only task waits for others."""
    await until(lambda: any(hall.asking for hall in member._host.locks.halls.values()))
    (hall,) = member._host.locks.halls.values()
    return hall


# -- disputes ------------------------------------------------------------------------------------------------------


def test_one_member_cannot_use_two_numbers() -> None:
    async def story() -> None:
        async with clusters(1) as members:
            members[0].semaphore("gpus", 3)
            with pytest.raises(ConfigError, match="'gpus' lets in 3 at a time, not 4"):
                members[0].semaphore("gpus", 4)
            with pytest.raises(ConfigError, match="at least 1"):
                members[0].semaphore("gpus", 0)
            with pytest.raises(ConfigError, match="too many: at most 100000"):
                members[0].semaphore("slots", 100_001)

    run(story())


def test_a_member_that_comes_later_with_another_number_gets_an_error() -> None:
    async def story() -> None:
        async with clusters(2) as members:
            for name in ("gpus", "cpus", "slots"):  # whichever member is the home
                async with members[0].semaphore(name, 3):
                    with pytest.raises(ConfigError, match=f"'{name}' lets in 4 at a time here, and 3 at 'a': everyone"):
                        await members[1].semaphore(name, 4).acquire()
            assert not members[1]._host.locks.announced

    run(story())


def test_where_members_disagree_that_counts_which_the_home_heard_first() -> None:
    async def story() -> None:
        async with clusters(3) as members:
            locks = [members[0].semaphore("gpus", 1), members[1].semaphore("gpus", 2), members[2].semaphore("gpus", 2)]
            got = await asyncio.gather(*[lock.acquire() for lock in locks], return_exceptions=True)
            counts = 1 if isinstance(got[0], Held) else 2
            for k, held in zip((1, 2, 2), got, strict=True):
                if k == counts:
                    assert isinstance(held, Held)
                    held.release()
                else:
                    assert isinstance(held, ConfigError)
                    assert "everyone must give the same number" in str(held)

    run(story())


def test_waiting_tasks_get_an_error_and_holders_have_lost_it() -> None:
    async def story() -> None:
        async with clusters(3, **IN_EPOCHS) as members:
            locks = [members[0].semaphore("gpus", 1), members[1].semaphore("gpus", 2), members[2].semaphore("gpus", 2)]
            with pytest.raises(ConfigError, match="everyone must give the same number"):
                await asyncio.gather(*[lock.acquire() for lock in locks * 2])
            await until(lambda: all(member._host.locks.halls for member in members))
            await until(lambda: members[0]._host.locks.halls["\1gpus"].error is not None)
            for lock in locks[:2]:
                with pytest.raises(ConfigError, match="at a time here, and"):
                    await lock.acquire()
            async with members[0].semaphore("other", 2), members[1].semaphore("other", 2):
                pass  # the rest is as it was

    run(story())


def test_what_cannot_be_an_algorithm_of_semaphores_is_refused() -> None:
    nodes = alone()
    with pytest.raises(ConfigError, match="it is for semaphores"):
        ClusterConfig(nodes, algorithm="raymond-k")
    with pytest.raises(ConfigError, match="maekawa is not an algorithm for semaphores"):
        ClusterConfig(nodes, semaphores="maekawa")


# -- members that are away -----------------------------------------------------------------------------------------


def test_with_the_tokens_that_are_left_work_goes_on_while_a_member_is_away() -> None:
    async def story() -> None:
        plain = {"algorithm": "token-gme", "semaphores": "srimani-reddy"}
        async with cabled_clusters(3, timing=QUICK, **plain) as (members, cables):
            theirs = await members[2].semaphore("gpus", 2, timeout=5).acquire()
            ours = await members[0].semaphore("gpus", 2, timeout=5).acquire()
            cables[2].down = True
            cables[2].cut()  # c is called by a and b
            await until(lambda: members[0].status()["links"]["c"]["state"] == "away")
            with pytest.raises(ClusterDegraded, match="'gpus' cannot be acquired now: 'c' is away"):
                await members[1].semaphore("gpus", 2).acquire()
            ours.release()
            for member in members[:2]:
                async with member.semaphore("gpus", 2, timeout=5):
                    pass
            cables[2].down = False
            await until(lambda: members[0].status()["links"]["c"]["state"] == "up")
            theirs.release()
            holders = [await members[0].semaphore("gpus", 2, timeout=10).acquire() for _ in range(2)]
            for held in holders:
                held.release()
            await until(lambda: quiet(members))

    run(story())
