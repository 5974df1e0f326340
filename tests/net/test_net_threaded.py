"""Members whose node has a thread of its own: the program may block its event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import pytest
from netlab import QUICK, until

import congenial
from congenial.net.config import free_addresses
from congenial.net.names import first_holder, lock_key
from congenial.problems.weak import Counter

PEERS = ("a", "b", "c")
BLOCKED = 4 * QUICK.suspect_after


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 60))


@contextlib.asynccontextmanager
async def threaded(n: int) -> AsyncIterator[list[congenial.ThreadedCluster]]:
    peers = dict(zip(PEERS[:n], free_addresses(n), strict=True))
    async with contextlib.AsyncExitStack() as stack:
        members = [congenial.join(name, peers, timing=QUICK, own_thread=True) for name in peers]
        for member in members:
            await stack.enter_async_context(member)
        for member in members:
            await member.ready(20)
        yield members


def test_a_program_that_blocks_its_event_loop_loses_nothing_and_keeps_nobody_waiting() -> None:
    async def story() -> None:
        async with threaded(3) as (a, *_):
            nodes = a.config.nodes
            homes = [name for name in map(str, range(50)) if first_holder(lock_key(name), 3) == 0][:3]
            peers = congenial.join_blocking(
                "b2", config=congenial.ClusterConfig(seeds=tuple(nodes.values()), timing=QUICK)
            )
            with peers as other:
                other.ready(20)
                entered: list[str] = []

                def use() -> None:
                    for name in homes:
                        with other.mutex(name, timeout=20):
                            entered.append(name)

                held = await a.mutex("x").acquire()
                thread = threading.Thread(target=use)
                thread.start()
                time.sleep(BLOCKED)
                assert entered == homes
                held.check()
                assert held.valid_for() > 0
                assert other.try_mutex("x") is None
                held.release()
                with other.mutex("x", timeout=20) as later:
                    assert later.fence > held.fence
                thread.join()

    run(story())


def test_all_that_a_member_has() -> None:
    async def story() -> None:
        async with threaded(3) as members:
            a, b, c = members
            async with a.shared("x") as one, b.shared("x") as other:
                assert one.fence == other.fence
                assert await c.try_mutex("x") is None
            async with a.group("jukebox", "rock"), b.group("jukebox", "rock"), c.semaphore("places", 2):
                assert await c.try_group("jukebox", "bach") is None
            async with a.all("x", "y"):
                assert await b.try_mutex("y") is None
            event = b.event("begun")
            waiting = asyncio.create_task(event.wait())
            await a.event("begun").set()
            assert await waiting
            totals = [member.guarded("total", Counter()) for member in members]
            for total in totals:
                async with total as section:
                    await section.issue(2)
            async with totals[0] as section:
                assert await section.issue(1) == 7
            assert totals[0].replica.total == 7
            assert totals[0].behind == 0
            assert [member.name for member in b.members()] == list(PEERS)
            await a.assign("c", "voter")
            assert c.status(lock="x")["links"]["a"]["state"] == "up"
            assert sorted(await a.status_of_all()) == list(PEERS)
            async with c.lead("work"):
                pass

    run(story())


def test_a_task_that_is_cancelled_or_times_out_holds_nothing() -> None:
    async def story() -> None:
        async with threaded(2) as (a, b):
            held = await a.mutex("x").acquire()
            waiting = asyncio.create_task(b.mutex("x").acquire())
            await asyncio.sleep(0.05)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            with pytest.raises(congenial.LockTimeout):
                await b.mutex("x", timeout=0.05).acquire()
            for _ in range(50):  # at any moment
                waiting = asyncio.create_task(b.mutex("x").acquire())
                await asyncio.sleep(0)
                held.release()
                await asyncio.sleep(0.0005)
                waiting.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    (await waiting).release()
                held = await a.mutex("x", timeout=10).acquire()
            held.release()

    run(story())


def test_a_holder_that_was_cut_off_is_told() -> None:
    async def story() -> None:
        async with threaded(3) as (a, b, c):
            told = asyncio.Event()
            held = await a.mutex("y", timeout=10).acquire()
            held.on_lost(told.set)

            async def body() -> None:
                async with a.mutex("x", timeout=10):
                    await asyncio.gather(b.close(), c.close())
                    await asyncio.sleep(20)

            with pytest.raises(congenial.LockLost):
                await body()
            await asyncio.wait_for(told.wait(), 5)
            assert held.lost
            with pytest.raises(congenial.LockLost):
                held.check()

    run(story())


def test_a_holder_that_has_waited_for_a_condition_is_told_of_a_loss() -> None:
    async def story() -> None:
        async with threaded(1) as (a,):
            calls: list[str] = []

            async def body() -> None:
                async with a.condition("jobs") as held:
                    held.on_lost(lambda: calls.append("told"))
                    await a.condition("jobs").wait(0.01)
                    theirs = held._held
                    a._tell(lambda: theirs._lose("for a test"))
                    await asyncio.sleep(3)
                    pytest.fail("the block goes on")

            with pytest.raises(congenial.LockLost, match="for a test"):
                await body()
            assert calls == ["told"]

    run(story())


def test_the_clock_tells_before_the_node_does() -> None:
    async def story() -> None:
        async with threaded(3) as (a, _, c):
            held = await a.mutex("x", timeout=10).acquire()
            lease = a._cluster._host.locks.lease
            a._tell(lambda: time.sleep(BLOCKED))  # the node itself is blocked
            time.sleep(0.05)
            while not lease.has_run_out():
                time.sleep(0.01)
            with pytest.raises(congenial.LockLost, match="gone on without"):
                held.check()
            await until(lambda: not a.status(lock="x")["locks"]["x"]["holders"])
            async with a.mutex("x", timeout=20), c.mutex("y", timeout=20):
                pass

    run(story())


def test_used_before_it_is_joined_or_after() -> None:
    async def story() -> None:
        cluster = congenial.join("a", {"a": free_addresses(1)[0]}, own_thread=True)
        with pytest.raises(congenial.ConfigError, match="own_thread=True"):
            await cluster.mutex("x").acquire()
        async with cluster:
            held = await cluster.mutex("x").acquire()
        assert not held.held
        with pytest.raises(congenial.ConfigError, match="own_thread=True"):
            await cluster.mutex("x").acquire()
        with pytest.raises(congenial.ConfigError, match="own_thread"):
            congenial.join("a", {"a": free_addresses(1)[0]}, own_thread="yes")  # type: ignore[call-overload]

    run(story())
