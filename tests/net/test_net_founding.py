"""Locks that are asked for before the cluster is founded."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from virtual import Machine
from virtual_cluster import VirtualCluster, live

from congenial.kernel.errors import CongenialError
from congenial.net import viewed
from congenial.net.locks import Cluster

LOCKS = 20


class Founding(VirtualCluster):
    """Every member asks for all locks together: for itself alone, as one of many, and for one of two places."""

    def __init__(self, seed: int, folder: Path) -> None:
        super().__init__(3, seed, folder)
        self.entries = 0
        self.fences: dict[str, int] = {}
        self.wrong: list[str] = []

    def on_start(self, name: str, machine: Machine) -> None:
        for at in range(LOCKS):
            asyncio.ensure_future(self._use(self.clusters[name], f"lock {at}"))  # noqa: RUF006 (a machine keeps it)

    async def _use(self, cluster: Cluster, name: str) -> None:
        try:
            async with cluster.exclusive(name, timeout=5.0) as held:
                if held.fence <= self.fences.get(name, 0):
                    self.wrong.append(f"{cluster.name} gets a fence of {name} that is not above the last one")
                self.fences[name] = held.fence
                await asyncio.sleep(0.002)
            async with cluster.shared(name, timeout=5.0) as held:
                if held.fence < self.fences[name]:
                    self.wrong.append(f"{cluster.name} shares {name} with a fence below the last one")
                self.fences[name] = held.fence
                await asyncio.sleep(0.002)
            async with cluster.semaphore(name, 2, timeout=5.0):
                await asyncio.sleep(0.002)
            self.entries += 1
        except CongenialError as error:
            self.wrong.append(str(error))

    async def run(self) -> None:
        for name in list(self.places):
            self.start(name)
        await asyncio.sleep(10.0)
        for cluster in self.clusters.values():
            self.wrong += [link.refusal for link in cluster._host.membership.links if link.refusal]


@pytest.mark.parametrize("seed", range(6))
def test_many_locks_are_asked_for_before_the_cluster_is_founded(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a member asked twice for locks that had not moved to the first view when its lease began. It was sent two
    tokens, and the second one, which it refused, was sent again and again: the members excluded each other forever."""
    monkeypatch.setattr(viewed, "MOVED_AT_A_TIME", 1)
    world = live(lambda folder: Founding(seed, folder))
    assert world.wrong == []
    assert world.entries == 3 * LOCKS
