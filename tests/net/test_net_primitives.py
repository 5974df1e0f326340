"""Events, conditions, barriers, latches, elections, what is done once, and several locks together: between members, and
when members crash or come back."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from netlab import IN_EPOCHS, QUICK, clusters, crash
from town import town

import congenial
from congenial.net.config import free_addresses

LONG = 30.0


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 4 * LONG))


async def until(condition: Any) -> None:
    async with asyncio.timeout(LONG):
        while not condition():
            await asyncio.sleep(0.01)


# -- notes ------------------------------------------------------------------------------------------------------


def test_a_note_is_kept_on_disk(tmp_path: Path) -> None:
    async def story() -> None:
        async with town(3, tmp_path) as made:
            for name in "abc":
                event = made.up[name].event(f"of {name}")
                await event.set()
            await made.kill("a", "b", "c")
            await made.start("a", "b")
            for name in "abc":
                assert await made.up["b"].event(f"of {name}").wait(LONG)

    run(story())


def test_an_answer_counts_although_the_members_change_before_the_task_goes_on() -> None:
    """Once it was forgotten then, and the task was told that it had lost its lock."""

    async def story() -> None:
        async with clusters(3, timing=QUICK) as (a, b, _):
            board = a._host.board
            look = board._look

            def look_and_change() -> None:
                look()
                assert board.notes is not None
                for number, question in board.notes.questions.items():
                    if board.notes.has_ended(number):
                        question.begin_again()  # as when there is a new view

            board._look = look_and_change  # type: ignore[method-assign]
            await a.event("go").set()
            assert await b.event("go").wait(LONG)

    run(story())


def test_members_that_forget_one_after_the_other_lose_no_note() -> None:
    async def story() -> None:
        async with town(3) as made:
            await made.up["a"].event("go").set()
            for name in "abc":
                await made.kill(name)
                await made.start(name)
                await made.up[name].ready(LONG)
                once = made.up[name].once("create")
                async with asyncio.timeout(LONG), once as first:
                    assert first == (name == "a")
                await until(lambda name=name: made.up[name].status()["notes"]["complete"])
            for member in made.up.values():
                assert await member.event("go").wait(LONG)

    run(story())


def test_notes_go_with_the_voters() -> None:
    """Of four members, three vote. One after the other crashes, until only one of the first voters is left."""

    async def story() -> None:
        async with clusters(4, timing=QUICK) as members:
            a, b, c, d = members
            await a.event("before").set()
            await crash(a)
            async with asyncio.timeout(LONG), d.once("between") as first:
                assert first
            await until(lambda: d.status()["voters"] == ["b", "c", "d"] and d.status()["notes"]["complete"])
            await until(lambda: c.status()["notes"]["complete"])
            await crash(b)
            async with asyncio.timeout(LONG), c.once("between") as first:
                assert not first
            for member in (c, d):
                assert await member.event("before").wait(LONG)

    run(story())


def test_without_views_all_members_keep_notes_and_one_that_forgets_keeps_none() -> None:
    async def story() -> None:
        async with town(3, **IN_EPOCHS) as made:
            await made.up["a"].event("go").set()
            await made.kill("a")
            await made.start("a")
            assert await made.up["a"].event("go").wait(LONG)
            assert made.up["a"].status()["notes"]["complete"] is False
            assert made.up["b"].status()["notes"]["complete"] is True

    run(story())


# -- between members --------------------------------------------------------------------------------------------


def test_an_event_is_heard_everywhere() -> None:
    async def story() -> None:
        async with clusters(3) as (a, b, c):
            waiting = [asyncio.create_task(member.event("go").wait(LONG)) for member in (a, b, c)]
            await asyncio.sleep(0.05)
            assert not any([task.done() for task in waiting])
            await b.event("go").set()
            assert await asyncio.gather(*waiting) == [True] * 3
            await c.event("go").clear()
            assert not await a.event("go").wait(0.05)
            assert not await a.event(b"go").wait(0)
            assert repr(c.event("go")) == "<event 'go': unset>"

    run(story())


def test_a_latch_and_a_barrier_of_three_members() -> None:
    async def story() -> None:
        async with clusters(3) as members:
            latch = asyncio.create_task(members[0].latch("loaded", 3).wait(LONG))
            for member in members:
                assert not latch.done()
                await member.latch("loaded", 3).count_down()
            assert await latch
            with pytest.raises(congenial.ConfigError, match="began with 3, not 4"):
                await members[0].latch("loaded", 4).count_down()
            barriers = [member.barrier("phase", 3) for member in members]
            for _ in range(3):
                assert sorted(await asyncio.gather(*[one.wait(LONG) for one in barriers])) == [0, 1, 2]
            with pytest.raises(congenial.ConfigError, match="is for 3, not 2"):
                await members[0].barrier("phase", 2).wait()
            with pytest.raises(congenial.BarrierBroken):
                await barriers[1].wait(0.05)
            with pytest.raises(threading.BrokenBarrierError):
                await barriers[2].wait(LONG)
            await barriers[0].reset()
            cancelled = asyncio.create_task(barriers[0].wait())
            await until(lambda: barriers[0].n_waiting == 1)
            cancelled.cancel()
            with pytest.raises(asyncio.CancelledError):
                await cancelled
            assert not barriers[0].broken  # another may come in its place
            assert sorted(await asyncio.gather(*[one.wait(LONG) for one in barriers])) == [0, 1, 2]
            failing = members[0].barrier("acts", 1, action=lambda: 1 // 0)
            with pytest.raises(ZeroDivisionError):
                await failing.wait()
            with pytest.raises(congenial.BarrierBroken):
                await failing.wait()

    run(story())


def test_a_condition_of_three_members_with_a_lock_of_theirs() -> None:
    async def story() -> None:
        jobs: list[int] = []
        done: list[int] = []
        async with clusters(3) as members:

            async def work(member: congenial.Cluster) -> None:
                added = member.condition("added", member.mutex("jobs"))
                while True:
                    async with member.mutex("jobs") as held:
                        fence = held.fence
                        await added.wait_for(lambda: jobs)
                        assert held.held
                        assert held.fence >= fence
                        job = jobs.pop(0)
                        done.append(job)
                    if job < 0:
                        return

            workers = [asyncio.create_task(work(member)) for member in members]
            for job in [*range(12), -1, -1, -1]:
                async with members[job % 3].mutex("jobs"):
                    jobs.append(job)
                    await members[job % 3].condition("added", members[job % 3].mutex("jobs")).notify()
            await asyncio.wait_for(asyncio.gather(*workers), LONG)
            assert sorted(done) == sorted([*range(12), -1, -1, -1])
            assert not members[0].mutex("jobs").locked()
            condition = members[0].condition("added")
            for call in (condition.wait, condition.notify):
                with pytest.raises(congenial.NotHeld):
                    await call()
            with pytest.raises(congenial.ConfigError, match="one task holds alone"):
                members[0].condition("added", members[0].shared("jobs"))

    run(story())


def test_a_task_that_is_cancelled_while_it_waits_has_the_lock_again() -> None:
    async def story() -> None:
        async with clusters(2) as (a, b):
            condition = a.condition("c")
            seen: list[bool] = []

            async def wait() -> None:
                async with condition as held:
                    try:
                        await condition.wait()
                    finally:
                        seen.append(held.held)

            task = asyncio.create_task(wait())
            await until(lambda: condition._local().waiting)
            holding = await b.condition("c").acquire()
            task.cancel()
            await asyncio.sleep(0.05)
            assert not task.done()
            holding.release()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert seen == [True]
            assert not condition.locked()
            assert not condition._local().waiting

    run(story())


def test_several_locks_at_once() -> None:
    async def story() -> None:
        async with clusters(3) as members:
            names = ["a", "b", "c", "d"]
            inside: set[str] = set()

            async def work(number: int) -> None:
                rng = random.Random(number)
                member = members[number % 3]
                for _ in range(10):
                    wanted = rng.sample(names, 2)
                    async with member.all(*wanted, timeout=LONG) as held:
                        assert [one.name for one in held] == wanted
                        assert not inside & set(wanted)
                        inside.update(wanted)
                        await asyncio.sleep(0)
                        inside.difference_update(wanted)

            await asyncio.gather(*[work(number) for number in range(6)])
            a = members[0]
            async with a.mutex("b"):
                both = members[1].all("a", "b", timeout=0.05)
                with pytest.raises(congenial.LockTimeout, match="'b' was missing"):
                    await both.acquire()
                assert not members[1].mutex("a").locked()
            await both.acquire()
            both.release()
            assert not members[1].mutex("a").locked()
            assert not members[1].mutex("b").locked()
            async with a.all(a.shared("r"), a.semaphore("r", 2), "w"):
                assert a.mutex("w").locked()
            for wrong in ([], ["a", b"a"], ["a", 5]):
                with pytest.raises(congenial.ConfigError):
                    a.all(*wrong)  # type: ignore[arg-type]

    run(story())


def test_several_locks_of_which_one_is_lost() -> None:
    async def story() -> None:
        async with clusters(1) as (a,):

            async def hold() -> None:
                async with a.all("a", "b", "c"):
                    asyncio.get_running_loop().call_soon(a.mutex("b")._entrance._lose_all, "for a test")
                    await asyncio.sleep(LONG)

            with pytest.raises(congenial.LockLost, match="'b'"):
                await hold()
            assert not [name for name in "abc" if a.mutex(name).locked()]

    run(story())


def test_something_is_done_once() -> None:
    async def story() -> None:
        done: list[str] = []
        async with clusters(3) as members:

            async def start(member: congenial.Cluster) -> None:
                async with member.once("create") as first:
                    if first:
                        await asyncio.sleep(0.02)
                        done.append(member.name)
                assert done

            async def fail() -> None:
                async with members[0].once("create") as first:
                    assert first
                    raise RuntimeError("no")

            with pytest.raises(RuntimeError, match="no"):
                await fail()
            await asyncio.gather(*[start(member) for member in members for _ in range(3)])
            assert len(done) == 1
            assert await members[2].once("create").done()

    run(story())


# -- crashes ----------------------------------------------------------------------------------------------------


def test_a_leader_that_crashes_is_followed_by_another() -> None:
    async def story() -> None:
        async with town(3) as made:
            a, b, c = made.up.values()
            led: list[tuple[str, int]] = []

            async def lead(member: congenial.Cluster) -> None:
                async with member.lead("scheduler") as held:
                    led.append((member.name, held.fence))
                    await asyncio.sleep(4 * LONG)

            first = asyncio.create_task(lead(a))
            await until(lambda: led)
            assert await b.lead("scheduler").leader() == "a"
            second = asyncio.create_task(lead(b))
            await made.kill("a")
            first.cancel()
            await until(lambda: len(led) == 2)
            assert led[0][1] < led[1][1]
            assert await c.lead("scheduler").leader() == "b"
            second.cancel()

    run(story())


def test_a_barrier_breaks_when_a_member_crashes_that_waits_at_it() -> None:
    async def story() -> None:
        async with town(3) as made:
            a, b, c = made.up.values()
            tasks = [asyncio.create_task(member.barrier("phase", 3).wait()) for member in (a, b)]
            await until(lambda: c.barrier("phase", 3).n_waiting == 2)
            await made.kill("a")
            with pytest.raises(congenial.BarrierBroken):
                await asyncio.wait_for(tasks[1], LONG)
            assert c.barrier("phase", 3).broken or await until(lambda: c.barrier("phase", 3).broken) is None
            tasks[0].cancel()

    run(story())


def test_a_notification_goes_to_a_member_that_is_there() -> None:
    async def story() -> None:
        async with town(3) as made:
            a, b, c = made.up.values()

            async def wait(member: congenial.Cluster) -> bool:
                async with member.condition("added") as _:
                    return await member.condition("added").wait()

            tasks = [asyncio.create_task(wait(a))]
            await until(lambda: len(c.condition("added")._local().waiting) == 1)
            tasks.append(asyncio.create_task(wait(b)))
            await until(lambda: len(c.condition("added")._local().waiting) == 2)
            await made.kill("a")
            async with asyncio.timeout(LONG), c.condition("added") as _:
                await until(lambda: c.status()["links"]["a"]["state"] == "away")
                await c.condition("added").notify()
            assert await asyncio.wait_for(tasks[1], LONG)
            tasks[0].cancel()

    run(story())


PROGRAM = """
import os, sys, time
import congenial
name, mark, peers = sys.argv[1], sys.argv[2], dict(zip("abc", sys.argv[3:]))
timing = congenial.Timing(heartbeat=0.2, suspect_after=2.0, reconnect=0.01, reconnect_most=0.1)
with congenial.join_blocking(name, peers, timing=timing) as cluster:
    cluster.barrier("all are there", 3).wait()
    with cluster.once("create") as first:
        alone = first and not os.path.exists(mark)
        open(mark, "w").close()
        print("first" if first else "later", flush=True)
        if alone:
            time.sleep(600)  # it is killed
    with cluster.lead("scheduler") as held:
        held.check()
        print("leads", flush=True)
        time.sleep(600)
"""


def test_processes_one_of_which_is_killed(tmp_path: Path) -> None:
    """A process is killed while it does what is to be done once: another one does it, and one leads."""
    words = [str(tmp_path / "mark"), *free_addresses(3)]
    pipe = subprocess.PIPE
    processes = {
        name: subprocess.Popen([sys.executable, "-c", PROGRAM, name, *words], stdout=pipe, text=True, bufsize=1)
        for name in "abc"
    }
    told: dict[str, list[str]] = {name: [] for name in processes}
    heard = threading.Condition()

    def listen(name: str) -> None:
        pipe = processes[name].stdout
        assert pipe is not None
        for line in pipe:
            with heard:
                told[name].append(line.strip())
                heard.notify_all()

    with ThreadPoolExecutor(3) as pool:
        for name in processes:
            pool.submit(listen, name)
        try:
            with heard:
                assert heard.wait_for(lambda: any(told.values()), 2 * LONG), told
            (first,) = [name for name, lines in told.items() if lines]
            processes[first].send_signal(signal.SIGKILL)
            with heard:
                assert heard.wait_for(lambda: any("leads" in lines for lines in told.values()), 2 * LONG), told
        finally:
            for process in processes.values():
                process.kill()
    assert told[first] == ["first"]
    assert sorted([lines[0] for name, lines in told.items() if name != first and lines])[0] == "first"


def test_threads_of_several_members() -> None:
    peers = dict(zip("ab", free_addresses(2), strict=True))
    with (
        congenial.join_blocking("a", peers, timing=QUICK) as a,
        congenial.join_blocking("b", peers, timing=QUICK) as b,
        ThreadPoolExecutor(4) as pool,
    ):
        waiting = pool.submit(b.event("go").wait, LONG)
        a.event("go").set()
        assert waiting.result()
        meet = [pool.submit(member.barrier("meet", 2).wait, LONG) for member in (a, b)]
        assert sorted([one.result() for one in meet]) == [0, 1]
        with a.all("x", b"y") as held:
            assert [one.name for one in held] == ["x", "y"]
            with pytest.raises(congenial.LockTimeout):
                b.all("y", "x", timeout=0.05).acquire()
        condition = b.condition("c", b.mutex("x"))
        with condition:
            assert not condition.wait(0.01)
        with a.once("o") as first:
            assert first
        with b.once("o") as first:
            assert not first
        with pytest.raises(ZeroDivisionError), a.once("p"):
            raise ZeroDivisionError
        assert not b.once("p").done()
