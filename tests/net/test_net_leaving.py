"""A member leaves while tasks of its program are inside: they are told, and then others get in. Once such a block went
on without a word while others were inside, and ended without an error."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from netlab import QUICK, run
from story import AT_ONCE, Story, play

import congenial
from congenial.net.config import free_addresses
from congenial.net.errors import ClusterDegraded, LockLost
from congenial.net.locks import Cluster
from congenial.net.service import serve
from congenial.problems.weak import Counter

WHY = "it was lost, 'a' has left the cluster"

Form = Callable[[Any], Any]
FORMS: dict[str, Form] = {
    "mutex": lambda cluster: cluster.mutex("x"),
    "group": lambda cluster: cluster.group("x", "red"),
    "semaphore": lambda cluster: cluster.semaphore("x", 1),
    "lead": lambda cluster: cluster.lead("x"),
    "condition": lambda cluster: cluster.condition("x"),
    "all": lambda cluster: cluster.all("x", "y"),
    "once": lambda cluster: cluster.once("x"),
}


@pytest.mark.parametrize("leave", [Cluster.leave, Cluster.close])
@pytest.mark.parametrize("form", FORMS)
def test_blocks_end_with_lock_lost_and_others_get_in(form: str, leave: Any) -> None:
    async def tell(story: Story) -> None:
        seen: list[str] = []

        async def body(cluster: Cluster) -> None:
            async with FORMS[form](cluster):
                seen.append("a is inside")
                try:
                    await asyncio.sleep(60)
                finally:
                    seen.append("a is out")

        async def follow(cluster: Cluster) -> None:
            lock = cluster.group("x", "green") if form == "group" else FORMS[form](cluster)
            async with lock:
                seen.append("b is inside")

        first = asyncio.ensure_future(story.at("a", body))
        await asyncio.sleep(AT_ONCE)
        then = asyncio.ensure_future(story.at("b", follow))
        await asyncio.sleep(AT_ONCE)
        leaving = asyncio.ensure_future(story.at("a", leave))
        await asyncio.sleep(AT_ONCE)
        assert seen == ["a is inside", "a is out", "b is inside"]
        with pytest.raises(LockLost, match=WHY):
            await first
        await then
        await leaving
        assert story.loop.errors == []

    play(tell)


@pytest.mark.parametrize("form", ["mutex", "shared", "semaphore"])
def test_what_was_acquired_is_lost(form: str, caplog: pytest.LogCaptureFixture) -> None:
    """The program is told before anybody else. If it does not care, there is no word of it."""

    async def tell(story: Story) -> None:
        told: list[str] = []

        async def acquire(cluster: Cluster) -> Any:
            lock = {
                "mutex": cluster.mutex("x"),
                "shared": cluster.shared("x"),
                "semaphore": cluster.semaphore("x", 3),
            }
            return [await lock[form].acquire() for _ in range(1 if form == "mutex" else 3)]

        holders = await story.at("a", acquire)
        for held in holders:
            held.on_lost(lambda held=held: told.append(str(held.held)))
        assert [held.valid_for() > 0 for held in holders] == [True] * len(holders)
        link = story.clusters["a"]._host.membership.link_to[1]
        before = link.sent
        host = story.clusters["a"]._host
        holders[0].on_lost(lambda: told.append("nothing has left") if link.sent == before or link.outgoing else None)
        await story.at("a", Cluster.close)
        assert sorted(told) == ["False"] * len(holders) + ["nothing has left"]
        for held in holders:
            assert held.lost
            assert held.valid_for() == 0
            with pytest.raises(LockLost, match=WHY):
                held.check()
            with pytest.raises(LockLost, match=WHY):
                held.release()
        assert host.locks.tally.holds.count == len(holders)
        assert story.loop.errors == []

    with caplog.at_level(logging.WARNING):
        play(tell)
    assert [record.message for record in caplog.records if "peer.away" not in record.message] == []


def test_a_callback_may_release_what_else_it_holds() -> None:
    async def tell(story: Story) -> None:
        async def two(cluster: Cluster) -> list[Any]:
            return [await cluster.shared("x").acquire() for _ in range(2)]

        one, other = await story.at("a", two)
        one.on_lost(other._finish)
        other.on_lost(one._finish)
        await story.at("a", Cluster.close)
        assert (one.held, other.held) == (False, False)
        assert [bool(one.lost), bool(other.lost)].count(True) == 1

    play(tell)


def test_a_task_that_has_just_been_let_in_gets_the_error_of_those_that_wait() -> None:
    async def tell(story: Story) -> None:
        held = await story.at("a", lambda cluster: cluster.mutex("x").acquire())
        waiting = [asyncio.ensure_future(story.at("a", lambda cluster: cluster.mutex("x").acquire())) for _ in range(2)]
        await asyncio.sleep(AT_ONCE)

        async def hand_over(cluster: Cluster) -> None:
            held.release()
            await cluster.close()

        await story.at("a", hand_over)
        for task in waiting:
            with pytest.raises(ClusterDegraded, match=r"'a' (has left|is leaving) the cluster"):
                await task

    play(tell)


def test_a_section_is_lost_but_its_block_is_not_interrupted() -> None:
    async def tell(story: Story) -> None:
        for name in "bc":
            await story.at(name, lambda cluster: asyncio.sleep(0, cluster.guarded("total", Counter())))

        async def body(cluster: Cluster) -> None:
            async with cluster.guarded("total", Counter()) as section:
                assert await section.issue(5) == 5
                await asyncio.sleep(4 * AT_ONCE)
                assert section.lost
                with pytest.raises(LockLost, match=WHY):
                    await section.issue(7)

        first = asyncio.ensure_future(story.at("a", body))
        await asyncio.sleep(2 * AT_ONCE)
        await story.at("a", Cluster.leave)
        await first

    play(tell)


@pytest.mark.parametrize("own_thread", [False, True])
def test_a_block_beside_the_one_that_leaves(own_thread: bool) -> None:
    async def story() -> None:
        inside = asyncio.Event()

        async def body(cluster: Any) -> None:
            async with cluster.mutex("x"):
                inside.set()
                await asyncio.sleep(60)

        place = free_addresses(1)[0]
        async with congenial.join("a", {"a": place}, timing=QUICK, own_thread=own_thread) as cluster:
            task = asyncio.create_task(body(cluster))
            await inside.wait()
            told = asyncio.Event()
            held = await cluster.semaphore("y", 2).acquire()
            held.on_lost(told.set)
        with pytest.raises(LockLost, match=WHY):
            await task
        await asyncio.wait_for(told.wait(), 5)
        assert held.lost

    run(story())


def test_threads_learn_that_the_cluster_was_closed() -> None:
    inside, go_on = threading.Event(), threading.Event()
    ended: list[Exception] = []
    told: list[str] = []

    def work(cluster: congenial.BlockingCluster) -> None:
        try:
            with cluster.mutex("x") as held:
                held.on_lost(lambda: told.append("lost"))
                inside.set()
                go_on.wait(20)
                assert held.lost
                assert held.valid_for() == 0
        except Exception as error:
            ended.append(error)

    with congenial.join_blocking("a", {"a": free_addresses(1)[0]}, timing=QUICK) as cluster:
        thread = threading.Thread(target=work, args=(cluster,))
        thread.start()
        assert inside.wait(20)
    assert told == ["lost"]
    go_on.set()
    thread.join(20)
    (error,) = ended
    assert isinstance(error, LockLost)
    assert WHY in str(error)


def test_a_program_that_hangs_up_is_told_before_its_node(tmp_path: Path) -> None:
    async def story() -> None:
        async with congenial.join("a", {"a": free_addresses(1)[0]}, timing=QUICK) as cluster:
            service = await serve(cluster, tmp_path / "a.sock")
            inside = asyncio.Event()

            async def body(node: congenial.Client) -> None:
                async with node.mutex("x"):
                    inside.set()
                    await asyncio.sleep(60)

            async with congenial.connect(tmp_path / "a.sock") as node:
                task = asyncio.create_task(body(node))
                await inside.wait()
                held = await node.mutex("y").acquire()
                writer = node._writer
                assert writer is not None
                open_still: list[bool] = []
                held.on_lost(lambda: open_still.append(not writer.is_closing()))
            with pytest.raises(LockLost, match="this program has closed its connection"):
                await task
            assert open_still == [True]
            service.close()

    run(story())
