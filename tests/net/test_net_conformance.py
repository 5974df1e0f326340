"""Every catalogued algorithm over real sockets, judged by a witness in another process."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
from netlab import clusters, witness_process

from congenial.net.locks import Cluster
from congenial.net.roster import FENCE_BITS
from congenial.problems.epochs import within_epoch
from congenial.problems.kmutex import KMUTEX
from congenial.systems.catalogue import SOUND, find_algorithm
from congenial.testing.witness import Outdated, Reporter

TASKS = 3  # of each member
ENTRIES = 6  # of each task
IN_EPOCHS = ("token-gme+epochs", "home-gme+epochs", "srimani-reddy+epochs", "maekawa+epochs")
K = 2  # where an algorithm lets in several


@pytest.fixture(scope="module")
def witness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with witness_process(tmp_path_factory.mktemp("witness")) as path:
        yield path  # type: ignore[misc]


async def conform(algorithm: str, n: int, witness: Path) -> None:
    rng = random.Random(f"{algorithm} {n}")
    claimed = find_algorithm(algorithm).spec.problem
    assert claimed is not None
    problem = within_epoch(claimed)
    several = problem is KMUTEX
    limit = {"limit": K} if several else {}
    lock = f"{algorithm} on {n}"

    async def work(member: Cluster, reporter: Reporter, who: str) -> None:
        for _ in range(ENTRIES):
            group = rng.choice(["red", "blue", None]) if problem.groups else None
            alone = member.semaphore(lock, K) if several else member.mutex(lock)
            async with alone if group is None else member.group(lock, group) as held:
                await reporter.tell("enter", lock=lock, who=who, group=group, fence=held.fence, **limit)
                await asyncio.sleep(rng.uniform(0, 0.002))
                await reporter.tell("leave", lock=lock, who=who)

    setting = {"semaphores" if several else "algorithm": algorithm}
    async with clusters(n, **setting) as members, Reporter(witness) as reporter:
        jobs = [work(member, reporter, f"{member.name}{at}") for member in members for at in range(TASKS)]
        await asyncio.wait_for(asyncio.gather(*jobs), 60)
        verdict = await reporter.verdict()
    assert verdict["violations"] == []
    assert verdict["scenes"][lock]["entries"] == n * TASKS * ENTRIES
    assert verdict["scenes"][lock]["inside"] == 0
    assert verdict["scenes"][lock]["superseded"] == verdict["scenes"][lock]["refused"] == 0
    assert verdict["scenes"][lock]["most"] == K or not several


@pytest.mark.parametrize("n", [1, 2, pytest.param(5, marks=pytest.mark.deep)])
@pytest.mark.parametrize("algorithm", [*SOUND, *IN_EPOCHS])
def test_exclusion_holds_and_everyone_gets_in(algorithm: str, n: int, witness: Path) -> None:
    asyncio.run(conform(algorithm, n, witness))


def test_the_witness_sees_what_must_not_be(tmp_path: Path) -> None:
    """It must be able to object, or its silence would mean nothing."""

    async def story() -> None:
        with witness_process(tmp_path) as path:
            async with Reporter(path) as one, Reporter(path) as two:
                await one.tell("enter", lock="x", who="a", group="red", fence=5)
                await two.tell("enter", lock="x", who="b", group="red", fence=5)
                with pytest.raises(AssertionError, match="c enters 'blue' while a, b are inside"):
                    await one.tell("enter", lock="x", who="c", group="blue", fence=6)
                await one.tell("enter", lock="y", who="a", group=None, fence=5)
                with pytest.raises(AssertionError, match="enters None while a"):
                    await two.tell("enter", lock="y", who="b", group=None, fence=6)
                await one.tell("enter", lock="z", who="a", group=None, fence=5)
                await one.tell("leave", lock="z", who="a")
                with pytest.raises(AssertionError, match="fence 5, not above 5"):
                    await one.tell("enter", lock="z", who="b", group=None, fence=5)
                await one.tell("enter", lock="s", who="a", fence=1, limit=1)
                with pytest.raises(AssertionError, match="one too many for 1"):
                    await one.tell("enter", lock="s", who="b", fence=1, limit=1)
                with pytest.raises(AssertionError, match="without being inside"):
                    await one.tell("leave", lock="s", who="nobody")
                assert len((await two.verdict())["violations"]) == 5
                scenes = (await two.verdict())["scenes"]
                assert all(scene["superseded"] == 0 for scene in scenes.values())

    asyncio.run(story())


def test_the_witness_honours_fences(tmp_path: Path) -> None:
    era = 1 << FENCE_BITS

    async def story() -> None:
        with witness_process(tmp_path) as path:
            async with Reporter(path) as one, Reporter(path) as two:
                await one.tell("enter", lock="x", who="a", group=None, fence=era + 5)
                assert await one.tell("read", lock="x", who="a", fence=era + 5) == 0
                await two.tell("enter", lock="x", who="b", group=None, fence=2 * era + 1)
                assert await two.tell("read", lock="x", who="b", fence=2 * era + 1) == 0
                assert await two.tell("write", lock="x", who="b", fence=2 * era + 1, value=1) == 1
                with pytest.raises(Outdated):
                    await one.tell("write", lock="x", who="a", fence=era + 5, value=1)
                await one.tell("leave", lock="x", who="a")
                with pytest.raises(Outdated):
                    await one.tell("enter", lock="x", who="c", group=None, fence=era + 7)
                with pytest.raises(AssertionError, match="enters None while b"):
                    await one.tell("enter", lock="x", who="c", group=None, fence=2 * era + 2)
                with pytest.raises(AssertionError, match="what others wrote is lost"):
                    await one.tell("write", lock="x", who="c", fence=2 * era + 2, value=1)
                verdict = await two.verdict()
                assert len(verdict["violations"]) == 2
                assert verdict["scenes"]["x"]["superseded"] == 1
                assert verdict["scenes"]["x"]["refused"] == 2
                assert verdict["scenes"]["x"]["value"] == 1

    asyncio.run(story())
