"""How fast is the checker? States per CPU second, what the reduction saves, and memory per state.

    python benchmarks/checker.py

Ricart-Agrawala with 3 processes and 2 requests each, and larger systems, the best of several rounds. Memory is measured
on systems that are larger still, each in a process of its own: what the exploration takes at its peak.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from resource import RUSAGE_SELF, getrusage
from typing import Any

from congenial.checker.check import check

ROUNDS = 5
LARGER: list[tuple[str, dict[str, Any]]] = [
    ("token-gme", {"groups": 2}),
    ("lamport", {}),
    ("ra2", {"wants": "0;1;0"}),
    ("home-gme+views", {"requests": 1, "suspicions": 1}),
]
LARGE: list[tuple[str, dict[str, Any]]] = [  # more states than memory is measured with
    ("ricart-agrawala", {"nodes": 4, "requests": 2}),
    ("token-gme", {"groups": 2}),
    ("lamport", {}),
    ("wme-2", {"requests": 1, "suspicions": 1, "order": "fifo"}),
]


def peak() -> int:
    """The most memory this process has held, in bytes."""
    return getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def measure_memory(number: int, limit: int) -> None:
    name, system = LARGE[number]
    before = peak()
    result = check(name, reduce=False, limit=limit, **system)
    print(json.dumps({"states": result.states, "bytes": peak() - before}))


def memory_of(number: int, limit: int) -> dict[str, int]:
    """Measured in a new process. It begins with the peak of this one (Linux counts it as its own), so this one must not
    have explored anything yet."""
    command = [sys.executable, __file__, "--memory", str(number), "--states", str(limit)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: dict[str, int] = json.loads(done.stdout)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description="States per CPU second of the checker, and memory per state.")
    parser.add_argument("--states", type=int, default=2_000_000, help="of the system whose memory is measured")
    parser.add_argument("--memory", type=int, default=-1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory >= 0:
        measure_memory(options.memory, options.states)
        return
    memory = [memory_of(number, options.states) for number in range(len(LARGE))]
    full = max([check("ricart-agrawala", reduce=False) for _ in range(ROUNDS)], key=lambda run: run.states_per_second)
    reduced = min([check("ricart-agrawala", reduce=True) for _ in range(ROUNDS)], key=lambda run: run.seconds)
    print("ricart-agrawala, 3 processes, 2 requests each")
    print(f"  all states       {full.states:>9,}  {full.states_per_second:>9,.0f} states/s  {full.seconds:.2f} s")
    factor = full.states / reduced.states
    print(f"  reduced          {reduced.states:>9,}  {factor:>9.1f} times fewer  {reduced.seconds:.2f} s")
    for name, system in LARGER:
        found = [check(name, reduce=False, limit=1_000_000, **system) for _ in range(2)]
        best = max(found, key=lambda run: run.states_per_second)
        print(f"{name}\n  all states       {best.states:>9,}  {best.states_per_second:>9,.0f} states/s")
    for (name, _), figures in zip(LARGE, memory, strict=True):
        print(f"{name}, a larger system")
        print(f"  memory           {figures['states']:>9,}  {figures['bytes'] / figures['states']:>9.0f} bytes/state")


if __name__ == "__main__":
    main()
