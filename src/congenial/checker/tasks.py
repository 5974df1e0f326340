"""A check on several cores or machines, divided into tasks.

What processes ask for does not depend on anything, so it can be chosen in advance: every run belongs to the
task in which its requests, one by one, are those it makes. A run with one fault belongs to the task in which that
process is struck. The tasks together are all runs, and none depends on another. Where there is nothing to divide, the
whole exploration and the reduced one race each other, and the first to finish decides.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from itertools import product
from time import time
from typing import Any

from congenial.checker.check_run import CheckRun, Progress
from congenial.checker.result import CheckResult
from congenial.checker.rules import Rules
from congenial.checker.workers import results, results_from, stop_if_told
from congenial.kernel.node import Node
from congenial.systems.catalogue import find_algorithm
from congenial.systems.system import System

MOST_TASKS = 4096


@dataclass(frozen=True)
class Task:
    """A part of a check. The side cases are the same for all tasks, so that one of them is enough to look at them."""

    system: System
    rules: Rules
    reduce: bool | None
    symmetry: bool
    limit: int
    with_side_cases: bool = True

    def run(self, progress: Progress | None) -> CheckResult:
        made = CheckRun(self.system, self.rules, self.reduce, self.symmetry, self.limit, progress)
        return made.result(self.with_side_cases)

    def run_in_worker(self) -> CheckResult:
        return self.run(_stop_if_told).without_events()


@dataclass(frozen=True)
class RemoteTask:
    """A task as it is sent to another machine, where the algorithm is found by its name, as it was here. The rules are
    sent as a dict: compiled dataclasses that are frozen cannot be unpickled."""

    algorithm: str | type[Node]
    options: Mapping[str, str] | None
    nodes: int
    rules: dict[str, Any]
    reduce: bool | None
    symmetry: bool
    limit: int
    with_side_cases: bool

    def run(self) -> CheckResult:
        system = System(find_algorithm(self.algorithm), self.nodes, self.options)
        task = Task(system, Rules(**self.rules), self.reduce, self.symmetry, self.limit, self.with_side_cases)
        return task.run(None).without_events()


@dataclass(frozen=True)
class Elsewhere:
    """Where tasks run that do not run on this machine: an executor, and the algorithm as it is known there."""

    executor: Executor
    algorithm: str | type[Node]
    options: Mapping[str, str] | None

    def results(self, tasks: list[Task], in_order: bool) -> Generator[tuple[int, CheckResult]]:
        sent = [
            RemoteTask(
                self.algorithm,
                self.options,
                task.system.n,
                asdict(task.rules),
                task.reduce,
                task.symmetry,
                task.limit,
                task.with_side_cases,
            )
            for task in tasks
        ]
        return results_from(self.executor, sent, RemoteTask.run, in_order)


def check_tasks(
    system: System,
    rules: Rules,
    reduce: bool | None,
    symmetry: bool,
    limit: int,
    jobs: int,
    progress: Progress | None,
    elsewhere: Elsewhere | None = None,
) -> CheckResult:
    """What `check` finds, with the tasks dealt out to `jobs` processes, or elsewhere."""
    start = time()
    whole = Task(system, rules, reduce, symmetry, limit)
    tasks = [
        replace(whole, rules=part, with_side_cases=number == 0) for number, part in enumerate(split(rules, system.n))
    ]
    race = len(tasks) == 1 and reduce is None and not symmetry
    if race:
        tasks = [replace(whole, reduce=False), replace(whole, reduce=True)]
    found: list[CheckResult] = []
    if elsewhere is not None:
        dealt = elsewhere.results(tasks, in_order=not race)
    else:
        dealt = results(tasks, Task.run_in_worker, jobs, in_order=not race)
    with closing(dealt) as finished:
        for number, result in finished:
            if not result.ok:  # once more, here: a counterexample with its events is not sent between processes
                return replace(tasks[number], with_side_cases=True).run(progress)
            found.append(result)
            if progress is not None:
                progress(sum([result.states for result in found]), len(tasks) - len(found))
            if race and result.complete:
                return merged([result], time() - start)
    return merged(found[:1] if race else found, time() - start)


def split(rules: Rules, n: int) -> list[Rules]:
    """The rules of each task: what is asked for, request by request, and which process the one fault strikes."""
    count = 1
    for menu in rules.menus_for(n):
        for _ in range(rules.requests if len(menu) > 1 else 0):
            count *= len(menu)
            if count > MOST_TASKS:
                break
    parts = [rules]
    if 1 < count <= MOST_TASKS:
        sequences = [list(product(menu, repeat=rules.requests)) for menu in rules.menus_for(n)]
        parts = [
            replace(rules, menus=[list(wants) for wants in combination], in_turn=True)
            for combination in product(*sequences)
        ]
    if rules.faults != 1:
        return parts
    return [replace(part, victim=process) for part in parts for process in range(n)]


def merged(found: list[CheckResult], seconds: float) -> CheckResult:
    """One result of all tasks: what was counted added up, the extremes of the costs."""
    states = sum([result.states for result in found])
    least = [result.least_messages for result in found if result.least_messages is not None]
    most = [result.most_messages for result in found if result.most_messages is not None]
    return replace(
        found[0],
        states=states,
        transitions=sum([result.transitions for result in found]),
        depth=max([result.depth for result in found]),
        complete=all([result.complete for result in found]),
        reduced=any([result.reduced for result in found]),
        seconds=seconds,
        states_per_second=states / seconds if seconds > 0 else 0.0,
        least_messages=min(least) if len(least) == len(found) else None,
        most_messages=max(most) if len(most) == len(found) else None,
    )


def _stop_if_told(seen: int, pending: int) -> None:
    stop_if_told()
