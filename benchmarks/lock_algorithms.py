"""Algorithms behind the locks, compared over sockets: what `benchmarks/locks.py --algorithm` measures.

Every member is a process of its own, on this machine; all of them meet before anything is measured. Each load has a
lock of its own, which every member that uses it enters once before the measurement begins. The clusters of all
algorithms take turns, so that they meet the same machine.

- `groups-2` and `groups-10`: all members ask for one of so many groups at random
- `readers`: nine times out of ten a member reads (`shared`), otherwise it writes (`exclusive`)
- `again`: one member enters and leaves alone, again and again; it is not the one at which the lock starts

Members hold for five milliseconds. They pause in between, the longer the more members there are, so that together they
ask at most 250 times per second in every cluster: with many members on few cores, the algorithms are compared rather
than the scheduler. An algorithm without groups is asked for exclusive locks.

The waiting is from asking to entering. Messages and bytes are those of the lock, without heartbeats and
acknowledgements. The CPU time is what all members use, less what they use in as many seconds in which nobody asks: 25
processes that only keep in touch are busy, too.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from typing import Any

from congenial.net.config import ClusterConfig, Timing, free_addresses
from congenial.net.locks import Cluster, Lock
from congenial.net.names import first_holder, lock_key
from congenial.problems.epochs import within_epoch
from workers import Worker, answer, at, end, hear, say, start, tell

LOADS = ("groups-2", "groups-10", "readers", "again")
IDLE = "idle"  # nobody asks
HOLD = 0.005  # seconds
PAUSE = 0.004  # seconds for each member of the cluster, on average
LIMIT = 60.0  # seconds; whoever waits longer gives up, and so does the benchmark
ROUNDS = 3  # in which the algorithms take turns
NOTICE = 0.3  # seconds in which every member has heard when to begin
TIMING = Timing(heartbeat=2.0, suspect_after=30.0, gather=120.0)  # nobody is suspected on a busy machine

Row = dict[str, Any]


# -- one member ------------------------------------------------------------------------------------------------


class Member:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.number = cluster.config.members.index(cluster.name)
        self.n = len(cluster.config.nodes)
        self.groups = within_epoch(cluster.config.system().problem).groups
        self.waits: list[float] = []
        self.over = False
        self.rounds = 0

    def takes_part(self, load: str) -> bool:
        if load == "again":
            return self.number == (first_holder(lock_key(load), self.n) + 1) % self.n
        return load != IDLE

    def lock(self, load: str, rng: random.Random) -> Lock:
        """What to ask for next."""
        if load == "again" or not self.groups:
            return self.cluster.exclusive(load, timeout=LIMIT)
        if load == "readers":
            made = self.cluster.shared if rng.random() < 0.9 else self.cluster.exclusive
            return made(load, timeout=LIMIT)
        return self.cluster.group(load, f"group {rng.randrange(int(load.removeprefix('groups-')))}", timeout=LIMIT)

    async def warm_up(self, load: str) -> None:
        if self.takes_part(load):
            async with self.lock(load, random.Random(self.number)):
                pass

    async def measure(self, load: str, begin: float, seconds: float) -> Row:
        await asyncio.sleep(begin - time.monotonic())
        self.waits = []
        self.over = False
        self.rounds += 1
        before = self.counts()
        work = asyncio.create_task(self.work(load))
        await asyncio.sleep(begin + seconds - time.monotonic())
        after = self.counts()
        waits = list(self.waits)
        self.over = True
        await work
        return {"waits": waits, **{name: after[name] - before[name] for name in after}}

    async def work(self, load: str) -> None:
        rng = random.Random(f"{load} {self.number} {self.rounds}")  # the same for every algorithm
        while self.takes_part(load) and not self.over:
            if load != "again":
                await asyncio.sleep(rng.expovariate(1 / (PAUSE * self.n)))
            lock = self.lock(load, rng)
            asked = time.perf_counter()
            async with lock:
                self.waits.append(time.perf_counter() - asked)
                if load != "again":
                    await asyncio.sleep(HOLD)

    def counts(self) -> dict[str, float]:
        links = self.cluster.status(top=0)["links"].values()
        return {
            "messages": sum([link["sent"] for link in links]),
            "bytes": sum([link["bytes_sent"] for link in links]),
            "cpu": time.process_time(),
        }


async def work(job: dict[str, Any]) -> None:
    """One member, until it is told to leave, or nobody is left to tell it anything."""
    loop = asyncio.get_running_loop()
    config = ClusterConfig(job["nodes"], algorithm=job["algorithm"], timing=TIMING)
    async with Cluster(job["name"], config) as cluster:
        await cluster.ready()
        member = Member(cluster)
        say("ready")
        while order := await loop.run_in_executor(None, hear):
            load, begin, seconds = json.loads(order)
            if seconds:
                say(await member.measure(load, begin, seconds))
            else:
                await member.warm_up(load)
                say("ready")


# -- all of them -----------------------------------------------------------------------------------------------


def config_of(algorithm: str, members: int) -> ClusterConfig:
    """`ConfigError` if there is no such cluster."""
    names = [f"m{number:03}" for number in range(members)]
    return ClusterConfig(dict(zip(names, free_addresses(members), strict=True)), algorithm=algorithm, timing=TIMING)


def compare(algorithms: list[str], sizes: list[int], loads: list[str], seconds: float) -> list[Row]:
    """A row for each algorithm, size and load; those to be compared follow each other."""
    rows: list[Row] = []
    for members in sizes:
        clusters: dict[str, list[Worker]] = {algorithm: [] for algorithm in algorithms}
        try:
            for algorithm, workers in clusters.items():
                print(f"{algorithm}: {members} members start", file=sys.stderr)
                gather(workers, algorithm, members)
            idle = in_turns(clusters, IDLE, seconds)
            for load in loads:
                print(f"{members} members: {load}", file=sys.stderr)
                found = in_turns(clusters, load, seconds)
                for algorithm in algorithms:
                    row = summary(found[algorithm], idle[algorithm], seconds)
                    rows.append({"members": members, "load": load, "algorithm": algorithm, **row})
        finally:
            end([worker for workers in clusters.values() for worker in workers])
    return rows


def gather(workers: list[Worker], algorithm: str, members: int) -> None:
    """Start all members, and wait until they have met."""
    nodes = dict(config_of(algorithm, members).nodes)
    for name in nodes:
        workers.append(start({"system": "algorithm", "algorithm": algorithm, "name": name, "nodes": nodes}))
    answers_of(workers)


def in_turns(clusters: dict[str, list[Worker]], load: str, seconds: float) -> dict[str, list[Row]]:
    """What all members have seen of a load, by algorithm."""
    found: dict[str, list[Row]] = {algorithm: [] for algorithm in clusters}
    for workers in clusters.values():
        tell(workers, json.dumps((load, 0.0, 0.0)))
        answers_of(workers)
    for _ in range(ROUNDS):
        for algorithm, workers in clusters.items():
            tell(workers, json.dumps((load, time.monotonic() + NOTICE, seconds / ROUNDS)))
            found[algorithm] += answers_of(workers)
    return found


def answers_of(workers: list[Worker]) -> list[Any]:
    return [answer(worker) for worker in workers]


def summary(found: list[Row], idle: list[Row], seconds: float) -> Row:
    """Times in seconds; messages, bytes and CPU time for each entry."""
    waits = [wait for row in found for wait in row["waits"]]
    entries = max(len(waits), 1)
    cpu_idle = total("cpu", idle)
    return {
        "entries": len(waits),
        "per_second": len(waits) / seconds,
        "mean": sum(waits) / entries,
        "p50": at(0.5, waits),
        "p99": at(0.99, waits),
        "messages": total("messages", found) / entries,
        "bytes": total("bytes", found) / entries,
        "cpu": max(0.0, total("cpu", found) - cpu_idle) / entries,
        "cpu_idle": cpu_idle / seconds,
    }


def total(what: str, rows: list[Row]) -> float:
    return sum([float(row[what]) for row in rows])


def show(rows: list[Row]) -> None:
    widest = max([len(row["algorithm"]) for row in rows])
    print(
        f"{'members':>7} {'load':9} {'algorithm':{widest}} {'entries/s':>10} {'mean ms':>9} {'p50 ms':>9} {'p99 ms':>9}"
        f" {'messages':>9} {'bytes':>9} {'CPU us':>9}"
    )
    for row in rows:
        print(
            f"{row['members']:7} {row['load']:9} {row['algorithm']:{widest}} {row['per_second']:10.0f}"
            f" {row['mean'] * 1e3:9.3f} {row['p50'] * 1e3:9.3f} {row['p99'] * 1e3:9.3f}"
            f" {row['messages']:9.2f} {row['bytes']:9.0f} {row['cpu'] * 1e6:9.0f}"
        )
    print("\nMessages, bytes and CPU time are for each entry, of all members together.")
