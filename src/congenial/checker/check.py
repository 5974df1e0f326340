"""`check`: everything that the explorer can tell about an algorithm, as one verdict."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Unpack

from congenial.checker.bounds import Bounds, BoundsFields, bounds_from
from congenial.checker.check_run import CheckRun, Progress
from congenial.checker.replay import place_for_trace, write_counterexample
from congenial.checker.result import CheckResult
from congenial.checker.tasks import Elsewhere, check_tasks
from congenial.checker.world import MOST_PROCESSES
from congenial.kernel.errors import ConfigError
from congenial.kernel.inputs import MOST_JOBS, callback, flag, whole
from congenial.kernel.node import Node
from congenial.systems.catalogue import find_algorithm
from congenial.systems.system import System


def check(
    algorithm: str | type[Node],
    *,
    nodes: int = 3,
    options: Mapping[str, str] | None = None,
    bounds: Bounds | None = None,
    reduce: bool | None = None,
    symmetry: bool = False,
    limit: int = 10_000_000,
    jobs: int = 1,
    executor: Executor | None = None,
    trace: str | Path = "",
    progress: Progress | None = None,
    **fields: Unpack[BoundsFields],
) -> CheckResult:
    """Explore all runs of a small system: every order of messages, requests, exits, timers and faults.

    `bounds` says what may happen, and so do the fields of `Bounds` as keywords (`requests=1, losses=1`), which take
    precedence. `options` are the algorithm's own.

    The reduction leaves out interleavings that make no difference. Unless `reduce` says otherwise, it is used only
    where the system turns out to be large, because verifying it takes longer than exploring a small system whole.
    With `symmetry`, states that differ only in the names of processes count as one. The exploration stops at `limit`
    states. With several `jobs` the work is divided among processes (see `congenial.checker.tasks`); `states` then
    counts a state once for every task in which it occurs. With an `executor` (of `concurrent.futures`, such as that of
    a Dask client) these tasks run there, whatever `jobs` says. `trace` names a file for the counterexample, if there is
    one; `replay` runs it again. `progress` is called now and then with the number of states seen, and of those still to
    be expanded.

    >>> check("ricart-agrawala", nodes=2, requests=1).ok
    True
    >>> check("suzuki-kasami", nodes=2, bounds=Bounds(requests=1, losses=1)).deadlocks
    1
    """
    wanted = bounds_from(bounds, fields, Bounds())
    if reduce is not None:
        flag(reduce, "reduce")
    flag(symmetry, "symmetry")
    whole(limit, "limit", 1)
    whole(jobs, "jobs", 1, MOST_JOBS)
    callback(progress, "progress")
    system = System(find_algorithm(algorithm), whole(nodes, "nodes", 1, MOST_PROCESSES), options)
    rules = wanted.rules(system)
    if executor is not None and not isinstance(executor, Executor):
        raise ConfigError(f"executor must be one of concurrent.futures, not {executor!r}")
    place = place_for_trace(trace)
    if jobs > 1 or executor is not None:
        elsewhere = None if executor is None else Elsewhere(executor, algorithm, options)
        result = check_tasks(system, rules, reduce, symmetry, limit, jobs, progress, elsewhere)
    else:
        result = CheckRun(system, rules, reduce, symmetry, limit, progress).result()
    if place is not None and result.counterexample is not None:
        write_counterexample(place, algorithm, nodes, options, result.fifo, result.counterexample.events)
    return result
