"""Holders whose event loop was blocked know by the clock that they may have lost what they hold."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest
from netlab import NAMES, QUICK, clusters

from congenial.net.blocking import BlockingCluster, BlockingHeld
from congenial.net.config import ClusterConfig, free_addresses
from congenial.net.errors import LockLost, NotHeld
from congenial.net.lease import Lease
from congenial.net.locks import Cluster


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 60))


def block(lease: Lease, longer: float = 0.0) -> None:
    """Let nothing else run until the lease is over."""
    while not lease.has_run_out():
        time.sleep(0.02)
    time.sleep(longer)


def test_a_holder_knows_by_the_clock_before_anything_else_has_run() -> None:
    async def story() -> None:
        async with clusters(3) as members:
            a = members[0]
            lease = a._host.membership.lease
            last = 0

            async def body(*steps: Callable[[Any], object]) -> None:
                nonlocal last
                async with a.mutex("x", timeout=10) as held:
                    assert held.fence > last
                    last = held.fence
                    for step in steps:
                        step(held)

            def fail(held: Any) -> None:
                raise ZeroDivisionError

            await body(lambda held: held.check(), lambda held: held.release())
            for steps in (
                [lambda held: block(lease), lambda held: held.check()],
                [lambda held: block(lease)],
                [lambda held: block(lease), lambda held: held.release()],
            ):
                with pytest.raises(LockLost, match="it has not reached a majority for too long"):
                    await body(*steps)
            with pytest.raises(ZeroDivisionError):
                await body(lambda held: block(lease), fail)
            told: list[str] = []
            held = await a.semaphore("gpus", 2, timeout=10).acquire()
            held.on_lost(lambda: told.append("lost"))
            block(lease)
            assert "held" in repr(held)
            assert held.lost
            assert told == ["lost"]
            assert not held.held
            assert "majority" in await held.lost
            shared = [await a.shared("y", timeout=10).acquire() for _ in range(2)]
            with pytest.raises(LockLost), shared[0]:
                block(lease)
            for held in shared:
                with pytest.raises(LockLost):
                    held.release()
            await body()  # and the cluster goes on

    run(story())


def test_a_body_that_releases_by_hand_or_loses_twice_ends_quietly() -> None:
    async def story() -> None:
        async with clusters(1) as members:
            held = await members[0].mutex("x").acquire()
            with held:
                held.release()
            with pytest.raises(NotHeld), held:
                held.release()

    run(story())


@pytest.mark.deep
def test_a_pause_that_nobody_has_noticed_costs_nothing() -> None:
    """If the holder does not ask, it waits for the others' answers, and still has the lock if they trust it."""

    async def story() -> None:
        async with clusters(3, timing=replace(QUICK, suspect_after=3.0)) as members:
            lease = members[0]._host.membership.lease
            held = await members[0].mutex("x", timeout=10).acquire()
            block(lease)  # all members, as it happens
            while lease.has_run_out():
                await asyncio.sleep(0.005)
            held.check()
            held.release()

    run(story())


def test_a_thread_knows_by_the_clock() -> None:
    config = ClusterConfig(dict(zip(NAMES, free_addresses(3), strict=False)), timing=QUICK)
    made = [BlockingCluster(Cluster(name, config)) for name in config.members]
    try:
        for cluster in made:
            cluster.start()
        a = made[0]
        a.ready(20)
        lease = a._cluster._host.membership.lease

        def stop_the_loop() -> None:
            """As a long call that keeps the interpreter to itself would do."""
            assert a._loop is not None
            a._loop.call_soon_threadsafe(block, lease, 0.5)
            block(lease)

        def look(held: BlockingHeld) -> None:
            stop_the_loop()
            assert held.lost
            assert not held.held
            held.check()

        def fail(held: BlockingHeld) -> None:
            stop_the_loop()
            raise ZeroDivisionError

        lost = "it was lost, the others have gone on without this process, or"
        with pytest.raises(LockLost, match=lost), a.mutex("x", timeout=10) as held:
            look(held)
        with pytest.raises(LockLost, match=lost), a.mutex("x", timeout=10):
            stop_the_loop()
        with pytest.raises(ZeroDivisionError), a.mutex("x", timeout=10) as held:
            fail(held)
        with pytest.raises(LockLost, match=lost), a.mutex("x", timeout=10).acquire():
            stop_the_loop()
        with a.mutex("x", timeout=10) as held:
            held.check()
    finally:
        for cluster in made:
            cluster.close()
