"""`fuzz`: many random runs of a system too large to be explored, with faults; a run that fails is made short."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from time import time

from congenial.checker.check import Counterexample, at_least, make_bounds
from congenial.checker.replay import play, shorten
from congenial.checker.stepper import Stepper
from congenial.checker.walk import Walk
from congenial.checker.world import Bounds
from congenial.kernel.node import Node
from congenial.systems.catalogue import find_algorithm
from congenial.systems.streams import stream
from congenial.systems.system import System

STEPS_PER_REQUEST = 2000  # times n: a random run that takes longer is going nowhere
BATCH = 32  # runs between two reports
SHORTENED = 3000  # runs longer than that are shown as they are


@dataclass(frozen=True)
class FuzzResult:
    algorithm: str
    nodes: int
    requests: int
    runs: int
    steps: int
    entries: int
    seed: int
    """Of the run that failed, or of the first."""
    seconds: float
    steps_per_second: float
    counterexample: Counterexample | None
    fifo: bool = False

    @property
    def ok(self) -> bool:
        return self.counterexample is None

    def as_dict(self) -> dict[str, object]:
        data = asdict(self)
        if self.counterexample is not None:
            data["counterexample"] = self.counterexample.as_dict()
        return data

    def verdict(self) -> str:
        if self.counterexample is not None:
            return f"{self.counterexample.kind.upper()} (seed {self.seed}): {self.counterexample.text}"
        return f"nothing wrong in {self.runs} random runs with {self.entries} entries ({self.steps} steps)"


def fuzz(
    algorithm: str | type[Node],
    *,
    nodes: int = 8,
    requests: int = 3,
    groups: int = 1,
    wants: str = "",
    runs: int = 1000,
    seed: int = 1,
    order: str = "",
    crashes: int = 0,
    losses: int = 0,
    duplicates: int = 0,
    suspicions: int = 0,
    timers: str = "",
    recovery: bool = True,
    operations: int = 0,
    jobs: int = 1,
    options: Mapping[str, str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> FuzzResult:
    """Run `runs` random schedules, with seeds seed, seed+1, ...; every other one by priorities. The first seed that
    fails ends it; `jobs` processes come to the same result as one.

    >>> fuzz("suzuki-kasami", nodes=4, runs=20).ok
    True
    """
    system = System(find_algorithm(algorithm), nodes, options)
    faults = (crashes, losses, duplicates, suspicions)
    bounds = make_bounds(system, requests, groups, wants, order, faults, timers, recovery, operations)
    at_least(1, runs, "runs")
    start = time()
    batches = [(seed + first, min(BATCH, runs - first)) for first in range(0, runs, BATCH)]
    steps = entries = done = 0
    failed: int | None = None
    with Workers(at_least(1, jobs, "jobs"), system, bounds) as workers:
        for batch in workers.results(batches):
            done += batch.runs
            steps += batch.steps
            entries += batch.entries
            failed = batch.failed
            if progress is not None:
                progress(done)
            if failed is not None:
                break
    seconds = time() - start
    return FuzzResult(
        algorithm=system.name,
        nodes=nodes,
        requests=requests,
        runs=done,
        steps=steps,
        entries=entries,
        seed=seed if failed is None else failed,
        seconds=seconds,
        steps_per_second=steps / seconds if seconds > 0 else 0.0,
        counterexample=None if failed is None else _counterexample(system, bounds, run_once(system, bounds, failed)),
        fifo=bounds.fifo,
    )


@dataclass(frozen=True)
class Batch:
    """What a stretch of seeds came to, up to the first that failed."""

    runs: int
    steps: int
    entries: int
    failed: int | None


def run_batch(system: System, bounds: Bounds, first: int, runs: int) -> Batch:
    steps = entries = 0
    for seed in range(first, first + runs):
        walk = run_once(system, bounds, seed)
        steps += len(walk.actions)
        entries += walk.stepper.entries
        if walk.fault:
            return Batch(seed - first + 1, steps, entries, seed)
    return Batch(runs, steps, entries, None)


class Workers:
    """Runs batches, in this process or in several that are forked off it; results come in order."""

    def __init__(self, jobs: int, system: System, bounds: Bounds) -> None:
        self.system = system
        self.bounds = bounds
        self.pool: ProcessPoolExecutor | None = None
        if jobs > 1:
            global _INHERITED
            _INHERITED = (system, bounds)  # a forked process has it without being sent it
            self.pool = ProcessPoolExecutor(jobs, mp_context=get_context("fork"))

    def results(self, batches: list[tuple[int, int]]) -> Iterator[Batch]:
        if self.pool is not None:
            return self.pool.map(_run_inherited, batches)
        return (run_batch(self.system, self.bounds, first, runs) for first, runs in batches)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)


_INHERITED: tuple[System, Bounds] | None = None


def _run_inherited(batch: tuple[int, int]) -> Batch:
    assert _INHERITED is not None
    return run_batch(*_INHERITED, *batch)


def run_once(system: System, bounds: Bounds, seed: int) -> Walk:
    """The random run of one seed."""
    most_steps = STEPS_PER_REQUEST * system.n * bounds.requests
    walk = Walk(Stepper(system, bounds.fifo), bounds, stream(seed, 0), seed % 2 == 1, most_steps)
    walk.run()
    return walk


def _counterexample(system: System, bounds: Bounds, walk: Walk) -> Counterexample:
    actions = list(walk.actions)
    if walk.fault != "starvation" and len(actions) <= SHORTENED:
        played = play(system, bounds.fifo, actions)
        if played.kind == walk.fault:
            actions = shorten(system, bounds.fifo, actions, walk.fault)
    played = play(system, bounds.fifo, actions)
    text = played.text if played.kind == walk.fault else walk.text
    return Counterexample(walk.fault, text, tuple(actions), played.events)
