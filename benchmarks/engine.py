"""How fast is the engine? Deliveries per CPU second, compared with hand-written loops.

    python benchmarks/engine.py                          all rows, in one table
    python benchmarks/engine.py --only broadcast         the rows whose name contains this

It measures the package that this Python imports: install it compiled first (`make bench` does). Every row runs in a
process of its own. The rows take turns for several rounds, and each shows its best round: on a busy machine the best
round is the least disturbed one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from heapq import heappop, heappush
from math import log
from pathlib import Path
from random import Random
from resource import RUSAGE_SELF, getrusage
from time import process_time

HERE = Path(__file__).resolve().parent
MILLION = 1_000_000
COMPILER = shutil.which("g++") or shutil.which("clang++")

Timing = tuple[int, float]  # deliveries, CPU seconds


# -- the same load, four times ---------------------------------------------------------------------------


def engine_broadcast(n: int, deliveries: int, compiled: bool = True) -> Timing:
    """Think Exp(1), broadcast, delay Exp(1), the receiver counts: by this engine."""
    from congenial.sim.broadcast import Broadcaster
    from congenial.sim.scenario import Scenario

    class Interpreted(Broadcaster):
        def receive(self, src: int, msg: object, out: object) -> None:
            self.heard += 1

    engine = Scenario(
        Broadcaster if compiled else Interpreted, nodes=n, requests=rounds(n, deliveries), think=1, hold=0, delay=1
    ).engine(seed=1)
    start = process_time()
    engine.run()
    return int(engine.meter.deliveries), process_time() - start


def heapq_broadcast(n: int, deliveries: int) -> Timing:
    """By a hand-written loop around a heap."""
    draw = Random(1).random
    left = [rounds(n, deliveries)] * n
    heard = [0] * n
    events: list[tuple[float, int, int, int]] = []
    number = 0
    start = process_time()
    for process in range(n):
        number += 1
        heappush(events, (-log(1.0 - draw()), number, process, -1))
    while events:
        now, _, process, source = heappop(events)
        if source >= 0:
            heard[process] += 1
            continue
        for to in range(n):
            if to != process:
                number += 1
                heappush(events, (now - log(1.0 - draw()), number, to, process))
        left[process] -= 1
        if left[process]:
            number += 1
            heappush(events, (now - log(1.0 - draw()), number, process, -1))
    return sum(heard), process_time() - start


def simpy_broadcast(n: int, deliveries: int) -> Timing:
    """By SimPy: a Store per process, and for each message a process that puts it there after its delay."""
    import simpy

    environment = simpy.Environment()
    stores = [simpy.Store(environment) for _ in range(n)]
    heard = [0] * n
    rng = Random(1)

    def travel(to: int, source: int):  # type: ignore[no-untyped-def]
        yield environment.timeout(rng.expovariate(1.0))
        stores[to].put(source)

    def tell(process: int):  # type: ignore[no-untyped-def]
        for _ in range(rounds(n, deliveries)):
            yield environment.timeout(rng.expovariate(1.0))
            for to in range(n):
                if to != process:
                    environment.process(travel(to, process))

    def listen(process: int):  # type: ignore[no-untyped-def]
        while True:
            yield stores[process].get()
            heard[process] += 1

    start = process_time()
    for process in range(n):
        environment.process(tell(process))
        environment.process(listen(process))
    environment.run()
    return sum(heard), process_time() - start


def cpp_broadcast(n: int, deliveries: int) -> Timing:
    """By a hand-written C++ program."""
    program = Path(os.environ["CONGENIAL_BENCH"]) / "broadcast"
    words = subprocess.run([program, str(n), str(rounds(n, deliveries))], check=True, capture_output=True, text=True)
    count, seconds = words.stdout.split()
    return int(count), float(seconds)


def rounds(n: int, deliveries: int) -> int:
    return max(1, deliveries // (n * (n - 1)))


# -- the algorithms --------------------------------------------------------------------------------------


def algorithm_run(name: str, n: int, deliveries: int) -> Timing:
    """An algorithm of the catalogue under the usual load (50 groups, 20% of them hot), for about so many deliveries."""
    from congenial.problems.group import GROUP
    from congenial.sim.scenario import Scenario
    from congenial.systems.catalogue import ALGORITHMS

    load = {"groups": 50, "skew": "20/80"} if ALGORITHMS[name].spec.problem is GROUP else {}
    trial = Scenario(name, nodes=n, requests=1, **load).engine(seed=1)
    trial.run()
    requests = max(1, round(deliveries / int(trial.meter.deliveries)))
    engine = Scenario(name, nodes=n, requests=requests, **load).engine(seed=1)
    start = process_time()
    engine.run()
    return int(engine.meter.deliveries), process_time() - start


# -- rows ------------------------------------------------------------------------------------------------

Row = Callable[[], Timing]


def broadcast_rows() -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for n in (50, 500):
        rows[f"broadcast, n = {n}: this engine"] = lambda n=n: engine_broadcast(n, 5 * MILLION)
        rows[f"broadcast, n = {n}: this engine, node interpreted"] = lambda n=n: engine_broadcast(n, 2 * MILLION, False)
        rows[f"broadcast, n = {n}: heapq by hand"] = lambda n=n: heapq_broadcast(n, MILLION)
        rows[f"broadcast, n = {n}: SimPy, Store"] = lambda n=n: simpy_broadcast(n, 250_000)
        if COMPILER:
            rows[f"broadcast, n = {n}: C++, priority_queue"] = lambda n=n: cpp_broadcast(n, 5 * MILLION)
    return rows


def algorithm_rows() -> dict[str, Row]:
    from congenial.systems.catalogue import ALGORITHMS

    rows: dict[str, Row] = {
        f"{name}, n = 100": lambda name=name: algorithm_run(name, 100, 3_000_000) for name in ALGORITHMS
    }
    for name in ("token-gme", "ra2"):
        rows[f"{name}, n = 500"] = lambda name=name: algorithm_run(name, 500, 2_000_000)
    rows["raymond-tree, n = 10000"] = lambda: algorithm_run("raymond-tree", 10_000, 1_000_000)
    return rows


def measure(name: str) -> None:
    """One row, in this process; prints JSON."""
    deliveries, seconds = {**broadcast_rows(), **algorithm_rows()}[name]()
    peak = getrusage(RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    print(json.dumps({"deliveries": deliveries, "seconds": seconds, "peak": peak}))


# -- the table -------------------------------------------------------------------------------------------


def build_yardstick(folder: Path) -> None:
    """Compile the C++ program."""
    if COMPILER:
        subprocess.run([COMPILER, "-O3", "-o", folder / "broadcast", HERE / "broadcast.cpp"], check=True)


def run_row(name: str, folder: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--row", name]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "CONGENIAL_BENCH": str(folder)})
    if done.returncode:
        print(f"\r\033[K{name} failed: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return {"deliveries": 0.0, "seconds": 1.0, "peak": 0.0}
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def table(folder: Path, turns: int, only: str) -> None:
    names = [name for name in {**broadcast_rows(), **algorithm_rows()} if only in name]
    if not names:
        sys.exit(f"no row's name contains {only!r}")
    best: dict[str, float] = {}
    peak: dict[str, float] = {}
    for turn in range(turns):
        for name in names:
            print(f"\r\033[Kround {turn + 1} of {turns}: {name}", end="", file=sys.stderr, flush=True)
            figures = run_row(name, folder)
            best[name] = max(best.get(name, 0.0), figures["deliveries"] / figures["seconds"])
            peak[name] = figures["peak"]
    print("\r\033[K", end="", file=sys.stderr, flush=True)
    width = max([len(name) for name in names])
    print(f"{'':<{width}}  M deliveries / CPU s  against C++  peak MB")
    for name in names:
        yardstick = best.get(name.split(":")[0] + ": C++, priority_queue", 0.0)
        ratio = f"{best[name] / yardstick:.2f}" if yardstick else ""
        memory = "" if "C++" in name else f"{peak[name]:.0f}"
        print(f"{name:<{width}}  {best[name] / 1e6:>20.3f}  {ratio:>11}  {memory:>7}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Deliveries per CPU second of the engine, and of hand-written loops.")
    parser.add_argument("--turns", type=int, default=3, help="rounds; each row shows its best")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        measure(options.row)
        return
    from congenial.cli.output import compiled

    if not compiled():
        print("the package is not compiled: this measures plain Python", file=sys.stderr)
    if not COMPILER:
        print("no C++ compiler here: its rows are left out", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        build_yardstick(Path(folder))
        table(Path(folder), options.turns, options.only)


if __name__ == "__main__":
    main()
