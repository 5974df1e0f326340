"""A soak: many tasks, many locks, random cancellation, cut connections; nothing may be lost, and nothing may leak.

    python tests/net/soak.py --seconds 300

runs it for several minutes; the test suite runs it for a few seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import random
import resource
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from netlab import QUICK, Cable, cabled_clusters, witness_process

from congenial.net.errors import ClusterDegraded, LockLost, LockTimeout
from congenial.net.locks import Cluster
from congenial.testing.witness import Outdated, Reporter

GROUPS = ("red", "green", "blue")
K = 3  # of the semaphore


@dataclass
class Tally:
    entries: int = 0
    cancelled: int = 0
    timeouts: int = 0
    lost: int = 0
    violations: int = 0
    cuts: int = 0
    resent: int = 0
    open_files: list[int] = field(default_factory=list)
    tasks: list[int] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)  # KiB in use

    def __str__(self) -> str:
        return (
            f"{self.entries} entries, {self.cancelled} cancelled, {self.timeouts} timed out, {self.lost} lost, "
            f"{self.cuts} cuts, "
            f"{self.resent} messages sent again, {self.violations} violations, files {self.open_files[-1]}, "
            f"tasks {self.tasks[-1]}, memory {self.memory[0]} -> {self.memory[-1]} KiB"
        )


async def soak(seconds: float, nodes: int, tasks: int, locks: int, witness: Path, seed: int = 1) -> Tally:
    rng = random.Random(seed)
    tally = Tally()
    end = time.monotonic() + seconds

    async def once(member: Cluster, reporter: Reporter, who: str) -> None:
        lock = f"lock {rng.randrange(locks)}"
        group = rng.choice([*GROUPS, None])
        timeout = rng.choice([None, None, 0.05])
        limit = {}
        if rng.random() < 0.25:
            lock, group, limit = "semaphore", None, {"limit": K}
            made = member.semaphore(lock, K, timeout=timeout)
        elif group is None:
            made = member.mutex(lock, timeout=timeout)
        else:
            made = member.group(lock, group, timeout=timeout)
        async with made as held:
            try:
                await reporter.tell("enter", lock=lock, who=who, group=group, fence=held.fence, **limit)
                await asyncio.sleep(rng.uniform(0, 0.01))
            finally:
                await reporter.tell("leave", lock=lock, who=who)
            tally.entries += 1

    async def worker(member: Cluster, reporter: Reporter, name: str) -> None:
        number = 0
        while time.monotonic() < end:
            number += 1
            attempt = asyncio.create_task(once(member, reporter, f"{name}.{number}"))
            if rng.random() < 0.2:
                await asyncio.sleep(rng.uniform(0, 0.02))
                attempt.cancel()
            try:
                await attempt
            except asyncio.CancelledError:
                tally.cancelled += 1
            except (LockTimeout, ClusterDegraded):
                tally.timeouts += 1
            except (LockLost, Outdated):  # somebody was slow, and taken for dead
                tally.lost += 1
            await asyncio.sleep(rng.uniform(0, 0.02))

    async def cutter(cables: list[Cable]) -> None:
        while time.monotonic() < end:
            await asyncio.sleep(rng.uniform(0.02, 0.3))
            rng.choice(cables).cut()
            tally.cuts += 1

    def look() -> None:
        gc.collect()
        tally.open_files.append(len(os.listdir("/proc/self/fd")))
        tally.tasks.append(len(asyncio.all_tasks()))
        tally.memory.append(int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 1024)

    async def watcher() -> None:
        await asyncio.sleep(seconds * 0.3)  # until every lock has been used
        while time.monotonic() < end:
            look()
            await asyncio.sleep(seconds * 0.1)

    files_before = len(os.listdir("/proc/self/fd"))
    async with cabled_clusters(nodes, seed, timing=QUICK) as (members, cables):
        async with Reporter(witness) as reporter:
            workers = [worker(members[at % nodes], reporter, f"w{at}") for at in range(tasks)]
            await asyncio.gather(*workers, cutter(cables), watcher())
            for member in members:  # everything is where it was: nobody inside, nobody waiting, all locks free
                for at in range(locks):
                    async with member.mutex(f"lock {at}", timeout=20):
                        pass
                for held in [await member.semaphore("semaphore", K, timeout=20).acquire() for _ in range(K)]:
                    held.release()
                assert all(not door.queue and not door.inside for door in member._host.locks.entrances())
            verdict = await reporter.verdict()
        tally.violations = len(verdict["violations"])
        tally.resent = sum([link.resent for member in members for link in member._host.membership.links])
        assert all(scene["inside"] == 0 for scene in verdict["scenes"].values())
        assert sum([scene["entries"] for scene in verdict["scenes"].values()]) >= tally.entries
    gc.collect()
    await asyncio.sleep(0.1)
    assert len(asyncio.all_tasks()) == 1, "tasks are left"
    assert len(os.listdir("/proc/self/fd")) <= files_before, "files are left open"
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description="A soak of the network runtime.")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--nodes", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--locks", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, witness_process(Path(folder)) as witness:
        run = soak(options.seconds, options.nodes, options.tasks, options.locks, witness, options.seed)
        tally = asyncio.run(run)
    print(tally)
    sys.exit(1 if tally.violations else 0)


if __name__ == "__main__":
    main()
