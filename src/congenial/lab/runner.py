"""Running sweeps: the same results, to the last digit, wherever and in whatever order the replications run.

The unit of work is one replication, so a single long point keeps all processors busy. A point is judged when all the
replications it has asked for are there (`stopping.py`). Several sweeps can run together; runs that they share are
run once.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass, field

from congenial.kernel.errors import CongenialError
from congenial.lab.replication import Replication, RunRecord, fingerprint, replicate
from congenial.lab.stopping import next_count, records_at
from congenial.lab.store import Store
from congenial.lab.sweep import Point, Sweep
from congenial.lab.workers import Workers

AHEAD = 2  # replications submitted per worker: one runs, one is ready to follow


class SweepFailed(CongenialError):
    """A replication went wrong, or a worker died."""


@dataclass(frozen=True)
class Status:
    """How far a run is: `done` of the `total` known so far. `seconds_left` is None until it can be estimated.

    >>> def show(status: Status) -> None:
    ...     print(f"{status.done} of {status.total}")
    >>> show(Status(3, 10))
    3 of 10
    """

    done: int
    total: int | None
    seconds_left: float | None = None


Progress = Callable[[Status], None]
"""Called now and then while the laboratory works."""


def run_sweeps(sweeps: Sequence[Sweep], store: Store, workers: Workers, progress: Progress | None = None) -> None:
    """Run the replications of these sweeps that are not in the store yet."""
    for sweep in sweeps:
        sweep.validate()
    _Run(sweeps, store, workers, progress or (lambda status: None)).run()


@dataclass
class _Goal:
    """A point of a sweep, and the replications that it still waits for."""

    sweep: Sweep
    point: Point
    count: int
    missing: set[str] = field(default_factory=set)


class _Run:
    def __init__(self, sweeps: Sequence[Sweep], store: Store, workers: Workers, progress: Progress) -> None:
        self.goals = [_Goal(sweep, point, sweep.least) for sweep in sweeps for point in sweep.points()]
        self.store = store
        self.workers = workers
        self.progress = progress
        self.queue: list[tuple[float, int, Replication]] = []  # a heap, the most work first
        self.asked: set[str] = set()
        self.submitted: dict[Future[RunRecord], Replication] = {}  # in the order in which they start
        self.interested: dict[str, list[_Goal]] = {}
        self.done = 0
        self.work_done: dict[str, tuple[float, float]] = {}  # per algorithm: cost, seconds

    def run(self) -> None:
        for goal in self.goals:
            self._advance(goal)
        try:
            while self.queue or self.submitted:
                self._submit()
                self._report()
                wait(self.submitted, return_when=FIRST_COMPLETED)
                self._collect()
        finally:
            for future in self.submitted:
                future.cancel()
        self._report()

    def _submit(self) -> None:
        while self.queue and len(self.submitted) < AHEAD * self.workers.count():
            work = heapq.heappop(self.queue)[2]
            try:
                self.submitted[self.workers.executor.submit(replicate, work)] = work
            except BrokenExecutor as error:
                raise self._worker_died(error) from error

    def _collect(self) -> None:
        """Keep the records of all that is finished, and only then report what went wrong."""
        broken: BaseException | None = None
        failures: list[CongenialError] = []
        for future in [future for future in self.submitted if future.done()]:
            error = future.exception()
            if isinstance(error, BrokenExecutor):
                broken = error
                continue
            try:
                self._finish(self.submitted.pop(future), future)
            except CongenialError as failure:
                failures.append(failure)
        if broken is not None:
            raise self._worker_died(broken) from broken
        if failures:
            raise failures[0]

    def _worker_died(self, error: BaseException) -> SweepFailed:
        """A run that has ended may look like one that has not: its result is lost with the pool. So more runs may be to
        blame than there are workers."""
        running = list(self.submitted.values())[: 2 * self.workers.count() + 1]
        commands = "; ".join([work.command() for work in running])
        return SweepFailed(f"a worker process died ({error}) during one of: {commands}")

    def _advance(self, goal: _Goal) -> None:
        """Ask for the replications that a point needs next, if any. Called whenever those it asked for are there."""
        sweep = goal.sweep
        while True:
            wanted = [sweep.replication(name, goal.point, k) for k in range(goal.count) for name in sweep.algorithms]
            goal.missing = {work.key() for work in wanted if self.store.get(work) is None}
            for work in wanted:
                if work.key() in goal.missing:
                    self._ask(work, goal)
            if goal.missing or records_at(sweep, goal.point, self.store) is not None:
                return
            goal.count = next_count(sweep, goal.point, goal.count)

    def _ask(self, work: Replication, goal: _Goal) -> None:
        key = work.key()
        self.interested.setdefault(key, []).append(goal)
        if key not in self.asked:
            self.asked.add(key)
            heapq.heappush(self.queue, (-work.cost(), len(self.asked), work))

    def _finish(self, work: Replication, future: Future[RunRecord]) -> None:
        try:
            record = future.result()
        except CongenialError:
            raise
        except Exception as error:
            raise SweepFailed(f"{type(error).__name__}: {error} (repeat it with: {work.command()})") from error
        if record.failure:
            raise SweepFailed(f"{record.failure} (repeat it with: {work.command()})")
        if record.code != fingerprint(work.algorithm):
            raise SweepFailed(
                "the workers run different code than this process: install one version everywhere, and start again"
            )
        self.store.add(record)
        self.done += 1
        cost, seconds = self.work_done.get(work.algorithm, (0.0, 0.0))
        self.work_done[work.algorithm] = (cost + work.cost(), seconds + record.seconds)
        for goal in self.interested.pop(work.key()):
            goal.missing.discard(work.key())
            if not goal.missing:
                self._advance(goal)

    def _report(self) -> None:
        total = self.done + len(self.submitted) + len(self.queue)
        self.progress(Status(self.done, total, self._seconds_left()))

    def _seconds_left(self) -> float | None:
        if not self.work_done:
            return None
        usual = sum([seconds for _, seconds in self.work_done.values()])
        usual /= sum([cost for cost, _ in self.work_done.values()])
        left = 0.0
        for work in [*self.submitted.values(), *[entry[2] for entry in self.queue]]:
            cost, seconds = self.work_done.get(work.algorithm, (1.0, usual))
            left += work.cost() * seconds / cost
        return left / self.workers.count()
