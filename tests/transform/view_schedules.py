"""Random schedules of locks, semaphores and replicated objects in views, with everything at the same time: 3 to 7
processes, of which some only visit, and any number of voters; crashes with and without memory and for good; false
suspicions, one-way and mutual, short and as long as a cut; pauses (a schedule by priorities gives a process nothing for
long); members that leave, roles that change, locks that are forgotten, views that are renewed.

    python tests/transform/view_schedules.py --schedules 1000000 --seed 1 --jobs 2
    python tests/transform/view_schedules.py --replay 4711            one seed, with the run if it fails

The checker's judge watches exclusion and fences, and what processes believe (`InViews.contradiction`): one view of each
number, and no member superseded. In the end everybody must have been served. Equal seeds give equal schedules.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from random import Random
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from congenial.checker.bounds import Bounds
from congenial.checker.fuzz import STEPS_PER_REQUEST, _counterexample
from congenial.checker.rules import Rules
from congenial.checker.stepper import Stepper
from congenial.checker.walk import Walk
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.parts.views import MEMBER, Views
from congenial.systems.catalogue import find_algorithm
from congenial.systems.streams import stream
from congenial.systems.system import System
from congenial.transform.replicas import Replicas

BATCH = 100  # schedules between two reports
SHOWN = 10  # schedules that failed
KINDS = ("home-gme+views",) * 5 + ("home-k+views",) * 2 + ("home-gme+replicas",)
SIZES = (3,) * 6 + (4,) * 5 + (5,) * 4 + (6, 7)
KEEPS, FORGETS, STAYS_DOWN = "keeps its memory", "may forget", "stays down"
CRASHED = (KEEPS, KEEPS, FORGETS, STAYS_DOWN)  # a process that crashes


@cache
def restless(name: str) -> type[Node]:
    """Processes that leave, ask for a new view, and give out roles."""
    base: Any = find_algorithm(name)

    class Restless(base):  # type: ignore[misc]
        def release(self, out: Out) -> None:
            super().release(out)
            deed = out.choose(8)
            if deed == 1:
                self.views.assign(out.choose(self.n), MEMBER + out.choose(2), out)
            elif deed == 2 and not self.visits and not isinstance(self, Replicas):  # whose object would be outdated
                self.views.leave(out, out.choose(2) == 1)
            elif deed == 3:
                self.views.renew(out)
            self._follow(out)

    return Restless


@cache
def forgetful(name: str) -> type[Node]:
    """Processes that may have lost their memory in a crash."""
    base: Any = find_algorithm(name)

    class Forgetful(base):  # type: ignore[misc]
        def on_recover(self, out: Out) -> None:
            if out.choose(2):
                views = self.views
                self.views = Views(self.me, views.founders, views.most_voters)
                self.on_amnesia(out)
            else:
                super().on_recover(out)

    return Forgetful


Change = Callable[[type[Node]], type[Node]]


@dataclass(frozen=True)
class Schedule:
    """What a seed stands for."""

    seed: int
    system: System
    rules: Rules
    by_priority: bool

    def run(self) -> Walk:
        most_steps = STEPS_PER_REQUEST * self.system.n * self.rules.requests
        walk = Walk(
            Stepper(self.system, self.rules.fifo), self.rules, stream(self.seed, 0), self.by_priority, most_steps
        )
        walk.run()
        return walk

    def __str__(self) -> str:
        rules, options = self.rules, ", ".join([f"{name} {value}" for name, value in self.system.options.items()])
        kind = "by priorities" if self.by_priority else "any step"
        cuts = "cuts" if rules.lasting else "suspicions"
        return (
            f"{self.system.algorithm.__name__} {self.system.name}, {self.system.n} processes ({options}), "
            f"{rules.requests} requests, {rules.crashes} crashes, {rules.suspicions} {cuts}, {kind}"
        )


@cache
def system_of(algorithm: type[Node], n: int, options: tuple[tuple[str, str], ...]) -> System:
    return System(algorithm, n, dict(options))


def drawn(seed: int, change: Change | None = None) -> Schedule:
    """The schedule of a seed; perhaps of a changed class, for tests that something is found."""
    rng = Random(seed)
    name, n = rng.choice(KINDS), rng.choice(SIZES)
    after_crash = rng.choice(CRASHED)
    visitors = rng.randrange(n - 1)
    founders = n - visitors
    voters = rng.choice((1, 3, 5, 7)) if after_crash == KEEPS else rng.choice((3, 5, 7))
    voting = min(voters, founders) - (min(voters, founders) + 1) % 2
    most_crashes = 2 if after_crash == KEEPS else min((voting - 1) // 2, 2)  # a majority must remember, and be up
    if name.endswith("replicas"):
        most_crashes = min(most_crashes, (voting - 1) // 2)  # an object is in memory, and a view may have few members
    options = [("voters", str(voters)), ("visitors", str(visitors)), ("forget", rng.choice(("yes", "no")))]
    if name.startswith("home-k"):
        options.append(("k", str(1 + rng.randrange(3))))
    algorithm = (
        restless(name) if after_crash == KEEPS else forgetful(name) if after_crash == FORGETS else find_algorithm(name)
    )
    suspicions = rng.randrange(5)
    bounds = Bounds(
        requests=1 + rng.randrange(2),
        groups=1 + rng.randrange(3) if name == "home-gme+views" else None,
        crashes=rng.randrange(most_crashes + 1),
        suspicions=suspicions,
        lasting=suspicions > 0 and rng.randrange(2) == 0,
        recovery=after_crash != STAYS_DOWN,
        operations=1 + rng.randrange(2) if name.endswith("replicas") else 0,
        timers=rng.choice(("patient", "patient", "quiet")),
    )
    system = system_of(algorithm if change is None else change(algorithm), n, tuple(options))
    return Schedule(seed, system, bounds.rules(system), rng.randrange(2) == 0)


# -- many of them --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Batch:
    """What came of some schedules."""

    schedules: int
    steps: int
    entries: int
    cpu: float
    failed: list[tuple[int, str, str]]  # seed, kind of fault, text


def run_batch(seeds: range) -> Batch:
    start = time.process_time()
    steps = entries = 0
    failed: list[tuple[int, str, str]] = []
    for seed in seeds:
        walk = drawn(seed).run()
        steps += len(walk.actions)
        entries += walk.stepper.entries
        if walk.fault:
            failed.append((seed, walk.fault, walk.text))
    return Batch(len(seeds), steps, entries, time.process_time() - start, failed)


def batches(first: int, schedules: int, jobs: int) -> Iterator[Batch]:
    seeds = [range(at, min(at + BATCH, first + schedules)) for at in range(first, first + schedules, BATCH)]
    if jobs == 1:
        yield from map(run_batch, seeds)
    else:
        with get_context("spawn").Pool(jobs) as pool:
            yield from pool.imap_unordered(run_batch, seeds)


def replay(seed: int, console: Console) -> int:
    schedule = drawn(seed)
    console.print(str(schedule), soft_wrap=True)
    walk = schedule.run()
    if not walk.fault:
        console.print(f"nothing wrong: {len(walk.actions)} steps, {walk.stepper.entries} entries")
        return 0
    found = _counterexample(schedule.system, schedule.rules, walk)
    for event in found.events:
        console.print(repr(event), soft_wrap=True, markup=False)
    console.print(f"{found.kind.upper()}: {found.text}", soft_wrap=True, markup=False)
    return 1


def main() -> int:
    parser = argparse.ArgumentParser(description="Random schedules of locks in views, with everything together.")
    parser.add_argument("--schedules", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1, help="of the first; the others have the following ones")
    parser.add_argument("--jobs", type=int, default=1, help="processes at the same time")
    parser.add_argument("--replay", type=int, help="run the schedule of this seed alone, and show it if it fails")
    arguments = parser.parse_args()
    console = Console(stderr=True)
    if arguments.replay is not None:
        return replay(arguments.replay, Console())
    columns = (
        TextColumn("schedules"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failed"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    total: Counter[str] = Counter()
    cpu = 0.0
    failed: list[tuple[int, str, str]] = []
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("", total=arguments.schedules, failed=0)
        for batch in batches(arguments.seed, arguments.schedules, arguments.jobs):
            total.update(schedules=batch.schedules, steps=batch.steps, entries=batch.entries)
            cpu += batch.cpu
            for seed, kind, text in batch.failed[: SHOWN - len(failed)]:
                console.print(f"seed {seed}: {kind}: {text}", soft_wrap=True, markup=False)
            failed += batch.failed
            progress.update(bar, advance=batch.schedules, failed=len(failed))
            if not console.is_terminal and total["schedules"] % (100 * BATCH) == 0:
                console.print(f"{total['schedules']} schedules, {len(failed)} failed, {cpu:.0f} CPU s")
    print(
        f"{total['schedules']} schedules, {total['steps']} steps, {total['entries']} entries, {len(failed)} failed; "
        f"{cpu:.0f} CPU s, {total['schedules'] / max(cpu, 1e-9):.0f} schedules per CPU second"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
