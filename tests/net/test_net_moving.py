"""Many locks that are held when the members change: they move to the new view some at a time."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from netlab import QUICK, clusters, crash, run, table, until

from congenial.net import viewed
from congenial.net.errors import LockLost
from congenial.net.held import Held
from congenial.net.locks import Cluster
from congenial.net.view_door import ViewDoor
from congenial.net.view_hall import ViewHall

PATIENT = replace(QUICK, suspect_after=2.0)


def count_moves(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, int]]:
    """How many locks move, by member and by turn of the event loop."""
    moves: Counter[tuple[str, int]] = Counter()
    turns = [0]

    def pass_turns(loop: asyncio.AbstractEventLoop) -> None:
        turns[0] += 1
        loop.call_soon(pass_turns, loop)

    def spy(kind: type[ViewDoor] | type[ViewHall]) -> None:
        move = kind.move

        def moving(self: Any, *arguments: Any) -> Any:
            if not turns[0]:
                pass_turns(asyncio.get_running_loop())
            moves[self.membership.name, turns[0]] += 1
            return move(self, *arguments)

        monkeypatch.setattr(kind, "move", moving)

    spy(ViewDoor)
    spy(ViewHall)
    return moves


async def settle(*members: Cluster) -> None:
    await until(lambda: all([len(table(member).agreement.view.members) == len(members) for member in members]))
    await until(lambda: all([table(member).is_settled() for member in members]))


def test_no_more_than_some_move_in_one_turn_of_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    moves = count_moves(monkeypatch)

    async def story() -> None:
        async with clusters(3, timing=PATIENT) as (a, b, c):
            held = [await a.mutex(f"lock {at}").acquire() for at in range(450)]
            places = [await a.semaphore(f"semaphore {at}", 2).acquire() for at in range(50)]
            await crash(c)
            await settle(a, b)
            assert sum(moves.values()) == 500
            assert max(moves.values()) <= viewed.MOVED_AT_A_TIME
            assert all([one.held for one in [*held, *places]])
            assert await b.mutex("lock 449").acquire(timeout=0) is None
            for one in [*held, *places]:
                one.release()
            async with b.mutex("lock 449"), b.mutex("lock 0"), b.semaphore("semaphore 49", 2):
                pass

    run(story())


class Watch:
    """Tasks that acquire and release locks, and what they saw."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.holders: dict[str, str] = {}
        self.wrong: list[str] = []
        self.entries = 0

    async def use(self, member: Cluster, names: list[str], rounds: int) -> None:
        for _ in range(rounds):
            name = self.rng.choice(names)
            try:
                held = await member.mutex(name).acquire(timeout=20)
                assert held is not None
                await self._stay(member, name, held)
            except LockLost:
                pass

    async def _stay(self, member: Cluster, name: str, held: Held) -> None:
        if name in self.holders:
            self.wrong.append(f"{name} is held by {self.holders[name]} and by {member.name}")
        self.holders[name] = member.name
        self.entries += 1
        for _ in range(self.rng.randrange(4)):
            await asyncio.sleep(0)
        self.holders.pop(name, None)
        held.release()


@pytest.mark.parametrize("seed", range(4))
def test_locks_are_used_while_others_still_move(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One at a time: others are acquired, released and asked for by other members before they have moved."""
    monkeypatch.setattr(viewed, "MOVED_AT_A_TIME", 1)

    async def story() -> None:
        async with clusters(3, timing=PATIENT) as (a, b, c):
            watch = Watch(seed)
            names = [f"lock {at}" for at in range(40)]
            kept = [await a.mutex(f"kept {at}").acquire() for at in range(100)]
            using = [asyncio.create_task(watch.use(member, names, 60)) for member in (a, b) for _ in range(10)]
            await asyncio.sleep(0)
            for _ in range(3):  # the same members again, and one more view
                table(a).agreement.renew()
                await asyncio.sleep(0.005)
            await crash(c)
            await settle(a, b)
            await asyncio.gather(*using)
            assert watch.wrong == []
            assert watch.entries == 1200
            assert all([one is not None and one.held for one in kept])

    run(story())


def test_semaphores_are_used_while_others_still_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewed, "MOVED_AT_A_TIME", 1)

    async def story() -> None:
        async with clusters(2, timing=PATIENT) as (a, b):
            inside: Counter[str] = Counter()
            most = 0

            async def use(member: Cluster, name: str) -> None:
                nonlocal most
                for _ in range(20):
                    async with member.semaphore(name, 3):
                        inside[name] += 1
                        most = max(most, inside[name])
                        await asyncio.sleep(0)
                        inside[name] -= 1

            kept = [await a.semaphore(f"kept {at}", 2).acquire() for at in range(50)]
            using = [asyncio.create_task(use(member, f"s{at % 5}")) for member in (a, b) for at in range(30)]
            for _ in range(5):
                table(b).agreement.renew()
                await asyncio.sleep(0.005)
            await asyncio.gather(*using)
            assert most == 3
            assert all([one.held for one in kept])
            assert table(a).agreement.view.number >= 3

    run(story())


async def stall(monkeypatch: pytest.MonkeyPatch, *members: Cluster) -> None:
    """A new view, in which no lock moves by itself."""
    monkeypatch.setattr(viewed, "MOVED_AT_A_TIME", 0)
    table(members[0]).agreement.renew()
    await until(lambda: all([table(member).agreement.view.number == 1 for member in members]))


def has_moved(member: Cluster, name: str) -> bool:
    lock: Any = table(member).doors[name].node
    return bool(lock.view == 1)


@pytest.mark.parametrize("name", [f"lock {at}" for at in range(8)])  # at home here and there
def test_a_lock_moves_when_a_message_or_a_task_needs_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with clusters(3, timing=PATIENT) as (a, b, c):
            held = await a.mutex(name).acquire()
            other = await a.mutex("other").acquire()  # there is more to move
            await stall(monkeypatch, a, b, c)
            assert not has_moved(a, name)
            asked = asyncio.create_task(b.mutex(name).acquire())
            await until(lambda: name in table(b).doors)
            await asyncio.sleep(0.02)
            assert has_moved(a, name) == (table(a).kept.home(name) == 0), "b has asked there"
            local = asyncio.create_task(a.mutex(name).acquire())
            await asyncio.sleep(0.02)
            assert held.held
            monkeypatch.setattr(viewed, "MOVED_AT_A_TIME", 200)
            await settle(a, b, c)
            assert not asked.done()
            assert not local.done()
            assert has_moved(a, name)
            held.release()
            for first in asyncio.as_completed([asked, local], timeout=5):
                (await first).release()
            assert other.held

    run(story())
