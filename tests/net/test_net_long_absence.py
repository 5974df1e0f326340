"""A member that has been away for so long that the others have forgotten it comes back like any other. In virtual
time: a minute and more is nothing."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import Mock

import pytest
from story import NOTICED, Story, play
from virtual_cluster import PATIENCE

from congenial.net.connection import Connection
from congenial.net.errors import LockLost, ProtocolError
from congenial.net.greeting import EXPECTED_SERIAL, SERIAL
from congenial.net.held import Held
from congenial.net.membership import STRANGER, Membership
from congenial.net.wire import Hello

LONG = STRANGER + 10.0
SOON = NOTICED + PATIENCE  # to notice that nobody calls, and for a call
LAST, FIRST = "g", "0g"  # names, compared with those of the founders


async def enter_by_seeds(story: Story, *names: str) -> None:
    seeds = tuple(story.places.values())
    for name in names:
        story.places[name] = f"127.0.9.{len(story.places)}:7101"
        await story.start(name, seeds)
        await story.at(name, lambda cluster: cluster.ready())


def membership(story: Story, name: str) -> Membership:
    return story.clusters[name]._host.membership


def names_of_links(story: Story, name: str) -> set[str]:
    return {link.name for link in membership(story, name).links}


def refusals(story: Story) -> set[str]:
    return {link.refusal for name in story.clusters for link in membership(story, name).links} - {""}


async def be_away(story: Story, name: str, fault: str, seconds: float) -> None:
    if fault == "pause":
        story.network.pause(story.machines[name])
        await asyncio.sleep(seconds)
        story.network.go_on(story.machines[name])
    elif fault == "cut":
        await story.cut_off(name, seconds)
    else:
        await story.cut_cables(name, ["a"], fault != "deaf to one", fault != "mute to one", seconds)


async def come_back(story: Story) -> float:
    """How long it takes until all are members again."""
    since = story.loop.now
    while not all([seen["settled"] and seen["members"] == sorted(story.clusters) for seen in views(story)]):
        assert story.loop.now - since < 20.0, f"{views(story)}, {refusals(story)}"
        await asyncio.sleep(0.01)
    return story.loop.now - since


def views(story: Story) -> list[dict[str, Any]]:
    return [cluster._host.locks.about() for cluster in story.clusters.values()]


async def all_is_well(story: Story) -> None:
    """Everybody hears everybody, and gets what others have just used."""
    for turn in range(3):
        for name in story.clusters:
            for lock in ("x", "y", f"another {turn}"):
                await story.at(name, lambda cluster, lock=lock: story._enter(cluster, lock))
    for name in story.clusters:
        assert [member.name for member in story.clusters[name].members()] == sorted(story.clusters)
        assert names_of_links(story, name) == set(story.clusters) - {name}
    assert refusals(story) == set()
    assert story.loop.errors == []


@pytest.mark.parametrize("fault", ["cut", "one", "mute to one", "deaf to one", "pause"])
@pytest.mark.parametrize(("name", "founders"), [(LAST, 3), (FIRST, 3), (LAST, 1), ("c", 3)])
def test_a_member_comes_back_however_long_it_was_away(name: str, founders: int, fault: str) -> None:
    """Once only founders and voters did, of which others never forget how far they have got with each other: a process
    that had entered later was refused forever, or nobody called."""

    async def tell(story: Story) -> None:
        if founders == 1:
            await enter_by_seeds(story, "b", "c", "d", "e")  # with votes
        if name not in story.places:
            await enter_by_seeds(story, name)
        held: Held = await story.at(name, lambda cluster: cluster.mutex("x", timeout=1).acquire())
        end = story.loop.now + LONG
        away = asyncio.ensure_future(be_away(story, name, fault, LONG))
        await story.at("b", lambda cluster: story._enter(cluster, "x"))
        await asyncio.sleep(end - 1.0 - story.loop.now)
        assert (name in names_of_links(story, "a")) == (name == "c")
        await away
        took = await come_back(story)
        assert took < SOON
        assert held.lost
        with pytest.raises(LockLost):
            held.check()
        await all_is_well(story)

    play(tell, founders)


@pytest.mark.parametrize("name", [FIRST, LAST])
def test_a_process_that_is_away_is_forgotten_and_told_so(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """What others keep of processes that come and go has a bound. One that comes back and has not noticed that it is no
    member may have sent what nobody got, and goes on as another one."""

    async def tell(story: Story) -> None:
        await enter_by_seeds(story, name, "h", "i")
        story.crash("h")
        await be_away(story, name, "cut", LONG)
        for founder in "abc":
            assert names_of_links(story, founder) == {*"abci"} - {founder}
            assert len(membership(story, founder).roster.incarnations) == 4
        del story.places["h"]
        await come_back(story)
        await all_is_well(story)

    play(tell)
    missed = [record.getMessage() for record in caplog.records if "link.missed" in record.getMessage()]
    assert missed != []
    assert all([f"node={name} " in line for line in missed])


@pytest.mark.parametrize("name", [FIRST, LAST])
def test_a_member_may_be_away_for_long_again_and_again(name: str) -> None:
    async def tell(story: Story) -> None:
        await enter_by_seeds(story, name, "h")
        for fault in ("cut", "one", "pause", "cut"):
            await be_away(story, name, fault, LONG)
            assert await come_back(story) < SOON
            await all_is_well(story)

    play(tell)


@pytest.mark.parametrize("name", [FIRST, LAST])
def test_a_member_keeps_what_it_holds_when_one_comes_back_that_has_forgotten_it(name: str) -> None:
    """The last view that the other one knew was one without it."""

    async def tell(story: Story) -> None:
        await enter_by_seeds(story, name)
        cut = asyncio.ensure_future(be_away(story, name, "one", 3.0))
        await asyncio.sleep(2.9)
        assert [view["members"] for view in views(story)] == 4 * [["a", "b", "c"]]
        away = asyncio.ensure_future(story.cut_off("c", LONG))
        await cut
        await asyncio.sleep(4 * PATIENCE)
        held: Held = await story.at(name, lambda cluster: cluster.mutex("x", timeout=1).acquire())
        await asyncio.sleep(LONG - 10.0)
        assert names_of_links(story, "c") == {"a", "b"}
        await away
        await come_back(story)
        assert held.held
        held.release()
        await all_is_well(story)

    play(tell)


def test_a_member_that_was_away_finds_those_that_have_come_in_the_places_of_all_others() -> None:
    """It believes that it is a member, and nobody is left of those that it knows. Once it asked no seeds then."""

    async def tell(story: Story) -> None:
        await enter_by_seeds(story, "g")
        story.crash("g")
        await story.start("g", (story.places["a"], "127.0.8.1:7101"))  # where one will be
        await come_back(story)
        places = [f"127.0.8.{number}:7101" for number in (1, 2, 3)]
        for place in places:
            story.network.cut(story.places["g"], place)
        away = asyncio.ensure_future(story.cut_off("g", LONG))
        await asyncio.sleep(4 * PATIENCE)
        for old, new, place in zip("abc", "def", places, strict=True):
            seeds = tuple([story.places[name] for name in story.clusters if name != "g"])
            story.places[new] = place
            await story.start(new, seeds)
            await story.at(new, lambda cluster: cluster.ready())
            await story.at(old, lambda cluster: cluster.leave())
            story.crash(old)
        await away
        for place in places:
            story.network.mend(story.places["g"], place)
        assert await come_back(story) < 4 * PATIENCE

    play(tell)


# -- what a greeting says of the link -------------------------------------------------------------------------------


def greeted(serial: object, expected: object = "0") -> dict[str, str]:
    return {SERIAL: str(serial), EXPECTED_SERIAL: str(expected)}


def test_a_greeting_counts_for_one_end_of_a_link() -> None:
    async def tell(story: Story) -> None:
        await enter_by_seeds(story, "g")
        ours = membership(story, "a")
        link = ours.find("g")
        schema, known = story.clusters["g"]._host.vocabulary.schema, ours.roster.known(link.peer)

        def hello(serial: object, expected: object, received: int) -> Hello:
            founders = tuple("abc")
            hello = Hello("congenial", "g", "a", founders, schema, known, ours.incarnation, received, ())
            hello.also = greeted(serial, expected)
            return hello

        link.serial, link.peer_serial = 3, 5
        same, later = ours.hello(link, hello(5, 3, 0)), ours.hello(link, hello(6, 3, 0))
        assert same.also == later.also | {EXPECTED_SERIAL: "5"} == greeted(3, 5)
        assert (same.received, same.dropped) == (link.received, link.acked) != (0, 0)
        assert (later.received, later.dropped) == (0, 0)
        assert ours.recognise(hello(5, 3, link.sent), None, None) is link
        assert ours.recognise(hello(5, 2, 99), None, None) is link  # it has counted what an earlier end has sent
        assert ours.recognise(hello(6, 3, 0), None, None) is link
        with pytest.raises(ProtocolError, match="has received 99 messages"):
            ours.recognise(hello(5, 3, 99), None, None)
        with pytest.raises(ProtocolError, match="has received 1 messages, but only 0 were sent"):
            ours.recognise(hello(6, 3, 1), None, None)
        with pytest.raises(ProtocolError, match="before it had forgotten this process"):
            ours.recognise(hello(4, 3, 0), None, None)
        for wrong in ("x", "-1", "", "9" * 19, "1" * 5000):
            with pytest.raises(ProtocolError, match="the serial of a link is expected"):
                ours.recognise(hello(wrong, 3, 0), None, None)
            with pytest.raises(ProtocolError, match="the expected serial of a link is expected"):
                ours.recognise(hello(5, wrong, 0), None, None)

    play(tell)


def test_a_connection_that_is_being_made_ends_with_its_link() -> None:
    """It was greeted with what the link had counted."""

    async def tell(story: Story) -> None:
        await enter_by_seeds(story, "g")
        story.crash("g")
        await asyncio.sleep(STRANGER - 1.0)
        ours = membership(story, "a")
        connection = Connection(ours, ours.loop, ours.find("g"))
        ours.connections[connection] = None
        connection.transport = transport = Mock()
        await asyncio.sleep(2.0)
        transport.abort.assert_called_once()
        assert connection not in ours.connections

    play(tell)
