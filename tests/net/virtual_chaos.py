"""Chaos in virtual time (`virtual.py`): real members, whose machines crash, pause and come back, with their memory or
without, whose cables are cut in part, in one direction or for good, and whose clocks run differently. Others enter by
seeds and leave. A judge that sees everything at once watches groups, capacities, fences and leases. In the end, when
all is well again, every member must get every lock soon.

    python tests/net/virtual_chaos.py --runs 1000 --seed 1

A run is a minute of virtual time, and takes a second or two. Equal seeds give equal runs.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from virtual import Machine
from virtual_cluster import DRIFT, PATIENCE, VirtualCluster, live

from congenial.kernel.errors import CongenialError
from congenial.net.errors import LockLost
from congenial.net.locks import Cluster
from congenial.testing.scene import OUTDATED, Scene

SECONDS = 60.0  # of faults
LOCKS = 2  # of each kind
K = 2
LONGEST_FAULT = 6 * PATIENCE
CALM = 12 * PATIENCE  # after the last fault; then all must be well
LONGEST_WAIT = 8 * PATIENCE  # for a lock, when all is well


class World(VirtualCluster):
    def __init__(self, seed: int, folder: Path) -> None:
        self.rng = random.Random(seed)
        super().__init__(self.rng.choice([2, 3, 3, 4, 5]), seed, folder)
        self.scenes: dict[str, Scene] = {}
        self.done: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.violations: list[str] = []
        self.hit: set[str] = set()
        self.forgetful = ""  # the member that has lost its memory and has no vote yet
        self.births: dict[str, int] = {}  # of the founders' memories
        self.calm = False
        self.leaving = 0  # processes that must not take their votes with them: no faults meanwhile

    def object_to(self, text: str) -> None:
        self.note(f"VIOLATION {text}")
        self.violations.append(f"at {self.loop.now:.4f}: {text}")

    # -- members ---------------------------------------------------------------------------------------

    def rate(self) -> float:
        return 1 + self.rng.uniform(-DRIFT, DRIFT) / 2

    def on_start(self, name: str, machine: Machine) -> None:
        cluster = self.clusters[name]
        for number in range(2):
            asyncio.create_task(self._use(cluster, machine, f"{name}{number}"))  # noqa: RUF006 (a machine keeps it)

    def crash(self, name: str) -> None:
        super().crash(name)
        for scene in self.scenes.values():  # it holds nothing any more
            for who in [who for who in scene.inside if who.startswith(f"{name}/")]:
                scene.leave(who)

    async def _use(self, cluster: Cluster, machine: Machine, who: str) -> None:
        """What a program does."""
        rng = random.Random(f"{who} {self.rng.random()}")
        attempt = 0
        while not self.calm:
            attempt += 1
            try:
                await self._attempt(cluster, machine, f"{cluster.name}/{who}.{attempt}", rng)
                result = "entered"
            except CongenialError as error:
                result = type(error).__name__
            self.done[result] += 1
            await asyncio.sleep(rng.uniform(0, 0.2))

    async def _attempt(self, cluster: Cluster, machine: Machine, who: str, rng: random.Random) -> None:
        kind = rng.choice(["mutex", "mutex", "group", "book", "semaphore"])
        name = f"{kind} {rng.randrange(LOCKS)}"
        timeout = rng.choice([None, 1.0, 8 * PATIENCE])
        group, limit = None, 0
        if kind == "mutex":
            lock = cluster.mutex(name, timeout=timeout)
        elif kind == "group":
            group = rng.choice(["red", "green"])
            lock = cluster.group(name, group, timeout=timeout)
        elif kind == "book" and rng.random() < 0.7:
            group = "readers"
            lock = cluster.shared(name, timeout=timeout)
        elif kind == "book":
            lock = cluster.exclusive(name, timeout=timeout)
        else:
            limit = K
            lock = cluster.semaphore(name, K, timeout=timeout)
        scene = self.scenes.setdefault(name, Scene())
        async with lock as held:
            left = held.valid_for()
            now = self.loop.now
            wrong = scene.enter(who, group, held.fence, limit, now + left / machine.rate, now)
            self._judge(name, wrong)
            try:
                stay = rng.uniform(0, 0.05) if rng.random() < 0.95 else rng.uniform(0, 4 * PATIENCE)
                await asyncio.sleep(stay)
                if not limit and group is None:
                    self._write(scene, name, who, held, machine)
            finally:
                scene.leave(who)

    def _write(self, scene: Scene, name: str, who: str, held: Any, machine: Machine) -> None:
        """As a holder should that cannot have its fence looked at: it looks at its lease."""
        left = held.valid_for()
        if left <= 0:
            raise LockLost("the lease is over")
        now = self.loop.now
        self._judge(name, scene.use(who, held.fence, scene.value + 1, now + left / machine.rate, now))

    def _judge(self, name: str, wrong: str) -> None:
        if wrong == OUTDATED:
            self.done["outdated"] += 1
        elif wrong:
            self.object_to(f"{name}: {wrong}")

    # -- faults ----------------------------------------------------------------------------------------

    async def run(self) -> None:
        founders = list(self.places)
        for name in founders:
            self.start(name)
        await asyncio.sleep(2 * PATIENCE)
        guests = [asyncio.create_task(self._guests(number, founders)) for number in range(self.rng.randrange(3))]
        under_way: set[asyncio.Task[None]] = set()
        while self.loop.now < SECONDS:
            await asyncio.sleep(self.rng.expovariate(1 / (2 * PATIENCE)))
            most = len(founders) if self.rng.random() < 0.1 else (len(founders) + 1) // 2  # perhaps no majority is left
            well = [name for name in founders if name not in self.hit]
            if well and len(self.hit) < most and not self.leaving:
                task = asyncio.create_task(self._hit(self.rng.choice(well)))
                under_way.add(task)
                task.add_done_callback(under_way.discard)
        await asyncio.gather(*under_way, *guests)
        await asyncio.sleep(CALM)
        self.calm = True
        await asyncio.sleep(4 * PATIENCE)
        await asyncio.gather(*[self.network.run(self.machines[name], self._all_is_well(name)) for name in founders])
        for error in self.loop.errors:
            self.object_to(f"an error that nobody has caught: {error}")

    async def _hit(self, name: str) -> None:
        fault = self.rng.choice(["crash", "crash", "pause", "cut", "part", "mute", "deafen", "slow"])
        seconds = self.rng.uniform(0, LONGEST_FAULT)
        self.hit.add(name)
        self.faults[fault] += 1
        self.note(f"{fault} {name} for {seconds:.2f} s")
        others = [other for other in self.places if other != name]
        if fault == "crash":
            await self._crash_for(name, seconds)
        elif fault == "pause":
            self.network.pause(self.machines[name])
            await asyncio.sleep(seconds)
            self.network.go_on(self.machines[name])
        elif fault == "slow":
            self.network.delays[self.places[name]] = self.rng.choice([0.05, 0.2, 0.6])
            await asyncio.sleep(seconds)
            self.network.delays.pop(self.places[name])
        else:
            if fault == "part":
                others = [self.rng.choice(others)]
            await self.cut_cables(name, others, fault != "deafen", fault != "mute", seconds)
        self.note(f"{name} is well")
        self.hit.discard(name)

    async def _crash_for(self, name: str, seconds: float) -> None:
        forgets = not self.forgetful and self.rng.random() < 0.3 and self._founders_suffice(1)
        self.crash(name)
        if forgets:
            self.forgetful = name
            self.births.pop(name)
            self.note(f"{name} has forgotten everything")
            shutil.rmtree(self.folder / name, ignore_errors=True)
        await asyncio.sleep(seconds)
        self.start(name)
        while forgets:  # until it has its vote again, nobody else had better forget
            await asyncio.sleep(PATIENCE)
            cluster = self.clusters.get(name)
            if cluster is not None:
                told = cluster.status()
                if told["past"] != "forgetful" and not told["abstains"]:
                    self.forgetful = ""
                    return

    async def _guests(self, number: int, founders: list[str]) -> None:
        """One process after the other enters the cluster, and leaves it or crashes."""
        visit = 0
        while self.loop.now < SECONDS - 4 * LONGEST_FAULT:
            visit += 1
            name = f"guest{number}-{visit}"
            self.places[name] = f"127.0.{number + 1}.{visit}:7101"
            self.faults["guest"] += 1
            self.note(f"{name} comes")
            self.start(name, tuple([self.places[founder] for founder in founders]))
            await asyncio.sleep(self.rng.uniform(1, 10) * PATIENCE)
            while self.hit and not self._founders_suffice():
                await asyncio.sleep(0.1)
            cluster = self.clusters.get(name)
            if cluster is not None and (self.rng.random() < 0.5 or not self._founders_suffice()):
                self.note(f"{name} leaves")
                needed = not self._founders_suffice()
                self.leaving += needed
                await self.network.run(self.machines[name], self._leave(name, cluster))
                self.leaving -= needed
            self.note(f"{name} is gone")
            self.crash(name)
            del self.places[name]

    def _founders_suffice(self, without: int = 0) -> bool:
        """Whether founders that have kept their memory are a majority of the voters, even without so many of them: what
        crashes for good, or forgets, must not take away what nobody can give back."""
        parts = {name: cluster._host.locks.agreement.node.views for name, cluster in self.clusters.items()}
        self.births |= {name: views.birth for name, views in parts.items() if name in self.config.nodes}
        if not parts:
            return False
        voters = max([views.view for views in parts.values()], key=lambda view: view.number).voters
        lasting = [
            process for process, name in enumerate(self.config.nodes) if (process, self.births.get(name)) in voters
        ]
        return 2 * (len(lasting) - without) > len(voters)

    async def _leave(self, name: str, cluster: Cluster) -> None:
        for task in self.machines[name].tasks:
            if task.get_coro().__name__ == "_use":  # type: ignore[union-attr]
                task.cancel()
        await asyncio.sleep(0.01)
        await cluster.close()

    # -- afterwards ------------------------------------------------------------------------------------

    async def _all_is_well(self, name: str) -> None:
        cluster = self.clusters.get(name)
        if cluster is None:
            self.object_to(f"{name} has not started again")
            return
        for number in range(LOCKS):
            locks = [
                cluster.mutex(f"mutex {number}", timeout=LONGEST_WAIT),
                cluster.group(f"group {number}", "red", timeout=LONGEST_WAIT),
                cluster.exclusive(f"book {number}", timeout=LONGEST_WAIT),
                cluster.semaphore(f"semaphore {number}", K, timeout=LONGEST_WAIT),
            ]
            for lock in locks:
                try:
                    async with lock:
                        pass
                except CongenialError as error:
                    self.object_to(f"all is well, but {name} does not get {lock.name}: {error}")


def run(seed: int) -> World:
    return live(lambda folder: World(seed, folder))


def main() -> None:
    parser = argparse.ArgumentParser(description="Chaos in virtual time.")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument("--story", action="store_true", help="tell what happened")
    options = parser.parse_args()
    logging.getLogger("congenial").addHandler(logging.NullHandler())
    done: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    wrong = 0
    for seed in range(options.seed, options.seed + options.runs):
        world = run(seed)
        done += world.done
        faults += world.faults
        if options.story:
            print("\n".join(world.story))
        if world.violations:
            wrong += 1
            print(f"seed {seed}: {'; '.join(world.violations[:3])}", flush=True)
    listed = ", ".join([f"{count} {what}" for what, count in sorted(faults.items())])
    print(f"{options.runs} runs, {sum(faults.values())} faults ({listed}); {dict(done)}; {wrong} runs with violations")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
