"""HomeGME over real sockets: judged by a witness, cheap for those who come back, unnoticed by those who stay away."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from netlab import clusters, witness_process
from town import town

from congenial.net.locks import Cluster
from congenial.net.names import first_holder, lock_key
from congenial.testing.witness import Reporter

GROUPS = ("red", "green", "blue")
ENTRIES = 8  # of each task


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 120))


def at_home(members: list[Cluster], lock: str) -> list[Cluster]:
    """The members, the one at which the lock has its home first."""
    home = first_holder(lock_key(lock), len(members))
    return members[home:] + members[:home]


@pytest.mark.parametrize("algorithm", ["home-gme", "home-gme+epochs"])
def test_groups_exclude_each_other_and_fences_rise(algorithm: str, tmp_path: Path) -> None:
    entered: list[tuple[int, str | None]] = []  # fence and group of each entry

    async def work(member: Cluster, reporter: Reporter, who: str) -> None:
        rng = random.Random(who)
        last = 0
        for _ in range(ENTRIES):
            group = rng.choice([*GROUPS, None])  # None: alone
            lock = member.mutex("jukebox") if group is None else member.group("jukebox", group)
            async with lock as held:
                await reporter.tell("enter", lock="jukebox", who=who, group=group, fence=held.fence)
                assert held.fence > last or (group is not None and held.fence == last)
                last = held.fence
                entered.append((held.fence, group))
                await asyncio.sleep(rng.uniform(0, 0.005))
                await reporter.tell("leave", lock="jukebox", who=who)

    async def story(witness: Path) -> None:
        async with clusters(3, algorithm=algorithm) as members, Reporter(witness) as reporter:
            jobs = [work(member, reporter, f"{member.name}{at}") for member in members for at in range(2)]
            await asyncio.gather(*jobs)
            verdict = await reporter.verdict()
        assert verdict["violations"] == []
        scene = verdict["scenes"]["jukebox"]
        assert (scene["entries"], scene["inside"], scene["superseded"]) == (6 * ENTRIES, 0, 0)

    with witness_process(tmp_path) as witness:
        run(story(witness))
    groups: dict[int, set[str | None]] = {}
    for fence, group in entered:
        groups.setdefault(fence, set()).add(group)
    assert all([len(those) == 1 for those in groups.values()]), "no two groups have the same fence"
    alone = [fence for fence, group in entered if group is None]
    assert len(alone) == len(set(alone))
    assert min(groups) > 0


def test_a_member_that_comes_back_alone_soon_sends_nothing() -> None:
    async def story() -> None:
        async with clusters(3, algorithm="home-gme") as members:
            _, guest, _ = at_home(members, "x")
            for _ in range(5):
                async with guest.mutex("x"):
                    pass
            before = sent(members)
            for _ in range(50):
                async with guest.mutex("x"):
                    pass
            held = await guest.try_mutex("x")
            assert held is not None, "without asking anybody"
            held.release()
            assert sent(members) == before
            async with members[0].mutex("x", timeout=30), members[1].mutex("y", timeout=30):
                pass  # what it keeps is given back when another member asks

    run(story())


def test_a_member_that_never_asks_hears_nothing() -> None:
    async def story() -> None:
        async with clusters(4, algorithm="home-gme") as members:
            home, *guests, absent = at_home(members, "x")
            for _ in range(5):
                for group in GROUPS:
                    jobs = [enter(member, group if member is home else GROUPS[0]) for member in (home, *guests)]
                    await asyncio.gather(*jobs)
            assert sum([link["received"] for link in absent.status()["links"].values()]) == 0
            assert absent.status()["locks"] == {}

    run(story())


def test_the_home_of_a_lock_may_crash() -> None:
    """The members that remain go on in a new epoch, with a new home, and a holder keeps what it holds until then."""

    async def story() -> None:
        async with town(3, algorithm="home-gme+epochs") as made:
            home, holder, other = at_home(list(made.up.values()), "x")
            held = await holder.group("x", "red", timeout=10).acquire()
            await made.kill(home.name)
            waiting = asyncio.create_task(other.group("x", "green", timeout=60).acquire())
            for member in (holder, other):
                await until(lambda member=member: made.link(member.name, home.name)["state"] == "away")
            assert held.held
            assert not waiting.done()
            held.release()
            later = await waiting
            assert later.fence > held.fence
            later.release()
            for member in (holder, other, holder):
                async with member.mutex("x", timeout=60) as last:
                    assert last.fence > later.fence

    run(story())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


async def enter(member: Cluster, group: str) -> None:
    async with member.group("x", group, timeout=30):
        await asyncio.sleep(0.001)


def sent(members: list[Cluster]) -> int:
    return sum([link["sent"] for member in members for link in member.status()["links"].values()])
