"""`make mutants`: every algorithm's file, one change at a time; `check` or `fuzz` must notice.

    python tests/mutation/run.py --file raymond_tree --jobs 2
    python tests/mutation/run.py --sample 30 --seed 7
    python tests/mutation/run.py --list --file maekawa
    python tests/mutation/run.py --views         the protocols under the locks of clusters, not the algorithms

What survives must be explained in survivors/, or the exit code is 1. Results are kept in .mutants/: a second run
tries only what has changed.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import wait
from pathlib import Path
from random import Random
from typing import Any

from explanations import Explanations, file_name
from mutate import Mutant, mutants_of
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from trials import Trial, trials_for
from view_trials import PROTOCOLS, VIEW_TRIALS
from workbench import (
    LEAST_SECONDS,
    PATIENCE,
    SOURCES,
    Task,
    Worker,
    imports_of,
    module_name,
    set_up,
)

from congenial.lab.sources import bare

HERE = Path(__file__).parent
PARTS = ("parts/yielding.py",)  # mutated like the algorithms that inherit from them
ALGORITHMS = SOURCES / "congenial" / "algorithms"
CACHE = HERE.parents[1] / ".mutants" / "results.jsonl"
ORIGINAL_SECONDS = 60.0
FLAWED_SECONDS = 3.0  # of the originals that are kept for their flaws: they may go on for long
LENIENT = "lenient: it only accepts what the original refuses; in no run is anything refused (an illegal step)"


# -- what is known -----------------------------------------------------------------------------------------


class Cache:
    """What was found before, by mutant (the hash of all sources that matter) and trial."""

    def __init__(self, path: Path, fresh: bool = False) -> None:
        self.path = path
        self.passed: dict[str, dict[str, float]] = defaultdict(dict)
        self.killed: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
        if fresh:
            path.unlink(missing_ok=True)
        if path.exists():
            for line in path.read_text().splitlines():
                self._take(json.loads(line))

    def _take(self, record: dict[str, Any]) -> None:
        if record["verdict"]:
            self.killed[record["key"]][record["task"]] = (record["verdict"], record["text"])
        else:
            self.passed[record["key"]][record["task"]] = record["seconds"]

    def add(self, worker: Worker, key: str) -> None:
        self.path.parent.mkdir(exist_ok=True)
        outcomes = [*worker.passed, *worker.failed]
        with self.path.open("a") as file:
            for outcome in outcomes:
                record = {
                    "key": key,
                    "task": str(outcome.task),
                    "verdict": outcome.verdict,
                    "text": outcome.text[:200],
                    "seconds": round(outcome.seconds, 3),
                }
                self._take(record)
                file.write(json.dumps(record) + "\n")


def key_of(module: str, mutated: str = "", *others: str) -> str:
    """The hash of the code of a module, perhaps mutated, and of all that it and the others import."""
    digest = hashlib.sha256()
    for name in sorted({name for each in (module, *others) for name in imports_of(each)}):
        path = SOURCES / Path(*name.split(".")).with_suffix(".py")
        digest.update((code_of(mutated) if mutated and name == module else code_in(path)).encode())
    return digest.hexdigest()[:16]


@cache
def code_in(path: Path) -> str:
    return code_of(path.read_text())


def code_of(source: str) -> str:
    """A source without comments and docstrings."""
    return ast.dump(bare(source))


# -- what is to be done ------------------------------------------------------------------------------------


class Laboratory:
    """The algorithms as they are, and some in views: which of them use a file, how long they take in each trial."""

    def __init__(self, cache: Cache, most_seconds: float) -> None:
        from congenial.systems.catalogue import ALGORITHMS as CATALOGUE
        from congenial.systems.catalogue import find_algorithm

        self.cache = cache
        self.most_seconds = most_seconds  # of CPU, that the original may take in a trial
        self.algorithms = {**CATALOGUE, **{name: find_algorithm(name) for name in VIEW_TRIALS}}

    def key(self, name: str) -> str:
        """Of an original."""
        return key_of(self.algorithms[name].__module__, "", *self._made_of(name))

    def key_of_mutant(self, mutant: Mutant) -> str:
        systems = PROTOCOLS.get(file_name(mutant.path), ())
        others = [module for name in systems for module in self._made_of(name)]
        if file_name(mutant.path) in PARTS:
            others += [self.algorithms[name].__module__ for name in self.users_of(mutant)]
        return key_of(module_name(mutant.path), mutant.source(), *others)

    def _made_of(self, name: str) -> list[str]:
        """The modules of what runs in views."""
        algorithm = self.algorithms[name]
        return [part.__module__ for part in (algorithm, *algorithm.made_of)] if name in VIEW_TRIALS else []

    def users_of(self, mutant: Mutant) -> list[str]:
        """The algorithms that run what is changed: by inheritance if it is a method of a node or of a part that
        nodes inherit from, else by import."""
        from congenial.kernel.node import Node

        if file_name(mutant.path) in PROTOCOLS:
            return list(PROTOCOLS[file_name(mutant.path)])
        module = module_name(mutant.path)
        owner = getattr(sys.modules[module], mutant.owner.split(".")[0], None)
        plain = {name: algorithm for name, algorithm in self.algorithms.items() if name not in VIEW_TRIALS}
        if isinstance(owner, type) and (issubclass(owner, Node) or file_name(mutant.path) in PARTS):
            return [name for name, algorithm in plain.items() if issubclass(algorithm, owner)]
        return [name for name, algorithm in plain.items() if module in imports_of(algorithm.__module__)]

    def tasks_for(self, mutant: Mutant) -> list[Task]:
        """Cheap ones first."""
        priced: list[tuple[float, Task]] = []
        for name in self.users_of(mutant):
            known = self.cache.passed[self.key(name)]
            flawed = bool(self.algorithms[name].spec.mended_by)
            most = min(self.most_seconds, FLAWED_SECONDS) if flawed else self.most_seconds
            for trial in trials_for(self.algorithms[name]):
                task = Task(name, trial, 0.0)
                if known.get(str(task), self.most_seconds) < most:
                    seconds = known[str(task)]
                    priced.append((seconds, Task(name, trial, max(LEAST_SECONDS, PATIENCE * seconds))))
        return [task for _, task in sorted(priced, key=lambda pair: pair[0])]

    def measure(self, names: list[str], console: Console) -> bool:
        """Run the trials of the originals that have not been run; do they all pass? Algorithms that are kept for their
        flaws need not: their mutants are tried where the original passes."""
        good = True
        for name in names:
            key = self.key(name)
            tasks = [Task(name, trial, ORIGINAL_SECONDS) for trial in trials_for(self.algorithms[name])]
            known = {**self.cache.passed[key], **self.cache.killed[key]}
            new = [task for task in tasks if str(task) not in known and self._is_possible(task.trial, name)]
            if new:
                console.print(f"[dim]{name}: {len(new)} trials of the original[/]")
                worker = Worker(None, new)
                while worker.read():
                    pass
                self.cache.add(worker, key)
            for task in tasks:
                if str(task) in self.cache.killed[key] and not self.algorithms[name].spec.mended_by:
                    good = False
                    console.print(f"[red]the original fails:[/] {task}: {self.cache.killed[key][str(task)]}")
        return good

    def _is_possible(self, trial: Trial, name: str) -> bool:
        """Some options are not for every number of processes."""
        from congenial.kernel.errors import ConfigError
        from congenial.systems.system import System

        parameters = dict(trial.parameters)
        try:
            System(self.algorithms[name], parameters["nodes"], dict(parameters.get("options", ()))).nodes()
        except ConfigError:
            return False
        return True


@dataclass
class Verdict:
    """What became of a mutant."""

    mutant: Mutant
    killed: str = ""  # by which verdict
    where: str = ""  # in which trial
    text: str = ""
    explanation: str = ""

    @property
    def file(self) -> str:
        return file_name(self.mutant.path)

    @property
    def state(self) -> str:
        return "killed" if self.killed else "explained" if self.explanation else "survived"


class Hunt:
    def __init__(self, laboratory: Laboratory, cache: Cache) -> None:
        self.laboratory = laboratory
        self.cache = cache
        self.running: dict[Any, tuple[Worker, str]] = {}
        self.killers: dict[str, str] = {}  # the task that killed the last mutant, by the method that was changed

    def run(self, mutants: list[Mutant], jobs: int, progress: Progress) -> list[Verdict]:
        verdicts: list[Verdict] = []
        bar = progress.add_task("mutants", total=len(mutants), survived=0)
        pending = list(reversed(mutants))
        try:
            while pending or self.running:
                while pending and len(self.running) < jobs:
                    mutant = pending.pop()
                    if mutant.lenient:
                        verdicts.append(Verdict(mutant, explanation=LENIENT))
                        progress.advance(bar)
                        continue
                    key = self.laboratory.key_of_mutant(mutant)
                    tasks = self.laboratory.tasks_for(mutant)
                    verdict = self._known(mutant, key, tasks)
                    if verdict is not None:
                        verdicts.append(verdict)
                        progress.advance(bar)
                        continue
                    worker = Worker(mutant, self._untried(mutant, key, tasks))
                    self.running[worker.pipe] = (worker, key)
                for pipe in wait(list(self.running)) if self.running else []:  # to wait for nothing takes forever
                    worker, key = self.running[pipe]
                    if not worker.read():
                        del self.running[pipe]
                        self.cache.add(worker, key)
                        assert worker.mutant is not None
                        verdicts.append(self._verdict(worker.mutant, worker))
                        progress.advance(bar)
                        survived = sum([not verdict.killed for verdict in verdicts])
                        progress.update(bar, survived=survived)
        finally:
            for worker, _ in self.running.values():
                worker.stop()
        return verdicts

    def _known(self, mutant: Mutant, key: str, tasks: list[Task]) -> Verdict | None:
        for task in tasks:
            if str(task) in self.cache.killed[key]:
                kind, text = self.cache.killed[key][str(task)]
                return Verdict(mutant, kind, str(task), text)
        if all([str(task) in self.cache.passed[key] for task in tasks]):
            return Verdict(mutant)
        return None

    def _untried(self, mutant: Mutant, key: str, tasks: list[Task]) -> list[Task]:
        """First the one that killed the last mutant of the same method: it is likely to kill this one as well."""
        new = [task for task in tasks if str(task) not in self.cache.passed[key]]
        likely = self.killers.get(mutant.owner)
        return sorted(new, key=lambda task: str(task) != likely)

    def _verdict(self, mutant: Mutant, worker: Worker) -> Verdict:
        killed = worker.killed
        if killed is None:
            return Verdict(mutant)
        self.killers[mutant.owner] = str(killed.task)
        return Verdict(mutant, killed.verdict, str(killed.task), killed.text)


# -- the command -------------------------------------------------------------------------------------------


def all_mutants(views: bool = False) -> list[Mutant]:
    """Of the algorithms and what they inherit, or of the protocols under the locks of clusters."""
    paths = [SOURCES / "congenial" / file for file in (PROTOCOLS if views else PARTS)]
    if not views:
        paths += sorted(ALGORITHMS.rglob("*.py"))
    return [mutant for path in paths for mutant in mutants_of(path)]


def chosen(mutants: list[Mutant], files: list[str], sample: int, seed: int) -> list[Mutant]:
    if files:
        mutants = [mutant for mutant in mutants if any([file in file_name(mutant.path) for file in files])]
    if sample:
        picked = Random(seed).sample(range(len(mutants)), min(sample, len(mutants)))
        mutants = [mutants[at] for at in sorted(picked)]
    return mutants


def hunt(mutants: list[Mutant], cache: Cache, jobs: int = 1, quick: bool = False) -> list[Verdict]:
    """Try mutants of everything that an algorithm of the catalogue runs."""
    console = Console(stderr=True)
    set_up()
    laboratory = Laboratory(cache, 0.3 if quick else ORIGINAL_SECONDS)
    users: dict[str, None] = {}
    tried: list[Mutant] = []
    for mutant in mutants:
        names = laboratory.users_of(mutant)
        users.update(dict.fromkeys(names))
        if names:
            tried.append(mutant)
    if not laboratory.measure(list(users), console):
        raise SystemExit("an original fails its trials: its mutants tell nothing")
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[survived]} not killed"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        verdicts = Hunt(laboratory, cache).run(tried, jobs, progress)
    explanations = Explanations.load()
    for verdict in verdicts:
        verdict.explanation = verdict.explanation or explanations.of(verdict.mutant)
    return sorted(verdicts, key=lambda verdict: (verdict.file, verdict.mutant.start, verdict.mutant.name))


def table_of(verdicts: list[Verdict]) -> Table:
    table = Table("file", "mutants", "killed", "explained", "survived")
    for column in table.columns[1:]:
        column.justify = "right"
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for verdict in verdicts:
        rows[verdict.file][verdict.state] += 1
        rows["all"][verdict.state] += 1
    for name in sorted(rows, key=lambda file: (file == "all", file)):
        row = rows[name]
        table.add_row(name, str(row.total()), *[str(row[state]) for state in ("killed", "explained", "survived")])
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description="One change at a time in the algorithms; the checker must notice.")
    parser.add_argument("--file", action="append", default=[], help="only files with this in their path (repeatable)")
    parser.add_argument("--sample", type=int, default=0, help="only so many, chosen at random")
    parser.add_argument("--seed", type=int, default=1, help="for --sample")
    parser.add_argument("--jobs", type=int, default=1, help="processes at the same time")
    parser.add_argument("--list", action="store_true", help="name the mutants, and stop")
    parser.add_argument("--json", action="store_true", help="all verdicts, as JSON lines")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where results are kept")
    parser.add_argument("--quick", action="store_true", help="only trials in which the original takes 0.3 s at most")
    parser.add_argument("--views", action="store_true", help="the protocols under the locks of clusters instead")
    parser.add_argument("--unexplained", action="store_true", help="leave out what is explained in survivors/")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    arguments = parser.parse_args()
    os.nice(10)
    mutants = chosen(all_mutants(arguments.views), arguments.file, arguments.sample, arguments.seed)
    if arguments.unexplained:
        explanations = Explanations.load()
        mutants = [mutant for mutant in mutants if not explanations.of(mutant)]
    if arguments.list:
        for mutant in mutants:
            print(f"{file_name(mutant.path)}:{mutant.line} {mutant.name}")
        return 0
    verdicts = hunt(mutants, Cache(arguments.cache, arguments.fresh), arguments.jobs, arguments.quick)
    report(verdicts, arguments.json)
    return 1 if any([verdict.state == "survived" for verdict in verdicts]) else 0


def report(verdicts: list[Verdict], as_json: bool) -> None:
    if as_json:
        for verdict in verdicts:
            data = {"file": verdict.file, "line": verdict.mutant.line, "mutant": verdict.mutant.name}
            more = {"killed": verdict.killed, "where": verdict.where, "text": verdict.text, "why": verdict.explanation}
            print(json.dumps({**data, "state": verdict.state, **more}))
        return
    console = Console()
    for verdict in verdicts:
        if verdict.state == "survived":
            console.print(f"{verdict.file}:{verdict.mutant.line} {verdict.mutant.name}", markup=False, soft_wrap=True)
    console.print(table_of(verdicts))


if __name__ == "__main__":
    sys.exit(main())
