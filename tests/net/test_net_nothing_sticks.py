"""Every request of a member that can talk to a majority is served in the end. Each of these once waited forever, or for
much longer. In virtual time."""

from __future__ import annotations

import asyncio
import errno
import shutil

import pytest
from story import AT_ONCE, NOTICED, Story, play
from virtual_cluster import PATIENCE

from congenial.net.locks import Cluster, Lock

SERVED = 2 * NOTICED + AT_ONCE  # the longest time for which a lock may not be had


async def take_all(cluster: Cluster, count: int, timeout: float) -> None:
    """Acquire and release locks, all at the same time."""

    async def take(number: int) -> None:
        async with cluster.mutex(f"lock {number}", timeout=timeout):
            pass

    await asyncio.gather(*[take(number) for number in range(count)])


@pytest.mark.parametrize("remembers", [True, False])
def test_all_are_restarted_one_after_the_other(remembers: bool) -> None:
    """Each as soon as the one before it says that it is ready. Once no lock could be acquired after that."""

    async def tell(story: Story) -> None:
        for name in "abc":
            await story.at(name, lambda cluster: take_all(cluster, 50, 1.0))
        for name in "abc":
            story.crash(name)
            if not remembers:
                shutil.rmtree(story.folder / name)
            await story.start(name)
            await story.at(name, lambda cluster: cluster.ready())
        for name in "abc":
            await story.at(name, lambda cluster: take_all(cluster, 50, SERVED))

    play(tell)


@pytest.mark.parametrize("pause", [0.0, 0.2 * PATIENCE, PATIENCE, 4 * PATIENCE])
@pytest.mark.parametrize("k", [0, 1])
def test_the_holder_and_another_member_crash_and_come_back(pause: float, k: int) -> None:
    """Once the third member waited until one of the two asked for the same lock."""

    def lock(cluster: Cluster) -> Lock:
        return cluster.semaphore("x", k) if k else cluster.mutex("x")

    async def tell(story: Story) -> None:
        await story.at("a", lambda cluster: lock(cluster).acquire())
        waiting = asyncio.ensure_future(story.at("b", lambda cluster: lock(cluster).acquire()))
        await asyncio.sleep(AT_ONCE)
        story.crash("c")
        await asyncio.sleep(pause)
        story.crash("a")
        await asyncio.sleep(pause)
        assert not waiting.done()
        story.start("a")
        story.start("c")
        await asyncio.wait_for(waiting, SERVED)

    play(tell)


def test_a_disk_is_full_during_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a third of the locks could not be had after that."""

    async def tell(story: Story) -> None:
        def full() -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        for name in "ab":
            await story.at(name, lambda cluster: take_all(cluster, 300, 1.0))
        story.crash("c")
        monkeypatch.setattr(story.clusters["a"]._host.storage, "sync", full)
        await asyncio.sleep(2 * NOTICED)
        assert story.clusters["a"]._host.membership.ended
        story.crash("a")
        await asyncio.gather(story.start("a"), story.start("c"))
        await story.at("b", lambda cluster: take_all(cluster, 300, SERVED))

    play(tell)


@pytest.mark.parametrize("outgoing", [True, False])
def test_idle_locks_cost_nothing_while_members_do_not_hear_each_other(outgoing: bool) -> None:
    """Once a thousand of them caused 15,000 messages a second, and went on with it after the cut was mended."""

    def sent(story: Story) -> int:
        return sum([link.sent for member in story.clusters.values() for link in member._host.membership.links])

    async def tell(story: Story) -> None:
        for name in "abc":
            await story.at(name, lambda cluster: take_all(cluster, 1000, 1.0))
        before = sent(story)
        await story.cut_cables("a", ["b"], outgoing, True, 20.0)
        await asyncio.sleep(20.0)
        assert sent(story) - before < 100
        for name in "abc":
            await story.at(name, lambda cluster: take_all(cluster, 1000, 1.0))

    play(tell)


def test_one_comes_back_whose_acquaintances_are_all_gone() -> None:
    """It remembers only members that have been replaced since, and has come by seeds that know the others. Once it
    called forever where nobody was."""

    async def tell(story: Story) -> None:
        async def enter(name: str, number: int, *seeds: str) -> None:
            story.places[name] = f"127.0.0.{number}:7101"
            await story.start(name, tuple([story.places[seed] for seed in seeds]))
            await story.at(name, lambda cluster: cluster.ready())

        async def leave(name: str) -> None:
            await story.at(name, lambda cluster: cluster.leave())
            story.crash(name)

        await enter("b", 2, "a")
        await leave("b")
        await enter("c", 3, "a")
        await leave("a")
        await enter("b", 4, "c")
        await asyncio.wait_for(story.at("b", lambda cluster: take_all(cluster, 1, SERVED)), SERVED)

    play(tell, founders=1)


def test_votes_are_not_given_to_members_that_are_gone() -> None:
    """A voter that is back, and no member yet, does not hear two that are gone for good. Others might hear them, so
    they stay members for the moment. Once one of them got its vote, and then the majority was gone."""

    async def tell(story: Story) -> None:
        for name, number in (("b", 2), ("c", 3), ("d", 4)):
            story.places[name] = f"127.0.0.{number}:7101"
            await story.start(name, (story.places["a"],))
            await story.at(name, lambda cluster: cluster.ready())
        assert [member.name for member in story.clusters["b"].members() if member.voter] == ["a", "b", "c"]
        story.crash("a")
        story.crash("c")
        await asyncio.sleep(2 * NOTICED)
        story.crash("d")
        await asyncio.sleep(2 * NOTICED)
        story.start("c", (story.places["b"],))
        await story.cut_cables("c", ["b"], True, True, PATIENCE)
        await story.at("b", lambda cluster: take_all(cluster, 1, SERVED + 4 * PATIENCE))  # as long as a lease may last
        await story.at("c", lambda cluster: take_all(cluster, 1, SERVED))

    play(tell, founders=1)


def test_a_seed_that_knows_less_than_another_one_is_no_obstacle() -> None:
    """It was cut off while all members that it knew were replaced. Once whoever asked it first never heard of them."""

    async def tell(story: Story) -> None:
        async def enter(name: str, number: int, *seeds: str) -> None:
            story.places[name] = f"127.0.0.{number}:7101"
            await story.start(name, tuple([story.places[seed] for seed in seeds]))

        await enter("b", 2, "a")
        await story.at("b", lambda cluster: cluster.ready())
        cut = asyncio.ensure_future(story.cut_off("b", 4 * NOTICED))
        await asyncio.sleep(2 * NOTICED)
        await enter("c", 3, "a")
        await story.at("c", lambda cluster: cluster.ready())
        await story.at("a", lambda cluster: cluster.leave())
        story.crash("a")
        await cut
        await enter("d", 4, "b", "c")
        await asyncio.sleep(2 * NOTICED)
        for name in "bcd":
            await story.at(name, lambda cluster: take_all(cluster, 1, SERVED))

    play(tell, founders=1)
