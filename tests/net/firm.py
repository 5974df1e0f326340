"""A firm whose members keep a ledger: guarded objects under test, and what became of their operations."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Coroutine
from typing import Any

from netlab import NAMES, QUICK, crash

from congenial.kernel.trace import CRASH, Event
from congenial.net.errors import LockLost
from congenial.net.guarded import Section
from congenial.net.locks import Cluster
from congenial.net.replica import Replica
from congenial.problems.weak_history import faults_in

PATIENCE = QUICK.suspect_after


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 60))


async def until(condition: Any, seconds: float = 15.0) -> None:
    end = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < end, "it does not happen"
        await asyncio.sleep(0.005)


class Ledger:
    """Accounts that are never overdrawn; and all that was asked, in order."""

    def __init__(self) -> None:
        self.accounts: dict[str, int] = {}
        self.lines: list[object] = []

    def apply(self, operation: tuple[str, int, object]) -> object:
        account, amount, _ = operation
        self.lines.append(operation)
        balance = self.accounts.get(account, 0) + amount
        if balance < 0:
            return "no funds"
        self.accounts[account] = balance
        return balance


class Firm:
    """Members with a ledger, what becomes of their operations, and one history of all that happens."""

    def __init__(self, members: list[Cluster], name: str = "ledger") -> None:
        self.ledgers = {member.name: member.guarded(name, Ledger()) for member in members}
        self.history: list[Event] = []
        self.answered: dict[object, object] = {}
        self.lost: list[object] = []
        self.tickets = 0
        for ledger in self.ledgers.values():
            ledger._guard.history = self.history

    def guard(self, name: str) -> Any:
        return self.ledgers[name]._guard

    def lines(self, name: str) -> list[object]:
        lines: list[object] = self.ledgers[name].replica.lines
        return lines

    async def issue(self, section: Section, account: str, amount: int) -> object:
        self.tickets += 1
        operation = (account, amount, self.tickets)
        try:
            result = await section.issue(operation)
        except LockLost:
            self.lost.append(operation)
            raise
        self.answered[operation] = result
        return result

    async def work(self, name: str, sections: int, rng: random.Random) -> None:
        for _ in range(sections):
            with contextlib.suppress(LockLost):
                async with self.ledgers[name] as section:
                    for _ in range(rng.randint(0, 3)):
                        await self.issue(section, rng.choice(NAMES[:3]), rng.randint(-5, 9))

    async def kill(self, member: Cluster, tasks: list[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        guard = self.guard(member.name)
        guard.history = None
        self.history.append(Event(member._host.membership.now(), CRASH, guard.node.me))
        await crash(member)
        del self.ledgers[member.name]

    async def judge(self) -> None:
        """Replicas agree, as soon as all has arrived, and with a serial execution; every operation had one outcome."""
        await until(lambda: len({ledger._guard.executed for ledger in self.ledgers.values()}) == 1)
        names = list(self.ledgers)
        lines = self.lines(names[0])
        for name in names:
            assert self.lines(name) == lines
            assert self.ledgers[name].replica.accounts == self.ledgers[names[0]].replica.accounts
        serial = Ledger()
        results = {operation: serial.apply(operation) for operation in lines}  # type: ignore[arg-type]
        assert all(count == 1 for count in Counter(lines).values())
        assert all(results[operation] == result for operation, result in self.answered.items())
        assert not set(self.lost) & {*lines, *self.answered}
        assert faults_in(self.history, Replica(Ledger())) == []


async def settled(tasks: list[asyncio.Task[None]]) -> None:
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        assert result is None or isinstance(result, asyncio.CancelledError), result
