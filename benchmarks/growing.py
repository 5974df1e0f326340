"""A cluster that grows from 3 members to 50 and shrinks again, while programs on all members use its locks.

    python benchmarks/growing.py [--members 50] [--json]

All members are processes on this machine. Each has a few tasks that acquire one of 50 locks, hold it for a moment, and
pause. There are four phases: newcomers enter by seeds, all stay for a while, the newcomers leave, and each of the three
founders is replaced by another process, which gets its vote. All processes read the same clock. So it is known of all
entries whether two overlap, and whether fences grow. For each phase the table shows

- `change`: how long it takes from the call of `join` until the new member has locks (`ready`), or until one has left
- `wait`: how long tasks wait for a lock, the locks being contended
- `lost`: how often a task lost a lock that it held, or could not acquire one
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from pathlib import Path
from typing import Any, NamedTuple

from workers import Worker, answer, at, end, free_port, hear, say, start, tell

FOUNDERS = ("a", "b", "c")
LOCKS = 50
TASKS = 2  # of each member
HOLD = 0.002  # seconds
PAUSE = 0.2  # seconds on average between two entries of a task
STAY = 5.0  # seconds for which nothing changes
AT_A_TIME = 4  # processes that are started, or leave, together

Entry = tuple[float, float, float, str, int]  # asked, entered, left, lock, fence


# -- a member ----------------------------------------------------------------------------------------------------


class Program:
    def __init__(self, cluster: Any, seed: int) -> None:
        self.cluster = cluster
        self.rng = random.Random(seed)
        self.entries: list[Entry] = []
        self.troubles: list[tuple[float, str]] = []
        self.busy = True

    async def visit(self) -> None:
        from congenial.kernel.errors import CongenialError

        while self.busy:
            await asyncio.sleep(self.rng.uniform(0, 2 * PAUSE))
            name = f"lock {self.rng.randrange(LOCKS)}"
            asked = time.perf_counter()
            try:
                async with self.cluster.mutex(name, timeout=30) as held:
                    entered = time.perf_counter()
                    await asyncio.sleep(HOLD)
                    left = time.perf_counter()
                self.entries.append((asked, entered, left, name, held.fence))
            except CongenialError as error:
                self.troubles.append((time.perf_counter(), f"{self.cluster.name}, {name}: {error!r}"))


async def work(job: dict[str, Any]) -> None:
    """`done` or `leave` ends the work; then the member closes, or leaves permanently."""
    import congenial

    place: dict[str, Any] = {"seeds": job["seeds"]} if job["seeds"] else {"peers": job["nodes"]}
    loop = asyncio.get_running_loop()
    began = time.perf_counter()
    cluster = congenial.join(job["name"], **place)
    await cluster.start()
    await cluster.ready()
    program = Program(cluster, job["number"])
    visits = [asyncio.create_task(program.visit()) for _ in range(TASKS)]
    say([began, time.perf_counter()])
    while (order := await loop.run_in_executor(None, hear)) == "voters":
        say([member.name for member in cluster.members() if member.voter and member.present])
    program.busy = False
    await asyncio.gather(*visits)
    leaving = time.perf_counter()
    await (cluster.leave() if order == "leave" else cluster.close())
    say([[leaving, time.perf_counter()], program.entries, program.troubles])


# -- the run -----------------------------------------------------------------------------------------------------


class Phase(NamedTuple):
    name: str
    began: float
    ended: float
    changes: list[float]  # seconds


class Run:
    def __init__(self, members: int) -> None:
        self.members = members
        self.nodes = {name: f"127.0.0.1:{free_port()}" for name in FOUNDERS}
        self.present: dict[str, Worker] = {}
        self.started = 0
        self.entries: list[Entry] = []
        self.troubles: list[tuple[float, str]] = []
        self.phases: list[Phase] = []

    def begin(self, name: str, seeds: list[str]) -> None:
        self.started += 1
        job = {"name": name, "nodes": self.nodes, "seeds": seeds, "number": self.started}
        self.present[name] = start(job, Path(__file__))

    def enter(self, names: list[str]) -> list[float]:
        """New members; how long it took each to have locks."""
        for name in names:
            self.begin(name, list(self.nodes.values()))
        return [ready - began for began, ready in [answer(self.present[name]) for name in names]]

    def leave(self, names: list[str], order: str = "leave") -> list[float]:
        leaving = [self.present.pop(name) for name in names]
        tell(leaving, order)
        times = []
        for worker in leaving:
            (began, ended), entries, troubles = answer(worker)
            times.append(ended - began)
            self.entries += [tuple(entry) for entry in entries]
            self.troubles += [tuple(trouble) for trouble in troubles]
        end(leaving)
        return times

    def phase(self, name: str, began: float, changes: list[float]) -> None:
        self.phases.append(Phase(name, began, time.perf_counter(), changes))

    def go(self) -> list[str]:
        """Returns the voters at the end."""
        for name in FOUNDERS:
            self.begin(name, [])
        for name in FOUNDERS:
            answer(self.present[name])
        guests = [f"guest-{number}" for number in range(len(FOUNDERS), self.members)]
        some = [guests[first : first + AT_A_TIME] for first in range(0, len(guests), AT_A_TIME)]
        began = time.perf_counter()
        self.phase("grow", began, [taken for names in some for taken in self.enter(names)])
        began = time.perf_counter()
        time.sleep(STAY)
        self.phase("stay", began, [])
        began = time.perf_counter()
        self.phase("shrink", began, [taken for names in some for taken in self.leave(names)])
        began = time.perf_counter()
        changes: list[float] = []
        for name in FOUNDERS:
            changes += self.enter([f"new-{name}"])
            changes += self.leave([name])
        self.phase("replace", began, changes)
        tell([self.present["new-c"]], "voters")
        voters: list[str] = answer(self.present["new-c"])
        self.leave(list(self.present), "done")
        return voters


def wrongs(entries: list[Entry]) -> list[str]:
    """Entries of one lock that overlap, and fences that do not grow."""
    found = []
    last: dict[str, Entry] = {}
    for entry in sorted(entries, key=lambda entry: entry[1]):
        before = last.get(entry[3])
        if before is not None and before[2] > entry[1]:
            found.append(f"{entry[3]}: fences {before[4]} and {entry[4]} overlap by {before[2] - entry[1]:.6f} s")
        if before is not None and before[4] >= entry[4]:
            found.append(f"{entry[3]}: fence {entry[4]} after {before[4]}")
        last[entry[3]] = entry
    return found


def rows(run: Run) -> list[dict[str, Any]]:
    made = []
    for phase in run.phases:
        mine = [entry for entry in run.entries if phase.began <= entry[0] < phase.ended]
        waits = [entered - asked for asked, entered, *_ in mine]
        made.append(
            {
                "phase": phase.name,
                "seconds": phase.ended - phase.began,
                "changes": len(phase.changes),
                "change_p50": at(0.5, phase.changes),
                "change_max": max(phase.changes, default=float("nan")),
                "entries": len(mine),
                "wait_p50": at(0.5, waits),
                "wait_p99": at(0.99, waits),
                "wait_max": max(waits, default=float("nan")),
                "lost": len([when for when, _ in run.troubles if phase.began <= when < phase.ended]),
            }
        )
    return made


def show(found: list[dict[str, Any]], voters: list[str]) -> None:
    print("phase     seconds  changes  change p50, max s  entries  wait p50, p99, max ms       lost")
    for row in found:
        changed = f"{row['change_p50']:8.2f} {row['change_max']:8.2f}" if row["changes"] else " " * 17
        waited = " ".join([f"{1000 * row[key]:8.1f}" for key in ("wait_p50", "wait_p99", "wait_max")])
        print(
            f"{row['phase']:9} {row['seconds']:7.1f}  {row['changes']:7}  {changed}  {row['entries']:7}  "
            f"{waited}  {row['lost']:3}"
        )
    print(f"voters at the end: {', '.join(voters)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--members", type=int, default=50, help="when all are there (%(default)s)")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        from congenial.net.loop_thread import new_event_loop

        new_event_loop().run_until_complete(work(json.loads(options.work)))
        return
    run = Run(options.members)
    try:
        voters = run.go()
    finally:
        end(list(run.present.values()))
    wrong = wrongs(run.entries)
    found = rows(run)
    if options.json:
        troubles = [what for _, what in run.troubles]
        print(json.dumps({"phases": found, "voters": voters, "wrong": wrong, "troubles": troubles}))
    else:
        show(found, voters)
        for line in [*wrong, *[what for _, what in run.troubles]]:
            print(line)
    if wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
