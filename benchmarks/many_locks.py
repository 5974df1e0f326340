"""What very many locks cost a cluster of three processes on this machine.

    python benchmarks/many_locks.py [--locks 10000,100000] [--held 100] [--suspect-after 1] [--json]

One process, `a`, uses every lock once, with 20 tasks. It and the homes keep some of them for the next use.
Measured are

- `bytes`: memory that a process has more than before, for each lock that was used
- `idle`: the share of a core that a process needs while nobody uses a lock, and once the locks are forgotten
- `again`: after `kill -9` of another process, which holds some locks and is the home of a third of all: the seconds
  until 1,000 locks, those among them, have been acquired by `b`; and until `a` has acquired all
- `blocked`: the longest time that an event loop did not look at the network meanwhile, in milliseconds of the
  processor's time, so that other programs on this machine do not count; and how long Python's garbage collector took
  at most, which is a part of it
- `state`: bytes in the state directory of a process

A crash is noticed after `suspect_after`. On a machine that is busy with other things a second may be too short: `lost`
says how often `a` was suspected and lost a lock.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from workers import Worker, answer, end, free_port, hear, say, start, tell

NAMES = ("a", "b", "c")
TASKS = 20  # that use locks at the same time
HEARTBEAT = 0.2
SAMPLE = 1000
IDLE = 4.0  # seconds for which nothing is done
LOOK = 0.002  # seconds between two looks at the clock
FORGET = 100.0  # seconds in which locks are forgotten, at most


# -- one process -------------------------------------------------------------------------------------------------


class Process:
    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster
        self.held: list[Any] = []
        self.lost = 0
        self.looks: asyncio.Task[None] | None = None
        self.blocked = 0.0
        self.collected = 0.0
        self.collecting = 0.0
        gc.callbacks.append(self._on_collection)

    async def do(self, order: str) -> Any:
        word, *numbers = order.split()
        action = getattr(self, f"do_{word}")
        return await action(*[int(number) for number in numbers])

    async def do_use(self, first: int, last: int, every: int = 1) -> float:
        """Acquire and release these locks; how many seconds it took."""
        began = time.perf_counter()
        names = iter(range(first, last, every))

        async def visit() -> None:
            for name in names:
                await self._visit(name)

        await asyncio.gather(*[visit() for _ in range(TASKS)])
        return time.perf_counter() - began

    async def _visit(self, name: int) -> None:
        from congenial.net.errors import LockLost

        try:
            async with self.cluster.mutex(f"lock {name}"):
                pass
        except LockLost:
            self.lost += 1

    async def do_lost(self) -> int:
        return self.lost

    async def do_hold(self, every: int, count: int) -> bool:
        for name in range(count):
            self.held.append(await self.cluster.mutex(f"lock {every * name}").acquire())
        return True

    async def do_idle(self) -> float:
        before = time.process_time()
        await asyncio.sleep(IDLE)
        return (time.process_time() - before) / IDLE

    async def do_memory(self) -> list[int]:
        """Bytes in use, and known locks."""
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return [4096 * pages, await self.do_known()]

    async def do_known(self) -> int:
        return len(self.cluster._host.locks.doors)

    async def do_watch(self) -> bool:
        self.blocked = self.collected = 0.0
        self.looks = asyncio.create_task(self._look())
        return True

    async def do_blocked(self) -> list[float]:
        assert self.looks is not None
        self.looks.cancel()
        return [round(1000 * self.blocked, 1), round(1000 * self.collected, 1)]

    def _on_collection(self, phase: str, about: dict[str, int]) -> None:
        if phase == "start":
            self.collecting = time.thread_time()
        else:
            self.collected = max(self.collected, time.thread_time() - self.collecting)

    async def _look(self) -> None:
        looked = time.thread_time()
        while True:
            await asyncio.sleep(LOOK)
            now = time.thread_time()
            self.blocked = max(self.blocked, now - looked)
            looked = now


async def work(job: dict[str, Any]) -> None:
    from congenial.net.config import ClusterConfig, Timing
    from congenial.net.locks import Cluster

    loop = asyncio.get_running_loop()
    timing = Timing(heartbeat=HEARTBEAT, suspect_after=job["suspect_after"])
    config = ClusterConfig(job["nodes"], timing=timing, state=job["state"])
    async with Cluster(job["name"], config) as cluster:
        await cluster.ready()
        gc.freeze()  # as `congenial node` does
        process = Process(cluster)
        say("ready")
        while order := await loop.run_in_executor(None, hear):
            say(await process.do(order))


# -- measuring ---------------------------------------------------------------------------------------------------


def ask(workers: list[Worker], order: str) -> list[Any]:
    tell(workers, order)
    return [answer(worker) for worker in workers]


def measure(locks: int, held: int, suspect_after: float, folder: str) -> dict[str, Any]:
    nodes = {name: f"127.0.0.1:{free_port()}" for name in NAMES}
    workers: list[Worker] = []
    try:
        for name in NAMES:
            state = str(Path(folder) / name)
            job = {"name": name, "nodes": nodes, "state": state, "suspect_after": suspect_after}
            workers.append(start(job, Path(__file__)))
        for worker in workers:
            assert answer(worker) == "ready"
        return observe(workers, locks, held, folder)
    finally:
        end(workers)


def observe(workers: list[Worker], locks: int, held: int, folder: str) -> dict[str, Any]:
    a, b, c = workers
    ask([a, b], f"use {locks} {locks + 1000}")  # so that what is made once does not count
    before = ask(workers, "memory")
    ask(workers, "watch")
    seconds = ask([a], f"use 0 {locks}")[0]
    row: dict[str, Any] = {"locks": locks, "used_per_second": round(locks / seconds)}
    row["blocked_using"] = ask(workers, "blocked")
    after = ask(workers, "memory")
    row["known"] = [known for _, known in after]
    row["bytes"] = [round((now - then) / locks) for (now, _), (then, _) in zip(after, before, strict=True)]
    row["idle"] = ask(workers, "idle")
    every = max(locks // SAMPLE, 1)
    ask([c], f"hold {every} {held}")
    ask([a, b], "watch")
    killed = time.perf_counter()
    c.kill()
    tell([a], f"use 0 {locks}")
    tell([b], f"use 0 {locks} {every}")
    answer(b)
    row["again_sample"] = time.perf_counter() - killed
    answer(a)
    row["again_all"] = time.perf_counter() - killed
    row["blocked"] = ask([a, b], "blocked")
    row["lost"] = ask([a], "lost")[0]
    row["state"] = [bytes_in(Path(folder) / name) for name in NAMES]
    forgotten = time.perf_counter() + FORGET
    while max(ask([a, b], "known")) and time.perf_counter() < forgotten:
        time.sleep(1)
    row["idle_forgotten"] = ask([a, b], "idle")
    row["bytes_forgotten"] = [now - then for (now, _), (then, _) in zip(ask([a, b], "memory"), before, strict=False)]
    return row


def bytes_in(folder: Path) -> int:
    return sum([path.stat().st_size for path in folder.rglob("*") if path.is_file()])


def show(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        print(f"{row['locks']} locks, used at {row['used_per_second']} per second")
        print(f"  known by {', '.join(NAMES)}       {row['known']}")
        print(f"  bytes for each           {row['bytes']}")
        print(f"  idle, % of a core        {[round(100 * share, 2) for share in row['idle']]}")
        print(f"  blocked in use, ms       {row['blocked_using']}")
        print(f"  again after kill -9, s   {row['again_sample']:.1f} for {SAMPLE}, {row['again_all']:.1f} for all")
        print(f"  blocked meanwhile, ms    {row['blocked']}")
        print(f"  lost                     {row['lost']}")
        print(f"  state, bytes             {row['state']}")
        print(f"  forgotten: idle, %       {[round(100 * share, 2) for share in row['idle_forgotten']]}")
        print(f"  forgotten: bytes more    {row['bytes_forgotten']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--locks", default="10000,100000", help="how many locks, with commas between (%(default)s)")
    parser.add_argument("--held", type=int, default=100, help="how many the killed process holds (%(default)s)")
    parser.add_argument("--suspect-after", type=float, default=1.0, help="seconds (%(default)s)")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        from congenial.net.loop_thread import new_event_loop

        new_event_loop().run_until_complete(work(json.loads(options.work)))
        return
    rows = []
    for text in options.locks.split(","):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure(int(text), options.held, options.suspect_after, folder))
    if options.json:
        print(json.dumps(rows))
    else:
        show(rows)


if __name__ == "__main__":
    main()
