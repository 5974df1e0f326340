"""Is one exploration faster if two processes share it? CPU seconds of each process, so that other work does not count.

python benchmarks/sharing.py
"""

from __future__ import annotations

from resource import RUSAGE_CHILDREN, getrusage
from time import process_time
from typing import Any

from congenial.checker.bounds import Bounds
from congenial.checker.check_run import CheckRun
from congenial.checker.world import World
from congenial.systems.catalogue import find_algorithm
from congenial.systems.system import System

SYSTEMS: list[tuple[str, int, dict[str, Any]]] = [
    ("ricart-agrawala", 4, {"requests": 1}),
    ("mishra-srimani", 3, {"requests": 1, "crashes": 1, "timers": "quiet"}),
    ("lamport", 3, {"requests": 2}),
]


def main() -> None:
    for name, nodes, bounds in SYSTEMS:
        system = System(find_algorithm(name), nodes)
        rules = Bounds(**bounds).rules(system)
        for jobs in (1, 2):
            run = CheckRun(system, rules, False, False, 5_000_000, None, jobs)
            start, others = process_time(), getrusage(RUSAGE_CHILDREN)
            explorer = run._run(World(system, rules), run.limit, None)
            ended = getrusage(RUSAGE_CHILDREN)
            other = ended.ru_utime + ended.ru_stime - others.ru_utime - others.ru_stime
            print(f"{name:<20} {explorer.count:>9,} states  {process_time() - start:.2f} s  {other:.2f} s")


if __name__ == "__main__":
    main()
