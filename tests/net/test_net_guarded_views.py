"""Guarded objects in views: members that were restarted, have forgotten, come late or were away get a replica again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from firm import PATIENCE, Firm, Ledger, run, until
from netlab import QUICK, cabled_clusters, clusters
from story import Story, play
from test_net_seeds import city

from congenial.kernel.errors import ConfigError
from congenial.net.config import ClusterConfig, free_addresses
from congenial.net.errors import ClusterDegraded, LockLost
from congenial.net.guarded import Guarded
from congenial.net.health import why_no_locks, why_not_ready
from congenial.net.locks import Cluster
from congenial.parts.replica import Replica
from congenial.transform.object_in_views import Lacking, Piece


def sent(member: Cluster, kind: type) -> int:
    """How many messages of a kind a member has sent."""
    return member._host.vocabulary.forms[kind].sent


async def pay(firm: Firm, name: str, amount: int) -> object:
    async with firm.ledgers[name] as section:
        return await firm.issue(section, "ann", amount)


async def come_back(firm: Firm, config: ClusterConfig, name: str) -> Cluster:
    """Start a member again, and wait until its replica is up to date."""
    member = await Cluster(name, config).start()
    firm.ledgers[name] = member.guarded("ledger", Ledger(), timeout=20)
    await member.ready(20)
    return member


@pytest.mark.parametrize("remembers", [True, False])
def test_a_rolling_restart_loses_nothing(remembers: bool, tmp_path: Path) -> None:
    async def story() -> None:
        state = str(tmp_path / "{name}") if remembers else ""
        config = ClusterConfig(dict(zip("abc", free_addresses(3), strict=True)), timing=QUICK, state=state)
        members = {name: await Cluster(name, config).start() for name in "abc"}
        firm = Firm(list(members.values()))
        try:
            for name in "abc":
                await pay(firm, name, 1)
            expected = 3
            for name in "cab":
                await firm.kill(members[name], [])
                members[name] = await come_back(firm, config, name)
                assert firm.ledgers[name].replica.accounts == {"ann": expected}, "as soon as it is ready"
                for other in "abc":
                    expected += 1
                    assert await pay(firm, other, 1) == expected
            await until(lambda: all(firm.lines(name) == firm.lines("a") for name in "abc"))
            assert len(firm.lines("a")) == 12
        finally:
            for member in members.values():
                await member.close()

    run(story())


def test_a_holder_that_is_killed_is_followed_by_others_and_comes_back() -> None:
    async def story() -> None:
        config = ClusterConfig(dict(zip("abc", free_addresses(3), strict=True)), timing=QUICK)
        members = {name: await Cluster(name, config).start() for name in "abc"}
        firm = Firm(list(members.values()))
        try:
            section = await firm.ledgers["c"].acquire()
            await firm.issue(section, "ann", 5)
            await firm.kill(members["c"], [])
            assert await pay(firm, "a", 1) == 6
            members["c"] = await come_back(firm, config, "c")
            assert await pay(firm, "c", 1) == 7
            await until(lambda: firm.lines("b") == firm.lines("c"))
        finally:
            for member in members.values():
                await member.close()

    run(story())


def test_logs_are_cut_and_what_is_missing_is_sent_or_a_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Replica, "longest_log", 20)

    async def story() -> None:
        async with clusters(3) as members:
            for operations, way, other in ((5, Lacking, Piece), (200, Piece, Lacking)):
                firm = Firm(members[:2], f"ledger of {operations}")
                async with firm.ledgers["a"] as section:
                    for _ in range(operations):
                        await firm.issue(section, "ann", 1)
                before = [sum([sent(member, kind) for member in members]) for kind in (way, other)]
                late = members[2].guarded(f"ledger of {operations}", Ledger())
                await until(lambda late=late: late.behind == 0)  # type: ignore[misc]
                assert late.replica.accounts == {"ann": operations}
                after = [sum([sent(member, kind) for member in members]) for kind in (way, other)]
                assert after[0] > before[0]
                assert after[1] == before[1]
                assert all([len(firm.guard(name).lock.replica.log) <= 40 for name in "ab"])
                await firm.judge()

    run(story())


def test_a_member_that_was_cut_off_learns_that_it_has_lost_and_catches_up() -> None:
    async def story() -> None:
        async with cabled_clusters(3) as (members, cables):
            firm = Firm(members)
            section = await firm.ledgers["c"].acquire()
            await firm.issue(section, "ann", 1)
            cables[2].down = True
            cables[2].cut()
            under_way = asyncio.create_task(firm.issue(section, "ann", 7))
            await pay(firm, "a", 1)
            cables[2].down = False
            with pytest.raises(LockLost):
                await under_way
            await until(lambda: firm.ledgers["c"].behind == 0)
            told = members[2].status()["locks"]["ledger (guarded)"]
            assert (told["operations"], told["behind"], told["replica"]) == (2, 0, "up to date")
            await firm.judge()

    run(story())


class Archive:
    """Something large, with a snapshot of its own."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def apply(self, operation: str) -> int:
        self.lines += [operation * 4000] * 50
        return len(self.lines)

    def snapshot(self) -> bytes:
        return json.dumps(self.lines).encode()

    def restore(self, state: bytes) -> None:
        self.lines = json.loads(state)


def test_a_large_state_is_sent_in_pieces_while_others_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Replica, "longest_log", 2)

    async def story() -> None:
        async with clusters(3) as members:
            archives = [member.guarded("archive", Archive()) for member in members[:2]]
            async with archives[0] as section:
                for letter in "abcdefghij":
                    await section.issue(letter)
            late = members[2].guarded("archive", Archive())  # the program has just begun to use it
            async with archives[1] as section:
                assert await section.issue("k") == 550
            await until(lambda: late.behind == 0 and late.replica.lines == archives[0].replica.lines, 30)
            assert sum([sent(member, Piece) for member in members]) >= 2_000_000 // Replica.piece_size
            async with late as section:
                assert await section.issue("l") == 600

    run(story())


class Vault:
    """A large state, once there is something in it."""

    def __init__(self) -> None:
        self.total = 0

    def apply(self, operation: int) -> int:
        self.total += operation
        return self.total

    def snapshot(self) -> bytes:
        return self.total.to_bytes(8, "big") + bytes(2_000_000 if self.total else 0)

    def restore(self, state: bytes) -> None:
        self.total = int.from_bytes(state[:8], "big")


def test_a_rolling_restart_that_waits_until_each_member_says_that_it_is_ready_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Although the state takes much longer than the rest. Once a member said so before its replica was there, and when
    the last one was restarted the object was gone."""
    monkeypatch.setattr(Replica, "longest_log", 1)
    monkeypatch.setattr(Replica, "piece_size", 1000)

    async def tell(story: Story) -> None:
        objects: dict[str, Guarded] = {}

        async def begin(cluster: Cluster) -> None:
            objects[cluster.name] = cluster.guarded("vault", Vault())

        async def add(cluster: Cluster) -> None:
            async with objects[cluster.name] as section:
                for _ in range(6):
                    await section.issue(5)

        for name in "abc":
            await story.at(name, begin)
        await story.at("a", add)
        for name in "abc":
            story.crash(name)
            await story.start(name)
            await story.at(name, begin)
            host = story.clusters[name]._host
            reasons = set()
            while why := why_not_ready(host):
                if not why_no_locks(host):
                    reasons.add(why)
                    with pytest.raises(ClusterDegraded, match=f"^{why}$"):
                        await story.clusters[name].ready(0)
                await asyncio.sleep(0.01)
            assert reasons == {"1 of the guarded objects used here is not up to date yet"}
            assert [objects[member].behind for member in "abc"] == [0, 0, 0]
            assert objects[name].replica.total == 30

    play(tell)


def test_a_view_that_begins_while_replicas_catch_up_is_waited_for() -> None:
    async def story() -> None:
        async with clusters(1) as members:
            await members[0].ready()
            served = members[0]._host.locks.served
            lags = [2, 1, 0, 0]

            def behind() -> int:
                lag = lags.pop(0)
                if lag == 1:
                    served.clear()
                    asyncio.get_running_loop().call_later(0.1, served.set)
                return lag

            members[0]._host.locks.behind = behind
            await members[0].ready(5)
            assert served.is_set()
            assert not lags

    run(story())


def test_an_object_need_not_be_used_by_all() -> None:
    async def story() -> None:
        async with clusters(3) as members:
            ledger = members[1].guarded("ledger", Ledger())
            async with ledger as section:
                assert await section.issue(("ann", 1, 1)) == 1
            told = members[0].status()["locks"]
            assert all([state["replica"] == "not used here" for name, state in told.items() if "guarded" in name])
            late = members[0].guarded("ledger", Ledger())
            async with late as section:
                assert await section.issue(("ann", 1, 2)) == 2

    run(story())


def test_when_all_were_restarted_an_object_begins_again() -> None:
    async def story() -> None:
        config = ClusterConfig(dict(zip("abc", free_addresses(3), strict=True)), timing=QUICK)
        members = [await Cluster(name, config).start() for name in "abc"]
        firm = Firm(members)
        await pay(firm, "a", 5)
        for member in members:
            await firm.kill(member, [])
        members = [await Cluster(name, config).start() for name in "abc"]
        try:
            ledgers = [member.guarded("ledger", Ledger(), timeout=30) for member in members]
            async with ledgers[2] as section:
                assert await section.issue(("ann", 1, 1)) == 1
        finally:
            for member in members:
                await member.close()

    run(story())


class Wrong(Ledger):
    def snapshot(self) -> Any:
        return "text"

    def restore(self, state: bytes) -> None:
        pass


def test_a_snapshot_is_made_of_bytes() -> None:
    async def story() -> None:
        async with clusters(1) as members:
            with pytest.raises(ConfigError, match=r"Wrong.snapshot\(\) must return bytes, not 'text'"):
                members[0].guarded("wrong", Wrong())

    run(story())


@pytest.mark.deep
def test_a_cluster_grows_and_all_its_first_members_leave() -> None:
    async def story() -> None:
        async with city("a") as town:
            ledgers = {"a": town.up["a"].guarded("ledger", Ledger())}
            paid = 0
            for name in "abcde":
                if name != "a":
                    member = await town.enter(name)
                    ledgers[name] = member.guarded("ledger", Ledger())
                    await member.ready(20)
                for who in ledgers:
                    async with ledgers[who] as section:
                        paid += 1
                        assert await section.issue(("ann", 1, paid)) == paid
            for name in "abc":
                await town.leave(name)
                del ledgers[name]
                for who in ledgers:
                    async with ledgers[who] as section:
                        paid += 1
                        assert await section.issue(("ann", 1, paid)) == paid
            await until(lambda: ledgers["d"].replica.lines == ledgers["e"].replica.lines)
            assert len(ledgers["d"].replica.lines) == paid

    run(story())


def test_a_holder_waits_for_a_majority() -> None:
    async def story() -> None:
        async with clusters(3) as members:
            firm = Firm(members)
            section = await firm.ledgers["a"].acquire()
            await firm.issue(section, "ann", 1)
            for member in members[1:]:
                await firm.kill(member, [])
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(3 * PATIENCE):
                    await section.issue(("ann", 1, 0))
            assert len(firm.lines("a")) == 1

    run(story())
