"""A cluster of real members in virtual time (`virtual.py`). Subclasses say in `run` what happens to it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import secrets
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar

from virtual import Machine, Network, VirtualListener, VirtualLoop

from congenial.kernel.errors import CongenialError
from congenial.net import lease, roster
from congenial.net.config import ClusterConfig, Timing
from congenial.net.locks import Cluster

PATIENCE = 0.5
DRIFT = 0.05
TIMING = Timing(heartbeat=0.1, suspect_after=PATIENCE, reconnect=0.01, reconnect_most=0.1, drift=DRIFT)

T = TypeVar("T")
V = TypeVar("V", bound="VirtualCluster")


class VirtualCluster:
    """Founders are called a, b, c and so on. Others may enter by seeds, from `places`."""

    def __init__(self, founders: int, seed: int, folder: Path) -> None:
        self.seed = seed
        self.network = Network(random.Random(f"{seed} network"))
        self.loop = VirtualLoop(self.network)
        self.folder = folder
        names = [chr(ord("a") + at) for at in range(founders)]
        self.places = {name: f"127.0.0.{at + 1}:7101" for at, name in enumerate(names)}
        self.config = ClusterConfig(self.places, timing=TIMING)
        self.clusters: dict[str, Cluster] = {}
        self.machines: dict[str, Machine] = {}
        self.story: list[str] = []

    async def run(self) -> None:
        raise NotImplementedError

    def rate(self) -> float:
        """How fast the clock of the next machine runs."""
        return 1.0

    def on_start(self, name: str, machine: Machine) -> None:
        """A member has been started."""

    def note(self, text: str) -> None:
        self.story.append(f"{self.loop.now:9.4f}  {text}")

    def start(self, name: str, seeds: tuple[str, ...] = ()) -> asyncio.Task[None]:
        machine = self.network.boot(name, self.places[name], self.rate())
        config = replace(self.config, state=str(self.folder / name))
        if seeds:
            config = replace(config, nodes={}, seeds=seeds, address=self.places[name])
        self.machines[name] = machine
        return self.network.run(machine, self._live(name, machine, config))

    async def _live(self, name: str, machine: Machine, config: ClusterConfig) -> None:
        cluster = Cluster(name, config, listener=VirtualListener(machine.place))
        try:
            await cluster.start()
        except CongenialError as error:
            self.note(f"{name} does not get in: {error}")
            return
        self.clusters[name] = cluster
        self.network.answer[machine.place] = cluster._host.membership.porter.connect
        self.on_start(name, machine)

    def crash(self, name: str) -> None:
        self.network.crash(self.machines[name])
        cluster = self.clusters.pop(name, None)
        if cluster is not None:
            cluster._host.storage.abandon()

    async def at(self, name: str, act: Callable[[Cluster], Awaitable[T]]) -> T:
        """Let a program on a member's machine do something."""

        async def do() -> T:
            return await act(self.clusters[name])

        return await self.network.run(self.machines[name], do())

    async def cut_off(self, name: str, seconds: float, outgoing: bool = True, incoming: bool = True) -> None:
        """Let nothing get from a machine to the others, nor from them to it."""
        await self.cut_cables(name, [other for other in self.places if other != name], outgoing, incoming, seconds)

    async def cut_cables(self, name: str, others: list[str], outgoing: bool, incoming: bool, seconds: float) -> None:
        here = self.places[name]
        there = [self.places[other] for other in others]
        cables = [(here, place) for place in there if outgoing] + [(place, here) for place in there if incoming]
        for src, dst in cables:
            self.network.cut(src, dst)
        await asyncio.sleep(seconds)
        for src, dst in cables:
            self.network.mend(src, dst)


def live(make: Callable[[Path], V]) -> V:
    """Let happen what is to happen to a cluster, with a folder for its state. In the end its members crash."""
    folder = Path(tempfile.mkdtemp(prefix="congenial-virtual-"))
    try:
        cluster = make(folder)
        with virtual_clocks(cluster.loop, cluster.seed):
            cluster.loop.run_until_complete(cluster.run())
            for name in list(cluster.clusters):
                cluster.crash(name)
        return cluster
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def virtual_clocks(loop: VirtualLoop, seed: int) -> Iterator[None]:
    """Let the members read the clocks of their machines, and not wait for disks."""

    def clock() -> float:
        return loop.time()

    fsync, fdatasync = os.fsync, os.fdatasync
    lease.SIMULATED.clock = clock
    roster.time = SimpleNamespace(time=lambda: 1.9e9 + loop.now)  # type: ignore[attr-defined]
    roster.secrets = SimpleNamespace(randbits=random.getrandbits)  # type: ignore[attr-defined]
    os.fsync = os.fdatasync = lambda file: None
    random.seed(seed)
    try:
        yield
    finally:
        lease.SIMULATED.clock = None
        os.fsync, os.fdatasync = fsync, fdatasync
        roster.time, roster.secrets = time, secrets  # type: ignore[attr-defined]
