"""A peer sends what can be read, but what one lock cannot make sense of: that lock fails, here and until the members
change next, and all others go on. If the message were refused it would be sent again on every connection, forever."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from netlab import clusters, run, table
from story import AT_ONCE, Story, play

from congenial.algorithms.kmutex.home_k import Busy, Return
from congenial.kernel.message import Message
from congenial.net import kept, viewed
from congenial.net.agreement import VIEWS_KEY
from congenial.net.errors import ProtocolError
from congenial.net.frames import encode_frame
from congenial.net.locks import Cluster
from congenial.net.names import first_holder, guarded_key, lock_key, semaphore_key
from congenial.net.wire import SeatData
from congenial.problems.weak import Counter
from congenial.transform.lock_in_views import InView
from congenial.transform.views import Told

HOME = 1  # b's place in the view


def name_of_home(key_of: Callable[[str], str], home: int) -> str:
    return next(name for name in map(str, range(100)) if first_holder(key_of(name), 3) == home)


def tell_lock(a: Cluster, key: str, body: Message) -> None:
    """a sends b a message for a lock, by its link: what b refuses would be sent again."""
    link = a._host.membership.link_to[1]
    with a._host.membership.turn:
        link.send_in_view(key, table(a).agreement.view.number, 0, a._host.vocabulary.dump(body))


def tell_seat(a: Cluster, key: str, body: Message, src: int = 0, dst: int = 0) -> None:
    message = a._host.vocabulary.encode(InView(table(a).agreement.view.number, body))
    with a._host.membership.turn:
        a._host.membership.link_to[1].send_seated(key, 2, src, dst, message)


def tell_object(a: Cluster, key: str, body: Message) -> None:
    message = a._host.vocabulary.encode(InView(table(a).agreement.view.number, body))
    with a._host.membership.turn:
        a._host.membership.link_to[1].send(key, message)


async def links_are_well(story: Story) -> None:
    """They are those of the beginning, everything has arrived, and other locks can be had."""
    for name in "abc":
        await story.at(name, lambda cluster: story._enter(cluster, "another"))
    await asyncio.sleep(0.5)
    for cluster in story.clusters.values():
        for link in cluster._host.membership.links:
            assert (link.refusal, link.connections, len(link.unacknowledged)) == ("", 1, 0)
    assert story.loop.errors == []


@pytest.mark.parametrize("home", [0, HOME])
def test_a_message_that_a_lock_refuses_fails_that_lock_alone(home: int, caplog: pytest.LogCaptureFixture) -> None:
    name = name_of_home(lock_key, home)

    async def tell(story: Story) -> None:
        held = await story.at("b", lambda cluster: cluster.mutex(name).acquire())
        waiting = asyncio.ensure_future(story.at("b", lambda cluster: cluster.mutex(name).acquire()))
        await asyncio.sleep(AT_ONCE)
        with caplog.at_level(logging.ERROR, "congenial.net"):
            tell_lock(story.clusters["a"], lock_key(name), Busy(7))
            await asyncio.sleep(AT_ONCE)
        with pytest.raises(ProtocolError, match=f"lock '{name}': .* cannot make sense of Busy"):
            await waiting
        assert not held.held
        (line,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
        assert f"lock.failed node=b lock={name} reason=" in line
        await links_are_well(story)
        await asyncio.sleep(2 * kept.IDLE_TIME)  # it is not forgotten either: it may be wrong about what others hold
        with pytest.raises(ProtocolError, match="cannot make sense of Busy"):
            await story.at("b", lambda cluster: cluster.mutex(name).acquire())
        await story.at("c", renew)
        await asyncio.sleep(AT_ONCE)
        for member in "abc":
            await story.at(member, lambda cluster: story._enter(cluster, name))
        assert story.views() == 1

    play(tell)


async def renew(cluster: Cluster) -> None:
    table(cluster).agreement.renew()


@pytest.mark.parametrize("body", [InView(0, Busy(7)), Return(7)])  # the one is refused, the other breaks the home
@pytest.mark.parametrize("src", [0, 5])  # 5: there is no such seat
def test_a_message_that_a_semaphore_refuses_fails_that_semaphore_alone(body: Message, src: int) -> None:
    name = name_of_home(semaphore_key, HOME)

    async def tell(story: Story) -> None:
        held = await story.at("b", lambda cluster: cluster.semaphore(name, 2).acquire())
        tell_seat(story.clusters["a"], semaphore_key(name), body, src)
        await asyncio.sleep(AT_ONCE)
        assert not held.held
        with pytest.raises(ProtocolError, match=f"lock '{name}': "):
            await story.at("b", lambda cluster: cluster.semaphore(name, 2).acquire())
        await links_are_well(story)
        await story.at("c", renew)
        await asyncio.sleep(AT_ONCE)
        for member in "abc":
            await story.at(member, lambda cluster: enter_semaphore(cluster, name))

    play(tell)


async def enter_semaphore(cluster: Cluster, name: str) -> None:
    async with cluster.semaphore(name, 2, timeout=5.0):
        pass


def test_a_message_that_a_guarded_object_refuses_fails_that_object_alone() -> None:
    async def tell(story: Story) -> None:
        async def add(cluster: Cluster) -> Any:
            async with cluster.guarded("x", Counter()) as counter:
                return await counter.issue(1)

        await story.at("b", add)
        tell_object(story.clusters["a"], guarded_key("x"), Busy(7))
        await asyncio.sleep(AT_ONCE)
        with pytest.raises(ProtocolError, match="cannot make sense of Busy"):
            await story.at("b", add)
        await links_are_well(story)

    play(tell)


def test_what_one_peer_has_sent_too_early_does_not_keep_others_from_being_heard(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What belongs to a later view waits for it. If it makes no sense then, it is too late to refuse the peer."""

    async def tell(story: Story) -> None:
        b = story.clusters["b"]
        nonsense = Told(1, (("k" * 1000, 0, 0, 0),), False)
        link = story.clusters["a"]._host.membership.link_to[1]
        with story.clusters["a"]._host.membership.turn:
            link.send(VIEWS_KEY, story.clusters["a"]._host.vocabulary.encode(nonsense))
        await asyncio.sleep(AT_ONCE)
        (early,) = table(b).later
        table(b).later.append((early[0], viewed.Late(VIEWS_KEY, Told(1, (("kept", 0, 5, 7),), False))))
        await story.at("b", renew)
        await asyncio.sleep(AT_ONCE)
        assert "message.dropped node=b peer=a" in caplog.text
        assert "kept" in table(b).doors
        await links_are_well(story)

    play(tell)


@pytest.mark.parametrize("k", [-1, 0, 1 << 20])
def test_a_peer_that_names_an_impossible_number_of_seats_is_refused(k: int, caplog: pytest.LogCaptureFixture) -> None:
    """Such a message is not for any semaphore. Once the error was not caught."""

    async def story() -> None:
        async with clusters(2) as (a, b):
            sender = a._host.membership.links[0].connection
            assert sender is not None
            body = a._host.vocabulary.encode(InView(table(a).agreement.view.number, Busy(7)))
            number = b._host.membership.links[0].received + 1
            sender.write(encode_frame(SeatData(number, 0, semaphore_key("x"), k, 0, 0, body)))  # past a's link
            await asyncio.wait_for(sender.closed, 5)
            assert "connection.refused" in caplog.text
            assert table(b).halls == {}
            assert table(b).doors == {}
            for member in (a, b):  # it was a slip: they talk again
                async with member.mutex("x", timeout=5):
                    pass

    with caplog.at_level(logging.WARNING):
        run(story())
    assert "Fatal error" not in caplog.text
