"""Running sweeps: here, on several processes, or on a Dask cluster, with the same results to the last digit.

The unit of work is one replication, so that a single long point keeps all processors busy. Whether a point needs more
replications is decided when all it has asked for are there, and from all of them in the order of their seeds; so it
does not matter who finishes first. Several sweeps can run together; what they have in common is run once.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from congenial.kernel.errors import ConfigError, CongenialError
from congenial.lab.extras import require
from congenial.lab.replication import Record, Replication, fingerprint, replicate, start_worker
from congenial.lab.store import Store
from congenial.lab.sweep import Point, Sweep
from congenial.sim.statistics import half_width, mean

if TYPE_CHECKING:
    import polars

AHEAD = 2  # replications in flight per processor: one runs, one waits at the door


class SweepFailed(CongenialError):
    """A replication went wrong, or nobody was left to run it."""


@dataclass(frozen=True)
class Status:
    """How far a run is. `seconds_left` is None as long as nobody knows."""

    done: int
    known: int
    seconds_left: float | None


Watch = Callable[[Status], None]


def run_sweep(
    sweep: Sweep, *, jobs: int = 1, cluster: str = "", folder: str | Path | None = None, watch: Watch | None = None
) -> polars.DataFrame:
    """Run a sweep and return its results: a row for each algorithm at each point, a column for each metric and half
    the width of its 95% interval. With a `folder`, go on from what is there, and leave everything in it."""
    from congenial.lab.folder import write_folder
    from congenial.lab.tables import summary_frame

    require("lab")
    store = Store(Path(folder) if folder is not None else None)
    with workers(jobs, cluster) as crew:
        run_sweeps([sweep], store, crew, watch)
    if folder is not None:
        write_folder(Path(folder), sweep, store)
    return summary_frame(sweep, store)


def run_sweeps(sweeps: Sequence[Sweep], store: Store, crew: Crew, watch: Watch | None = None) -> None:
    """Run whatever these sweeps need that is not in the store yet."""
    for sweep in sweeps:
        sweep.validate()
    _Run(sweeps, store, crew, watch or (lambda status: None)).run()


def records_at(sweep: Sweep, point: Point, store: Store) -> dict[str, list[Record]] | None:
    """The replications a point consists of, by algorithm, in the order of their seeds; None if some are missing.

    There may be more of them in the store, left by a more precise sweep; they are not looked at.
    """
    count = sweep.least
    while True:
        found = {
            name: [store.get(sweep.replication(name, point, k)) for k in range(count)] for name in sweep.algorithms
        }
        present = {name: [r for r in records if r is not None] for name, records in found.items()}
        if any([len(records) < count for records in present.values()]):
            return None
        if count == sweep.most or precise(sweep, present):
            return present
        count = next_count(sweep, count)


def next_count(sweep: Sweep, count: int) -> int:
    """How many replications a point gets that was not precise enough after `count` of them."""
    return min(sweep.most, count + max(1, count // 3))


def precise(sweep: Sweep, records: dict[str, list[Record]]) -> bool:
    """Are all means, and all ratios to the baseline, known as precisely as the sweep asks?"""
    for metric in sweep.metrics:
        samples = {name: [record.measures[metric] for record in found] for name, found in records.items()}
        base = samples[sweep.baseline]
        for name, values in samples.items():
            if not _within(values, sweep.precision):
                return False
            if name != sweep.baseline and 0.0 not in base:
                ratios = [a / b for a, b in zip(values, base, strict=True)]
                if not _within(ratios, sweep.precision):
                    return False
    return True


def _within(values: list[float], precision: float) -> bool:
    return half_width(values) <= precision * abs(mean(values))


# -- who does the work ---------------------------------------------------------------------------------------


class Here(Executor):
    """This very process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@dataclass
class Crew:
    """Who runs replications, and how many at a time (which, on a cluster, may change)."""

    executor: Executor
    hands: Callable[[], int]


@contextmanager
def workers(jobs: int = 1, cluster: str = "") -> Iterator[Crew]:
    """`jobs` processes on this machine (0: one for each processor), or the workers of the Dask scheduler `cluster`."""
    if jobs < 0:
        raise ConfigError(f"--jobs must not be negative, and is {jobs}")
    jobs = jobs or _processors()
    if cluster:
        with _dask(cluster) as crew:
            yield crew
    elif jobs == 1:
        yield Crew(Here(), lambda: 1)
    else:
        with _processes(jobs) as crew:
            yield crew


@contextmanager
def _processes(jobs: int) -> Iterator[Crew]:
    # new processes, not forks: a fork of a process with threads (as a data-frame library has) may hang
    context = get_context("spawn")
    theirs, ours = context.Pipe(duplex=False)
    with ProcessPoolExecutor(jobs, context, start_worker, (theirs,)) as pool:
        try:
            yield Crew(pool, lambda: jobs)
        except BaseException:
            ours.close()  # the workers see it and end at once; so they do if this process is killed
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _processors() -> int:
    """Those this process may use, where the system says so."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _dask(address: str) -> Iterator[Crew]:
    require("cluster")
    from distributed import Client

    try:
        client = Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError(f"no Dask scheduler answers at {address}: {error or type(error).__name__}") from error
    with client:
        yield Crew(client.get_executor(pure=False), lambda: max(1, sum(client.nthreads().values())))


# -- the run -------------------------------------------------------------------------------------------------


@dataclass
class _Goal:
    """A point of a sweep, and what it still waits for."""

    sweep: Sweep
    point: Point
    count: int
    missing: set[str] = field(default_factory=set)


class _Run:
    def __init__(self, sweeps: Sequence[Sweep], store: Store, crew: Crew, watch: Watch) -> None:
        self.goals = [_Goal(sweep, point, sweep.least) for sweep in sweeps for point in sweep.points()]
        self.store = store
        self.crew = crew
        self.watch = watch
        self.waiting: list[tuple[float, int, Replication]] = []  # a heap, the most work first
        self.asked: set[str] = set()
        self.flying: dict[Future[Record], Replication] = {}
        self.interested: dict[str, list[_Goal]] = {}
        self.done = 0
        self.work_done: dict[str, tuple[float, float]] = {}  # per algorithm: cost, seconds

    def run(self) -> None:
        for goal in self.goals:
            self._advance(goal)
        try:
            while self.waiting or self.flying:
                while self.waiting and len(self.flying) < AHEAD * self.crew.hands():
                    work = heapq.heappop(self.waiting)[2]
                    self.flying[self.crew.executor.submit(replicate, work)] = work
                self._tell()
                finished, _ = wait(self.flying, return_when=FIRST_COMPLETED)
                for future in [future for future in self.flying if future in finished]:
                    self._finish(self.flying.pop(future), future)
        finally:
            for future in self.flying:
                future.cancel()
        self._tell()

    def _advance(self, goal: _Goal) -> None:
        """Ask for the replications a point needs next, if any; decide about it whenever they are all there."""
        sweep = goal.sweep
        while True:
            wanted = [sweep.replication(name, goal.point, k) for k in range(goal.count) for name in sweep.algorithms]
            goal.missing = {work.key() for work in wanted if self.store.get(work) is None}
            for work in wanted:
                if work.key() in goal.missing:
                    self._ask(work, goal)
            if goal.missing or records_at(sweep, goal.point, self.store) is not None:
                return
            goal.count = next_count(sweep, goal.count)

    def _ask(self, work: Replication, goal: _Goal) -> None:
        key = work.key()
        self.interested.setdefault(key, []).append(goal)
        if key not in self.asked:
            self.asked.add(key)
            heapq.heappush(self.waiting, (-work.cost(), len(self.asked), work))

    def _finish(self, work: Replication, future: Future[Record]) -> None:
        try:
            record = future.result()
        except (BrokenExecutor, OSError) as error:
            raise SweepFailed(f"a worker process died in {work.command()}: {error}") from error
        if record.failure:
            raise SweepFailed(f"{record.failure} (repeat it with: {work.command()})")
        if record.code != fingerprint(work.algorithm):
            raise SweepFailed(
                "the workers run other code than this process: install one version on all of them, and start again"
            )
        self.store.add(record)
        self.done += 1
        cost, seconds = self.work_done.get(work.algorithm, (0.0, 0.0))
        self.work_done[work.algorithm] = (cost + work.cost(), seconds + record.seconds)
        for goal in self.interested.pop(work.key()):
            goal.missing.discard(work.key())
            if not goal.missing:
                self._advance(goal)

    def _tell(self) -> None:
        left = None
        if self.work_done:
            costs = sum([cost for cost, _ in self.work_done.values()])
            usual = sum([seconds for _, seconds in self.work_done.values()]) / costs
            left = 0.0
            for work in [*self.flying.values(), *[entry[2] for entry in self.waiting]]:
                cost, seconds = self.work_done.get(work.algorithm, (1.0, usual))
                left += work.cost() * seconds / cost
            left /= self.crew.hands()
        self.watch(Status(self.done, self.done + len(self.flying) + len(self.waiting), left))
