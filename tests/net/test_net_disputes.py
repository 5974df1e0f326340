"""Members that name different numbers for one semaphore, and then change; in virtual time.

A request with the wrong number gets an error, and leaves nothing behind. Once it ruined the semaphore for all members:
the refused member kept its own number and a request, took both along from view to view, and as home refused everybody.
"""

from __future__ import annotations

import asyncio

import pytest
from story import AT_ONCE, NOTICED, Story, play
from virtual_cluster import PATIENCE

from congenial.kernel.errors import ConfigError, IllegalStep
from congenial.net.errors import LockTimeout
from congenial.net.held import Held
from congenial.net.locks import Cluster
from congenial.net.names import first_holder, semaphore_key
from congenial.net.view_hall import ViewHall
from congenial.net.wire import Seats

FORGOTTEN = 35.0  # seconds after its last use a semaphore is forgotten everywhere


def at_home(*places: int) -> str:
    """A semaphore whose home is the first of these members while there are four, and the second while there are
    three."""

    def fits(name: str) -> bool:
        return [first_holder(semaphore_key(name), 4 - at) for at in range(len(places))] == [*places]

    return next(name for number in range(1000) if fits(name := f"gpus {number}"))


async def take(cluster: Cluster, name: str, k: int, count: int = 1, timeout: float | None = 1.0) -> list[Held]:
    return [await cluster.semaphore(name, k, timeout=timeout).acquire() for _ in range(count)]


async def use(story: Story, member: str, name: str, k: int) -> None:
    """Acquire all k places, and release them."""
    for held in await story.at(member, lambda cluster: take(cluster, name, k, k)):
        held.release()


async def is_refused(story: Story, member: str, name: str, k: int, instead: int) -> None:
    with pytest.raises(ConfigError, match=f"lets in {k} at a time here, and {instead} at '.*': everyone must give"):
        await story.at(member, lambda cluster: take(cluster, name, k))


def halls(story: Story, name: str) -> dict[str, ViewHall]:
    key = semaphore_key(name)
    found = {member: cluster._host.locks.halls.get(key) for member, cluster in story.clusters.items()}
    return {member: hall for member, hall in found.items() if isinstance(hall, ViewHall)}


def test_a_member_that_was_refused_may_become_the_home() -> None:
    async def tell(story: Story) -> None:
        name = at_home(0, 2)
        for member in "ab":
            await use(story, member, name, 5)
        await is_refused(story, "c", name, 2, 5)
        assert "c" not in halls(story, name)
        await use(story, "b", name, 5)
        story.crash("d")
        await asyncio.sleep(4 * PATIENCE)
        assert story.views() == 1
        for member in "abc":
            await use(story, member, name, 5)
        assert halls(story, name)["c"].is_home()

    play(tell, founders=4)


def test_the_number_of_holders_counts_at_the_next_home() -> None:
    """It had been refused, or asks with its own number at the moment of the change. Those that hold keep what they
    have, and nobody else has a place."""

    async def tell(story: Story) -> None:
        name = at_home(0, 2)
        kept = await story.at("b", lambda cluster: take(cluster, name, 2))
        await is_refused(story, "c", name, 5, 2)
        story.crash("d")
        await asyncio.sleep(PATIENCE - 0.1)
        asking = []
        while story.views() == 0:  # c asks all the time
            asking.append(asyncio.ensure_future(story.at("c", lambda cluster: take(cluster, name, 5, 1, None))))
            await asyncio.sleep(0.001)
        await asyncio.sleep(NOTICED)
        got = await asyncio.gather(*asking, return_exceptions=True)
        assert {type(result) for result in got} == {ConfigError}
        more = await story.at("a", lambda cluster: take(cluster, name, 2))
        with pytest.raises(LockTimeout):
            await story.at("b", lambda cluster: take(cluster, name, 2))
        assert [held.held for held in kept + more] == [True, True]
        for held in kept + more:
            held.release()
        await use(story, "a", name, 2)

    play(tell, founders=4)


def test_one_that_waits_with_another_number_while_it_is_no_member_is_refused_as_the_home() -> None:
    async def tell(story: Story) -> None:
        name = at_home(2, 2)
        cut = asyncio.ensure_future(story.cut_off("c", 6 * PATIENCE))
        await asyncio.sleep(2 * NOTICED)
        kept = await story.at("b", lambda cluster: take(cluster, name, 2))
        waiting = asyncio.ensure_future(story.at("c", lambda cluster: take(cluster, name, 5, 1, None)))
        await cut
        await asyncio.sleep(4 * PATIENCE)
        with pytest.raises(ConfigError, match="lets in 5 at a time here, and 2 at 'b'"):
            await waiting
        assert halls(story, name)["c"].k == 2
        assert kept[0].held
        kept[0].release()
        for member in "abcd":
            await use(story, member, name, 2)

    play(tell, founders=4)


@pytest.mark.parametrize("home", [0, 1, 2])
def test_the_next_number_counts_when_the_semaphore_is_forgotten(home: int) -> None:
    """Whichever member is the home, and although others ask with the wrong number all the time."""

    async def tell(story: Story) -> None:
        names = [f"gpus {number}" for number in range(100)]
        name = next(name for name in names if first_holder(semaphore_key(name), 3) == home)
        for _ in range(5):  # so that members keep permits
            await use(story, "a", name, 5)
            await use(story, "b", name, 5)
        kept = await story.at("a", lambda cluster: take(cluster, name, 5))
        since = story.loop.now
        while story.loop.now < since + FORGOTTEN:
            await is_refused(story, "c", name, 4, 5)
            await asyncio.sleep(0.5)
        kept[0].release()
        since = story.loop.now
        while True:
            assert story.loop.now < since + FORGOTTEN
            await asyncio.sleep(0.5)
            try:
                await use(story, "c", name, 4)
                break
            except ConfigError:
                pass
        await is_refused(story, "a", name, 5, 4)
        await asyncio.sleep(FORGOTTEN)
        for member in "abc":
            await use(story, member, name, 3)

    play(tell)


def test_what_was_said_in_an_earlier_view_does_not_count() -> None:
    """A refusal that arrives late must not touch what was acquired meanwhile."""

    async def tell(story: Story) -> None:
        name = at_home(0, 1)
        story.crash("d")
        await asyncio.sleep(4 * PATIENCE)
        (held,) = await story.at("c", lambda cluster: take(cluster, name, 2))
        locks = story.clusters["c"]._host.locks
        for view in (-1, 0):
            locks.on_seats(locks.membership.link_to[0], Seats(semaphore_key(name), 5, view))
        assert held.held

    play(tell, founders=4)


def test_a_refusal_that_is_lost_with_its_connection_is_said_again() -> None:
    async def tell(story: Story) -> None:
        name = at_home(0)
        await story.at("b", lambda cluster: take(cluster, name, 5))
        a, c = story.places["a"], story.places["c"]
        story.network.cut(a, c)
        asking = asyncio.ensure_future(story.at("c", lambda cluster: take(cluster, name, 2, 1, None)))
        await asyncio.sleep(AT_ONCE)
        link = story.clusters["a"]._host.membership.link_to[2]
        assert link.connection is not None
        link.connection.transport.held.clear()  # type: ignore[attr-defined]
        link.connection.abort()
        story.network.mend(a, c)
        await asyncio.sleep(PATIENCE)
        assert story.views() == 0
        with pytest.raises(ConfigError, match="lets in 2 at a time here, and 5 at 'a'"):
            await asyncio.wait_for(asking, AT_ONCE)

    play(tell, founders=4)


def test_a_semaphore_that_has_failed_tells_of_no_holders() -> None:
    async def tell(story: Story) -> None:
        name = at_home(0, 2)
        (held,) = await story.at("b", lambda cluster: take(cluster, name, 2))
        halls(story, name)["b"].fail(IllegalStep("it is broken"))
        assert held.lost
        story.crash("d")
        await asyncio.sleep(4 * PATIENCE)
        for member in "ac":
            await use(story, member, name, 2)

    play(tell, founders=4)
