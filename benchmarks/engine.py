"""How fast is the engine? Deliveries per CPU second, compared with hand-written loops; and does it scale?

    python benchmarks/engine.py                          all rows, in one table
    python benchmarks/engine.py --only broadcast         the rows whose name contains this
    python benchmarks/engine.py --docs docs/engine.md    the same as a page

It measures the package that this Python imports: install it compiled first (`make bench` does). Every row runs in a
process of its own, and an algorithm's row for `BUDGET` seconds of CPU time, or a little longer. The rows take turns for
several rounds, and each shows its best round: on a busy machine the best round is the least disturbed one.

Algorithms run under the usual load: every process asks again and again, and group locks have 50 groups, 20% of which
draw 80% of the requests. In the rows that show how algorithms scale, processes ask more rarely the more there are, so
that one asks every 1000 units of time.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from heapq import heappop, heappush
from math import log
from pathlib import Path
from random import Random
from resource import RUSAGE_SELF, getrusage
from time import process_time

HERE = Path(__file__).resolve().parent
MILLION = 1_000_000
BUDGET = 2.0  # seconds of CPU time
COMPILER = shutil.which("g++") or shutil.which("clang++")

Timing = dict[str, float]  # deliveries, seconds (of CPU time), and whatever else a row shows


# -- the same load, four times ---------------------------------------------------------------------------


def timing(deliveries: int, start: float) -> Timing:
    return {"deliveries": deliveries, "seconds": process_time() - start}


def engine_broadcast(n: int, deliveries: int, compiled: bool = True, delay: str = "1", fifo: bool = False) -> Timing:
    """Think Exp(1), broadcast, delay Exp(1), the receiver counts: by this engine."""
    from congenial.sim.broadcast import Broadcaster
    from congenial.sim.scenario import Scenario

    class Interpreted(Broadcaster):
        def receive(self, src: int, msg: object, out: object) -> None:
            self.heard += 1

    node = Broadcaster if compiled else Interpreted
    requests = rounds(n, deliveries)
    engine = Scenario(node, nodes=n, requests=requests, think=1, hold=0, delay=delay, fifo=fifo).engine(seed=1)
    start = process_time()
    engine.run()
    return timing(int(engine.meter.deliveries), start)


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
    return timing(sum(heard), start)


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
    return timing(sum(heard), start)


def cpp_broadcast(n: int, deliveries: int) -> Timing:
    """By a hand-written C++ program."""
    program = Path(os.environ["CONGENIAL_BENCH"]) / "broadcast"
    words = subprocess.run([program, str(n), str(rounds(n, deliveries))], check=True, capture_output=True, text=True)
    count, seconds = words.stdout.split()
    return {"deliveries": int(count), "seconds": float(seconds)}


def rounds(n: int, deliveries: int) -> int:
    return max(1, deliveries // (n * (n - 1)))


# -- the algorithms --------------------------------------------------------------------------------------


class Enough(BaseException):
    """The row's time is up."""


def algorithm_run(name: str, n: int, load: dict[str, float]) -> Timing:
    """An algorithm of the catalogue, for a while."""
    from congenial.problems.group import GROUP
    from congenial.sim.scenario import Scenario
    from congenial.systems.catalogue import ALGORITHMS

    start = process_time()

    def check(entries: int) -> None:
        if process_time() - start > BUDGET:
            raise Enough

    groups = {"groups": 50, "skew": "20/80"} if ALGORITHMS[name].spec.problem is GROUP else {}
    before = peak()
    engine = Scenario(name, nodes=n, requests=MILLION, **groups, **load).engine(1, progress=check)
    made = timing(0, start)["seconds"]
    memory = peak() - before
    start = process_time()
    with suppress(Enough):
        engine.run()
    meter = engine.meter
    kinds = list(meter.kinds.values())
    sent = sum([int(kind.count) for kind in kinds])
    return {
        **timing(int(meter.deliveries), start),
        "size": sum([int(kind.integers) for kind in kinds]) / sent,
        "messages": sent / int(meter.entries),
        "entries": int(meter.entries),
        "set-up": made / n * 1e6,
        "memory": memory / n * 1024,
    }


def peak() -> float:
    """The most memory that this process has used so far, in MB."""
    return getrusage(RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


# -- rows ------------------------------------------------------------------------------------------------

Row = Callable[[], Timing]


def broadcast_rows() -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for n in (50, 100, 500):
        name = f"broadcast, n = {n}"
        rows[f"{name}: this engine"] = lambda n=n: engine_broadcast(n, 5 * MILLION)
        rows[f"{name}: this engine, FIFO"] = lambda n=n: engine_broadcast(n, 2 * MILLION, fifo=True)
        rows[f"{name}: this engine, uniform delays"] = lambda n=n: engine_broadcast(n, 2 * MILLION, delay="uniform:0,2")
        rows[f"{name}: this engine, constant delays"] = lambda n=n: engine_broadcast(n, 2 * MILLION, delay="constant:1")
        rows[f"{name}: this engine, node interpreted"] = lambda n=n: engine_broadcast(n, 2 * MILLION, compiled=False)
        rows[f"{name}: heapq by hand"] = lambda n=n: heapq_broadcast(n, MILLION)
        rows[f"{name}: SimPy, Store"] = lambda n=n: simpy_broadcast(n, 250_000)
        if COMPILER:
            rows[f"{name}: C++, priority_queue"] = lambda n=n: cpp_broadcast(n, 5 * MILLION)
    return rows


def algorithm_rows() -> dict[str, Row]:
    from congenial.systems.catalogue import ALGORITHMS

    rows: dict[str, Row] = {f"{name}, n = 100": lambda name=name: algorithm_run(name, 100, {}) for name in ALGORITHMS}
    for name in ("token-gme", "ra2"):
        rows[f"{name}, n = 500"] = lambda name=name: algorithm_run(name, 500, {})
    return rows


def scaling_rows() -> dict[str, Row]:
    """Algorithms whose cost does not grow with n, or with its logarithm only.."""
    return {
        f"scaling: {name}, n = {n}": lambda name=name, n=n: algorithm_run(name, n, {"think": 1000.0 * n})
        for name in ("naimi-trehel", "neilsen-mizuno", "raymond-tree", "home-gme")
        for n in (100, 1000, 10_000, 100_000)
    }


def measure(name: str) -> None:
    """One row, in this process; prints JSON."""
    figures = {**broadcast_rows(), **algorithm_rows(), **scaling_rows()}[name]()
    print(json.dumps({**figures, "peak": peak()}))


# -- the tables ------------------------------------------------------------------------------------------


def build_yardstick(folder: Path) -> None:
    """Compile the C++ program."""
    if COMPILER:
        subprocess.run([COMPILER, "-O3", "-o", folder / "broadcast", HERE / "broadcast.cpp"], check=True)


def run_row(name: str, folder: Path) -> Timing | None:
    command = [sys.executable, __file__, "--row", name]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "CONGENIAL_BENCH": str(folder)})
    if done.returncode:
        print(f"\r\033[K{name} failed: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    figures: Timing = json.loads(done.stdout)
    return figures


def run_rows(names: list[str], folder: Path, turns: int) -> dict[str, Timing]:
    """The best round of each row."""
    best: dict[str, Timing] = {}
    for turn in range(turns):
        for name in names:
            print(f"\r\033[Kround {turn + 1} of {turns}: {name}", end="", file=sys.stderr, flush=True)
            figures = run_row(name, folder)
            if figures and (name not in best or rate(figures) > rate(best[name])):
                best[name] = figures
    print("\r\033[K", end="", file=sys.stderr, flush=True)
    return best


def rate(figures: Timing) -> float:
    """M deliveries per CPU second."""
    return figures["deliveries"] / figures["seconds"] / MILLION


def tables(best: dict[str, Timing]) -> str:
    speed = [SPEED_HEAD]
    scaling = [SCALING_HEAD]
    for name, figures in best.items():
        if name.startswith("scaling: "):
            cost = figures["seconds"] / figures["entries"] * 1e6
            each = figures["seconds"] / figures["deliveries"] * 1e6
            row = [cost, figures["messages"], each, figures["set-up"], figures["memory"], figures["peak"]]
            scaling.append(f"| {name.partition(': ')[2]} | {' | '.join([f'{value:.2f}' for value in row])} |")
        else:
            size = re.search(r"n = (\d+)", name)
            yardstick = best.get(f"broadcast, {size[0]}: C++, priority_queue") if size else None
            ratio = f"{rate(figures) / rate(yardstick):.2f}" if yardstick else ""
            extent = f"{figures['size']:.1f}" if "size" in figures else ""
            memory = "" if "C++" in name else f"{figures['peak']:.0f}"
            speed.append(f"| {name} | {rate(figures):.2f} | {ratio} | {extent} | {memory} |")
    return "\n\n".join(["\n".join(table) for table in (speed, scaling) if len(table) > 1])


SPEED_HEAD = """\
| what | M deliveries per CPU second | against C++ | integers per message | peak MB |
| --- | --: | --: | --: | --: |"""
SCALING_HEAD = """\
| algorithm | µs per entry | messages per entry | µs per delivery | set-up, µs per process | KB per process | peak MB |
| --- | --: | --: | --: | --: | --: | --: |"""
PAGE = """\
# The speed of the engine

`python benchmarks/engine.py --turns {turns} --docs docs/engine.md` has written this page. The script says what is
measured.
The C++ program is a hand-written loop around a `priority_queue` for the broadcasts with the same number of processes;
its receivers only count. An integer in a message costs time wherever it is made, copied and compared.

Congenial {version}, {cores} cores, Python {python}.

{tables}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Deliveries per CPU second of the engine, and of hand-written loops.")
    parser.add_argument("--turns", type=int, default=3, help="rounds; each row shows its best")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--docs", type=Path, help="write a page to this file")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        measure(options.row)
        return
    import congenial
    from congenial.cli.output import compiled

    if not compiled():
        print("the package is not compiled: this measures plain Python", file=sys.stderr)
    if not COMPILER:
        print("no C++ compiler here: its rows are left out", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        build_yardstick(Path(folder))
        names = [name for name in {**broadcast_rows(), **algorithm_rows(), **scaling_rows()} if options.only in name]
        if not names:
            sys.exit(f"no row's name contains {options.only!r}")
        shown = tables(run_rows(names, Path(folder), options.turns))
    if options.docs:
        python = ".".join(map(str, sys.version_info[:3]))
        page = PAGE.format(
            version=congenial.__version__, cores=os.cpu_count(), python=python, turns=options.turns, tables=shown
        )
        options.docs.write_text(page, encoding="utf-8")
    else:
        print(shown)


if __name__ == "__main__":
    main()
