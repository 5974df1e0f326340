"""Fences never go back: from epoch to epoch, and from one cluster to the next."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from netlab import PATIENT, clusters, until
from town import Town, town

import congenial
from congenial.net import roster
from congenial.net.config import free_addresses
from congenial.net.door import LAST_TURN
from congenial.net.locks import Cluster
from congenial.net.roster import FENCE_BITS, START_OF_TIME, TICKS, fence_base, last_of_tick, new_incarnation, tick_of
from congenial.net.service import serve
from congenial.problems.epochs import EPOCH_BITS

DAY = 86400.0


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 60))


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Set the clock of all members by so many seconds."""
    real = time.time

    def shift(seconds: float) -> None:
        monkeypatch.setattr(roster.time, "time", lambda: real() + seconds)

    return shift


# -- the law -----------------------------------------------------------------------------------------------------


def test_fences_have_63_bits_until_2059() -> None:
    year_2059 = 34 * 365.25 * DAY
    last = (int(year_2059 * TICKS) << FENCE_BITS) + (1 << FENCE_BITS)
    assert last < 1 << 63
    assert LAST_TURN + 1 == 1 << FENCE_BITS - EPOCH_BITS


def test_a_fence_of_this_version_is_larger_than_one_of_the_version_before() -> None:
    before = (int(time.time()) - START_OF_TIME << 32) + (100 << 32)
    assert fence_base((new_incarnation(),)) > before


def test_incarnations_differ() -> None:
    assert len({new_incarnation() for _ in range(100)}) == 100


times = st.floats(0, 100 * 365 * DAY)


@given(st.lists(st.tuples(times, st.integers(0, 1 << 40)), min_size=1, max_size=5), st.integers(0, 1 << FENCE_BITS - 1))
def test_the_first_fence_of_a_cluster_is_above_all_that_its_members_remember(
    members: list[tuple[float, int]], within: int
) -> None:
    """Each member has a clock, which may say anything, and remembers some fence, or none."""
    fences = [(tick << FENCE_BITS) + within for _, tick in members]
    founded = []
    with pytest.MonkeyPatch.context() as patch:
        for (clock, _), fence in zip(members, fences, strict=True):
            patch.setattr(roster.time, "time", lambda clock=clock: clock)
            founded.append(new_incarnation(last_of_tick(fence)))
            assert tick_of(founded[-1]) > tick_of(fence)
    assert fence_base(tuple(founded)) > max(fences)


@given(times, st.floats(0.1, 10 * 365 * DAY), st.floats(0, TICKS - 1))
def test_without_memory_it_is_if_the_clock_is_right_and_epochs_were_not_too_many(
    start: float, life: float, rate: float
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(roster.time, "time", lambda: START_OF_TIME + start)
        old = fence_base((new_incarnation(),))
        epochs = int(life * rate)
        patch.setattr(roster.time, "time", lambda: START_OF_TIME + start + life + 2 / TICKS)
        assert fence_base((new_incarnation(),)) > last_of_tick(old + (epochs << FENCE_BITS))


# -- the network -------------------------------------------------------------------------------------------------


async def fence_of(made: Town, name: str = "a") -> int:
    async with made.up[name].mutex("x", timeout=10) as held:
        return held.fence


async def founded_again(folder: Path | None, algorithm: str) -> int:
    async with town(2, folder, algorithm=algorithm) as made:
        return max([await fence_of(made, name) for name in made.up])


def test_fences_grow_from_one_cluster_to_the_next() -> None:
    async def story() -> None:
        last = 0
        for _ in range(3):
            async with clusters(2) as members, members[0].mutex("x") as held:
                assert held.fence > last
                last = held.fence
            await asyncio.sleep(2 / TICKS)

    run(story())


@pytest.mark.parametrize("algorithm", ["token-gme", "ricart-agrawala", "token-gme+epochs", "home-gme+epochs"])
def test_fences_grow_although_the_clock_was_set_back(
    algorithm: str, tmp_path: Path, set_clock: Callable[[float], None]
) -> None:
    """Also if only one member remembers anything: those that come without memory have its numbers from it."""

    async def story() -> None:
        last = 0
        for at, days in enumerate((0.0, 3.0, -2.0, -400.0, 0.0)):
            set_clock(days * DAY)
            fence = await founded_again(tmp_path, algorithm)
            assert fence > last or fence == 0
            last = fence
            if algorithm == "token-gme" and at:
                for path in (tmp_path / "ab"[at % 2]).iterdir():
                    path.unlink()

    run(story())


def test_fences_grow_although_the_old_cluster_had_many_epochs(tmp_path: Path) -> None:
    """A member remembers how far fences have got, not only when it was started."""

    async def story() -> None:
        async with town(2, tmp_path, algorithm="token-gme") as made:
            await fence_of(made)
            door = made.up["b"]._host.locks.doors["x"]
            door.membership.fence_base += 1_000_000 << FENCE_BITS  # as if there had been so many epochs
            last = await fence_of(made, "b")
        assert await founded_again(tmp_path, "token-gme") > last

    run(story())


def test_a_fence_is_remembered_before_anybody_has_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with town(3, tmp_path) as made:
            a = made.up["a"]
            held = await a.mutex("x", timeout=10).acquire()
            host = a._host
            assert host.membership.highest >= held.fence
            assert host.storage.load("incarnation") == host.membership.highest
            held.release()
            await made.kill("b")
            async with asyncio.timeout(20):
                while tick_of((last := await fence_of(made)) - held.fence) == 0:
                    await asyncio.sleep(0.02)
            assert host.storage.load("incarnation") >= last
            async with a.semaphore("gpus", 2, timeout=10) as seat:
                assert host.storage.load("incarnation") >= seat.fence

    run(story())


# -- in all forms ------------------------------------------------------------------------------------------------

FORMS = pytest.mark.parametrize("form", ["member", "own thread", "client", "blocking", "blocking client"])


@contextlib.asynccontextmanager
async def program(form: str, folder: Path) -> AsyncIterator[tuple[Any, Cluster]]:
    """A cluster of one, as a program of this form has it, and the member that knows its locks."""
    config = congenial.ClusterConfig({"a": free_addresses(1)[0]}, timing=PATIENT)
    if form == "own thread":
        async with congenial.join("a", config=config, own_thread=True) as threaded:
            yield threaded, threaded._cluster
    elif form == "blocking":
        with congenial.join_blocking("a", config=config) as blocking:
            yield blocking, blocking._cluster
    else:
        async with congenial.join("a", config=config) as member:
            await serve(member, folder / "a.sock")
            if form == "member":
                yield member, member
            elif form == "client":
                async with congenial.connect(folder / "a.sock", patience=PATIENT.suspect_after) as client:
                    yield client, member
            else:
                threads = congenial.connect_blocking(folder / "a.sock", patience=PATIENT.suspect_after)
                await asyncio.to_thread(threads.start)
                yield threads, member
                await asyncio.to_thread(threads.close)


@FORMS
def test_who_has_waited_for_a_condition_has_the_fence_of_the_entry_after_it(form: str, tmp_path: Path) -> None:
    async def story() -> None:
        async with program(form, tmp_path) as (cluster, member):

            def fences(held: Any) -> list[int]:
                doors = member._host.locks.doors.values()
                return [held.fence, *[inside.fence for door in doors for inside in door.inside]]

            async def in_a_task() -> tuple[list[int], list[int]]:
                async with cluster.condition("jobs") as held:
                    before = fences(held)
                    await cluster.condition("jobs").wait(0.01)
                    return before, fences(held)

            def in_a_thread() -> tuple[list[int], list[int]]:
                with cluster.condition("jobs") as held:
                    before = fences(held)
                    cluster.condition("jobs").wait(0.01)
                    return before, fences(held)

            before, after = await (asyncio.to_thread(in_a_thread) if "blocking" in form else in_a_task())
            assert before[0] == before[1] < after[1] == after[0]

    run(story())


@FORMS
def test_who_stays_in_a_semaphore_has_the_fence_of_those_that_come_with_a_new_member(form: str, tmp_path: Path) -> None:
    async def story() -> None:
        async with program(form, tmp_path) as (cluster, member):
            acquire = cluster.semaphore("gpus", 2).acquire
            held = await (asyncio.to_thread(acquire) if "blocking" in form else acquire())
            before = held.fence
            seeds = list(member.config.nodes.values())
            async with (
                congenial.join("b", seeds=seeds, timing=PATIENT) as newcomer,
                newcomer.semaphore("gpus", 2, timeout=20) as other,
            ):
                if "client" in form:  # it is told immediately, but that takes a moment; a ping would take seconds
                    async with asyncio.timeout(2):
                        await until(lambda: held.fence != before)
                assert held.fence == other.fence > before
                assert f"fence {other.fence}" in repr(held)
            assert held.held
            await asyncio.to_thread(held.release) if "blocking" in form else held.release()

    run(story())
