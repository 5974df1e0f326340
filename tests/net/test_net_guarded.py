"""Guarded objects: every operation has one outcome, and replicas agree, also when members crash or are late."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from firm import PATIENCE, Firm, Ledger, run, settled, until
from netlab import IN_EPOCHS, QUICK, cabled_clusters, clusters

from congenial.kernel.errors import ConfigError, ContractError
from congenial.net import link, replica, unclaimed
from congenial.net.config import ClusterConfig, free_addresses
from congenial.net.errors import ClusterDegraded, LockLost, LockTimeout, NotHeld
from congenial.net.guarded import Guarded
from congenial.net.locks import Cluster
from congenial.net.names import first_holder, guarded_key
from congenial.problems.weak_history import faults_in, unfinished


@pytest.mark.parametrize("n", [1, 2, 5])
def test_many_tasks_and_one_order(n: int) -> None:
    async def story() -> None:
        async with clusters(n) as members:
            firm = Firm(members)
            rng = random.Random(n)
            await asyncio.gather(*[firm.work(member.name, 6, rng) for member in members for _ in range(3)])
            await firm.judge()
            assert firm.lost == []
            assert len(firm.lines("a")) == len(firm.answered) == firm.tickets
            assert unfinished(firm.history) == []
            told = members[0].status()["locks"]["ledger (guarded)"]
            assert told["operations"] == firm.tickets
            assert told["entries"] == 18

    run(story())


def test_the_judge_sees_a_replica_that_differs() -> None:
    async def story() -> None:
        async with clusters(3) as members:
            firm = Firm(members)
            async with firm.ledgers["a"] as section:
                await firm.issue(section, "ann", 5)
            await until(lambda: firm.guard("c").executed == 1)
            firm.ledgers["c"].replica.accounts["ann"] = 6
            with pytest.raises(AssertionError):
                await firm.judge()
            async with firm.ledgers["a"] as section:
                await firm.issue(section, "ann", 5)
            await until(lambda: firm.guard("c").executed == 2)
            assert any(fault.startswith("1CS") for fault in faults_in(firm.history))

    run(story())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.deep
def test_members_crash_amid_operations(seed: int) -> None:
    async def story() -> None:
        rng = random.Random(seed)
        async with clusters(5) as members:
            firm = Firm(members)
            tasks = {
                member.name: [asyncio.create_task(firm.work(member.name, 10**6, rng)) for _ in range(2)]
                for member in members
            }
            for victim in rng.sample(members, 2):
                await asyncio.sleep(0.1 + 0.2 * rng.random())
                await firm.kill(victim, tasks[victim.name])
            await asyncio.sleep(PATIENCE)
            before = len(firm.answered)
            await until(lambda: len(firm.answered) > before + 10)  # work goes on
            for name in firm.ledgers:
                for task in tasks[name]:
                    task.cancel()
            await settled([task for name in tasks for task in tasks[name]])
            async with next(iter(firm.ledgers.values())) as section:
                await firm.issue(section, "ann", 1)
            await firm.judge()

    run(story())


def test_a_member_that_is_cut_off_loses_its_section_and_catches_up() -> None:
    async def story() -> None:
        async with cabled_clusters(5) as (members, cables):
            firm = Firm(members)
            async with firm.ledgers["e"] as section:
                assert await firm.issue(section, "ann", 5) == 5
                cables[4].down = True
                cables[4].cut()
                under_way = asyncio.create_task(firm.issue(section, "ann", 7))
                for name in "ab":
                    async with firm.ledgers[name] as other:
                        await firm.issue(other, "bob", 3)
                assert not under_way.done()  # it knows of nothing
                assert firm.lines("e") == [("ann", 5, 1)]
                cables[4].down = False
                with pytest.raises(LockLost, match="'ledger' was lost before the operation was executed"):
                    await under_way
                assert section.lost
                with pytest.raises(LockLost):
                    await section.issue(("ann", 7, 0))
            async with firm.ledgers["e"] as section:
                assert await firm.issue(section, "bob", 1) == 7
            await firm.judge()
            assert firm.lost == [("ann", 7, 2)]
            assert unfinished(firm.history) == []

    run(story())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.deep
def test_cables_are_cut_again_and_again(seed: int) -> None:
    async def story() -> None:
        rng = random.Random(seed)
        async with cabled_clusters(5, seed) as (members, cables):
            firm = Firm(members)
            tasks = [asyncio.create_task(firm.work(member.name, 10**6, rng)) for member in members]
            for away in rng.sample([0.02, 0.2, 2 * PATIENCE, 3 * PATIENCE], 4):
                cable = cables[rng.choice([3, 4, 4])]
                cable.down = away > PATIENCE
                cable.cut()
                await asyncio.sleep(away)
                cable.down = False
                await asyncio.sleep(0.3)
            for task in tasks:
                task.cancel()
            await settled(tasks)
            for ledger in firm.ledgers.values():
                async with ledger as section:
                    await firm.issue(section, "ann", 1)
            await firm.judge()
            assert all(guard.error is None for guard in map(firm.guard, firm.ledgers))

    run(story())


@pytest.mark.parametrize("remembers", [True, False])
def test_a_restarted_member_is_refused_and_excluded(remembers: bool, tmp_path: Path) -> None:
    async def story() -> None:
        state = str(tmp_path / "{name}") if remembers else ""
        config = ClusterConfig(dict(zip("abc", free_addresses(3), strict=True)), timing=QUICK, state=state, **IN_EPOCHS)
        members = [await Cluster(name, config).start() for name in "abc"]
        firm = Firm(members)
        async with firm.ledgers["c"] as section:
            await firm.issue(section, "ann", 5)
            await firm.kill(members.pop(), [])
        members.append(await Cluster("c", config).start())
        with pytest.raises(ConfigError, match="'c' was restarted, and its replica of 'ledger' is gone"):
            await members[2].guarded("ledger", Ledger(), timeout=10).acquire()  # without memory it is told by others
        await members[2].ready()
        with pytest.raises(ConfigError, match="until the whole cluster is restarted"):
            members[2].guarded("ledger", Ledger())
        async with members[2].mutex("ledger", timeout=10):
            pass  # locks know how to come back
        for name in "abab":
            async with firm.ledgers[name] as section:
                await firm.issue(section, "ann", 1)
        await firm.judge()
        assert firm.ledgers["a"].replica.accounts == {"ann": 9}
        waiting = asyncio.create_task(firm.ledgers["a"].acquire())
        (await waiting).release()
        await firm.kill(members.pop(1), [])
        held = await firm.ledgers["a"].acquire()
        under_way = asyncio.create_task(held.issue(("ann", 1, 0)))
        members.append(await Cluster("b", config).start())
        with pytest.raises(ClusterDegraded, match="too few replicas of 'ledger' are left: b, c are gone"):
            await under_way
        for member in members:
            await member.close()

    run(story())


def late_name(members: list[Cluster], late: str) -> str:
    """A name whose token does not begin at the one that comes late."""
    names = [member.name for member in members]
    return next(f"x{k}" for k in range(99) if names[first_holder(guarded_key(f"x{k}"), len(names))] != late)


def test_a_member_that_names_it_late_has_missed_nothing() -> None:
    async def story() -> None:
        async with clusters(3, **IN_EPOCHS) as members:
            name = late_name(members, "c")
            firm = Firm(members[:2], name)
            for k in range(40):
                async with firm.ledgers["ab"[k % 2]] as section:
                    await firm.issue(section, "ann", 1)
            assert members[2]._host.locks.unclaimed.messages[guarded_key(name)]
            firm.ledgers["c"] = members[2].guarded(name, Ledger())
            assert firm.lines("c") == firm.lines("a")
            firm.guard("c").history = firm.history
            async with firm.ledgers["c"] as section:
                assert await firm.issue(section, "ann", 1) == 41
            await until(lambda: firm.lines("c") == firm.lines("b"))
            assert members[2]._host.locks.unclaimed.messages == {}

    run(story())


def test_the_first_operation_may_wait_for_a_member_that_names_it_late() -> None:
    async def story() -> None:
        async with clusters(3, **IN_EPOCHS) as members:
            first = members[first_holder(guarded_key("ledger"), 3)]
            others = [member for member in members if member is not first]
            ledger = others[0].guarded("ledger", Ledger(), timeout=0.2)
            with pytest.raises(LockTimeout):
                await ledger.acquire()
            waiting = asyncio.create_task(others[0].guarded("ledger", Ledger()).acquire())
            await asyncio.sleep(0.05)
            assert not waiting.done()
            first.guarded("ledger", Ledger())
            assert await (await waiting).issue(("ann", 1, 1)) == 1

    run(story())


def test_a_member_that_names_it_much_too_late_is_excluded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unclaimed, "FULL", 50)

    async def story() -> None:
        async with clusters(3, **IN_EPOCHS) as members:
            name = late_name(members, "c")
            firm = Firm(members[:2], name)
            for _ in range(40):
                async with firm.ledgers["a"] as section:
                    await firm.issue(section, "ann", 1)
            await until(lambda: firm.guard("a").barred)
            with pytest.raises(ConfigError, match="named too late here"):
                members[2].guarded(name, Ledger())
            async with firm.ledgers["b"] as section:
                await firm.issue(section, "ann", 1)
            await firm.judge()

    run(story())


@pytest.mark.deep
def test_a_member_that_is_away_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "FULL", 60)

    async def story() -> None:
        async with cabled_clusters(3, **IN_EPOCHS) as (members, cables):
            firm = Firm(members)
            for ledger in firm.ledgers.values():
                async with ledger as section:
                    await firm.issue(section, "ann", 1)
            cables[2].down = True
            cables[2].cut()
            await asyncio.sleep(2 * PATIENCE)
            for name in "ab" * 20:
                async with firm.ledgers[name] as section:
                    await firm.issue(section, "ann", 1)
            links = members[0]._host.membership.links
            kept = [len(link.unacknowledged) for link in links]
            assert firm.guard("a").barred == {2}
            async with firm.ledgers["a"] as section:
                for _ in range(20):
                    await firm.issue(section, "ann", 1)
            assert [len(link.unacknowledged) for link in links][1] == kept[1]
            cables[2].down = False
            await until(lambda: firm.guard("c").error is not None)
            with pytest.raises(ClusterDegraded, match=r"too far behind: '[ab]' has given it up"):
                await firm.ledgers["c"].acquire()
            async with members[2].mutex("x", timeout=10):
                pass
            behind = firm.ledgers.pop("c")
            async with firm.ledgers["b"] as section:
                await firm.issue(section, "ann", 1)
            await firm.judge()
            lines = behind.replica.lines
            assert lines == firm.lines("a")[: len(lines)]  # it never went astray

    run(story())


def test_what_is_remembered_for_the_dead_has_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica, "LONGEST_HISTORY", 20)
    monkeypatch.setattr(link, "FULL", 300)

    async def story() -> None:
        async with clusters(3, **IN_EPOCHS) as members:
            firm = Firm(members)
            async with firm.ledgers["c"] as section:
                await firm.issue(section, "ann", 1)
            await firm.kill(members[2], [])
            async with firm.ledgers["a"] as section:
                epoch = firm.guard("a").node.epoch
                for _ in range(200):
                    await firm.issue(section, "ann", 1)
                    assert len(firm.guard("a").node.history) <= 21
                assert section.held  # through many epochs
            assert firm.guard("a").node.epoch >= epoch + 9
            await until(lambda: firm.guard("a").barred)
            for name in "ba":
                async with firm.ledgers[name] as section:
                    for _ in range(60):
                        await firm.issue(section, "ann", 1)
            assert len(firm.guard("a").node.consensus.decisions) <= 2
            await firm.judge()
            assert firm.lost == []

    run(story())


def test_fences_grow_beyond_the_entries_of_an_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica, "MOST_ENTRIES", 4)

    async def story(n: int) -> None:
        async with clusters(n, **IN_EPOCHS) as members:
            firm = Firm(members)
            last = 0
            for k in range(20):
                async with firm.ledgers[members[k // 5 % n].name] as section:
                    assert section.fence > last
                    last = section.fence
                    await firm.issue(section, "ann", 1)
            assert firm.guard("a").node.epoch >= 3
            await firm.judge()
            assert firm.lost == []

    run(story(1))
    run(story(3))


def test_a_task_that_is_cancelled_does_not_keep_others_out() -> None:
    async def story() -> None:
        async with cabled_clusters(3) as (members, cables):
            firm = Firm(members)
            ledger = firm.ledgers["c"]
            section = await ledger.acquire()
            cables[2].down = True
            cables[2].cut()
            under_way = asyncio.create_task(section.issue(("ann", 1, "a")))
            await asyncio.sleep(0.02)
            under_way.cancel()
            with pytest.raises(asyncio.CancelledError):
                await under_way
            second = asyncio.create_task(section.issue(("ann", 1, "b")))
            cables[2].down = False
            assert await second == 2  # after the one that was abandoned
            cables[2].down = True
            cables[2].cut()
            third = asyncio.create_task(section.issue(("ann", 1, "c")))
            await asyncio.sleep(0.02)
            section.release()
            with pytest.raises(NotHeld, match="may or may not be executed"):
                await third
            waiting = asyncio.create_task(ledger.acquire())
            await asyncio.sleep(0.02)
            assert not waiting.done()
            cables[2].down = False
            assert await (await waiting).issue(("ann", 1, "d")) == 4
            (await waiting).release()
            async with firm.ledgers["a"] as other:
                assert await other.issue(("ann", 1, "e")) == 5
            await firm.judge()

    run(story())


def test_tasks_share_a_section_and_take_turns() -> None:
    async def story() -> None:
        async with clusters(3) as members:
            firm = Firm(members)
            async with firm.ledgers["a"] as section:
                results = await asyncio.gather(*[firm.issue(section, "ann", 1) for _ in range(20)])
            assert sorted(results) == list(range(1, 21))  # type: ignore[type-var]
            with pytest.raises(NotHeld):
                await section.issue(("ann", 1, 0))
            await firm.judge()

    run(story())


@pytest.mark.deep
def test_a_majority_must_be_there() -> None:
    async def story() -> None:
        async with clusters(3, **IN_EPOCHS) as members:
            firm = Firm(members)
            ledger = members[0].guarded("ledger", Ledger(), timeout=4 * PATIENCE)
            async with ledger as section:
                await firm.issue(section, "ann", 1)
            for member in members[1:]:
                await firm.kill(member, [])
            section = await ledger.acquire()  # it has the token, but
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(3 * PATIENCE):
                    await section.issue(("ann", 1, 0))
            assert len(firm.lines("a")) == 1
            section.release()
            with pytest.raises(ClusterDegraded):
                await ledger.acquire()

    run(story())


def test_leaving_the_cluster_with_an_operation_under_way() -> None:
    async def story() -> None:
        async with clusters(3) as members:
            firm = Firm(members)
            section = await firm.ledgers["a"].acquire()
            for member in members[1:]:
                await firm.kill(member, [])
            under_way = asyncio.create_task(section.issue(("ann", 1, 0)))
            await asyncio.sleep(0.02)
            await members[0].close()
            with pytest.raises(NotHeld, match="may or may not be executed"):
                await under_way

    run(story())


class Strict:
    def __init__(self) -> None:
        self.seen: list[object] = []

    def apply(self, operation: Any) -> Any:
        self.seen.append(operation)
        if operation == "bad":
            raise ValueError("no such thing")
        return self.seen


class Unplain(Strict):
    def __init__(self) -> None:
        self.lock = asyncio.Lock  # not data


def test_what_operations_and_objects_may_be() -> None:
    async def story() -> None:
        async with clusters(3) as members:
            things = [member.guarded("thing", Strict()) for member in members]
            async with things[0] as section:
                big = 1 << 80
                assert await section.issue((1, 2.5, "x", None, True, [big])) == [(1, 2.5, "x", None, True, (big,))]
                with pytest.raises(ContractError, match=r"Strict.apply\('bad'\) raised ValueError: no such thing"):
                    await section.issue("bad")
                for wrong in ({"a": 1}, b"raw", (1, {2}), "\udc00", "x" * 5000):
                    with pytest.raises(ContractError, match="an operation"):
                        await section.issue(wrong)
                got = await section.issue("good")
                got.clear()  # ours
            seen = [(1, 2.5, "x", None, True, (big,)), "bad", "good"]
            await until(lambda: [thing.replica.seen for thing in things] == [seen] * 3)
            assert members[0].guarded("thing", Strict()).replica is things[0].replica
            with pytest.raises(ConfigError, match="'thing' guards a Strict, not a Ledger"):
                members[0].guarded("thing", Ledger())
            with pytest.raises(ConfigError, match="the object to be guarded as 'other' cannot be copied"):
                members[0].guarded("other", Unplain())
            async with members[0].mutex("thing"), things[0]:
                pass  # of one name, and nothing to do with each other
            assert isinstance(things[0], Guarded)

    run(story())


def test_guarded_needs_a_cluster() -> None:
    config = ClusterConfig({"a": "127.0.0.1:1"})
    with pytest.raises(ConfigError, match="join the cluster first"):
        Cluster("a", config).guarded("x", Ledger())


def outcomes(folder: Path, name: str) -> list[tuple[str, int, int]]:
    """What became of a process's operations; a line that it was killed at does not count."""
    lines = (folder / f"{name}.log").read_text().split("\n")[:-1]
    return [(kind, int(number), int(place)) for kind, number, place in map(str.split, lines)]


@pytest.mark.deep
def test_processes_are_killed_and_suspended(tmp_path: Path) -> None:
    """Five processes; one is suspended for longer than others have patience, two are killed."""
    names = "abcde"
    (tmp_path / "nodes.json").write_text(json.dumps(dict(zip(names, free_addresses(5), strict=True))))
    worker = Path(__file__).parent / "guarded_worker.py"
    processes = {name: subprocess.Popen([sys.executable, str(worker), name, str(tmp_path)]) for name in names}

    def wait_for(condition: Any) -> None:
        end = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < end, "it does not happen"
            time.sleep(0.02)

    def answered(name: str) -> int:
        path = tmp_path / f"{name}.log"
        return path.read_text().count("answered") if path.exists() else 0

    def wait_for_work(survivors: str) -> None:
        before = {name: answered(name) for name in survivors}
        wait_for(lambda: all(answered(name) > before[name] + 10 for name in survivors))

    try:
        wait_for_work("abcde")
        processes["b"].send_signal(signal.SIGSTOP)
        wait_for_work("acde")
        processes["b"].send_signal(signal.SIGCONT)
        wait_for_work("abcde")
        for victim, survivors in (("d", "abce"), ("a", "bce")):
            processes[victim].kill()
            wait_for_work(survivors)
        (tmp_path / "stop").touch()
        wait_for(lambda: all((tmp_path / f"{name}.json").exists() for name in "bce"))
        (tmp_path / "end").touch()
        for name in "bce":
            assert processes[name].wait(20) == 0
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    replicas = [json.loads((tmp_path / f"{name}.json").read_text()) for name in "bce"]
    lines = [(name, number) for name, number in replicas[0]]
    assert replicas[1] == replicas[0]
    assert replicas[2] == replicas[0]
    assert len(set(lines)) == len(lines)
    for name in names:
        told = outcomes(tmp_path, name)
        assert len({number for _, number, _ in told}) == len(told)  # one outcome each
        for kind, number, place in told:
            if kind == "lost":
                assert (name, number) not in lines
            else:
                assert lines[place - 1] == (name, number)
