"""`fuzz`: many random runs of a system too large to be explored, with faults; a run that fails is made short."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import time
from typing import Unpack

from congenial.checker.bounds import Bounds, BoundsFields, bounds_from
from congenial.checker.counterexample import Counterexample
from congenial.checker.faults import STARVATION
from congenial.checker.replay import place_for_trace, play, write_counterexample
from congenial.checker.rules import Rules
from congenial.checker.shorten import shorten
from congenial.checker.stepper import Stepper
from congenial.checker.walk import Walk
from congenial.checker.workers import results
from congenial.kernel import inputs
from congenial.kernel.inputs import MOST_JOBS, callback, whole
from congenial.kernel.node import Node
from congenial.systems.catalogue import find_algorithm
from congenial.systems.streams import stream
from congenial.systems.system import System

DEFAULT = Bounds(requests=3)
STEPS_PER_REQUEST = 2000  # times n: a random run that takes longer makes no progress
MOST_RUNS = 100_000_000
BATCH = 32  # runs between two reports
TOGETHER = (6, 7)  # modulo 8, the seeds of runs that end with all inside together
SHORTENED = 3000  # runs longer than that are shown as they are


@dataclass(frozen=True)
class FuzzResult:
    """What `fuzz` found in `runs` random runs. `seed` is that of the run that failed, or of the first.

    >>> result = fuzz("suzuki-kasami", nodes=4, runs=20)
    >>> (result.ok, result.runs, result.entries)
    (True, 20, 240)
    """

    algorithm: str
    nodes: int
    requests: int
    runs: int
    steps: int
    entries: int
    seed: int
    seconds: float
    steps_per_second: float
    counterexample: Counterexample | None
    fifo: bool = False

    @property
    def ok(self) -> bool:
        return self.counterexample is None

    def as_dict(self) -> dict[str, object]:
        data = asdict(replace(self, counterexample=None))
        if self.counterexample is not None:
            data["counterexample"] = self.counterexample.as_dict()
        return data

    def __str__(self) -> str:
        return f"{self._title()}: {self.verdict()}" if self.ok else f"{self._title()}:\n{self.counterexample}"

    def _title(self) -> str:
        return f"{self.algorithm}, {self.nodes} processes, {self.requests} request{'s' * (self.requests != 1)} each"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from congenial.view.notebook import block, table

        rows = [("runs", str(self.runs)), ("steps", str(self.steps)), ("entries", str(self.entries))]
        title = f"{self._title()}:"
        found = "" if self.counterexample is None else self.counterexample._repr_html_()
        return block(title, self.verdict(), self.ok, table(("", ""), rows), found)

    def verdict(self) -> str:
        if self.counterexample is not None:
            return f"{self.counterexample.kind.upper()} (seed {self.seed}): {self.counterexample.text}"
        return f"nothing wrong in {self.runs} random runs with {self.entries} entries ({self.steps} steps)"


def fuzz(
    algorithm: str | type[Node],
    *,
    nodes: int = 8,
    runs: int = 1000,
    seed: int = 1,
    jobs: int = 1,
    options: Mapping[str, str] | None = None,
    bounds: Bounds | None = None,
    trace: str | Path = "",
    progress: Callable[[int], None] | None = None,
    **fields: Unpack[BoundsFields],
) -> FuzzResult:
    """Run `runs` random schedules, with seeds seed, seed+1, ...; every other one by priorities. The first seed that
    fails ends it. With several `jobs` the result is the same. Where the problem promises concurrent entry, a
    quarter of the runs have no faults and end with requests for one group, after which none leaves: all must get in, or
    as many as may be inside together.

    `bounds` says what may happen, and so do the fields of `Bounds` as keywords, which take precedence. Without
    either, each process makes three requests. `options` are the algorithm's own. `trace` names a file for the run that
    fails, if one does; `replay` runs it again. `progress` is called now and then with the number of runs done.

    >>> fuzz("suzuki-kasami", nodes=4, runs=20, order="any").ok
    True
    """
    wanted = bounds_from(bounds, fields, DEFAULT)
    whole(runs, "runs", 1, MOST_RUNS)
    whole(jobs, "jobs", 1, MOST_JOBS)
    inputs.seed(seed, runs)
    callback(progress, "progress")
    system = System(find_algorithm(algorithm), nodes, options)
    rules = wanted.rules(system)
    place = place_for_trace(trace)
    start = time()
    batches = [Batch(system, rules, seed + first, min(BATCH, runs - first)) for first in range(0, runs, BATCH)]
    steps = entries = done = 0
    failed: int | None = None
    with closing(results(batches, run_batch, jobs)) as finished:
        for _, outcome in finished:
            done += outcome.runs
            steps += outcome.steps
            entries += outcome.entries
            failed = outcome.failed
            if progress is not None:
                progress(done)
            if failed is not None:
                break
    seconds = time() - start
    found = None if failed is None else _counterexample(system, rules, run_once(system, rules, failed))
    if place is not None and found is not None:
        write_counterexample(place, algorithm, nodes, options, rules.fifo, found.events)
    return FuzzResult(
        algorithm=system.name,
        nodes=nodes,
        requests=rules.requests,
        runs=done,
        steps=steps,
        entries=entries,
        seed=seed if failed is None else failed,
        seconds=seconds,
        steps_per_second=steps / seconds if seconds > 0 else 0.0,
        counterexample=found,
        fifo=rules.fifo,
    )


@dataclass(frozen=True)
class Batch:
    """Random runs with seeds first, first+1, ..."""

    system: System
    rules: Rules
    first: int
    runs: int


@dataclass(frozen=True)
class Outcome:
    """What the runs of a batch came to, up to the first that `failed`."""

    runs: int
    steps: int
    entries: int
    failed: int | None


def run_batch(batch: Batch) -> Outcome:
    steps = entries = 0
    for seed in range(batch.first, batch.first + batch.runs):
        walk = run_once(batch.system, batch.rules, seed)
        steps += len(walk.actions)
        entries += walk.stepper.entries
        if walk.fault:
            return Outcome(seed - batch.first + 1, steps, entries, seed)
    return Outcome(batch.runs, steps, entries, None)


def run_once(system: System, rules: Rules, seed: int) -> Walk:
    """The random run of one seed. Where concurrent entry is promised, a quarter of the runs end with all
    inside together."""
    if system.concurrent_entry and seed % 8 in TOGETHER:
        rules = replace(rules, together=True, crashes=0, losses=0, duplicates=0, suspicions=0)
    most_steps = STEPS_PER_REQUEST * system.n * rules.requests
    walk = Walk(Stepper(system, rules.fifo), rules, stream(seed, 0), seed % 2 == 1, most_steps)
    walk.run()
    return walk


def _counterexample(system: System, rules: Rules, walk: Walk) -> Counterexample:
    actions = list(walk.actions)
    if walk.fault != STARVATION and len(actions) <= SHORTENED:
        played = play(system, rules.fifo, actions)
        if played.kind == walk.fault:
            actions = shorten(system, rules.fifo, actions, walk.fault)
    played = play(system, rules.fifo, actions)
    text = played.text if played.kind == walk.fault else walk.text
    return Counterexample(walk.fault, text, tuple(actions), played.events)
