"""What it costs a cluster's nodes that a page of the studio looks at it: a share of a core, for each node.

python benchmarks/watching.py [--nodes 3] [--locks 100000] [--busy 200] [--seconds 120]

Real nodes, one process each, on this machine. Together they hold all locks, each the same share; for `busy` more of
them every node has a task that holds it or waits. Then the studio's own look (`congenial.studio.cluster`) is repeated
as often as an open page repeats it. The time of the processor that each node's process takes is read from the system,
with the page and without it, in turns; the difference is the cost. It is as precise as the system's clock (10 ms) and
the noise of the nodes' own work allow; so what the nodes themselves count is shown as well.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import congenial
from congenial.net.config import Timing, free_addresses
from congenial.net.service import serve
from congenial.studio.cluster import ClusterWatch, Where

CLUSTER = "watched"
AT_ONCE = 100
PATIENT = Timing(suspect_after=30.0, gather=300.0)  # the nodes share a machine


async def node(order: dict[str, Any]) -> None:
    """One node: holds its share of the locks, and keeps some busy. It ends with its input."""
    loop = asyncio.get_running_loop()
    name = order["name"]
    async with congenial.join(name, order["nodes"], cluster=CLUSTER, timing=PATIENT) as cluster:
        await serve(cluster, Path(order["folder"]) / f"congenial-{CLUSTER}-{name}.sock")
        await cluster.ready(300)
        mine = range(order["place"], order["locks"], len(order["nodes"]))
        held = []
        for start in range(0, len(mine), AT_ONCE):
            locks = [cluster.mutex(f"customers/{number:06}/balance") for number in mine[start : start + AT_ONCE]]
            held += await asyncio.gather(*[lock.acquire() for lock in locks])
        tasks = [asyncio.create_task(hold(cluster, number)) for number in range(order["busy"])]
        print("ready", flush=True)
        await loop.run_in_executor(None, sys.stdin.read)
        for task in tasks:
            task.cancel()


async def hold(cluster: congenial.Cluster, number: int) -> None:
    """All nodes want the same locks: one task holds each for a while, and the others wait."""
    while True:
        async with cluster.mutex(f"orders/{number:06}"):
            await asyncio.sleep(5 + number % 20)


def min_max(numbers: list[int]) -> str:
    return f"{min(numbers):,} to {max(numbers):,}"


def used(process: int) -> float:
    """Seconds of the processor that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(given: argparse.Namespace) -> None:
    names = [f"n{number:02}" for number in range(given.nodes)]
    nodes = dict(zip(names, free_addresses(given.nodes), strict=True))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        config = Path(folder) / "cluster.toml"
        places = "".join([f'{name} = "{place}"\n' for name, place in nodes.items()])
        config.write_text(f'cluster = "{CLUSTER}"\n[nodes]\n{places}')
        processes = []
        for name in names:
            order = {"name": name, "nodes": nodes, "folder": folder, "locks": given.locks, "busy": given.busy}
            order["place"] = names.index(name)
            line = [sys.executable, __file__, "--node", json.dumps(order)]
            pipe = asyncio.subprocess.PIPE
            processes.append(await asyncio.create_subprocess_exec(*line, stdin=pipe, stdout=pipe))
        try:
            for process in processes:
                assert process.stdout is not None
                assert await process.stdout.readline() == b"ready\n"
            await asyncio.sleep(10)
            numbers = [process.pid for process in processes]
            watch = ClusterWatch(Where(str(config)), slow=900)
            first = await watch.look({})  # it connects
            print(f"nodes know {min_max([node['known'] for node in first['nodes']])} locks each", flush=True)
            without: list[list[float]] = []
            looked: list[list[float]] = []
            for _ in range(3):
                without.append(await costs(numbers, None, given.seconds / 6))
                looked.append(await costs(numbers, watch, given.seconds / 6))
            tell(names, given, watch, without, looked)
            await watch.close()
        finally:
            for process in processes:
                process.kill()
                await process.wait()


async def costs(processes: list[int], watch: ClusterWatch | None, seconds: float) -> list[float]:
    """The share of a core that each process takes, while a page looks, or while none does."""
    began, before = time.monotonic(), [used(process) for process in processes]
    times = []
    while time.monotonic() - began < seconds:
        if watch is None:
            await asyncio.sleep(1)
        else:
            asked = time.perf_counter()
            told = await watch.look({"lock": "orders/000001"})
            times.append(time.perf_counter() - asked)
            assert "lost" not in told, told
            await asyncio.sleep(told["period"])
    if watch is not None:
        median = 1000 * statistics.median(times)
        print(f"{len(times)} looks, one every {watch.period:.1f} s; an answer takes {median:.0f} ms (median)")
    passed = time.monotonic() - began
    return [(used(process) - first) / passed for process, first in zip(processes, before, strict=True)]


def tell(
    names: list[str],
    given: argparse.Namespace,
    watch: ClusterWatch,
    without: list[list[float]],
    looked: list[list[float]],
) -> None:
    print(f"{given.nodes} nodes, {given.locks:,} locks held, {given.busy} more held and waited for at every node")
    print("share of a core       without a page    with a page    the page    the last look, as the node counts")
    counted = {name: watch.history.of_node(name) for name in names}
    for place, name in enumerate(names):
        before = statistics.mean([run[place] for run in without])
        after = statistics.mean([run[place] for run in looked])
        role = " (asked)" if place == 0 else ""
        told = counted.get(name)
        cost = "-" if told is None else f"{told['cost']:.2%}"
        print(f"{name + role:<20}{before:>14.2%}{after:>15.2%}{after - before:>12.2%}{cost:>17}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--locks", type=int, default=100_000)
    parser.add_argument("--busy", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--node", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    asyncio.run(node(json.loads(chosen.node)) if chosen.node else measure(chosen))
