"""The lock API: what is let in together, what waits, what is given up, and what it says when it cannot."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from typing import Any

import pytest
from netlab import QUICK, cabled_clusters, clusters

from congenial.kernel.errors import ConfigError
from congenial.net.door import LAST_TURN
from congenial.net.errors import ClusterDegraded, LockTimeout, NotHeld
from congenial.net.joining import join
from congenial.net.locks import Cluster


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 60))


def quiet(members: list[Cluster]) -> bool:
    """Nobody holds, waits, or has a request under way."""
    return all(door.idle for member in members for door in member._host.locks.entrances())


async def until(condition: Any, seconds: float = 10.0) -> None:
    end = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < end, "it does not happen"
        await asyncio.sleep(0.005)


def test_a_mutex_lets_in_one_task_of_one_process() -> None:
    async def story() -> None:
        async with clusters(3) as members:
            inside = most = 0

            async def work(member: Cluster) -> None:
                nonlocal inside, most
                for _ in range(20):
                    async with member.mutex("invoices") as held:
                        inside += 1
                        most = max(most, inside)
                        assert held.held
                        assert held.group is None
                        await asyncio.sleep(0)
                        inside -= 1

            await asyncio.gather(*[work(member) for member in members * 4])
            assert most == 1
            assert sum([member.status()["locks"]["invoices"]["entries"] for member in members]) == 240

    run(story())


def test_holders_of_one_group_are_inside_together_and_others_wait() -> None:
    async def story() -> None:
        async with clusters(3) as members:
            seven = [await member.group("jukebox", "disc-7").acquire() for member in members * 2]
            assert {held.group for held in seven} == {"disc-7"}
            assert len({held.fence for held in seven}) == 1
            with pytest.raises(LockTimeout, match=r"'jukebox' could not be acquired within 0.1 s"):
                await members[0].group("jukebox", "disc-8", timeout=0.1).acquire()
            eight = asyncio.create_task(members[1].group("jukebox", "disc-8").acquire())
            for held in seven:
                assert not eight.done()
                held.release()
            held = await asyncio.wait_for(eight, 5)
            assert held.fence > seven[0].fence
            held.release()

    run(story())


def test_readers_share_and_a_writer_is_alone_also_against_groups_of_the_same_lock() -> None:
    async def story() -> None:
        async with clusters(3) as members:
            readers = [await member.shared("catalogue").acquire() for member in members]
            writer = asyncio.create_task(members[0].exclusive("catalogue").acquire())
            await asyncio.sleep(0.05)
            assert not writer.done()
            for held in readers:
                held.release()
            held = await asyncio.wait_for(writer, 5)
            for lock in (
                members[1].exclusive("catalogue", timeout=0.05),
                members[0].exclusive("catalogue", timeout=0.05),
                members[2].shared("catalogue", timeout=0.05),
                members[1].group("catalogue", "", timeout=0.05),
                members[0].mutex("catalogue", timeout=0.05),
            ):
                assert await lock.try_acquire() is None
            held.release()
            await until(lambda: quiet(members))

    run(story())


def test_names_may_be_of_any_length() -> None:
    async def story() -> None:
        async with clusters(2) as members:
            lock, group = "l" * 50_000, "g" * 50_000
            async with members[0].group(lock, group), members[1].group(lock, group) as held:
                assert held.name == lock
                assert await members[0].try_group(lock, group + "g", timeout=0.05) is None
            async with members[1].group("", ""), members[0].group("", ""):
                pass
            async with members[1].mutex("naïve \0 name\n🎵"):
                assert await members[0].try_mutex("naïve \0 name\n🎵", timeout=0.05) is None

    run(story())


def test_fences_grow_with_every_exclusive_entry_even_when_nobody_else_comes_between() -> None:
    async def story() -> None:
        async with clusters(2) as members:
            last = 0
            for _ in range(2 * LAST_TURN + 10):
                async with members[0].mutex("x") as held:
                    assert held.fence > last
                    last = held.fence
            sent = sum(members[0].status()["messages"].values())
            assert sent < 20  # and hardly a message was needed
            async with members[1].mutex("x") as held:
                assert held.fence > last

    run(story())


def test_try_asks_nobody_for_what_is_here() -> None:
    async def story() -> None:
        async with clusters(3) as members:
            for _ in range(3):  # the home lets it keep what it uses again and again
                async with members[0].mutex("x"):
                    pass
            before = [sum(member.status()["messages"].values()) for member in members]
            held = await members[0].try_mutex("x")
            assert held is not None
            assert await members[0].try_mutex("x") is None
            with held:
                assert held.held
            assert not held.held
            assert [sum(member.status()["messages"].values()) for member in members] == before

    run(story())


def test_releasing_twice_is_an_error_that_says_so() -> None:
    async def story() -> None:
        async with clusters(1) as members:
            held = await members[0].mutex("x").acquire()
            held.release()
            with pytest.raises(NotHeld, match="'x' is no longer held: it has been released"):
                held.release()
            async with members[0].mutex("x") as held:
                held.release()  # early is allowed
            async with members[0].mutex("x"):
                pass

    run(story())


def test_what_does_not_fit_is_refused_immediately() -> None:
    async def story() -> None:
        with pytest.raises(ConfigError, match="did you mean 'maekawa'"):
            join("a", peers={"a": "127.0.0.1:7101"}, algorithm="maekava")
        with pytest.raises(ConfigError, match="join the cluster first"):
            join("a", peers={"a": "127.0.0.1:7101"}).mutex("x")
        with pytest.raises(ConfigError, match="not a node"):
            join("z", peers={"a": "127.0.0.1:7101"})
        with pytest.raises(ConfigError, match="insecure = true"):
            join("a", peers={"a": "10.1.2.3:7101"})
        join("a", peers={"a": "10.1.2.3:7101"}, insecure=True)
        async with clusters(2, algorithm="maekawa") as members:
            with pytest.raises(ConfigError, match="one process at a time"):
                members[0].shared("x")

    run(story())


def test_a_lock_can_be_used_again_and_by_several_tasks() -> None:
    async def story() -> None:
        async with clusters(2) as members:
            lock = members[0].group("x", "g")

            async def work() -> None:
                for _ in range(20):
                    async with lock as held:
                        assert held.held
                        await asyncio.sleep(0)

            await asyncio.gather(*[work() for _ in range(5)])
            await until(lambda: quiet(members))

    run(story())


# -- giving up -----------------------------------------------------------------------------------------------------


def test_cancelled_at_any_moment_nothing_is_left_behind() -> None:
    async def story() -> None:
        rng = random.Random(7)
        async with clusters(3) as members:
            inside: dict[str, int] = {}

            async def work(member: Cluster) -> None:
                lock = rng.choice(["x", "y"])
                kind = rng.choice(
                    [member.mutex(lock), member.group(lock, "g"), member.shared(lock), member.semaphore(lock, 2)]
                )
                async with kind:
                    inside[lock] = inside.get(lock, 0) + 1
                    try:
                        await asyncio.sleep(rng.choice([0, 0, 0.001]))
                    finally:
                        inside[lock] -= 1

            for _ in range(60):
                tasks = [asyncio.create_task(work(rng.choice(members))) for _ in range(25)]
                for task in rng.sample(tasks, 18):
                    await asyncio.sleep(rng.choice([0, 0, 0, 0.0005]))
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            await until(lambda: quiet(members))
            assert set(inside.values()) == {0}
            for member in members:  # and the cluster is not stuck
                async with member.mutex("x", timeout=5), member.mutex("y", timeout=5):
                    pass

    run(story())


def test_cancelled_at_the_moment_of_being_granted() -> None:
    async def story() -> None:
        async with clusters(1) as members:
            held = await members[0].mutex("x").acquire()
            waiting = asyncio.create_task(members[0].mutex("x").acquire())
            await asyncio.sleep(0)
            held.release()  # grants it to the task, which has not run since
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert quiet(members)

    run(story())


def test_a_task_that_times_out_does_not_keep_others_waiting() -> None:
    async def story() -> None:
        async with clusters(3) as members:
            held = await members[0].mutex("x").acquire()
            for member in members:
                with pytest.raises(LockTimeout):
                    await member.mutex("x", timeout=0.02).acquire()
            held.release()
            for member in members:
                async with member.mutex("x", timeout=5):
                    pass

    run(story())


# -- fairness ------------------------------------------------------------------------------------------------------


def test_local_tasks_queue_in_order() -> None:
    async def story() -> None:
        async with clusters(2) as members:
            order: list[int] = []

            async def work(number: int) -> None:
                async with members[0].mutex("x"):
                    order.append(number)
                    await asyncio.sleep(0)

            held = await members[0].mutex("x").acquire()
            tasks = []
            for number in range(10):
                tasks.append(asyncio.create_task(work(number)))
                await asyncio.sleep(0)
            held.release()
            await asyncio.gather(*tasks)
            assert order == list(range(10))

    run(story())


def test_a_process_with_always_another_task_does_not_starve_others() -> None:
    async def story() -> None:
        async with clusters(2) as members:
            stop = False

            async def greedy(pause: float) -> None:
                while not stop:
                    async with members[0].group("x", "mine"):
                        await asyncio.sleep(pause)

            crowd = [asyncio.create_task(greedy(0.003 + 0.001 * at)) for at in range(6)]
            await asyncio.sleep(0.05)
            for _ in range(5):
                async with members[1].group("x", "other", timeout=5):
                    pass
            async with members[0].mutex("x", timeout=5):  # nor does it starve a task of its own
                pass
            stop = True
            await asyncio.gather(*crowd)

    run(story())


def test_a_task_that_never_waits_does_not_shut_the_others_out() -> None:
    async def story() -> None:
        async with clusters(2) as members:
            stop = False
            turns = 0

            async def greedy() -> None:
                nonlocal turns
                while not stop:
                    async with members[0].mutex("x"):
                        turns += 1

            task = asyncio.create_task(greedy())
            for _ in range(5):
                await asyncio.sleep(0.01)
                async with members[1].mutex("x", timeout=5):
                    pass
            stop = True
            await task
            assert turns > 100

    run(story())


def test_a_newcomer_joins_those_inside_however_long_they_stay() -> None:
    async def story() -> None:
        async with clusters(2) as members:
            stays = await members[0].group("x", "g").acquire()
            for _ in range(300):
                async with members[0].group("x", "g", timeout=1), members[1].group("x", "g", timeout=1):
                    pass
            stays.release()

    run(story())


# -- peers that are away -------------------------------------------------------------------------------------------


def test_waiting_for_a_member_that_is_away_fails_by_name_and_works_again_when_it_returns() -> None:
    async def story() -> None:
        async with cabled_clusters(3, timing=QUICK, algorithm="token-gme") as (members, cables):
            async with members[2].mutex("x"):
                pass
            held = await members[2].mutex("x").acquire()
            for cable in cables:  # c is called by a and b
                cable.down = cable is cables[2]
            cables[2].cut()
            with pytest.raises(ClusterDegraded, match="'c' is away") as error:
                await members[0].mutex("x").acquire()
            assert error.value.peers == ("c",)
            assert members[0].status()["links"]["c"]["state"] == "away"
            cables[2].down = False
            await until(lambda: members[0].status()["links"]["c"]["state"] == "up")
            waiting = asyncio.create_task(members[0].mutex("x", timeout=10).acquire())
            await asyncio.sleep(0.05)
            assert not waiting.done()
            held.release()
            (await waiting).release()
            await until(lambda: quiet(members))

    run(story())


def test_status_is_plain_data_of_all_members() -> None:
    async def story() -> None:
        async with clusters(3) as members:
            async with members[1].group("jukebox", "disc-7") as held:
                told = await members[0].status_of_all()
            assert list(told) == ["a", "b", "c"]
            assert all(status is not None and status["open"] for status in told.values())
            seen = told["b"]["locks"]["jukebox"]  # type: ignore[index]
            assert seen["phase"] == "inside"
            assert seen["group"] == "disc-7"
            assert seen["holders"] == 1
            assert seen["fence"] == held.fence
            assert {link["state"] for link in told["a"]["links"].values()} == {"up"}  # type: ignore[index]

    run(story())


def test_leaving_leaves_nothing_running() -> None:
    async def story() -> None:
        before = asyncio.all_tasks()
        async with clusters(3) as members:
            waiting = asyncio.create_task(members[0].mutex("x").acquire())
            held = await members[1].mutex("y").acquire()
            blocked = asyncio.create_task(members[1].mutex("y").acquire())
            await waiting
        with pytest.raises(ClusterDegraded, match="leaving"):
            await blocked
        assert not held.held
        with pytest.raises(ClusterDegraded, match="has left"):
            await members[0].mutex("x").acquire()
        assert asyncio.all_tasks() == before
        assert not [member for member in members if member._host.membership.connections]

    run(story())
