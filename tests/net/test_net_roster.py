"""Membership: a member that has forgotten what it held does not get in."""

from __future__ import annotations

import asyncio
import logging

import pytest
from netlab import NAMES, QUICK, address_of, clusters, listener

from congenial.net.config import ClusterConfig
from congenial.net.errors import ClusterDegraded
from congenial.net.locks import Cluster
from congenial.net.roster import FENCE_BITS, FORGETFUL, ORIGINAL, RECOVERED, Roster, fence_base


def test_a_roster_opens_when_everyone_has_pinned_the_same() -> None:
    roster = Roster(3, 0, 7 << FENCE_BITS)
    assert roster.recognise(1, 8 << FENCE_BITS)
    assert not roster.meet(1)
    assert roster.recognise(2, 9 << FENCE_BITS)
    view = (7 << FENCE_BITS, 8 << FENCE_BITS, 9 << FENCE_BITS)
    assert roster.hear_view(2, view)  # it may have met everyone before we have
    assert roster.meet(2)
    assert roster.pinned
    assert not roster.open
    assert roster.absent() == [1]
    assert roster.hear_view(1, roster.view)
    assert roster.open
    assert fence_base(roster.founded) == 9 << FENCE_BITS
    assert roster.past == ORIGINAL


def test_before_all_have_met_a_peer_may_start_again_but_not_after() -> None:
    roster = Roster(3, 0, 1)
    roster.recognise(1, 2)
    roster.meet(1)
    roster.hear_view(1, (1, 2, 5))
    assert roster.recognise(1, 3)
    assert 1 not in roster.met  # the new one has yet to hear of us
    assert 1 not in roster.views
    roster.meet(1)
    roster.recognise(2, 4)
    roster.meet(2)
    assert roster.pinned
    assert not roster.recognise(1, 2)
    assert roster.recognise(1, 3)
    assert not roster.hear_view(2, (1, 2, 4))  # it has met the one that is gone
    assert not roster.open


def test_a_member_that_is_restarted_before_the_founding_is_waited_for_again() -> None:
    roster = Roster(3, 0, 1, rejoins=True)
    for peer, incarnation in ((1, 2), (2, 4)):
        roster.recognise(peer, incarnation)
        roster.meet(peer)
    assert roster.pinned
    assert roster.recognise(1, 3)
    assert not roster.pinned
    assert roster.hear_view(2, (1, 2, 4))  # no reason to part
    assert roster.meet(1)
    assert roster.hear_view(1, (1, 3, 4))
    assert not roster.open
    assert roster.hear_view(2, (1, 3, 4))
    assert roster.founded == (1, 3, 4)
    assert roster.recognise(1, 9)
    assert roster.founded == (1, 3, 4)


def test_the_founding_tells_a_process_what_it_is() -> None:
    founded = (1, 3, 4)
    for incarnation, past in ((3, ORIGINAL), (9, FORGETFUL)):
        roster = Roster(3, 1, incarnation, rejoins=True)
        assert not roster.open
        assert roster.hear_founded(founded)
        assert roster.open
        assert roster.past == past
        assert not roster.hear_founded((1, 3, 5))
    assert Roster(3, 1, 9, True, founded, RECOVERED).open


def test_alone_is_everyone() -> None:
    assert Roster(1, 0, 1).open


def test_a_node_that_is_started_again_is_refused_by_name(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with clusters(3, algorithm="token-gme") as members:
            config = members[0].config
            async with members[2].mutex("x"):
                pass
            await members[1].close()
            again = Cluster("b", ClusterConfig(config.nodes, timing=QUICK, algorithm="token-gme"))
            await again.start()
            with pytest.raises(ClusterDegraded, match="restarted without its state"):
                await again.ready(1.0)
            assert not again.status()["open"]
            await again.close()
            with pytest.raises(ClusterDegraded, match="'b' is away") as error:
                async with members[0].mutex("x"), members[2].mutex("x", timeout=10):
                    pass
            assert error.value.peers == ("b",)

    with caplog.at_level(logging.WARNING, "congenial.net"):
        asyncio.run(story())
    assert "restarted without its state" in caplog.text


def test_a_cluster_that_does_not_gather_names_the_missing_members() -> None:
    async def story() -> None:
        ends = [listener() for _ in range(3)]
        config = ClusterConfig({NAMES[at]: address_of(end) for at, end in enumerate(ends)}, timing=QUICK)
        members = [Cluster(name, config, listener=end) for name, end in zip("ab", ends, strict=False)]
        for member in members:
            await member.start()
        with pytest.raises(ClusterDegraded, match="still waits for c") as error:
            await members[0].ready(0.5)
        assert error.value.peers == ("c",)
        for member in members:
            await member.close()
        ends[2].close()

    asyncio.run(story())
