"""Locks that survive: crashes, restarts with and without memory, a majority that is gone; and how holders are told."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from chaos import chaos
from machines import Machines
from netlab import IN_EPOCHS, QUICK, answers, cabled_clusters, clusters, crash
from town import town

from congenial.net.config import DEFAULT_ALGORITHM
from congenial.net.errors import ClusterDegraded, LockLost, NotHeld
from congenial.net.locks import Cluster
from congenial.net.roster import FENCE_BITS

PATIENCE = QUICK.suspect_after


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 60))


async def until(condition: Any, seconds: float = 10.0) -> None:
    end = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < end, "it does not happen"
        await asyncio.sleep(0.005)


def era(fence: int) -> int:
    return fence >> FENCE_BITS


def test_a_holder_that_crashes_is_excluded() -> None:
    async def story() -> None:
        async with town(3) as made:
            a, b, c = made.up.values()
            held = await c.mutex("x").acquire()
            disc = await c.group("jukebox", "disc-7").acquire()
            seats = [await c.semaphore("gpus", 2, timeout=5).acquire() for _ in range(2)]
            await made.kill("c")
            for member in (a, b):
                async with member.mutex("x", timeout=10) as later:
                    assert era(later.fence) > era(held.fence)
                async with member.group("jukebox", "disc-8", timeout=10) as later:
                    assert later.fence > disc.fence
                async with member.semaphore("gpus", 2, timeout=10) as later:
                    assert later.fence > seats[0].fence
            async with a.mutex("new", timeout=10), b.semaphore("more", 2, timeout=10):
                pass  # also what nobody had heard of

    run(story())


def test_holders_keep_their_locks_when_another_member_crashes() -> None:
    async def story() -> None:
        async with town(3) as made:
            a, b, _ = made.up.values()
            held = await a.mutex("x").acquire()
            seat = await a.semaphore("gpus", 1).acquire()
            await made.kill("c")
            waiting = asyncio.create_task(b.mutex("x", timeout=10).acquire())
            await asyncio.sleep(2 * PATIENCE)
            assert held.held
            assert seat.held
            assert not waiting.done()
            held.check()
            held.release()
            assert (await waiting).fence > held.fence
            (await waiting).release()
            seat.release()

    run(story())


@pytest.mark.parametrize("remembers", [True, False])
def test_a_killed_member_comes_back(remembers: bool, tmp_path: Path) -> None:
    async def story() -> None:
        async with town(3, tmp_path if remembers else None) as made:
            last = 0
            for round in range(2):
                for name in "abc":
                    async with made.up[name].mutex("x", timeout=10) as held:
                        assert held.fence > last
                        last = held.fence
                    (await made.up[name].semaphore("gpus", 2, timeout=10).acquire()).release()
                await made.up["c"].mutex("x", timeout=10).acquire()
                await made.kill("c")
                if round:
                    async with made.up["a"].mutex("x", timeout=10) as held:
                        last = held.fence
                await made.start("c")
                assert made.past("c") == "recovered" or not remembers
                for name in "cab":
                    async with made.up[name].mutex("x", timeout=10) as held:
                        assert held.fence > last
                        last = held.fence
                    async with made.up[name].semaphore("gpus", 2, timeout=10):
                        pass
                    async with made.up[name].mutex(f"new {round}", timeout=10):
                        pass

    run(story())


@pytest.mark.deep
def test_all_come_back_and_a_majority_is_enough(tmp_path: Path) -> None:
    async def story() -> None:
        async with town(3, tmp_path) as made:
            async with made.up["a"].mutex("x", timeout=10) as held:
                pass
            await made.up["b"].mutex("x", timeout=10).acquire()
            await made.kill("a", "b", "c")
            with pytest.raises(ClusterDegraded, match="'a' is not a member yet: 'b' is away; 'c' is away"):
                await made.start("a", timeout=3 * PATIENCE)
            with pytest.raises(ClusterDegraded, match="'b' is away; 'c' is away") as error:
                await made.up["a"].mutex("x", timeout=3 * PATIENCE).acquire()
            assert error.value.peers == ("b", "c")
            await made.start("b")
            async with made.up["b"].mutex("x", timeout=10) as later:
                assert era(later.fence) > era(held.fence)
            async with made.up["a"].mutex("x", timeout=10), made.up["a"].mutex("never used", timeout=10):
                pass
            await made.start("c")
            async with made.up["c"].mutex("x", timeout=10):
                pass

    run(story())


@pytest.mark.deep
def test_if_too_many_have_lost_their_memory_nothing_is_granted() -> None:
    async def story() -> None:
        async with town(3) as made:
            async with made.up["b"].mutex("x", timeout=10):
                pass
            held = await made.up["a"].mutex("x", timeout=10).acquire()
            await made.kill("b", "c")
            with pytest.raises(ClusterDegraded, match="'b' is not a member yet: 'b' and 'c' have forgotten what was"):
                await made.start("b", "c", timeout=3 * PATIENCE)
            for name in "bc":
                with pytest.raises(ClusterDegraded, match="'b' and 'c' have forgotten what was agreed on"):
                    await made.up[name].mutex("x", timeout=3 * PATIENCE).acquire()
            assert held.lost or held.held  # it may have been alone for too long

    run(story())


def test_a_member_that_has_forgotten_is_reminded(tmp_path: Path) -> None:
    """Forgetful for as long as somebody has not told which locks there are, also over restarts; then no more."""

    async def story() -> None:
        async with town(3, tmp_path, **IN_EPOCHS) as made:
            async with made.up["c"].mutex("x", timeout=10), made.up["a"].mutex("z", timeout=10):
                pass
            async with made.up["a"].semaphore("gpus", 2, timeout=10):
                pass
            await made.kill("b", "c")
            for path in (tmp_path / "c").iterdir():
                path.unlink()
            for _ in range(2):
                await made.start("c")
                await until(lambda: made.up["c"].status()["links"]["a"]["state"] == "up")
                await asyncio.sleep(0.05)
                assert made.past("c") == "forgetful"
                await made.kill("c")
            await made.start("b", "c")
            await until(lambda: made.past("c") == "recovered")
            assert {"x", "z"} <= set(made.up["c"]._host.locks.doors)
            assert set(made.up["c"]._host.locks.halls) == {"\1gpus"}
            for name in ("x", "y"):
                async with made.up["c"].mutex(name, timeout=10):
                    pass

    run(story())


def test_one_after_the_other_may_lose_its_memory() -> None:
    async def story() -> None:
        async with town(3) as made:
            last = 0
            for round, name in enumerate("abcab"):
                held = await made.up[name].mutex("x", timeout=10).acquire()
                assert held.fence > last
                last = held.fence
                await made.kill(name)
                await made.start(name)
                await until(lambda name=name: made.is_whole(name))
                for member in made.up.values():
                    for lock in (member.mutex(f"new {round}", timeout=10), member.semaphore("gpus", 2, timeout=10)):
                        async with lock:
                            pass

    run(story())


def test_a_state_directory_of_another_cluster_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with town(3, tmp_path / "one") as one:
            await one.kill("c")
            async with town(3, tmp_path / "two"):
                pass
            (tmp_path / "one" / "c").rename(tmp_path / "one" / "away")
            (tmp_path / "two" / "c").rename(tmp_path / "one" / "c")
            with pytest.raises(ClusterDegraded, match="'c' is not a member yet"):
                await one.start("c", timeout=1)
            await until(lambda: "another beginning" in one.up["a"].status()["links"]["c"]["refusal"])

    run(story())


def test_a_member_that_has_missed_too_much_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("congenial.net.link.MOST_UNACKNOWLEDGED", 0)

    async def story() -> None:
        async with cabled_clusters(3, timing=QUICK) as (members, cables):
            held = await members[2].mutex("x").acquire()
            cables[2].down = True
            cables[2].cut()
            async with members[0].mutex("x", timeout=10):
                assert members[0].status()["links"]["c"]["unacknowledged"] == 0, "what was for c is dropped"
            cables[2].down = False
            async with members[2].mutex("x", timeout=20) as again:
                assert again.fence > held.fence
            with pytest.raises(LockLost):
                held.check()
            for member in members:
                assert not member.status()["links"].get("c", {}).get("refusal")

    run(story())


def test_in_epochs_a_member_that_has_missed_too_much_has_to_be_restarted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("congenial.net.link.MOST_UNACKNOWLEDGED", 20)

    async def story() -> None:
        async with cabled_clusters(3, timing=QUICK, **IN_EPOCHS) as (members, cables):
            cables[2].down = True
            cables[2].cut()
            await until(lambda: members[0].status()["links"]["c"]["state"] == "away")
            for number in range(20):
                async with members[0].mutex(f"lock {number}", timeout=10):
                    pass
            assert members[0].status()["links"]["c"]["unacknowledged"] <= 20
            cables[2].down = False
            await until(
                lambda: "were dropped: restart the one that was cut off" in members[2].status()["links"]["a"]["refusal"]
            )
            async with members[1].mutex("x", timeout=10):
                pass
            await crash(members[2])
            end = socket.socket()
            end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            end.bind(cables[2].target)
            members[2] = Cluster("c", members[2].config, listener=end)
            await members[2].start()
            async with members[2].mutex("lock 3", timeout=10):
                pass

    run(story())


# -- how holders are told ------------------------------------------------------------------------------------------


def test_a_holder_that_is_cut_off_is_told_and_its_body_is_interrupted() -> None:
    async def story() -> None:
        async with cabled_clusters(3, timing=QUICK) as (members, cables):
            told: list[str] = []
            by_hand = await members[2].mutex("y").acquire()
            by_hand.on_lost(lambda: told.append("called back"))
            awaited = asyncio.create_task(by_hand.lost.wait())

            async def body() -> None:
                async with members[2].mutex("x") as held:
                    told.append("inside")
                    try:
                        await asyncio.sleep(60)
                    finally:
                        told.append(f"interrupted, lost: {bool(held.lost)}")

            task = asyncio.create_task(body())
            await until(lambda: told)
            cables[2].down = True
            cables[2].cut()
            with pytest.raises(LockLost, match="'x' is no longer held: it was lost, the others have gone on"):
                await task
            assert not task.cancelled()
            assert sorted(told) == ["called back", "inside", "interrupted, lost: True"]
            assert "gone on without" in await awaited
            assert by_hand.lost
            assert not by_hand.held
            by_hand.on_lost(lambda: told.append("late"))
            assert told[-1] == "late"
            for call in (by_hand.check, by_hand.release):
                with pytest.raises(LockLost):
                    call()
            with pytest.raises(ClusterDegraded, match="'a' is away; 'b' is away"):
                await members[2].mutex("x", timeout=0.1).acquire()
            patient = asyncio.create_task(members[2].mutex("x").acquire())  # without a limit it waits
            async with members[0].mutex("x", timeout=10):
                assert not patient.done()
            cables[2].down = False
            held = await asyncio.wait_for(patient, 20)
            assert not held.lost
            held.release()
            with pytest.raises(NotHeld, match="has been released"):
                held.check()

    run(story())


def test_an_interruption_does_not_hide_what_else_happens() -> None:
    async def story() -> None:
        async with clusters(1) as members:

            async def body(how: str) -> None:
                async with members[0].mutex(how) as held:
                    asyncio.get_running_loop().call_later(0.01, held._lose, "a test")
                    if how == "error":
                        try:
                            await asyncio.sleep(60)
                        except asyncio.CancelledError:
                            raise ZeroDivisionError from None
                    elif how == "cancelled too":
                        me = asyncio.current_task()
                        assert me is not None
                        asyncio.get_running_loop().call_later(0.01, me.cancel)
                        await asyncio.sleep(60)
                    elif how == "stubborn":
                        with contextlib.suppress(asyncio.CancelledError):
                            await asyncio.sleep(60)
                    elif how == "timeout":
                        async with asyncio.timeout(60):
                            await asyncio.sleep(60)
                    elif how == "busy":
                        held._lose("a test")
                await asyncio.sleep(0)

            for how, expected in (
                ("error", ZeroDivisionError),
                ("cancelled too", asyncio.CancelledError),
                ("stubborn", LockLost),
                ("timeout", LockLost),
                ("busy", LockLost),
            ):
                with pytest.raises(expected):
                    await asyncio.create_task(body(how))

    run(story())


def test_a_lock_used_by_several_tasks_interrupts_the_right_ones() -> None:
    async def story() -> None:
        async with clusters(1) as members:
            lock = members[0].group("x", "g")
            ended: list[str] = []

            async def body(name: str, lose: bool) -> None:
                try:
                    async with lock as held:
                        if lose:
                            asyncio.get_running_loop().call_later(0.02, held._lose, "a test")
                        await asyncio.sleep(0.05)
                        ended.append(name)
                except LockLost:
                    ended.append(f"{name} lost it")

            await asyncio.gather(body("one", False), body("two", True), body("three", False))
            assert sorted(ended) == ["one", "three", "two lost it"]

    run(story())


# -- clocks --------------------------------------------------------------------------------------------------------


@pytest.mark.deep
def test_clocks_may_be_set_forward_and_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Time is counted with a monotonic clock, and what is read off the wall only names lives, and the founding."""
    real = time.time
    shift = 0.0
    monkeypatch.setattr(time, "time", lambda: real() + shift)

    async def story() -> None:
        nonlocal shift
        async with town(3) as made:
            last = 0
            held = await made.up["b"].mutex("y", timeout=10).acquire()
            for jump in (86400.0, -86400.0, 3600.0, -30 * 86400.0):
                shift = jump
                for member in made.up.values():
                    async with member.mutex("x", timeout=10) as entered:
                        assert entered.fence > last
                        last = entered.fence
                await asyncio.sleep(PATIENCE)
            assert held.held
            assert all([link["state"] == "up" for link in made.up["b"].status()["links"].values()])
            await made.kill("c")
            await made.start("c")  # a month before the others
            for name in "cab":
                async with made.up[name].mutex("x", timeout=10) as entered:
                    assert entered.fence > last
                    last = entered.fence
            held.release()

    run(story())


# -- processes that are killed, stopped and cut off ----------------------------------------------------------------


@pytest.mark.deep
@pytest.mark.parametrize("algorithm", [DEFAULT_ALGORITHM, "home-gme+epochs"])
def test_chaos(algorithm: str, tmp_path: Path) -> None:
    tally = chaos(seconds=30, seed=5, folder=tmp_path, algorithm=algorithm)
    assert tally.violations == [], tally
    assert sum(tally.faults.values()) >= 5, tally
    assert tally.takeovers, tally
    assert tally.done["entries"] > 200, tally
    assert sum(tally.writes.values()) > 100, tally


@pytest.mark.deep
def test_a_command_is_ended_when_its_node_is_cut_off(tmp_path: Path) -> None:
    """The node is stopped for so long that the others go on without it; its command ends when it is back."""
    machines = Machines(tmp_path)
    try:
        for name in "abcde":
            machines.start(name)
        deadline = time.monotonic() + 60
        while not all([answers(machines.socket(name)) for name in "abcde"]):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        command = [sys.executable, "-m", "congenial", "lock", "x", "--timeout", "30", "--socket"]
        forever = [*command, str(machines.socket("a")), "--", "sh", "-c", "echo in; trap '' TERM; cat; sleep 60"]
        pipe = subprocess.PIPE
        holder = subprocess.Popen(forever, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        assert holder.stdout is not None
        assert holder.stderr is not None
        assert holder.stdout.readline() == "in\n"
        machines.signal("a", signal.SIGSTOP)
        other = subprocess.run(
            [*command, str(machines.socket("b")), "--", "echo", "mine"], capture_output=True, text=True
        )
        assert other.stdout == "mine\n", other.stderr
        machines.signal("a", signal.SIGCONT)
        assert holder.wait(30) == 75, "although it does not listen to SIGTERM"
        assert "is lost (the others have gone on without" in holder.stderr.read()
    finally:
        machines.tear_down()
