"""A member in a process of its own, for tests that kill: issues operations until told to stop, and writes down what
became of each, and in the end what its replica has."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from congenial.net.config import ClusterConfig, Timing
from congenial.net.errors import LockLost
from congenial.net.locks import Cluster

QUIET = 1.0  # seconds without an operation after which all has arrived


class Journal:
    def __init__(self) -> None:
        self.lines: list[object] = []

    def apply(self, operation: object) -> int:
        self.lines.append(operation)
        return len(self.lines)


async def work(name: str, folder: Path) -> None:
    nodes = json.loads((folder / "nodes.json").read_text())
    config = ClusterConfig(nodes, timing=Timing(heartbeat=0.1, suspect_after=0.8, reconnect=0.01, reconnect_most=0.1))
    async with Cluster(name, config) as cluster:
        journal = cluster.guarded("journal", Journal())
        await cluster.ready(30)
        with (folder / f"{name}.log").open("w", buffering=1) as report:
            number = 0
            while not (folder / "stop").exists():
                try:
                    async with journal as section:
                        for _ in range(5):
                            number += 1
                            place = await section.issue((name, number))
                            report.write(f"answered {number} {place}\n")
                            await asyncio.sleep(0.002)
                except LockLost:
                    report.write(f"lost {number} 0\n")
        seen = -1
        while seen != len(journal.replica.lines):
            seen = len(journal.replica.lines)
            await asyncio.sleep(QUIET)
        (folder / f"{name}.part").write_text(json.dumps(journal.replica.lines))
        (folder / f"{name}.part").rename(folder / f"{name}.json")
        while not (folder / "end").exists():
            await asyncio.sleep(0.05)


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], Path(sys.argv[2])))
