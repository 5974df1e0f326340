"""What happens to a cluster in virtual time, told step by step."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from virtual_cluster import PATIENCE, TIMING, VirtualCluster, live

from congenial.kernel.errors import CongenialError
from congenial.net.locks import Cluster

AT_ONCE = 0.05  # seconds: some round trips, of up to 2 ms each
NOTICED = PATIENCE + 2 * TIMING.heartbeat  # after so many seconds a silent member is suspected


class Story(VirtualCluster):
    """Members of which some program asks for locks all the time, and keeps a record of the longest wait for one."""

    def __init__(self, founders: int, folder: Path, tell: Callable[[Story], Awaitable[None]]) -> None:
        super().__init__(founders, 1, folder)
        self.tell = tell
        self.longest = 0.0
        self.entries = 0
        self.lost: list[str] = []

    async def run(self) -> None:
        for name in list(self.places):
            self.start(name)
        await asyncio.sleep(2 * PATIENCE)
        await self.tell(self)

    async def use(self, name: str, pause: float = 0.01) -> None:
        """One lock after the other, whose homes are here and there."""
        while name in self.clusters:
            since = self.loop.now
            try:
                await self.at(name, lambda cluster: self._enter(cluster, f"{name} {self.entries}"))
            except CongenialError as error:
                self.lost.append(str(error))
            self.longest = max(self.longest, self.loop.now - since)
            await asyncio.sleep(pause)

    async def _enter(self, cluster: Cluster, lock: str) -> None:
        async with cluster.mutex(lock, timeout=60):
            self.entries += 1

    def views(self) -> int:
        """The number of the last view."""
        return max([cluster._host.locks.agreement.view.number for cluster in self.clusters.values()])

    async def take_over(self, holder: str, heir: str, hit: Callable[[], object]) -> float:
        """How long somebody waits for a lock of a member that has just been hit."""
        await self.at(holder, lambda cluster: cluster.mutex("x").acquire())
        hit()
        since = self.loop.now
        await self.at(heir, lambda cluster: self._enter(cluster, "x"))
        return self.loop.now - since


def play(tell: Callable[[Story], Awaitable[None]], founders: int = 3) -> Story:
    return live(lambda folder: Story(founders, folder, tell))
