"""One process per mutant: the mutated module takes the place of the original, and the trials are run.

The rooms that hold algorithms are always interpreted here, from the sources of this repository; all else is as
installed. So with a compiled package the checker is fast, and still runs mutants of base classes with all that
inherits from them.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import multiprocessing as mp
import os
import resource
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from time import process_time
from types import ModuleType
from typing import Any

from mutate import Mutant
from tests_as_trials import run_test
from trials import Trial

from congenial.lab import sources

SOURCES = Path(__file__).parents[2] / "src"
ON_TOP = ("congenial.systems.catalogue", "congenial.systems.view_locks")  # import the algorithms
MUTATED = (
    "congenial.algorithms",
    "congenial.transform",
    "congenial.net.lease",
    "congenial.net.view_lease",
    "congenial.parts.mutual",
    "congenial.parts.views",
    "congenial.parts.yielding",
)
ROOMS = (*MUTATED, *ON_TOP)
FINDERS = ("congenial.checker.check", "congenial.checker.fuzz", "congenial.sim.scenario")  # look algorithms up by name
MEMORY = 4 << 30
LEAST_SECONDS = 2.0
PATIENCE = 10  # times the original's CPU time, after which a mutant has hung


@dataclass(frozen=True)
class Task:
    """A trial of one algorithm, and the CPU seconds it may take."""

    algorithm: str
    trial: Trial
    seconds: float

    def __str__(self) -> str:
        return f"{self.algorithm}: {self.trial}"


@dataclass(frozen=True)
class Outcome:
    task: Task
    verdict: str  # empty if nothing was found
    text: str
    seconds: float


class Sources(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """Finds the modules of `ROOMS` in the repository, with one replaced by a mutant."""

    def __init__(self) -> None:
        self.mutated = ""  # the name of the module
        self.source = ""
        self.compiled: dict[tuple[object, object], Any] = {}  # what does not change is not compiled for every mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not any([fullname == room or fullname.startswith(f"{room}.") for room in ROOMS]):
            return None
        file = SOURCES / Path(*fullname.split("."))
        package = file.is_dir()
        file = file / "__init__.py" if package else file.with_suffix(".py")
        places = [str(file.parent)] if package else None
        return importlib.util.spec_from_file_location(fullname, file, loader=self, submodule_search_locations=places)

    def get_filename(self, fullname: str) -> str:
        spec = self.find_spec(fullname, None)
        return spec.origin or "" if spec is not None else ""

    def get_data(self, path: bytes | str) -> bytes:
        if self.mutated and Path(os.fsdecode(path)) == Path(self.get_filename(self.mutated)):
            return self.source.encode()
        return Path(os.fsdecode(path)).read_bytes()

    def source_to_code(self, data: Any, path: Any = "<string>") -> Any:
        if (path, data) not in self.compiled:
            self.compiled[path, data] = super().source_to_code(data, path)
        return self.compiled[path, data]

    def path_stats(self, path: bytes | str) -> dict[str, Any]:
        raise OSError  # no byte code is written or read


FINDER = Sources()


def set_up() -> None:
    """Interpret the rooms with algorithms from now on; before anything of the package is imported."""
    if FINDER not in sys.meta_path:
        assert not any([name.startswith(ROOMS) for name in sys.modules])
        sys.meta_path.insert(0, FINDER)
    for name in (*FINDERS, "scenarios"):  # these need not be imported in each process
        importlib.import_module(name)
    for name in list(sys.modules):  # to be known before any process is forked
        if name.startswith(MUTATED):
            _known_imports(name)


def module_name(path: Path) -> str:
    return ".".join(path.resolve().relative_to(SOURCES.resolve()).with_suffix("").parts)


@cache
def imports_of(module: str) -> tuple[str, ...]:
    """The modules of `ROOMS`, but for packages and the catalogue, that a module needs, itself included."""
    names = sources.imports_of(module, MUTATED, SOURCES)
    return tuple([name for name in names if not SOURCES.joinpath(*name.split(".")).is_dir()])


def run_task(task: Task) -> Outcome:
    from scenarios import SCENARIOS
    from steps import with_settings

    from congenial.checker.check import check
    from congenial.checker.fuzz import fuzz
    from congenial.systems.catalogue import find_algorithm

    parameters = dict(task.trial.parameters)
    if "options" in parameters:
        parameters["options"] = dict(parameters["options"])
    start = process_time()
    if task.trial.call == "test":
        run_test(parameters["file"], parameters["name"])  # what it asserts is raised
        return Outcome(task, "", "", process_time() - start)
    algorithm = find_algorithm(task.algorithm)
    if task.trial.call == "scenario":
        text = SCENARIOS[parameters["name"]](algorithm)
        return Outcome(task, "scenario" if text else "", text, process_time() - start)
    if "settings" in parameters:
        algorithm = with_settings(algorithm, dict(parameters.pop("settings")))
    result: Any = (check if task.trial.call == "check" else fuzz)(algorithm, **parameters)
    found = result.counterexample
    seconds = process_time() - start
    return Outcome(task, "" if found is None else found.kind, "" if found is None else found.text, seconds)


def put_in_place(mutant: Mutant) -> None:
    """Forget what depends on the mutated module, and import it all again."""
    FINDER.mutated = module_name(mutant.path)
    FINDER.source = mutant.source()
    for name in list(sys.modules):
        depends = name in ON_TOP or (name.startswith(MUTATED) and FINDER.mutated in _known_imports(name))
        if depends:
            del sys.modules[name]
            package, _, module = name.rpartition(".")
            delattr(sys.modules[package], module)  # or `from package import module` would find the old one
    catalogue = importlib.import_module("congenial.systems.catalogue")
    for name in FINDERS:
        vars(sys.modules[name])["find_algorithm"] = catalogue.find_algorithm


@cache
def _known_imports(name: str) -> tuple[str, ...]:
    package = (SOURCES / Path(*name.split("."))).is_dir()
    return () if package else imports_of(name)


# -- processes ---------------------------------------------------------------------------------------------


class Worker:
    """A forked process that runs tasks until one finds something; a task that takes too long ends it."""

    def __init__(self, mutant: Mutant | None, tasks: list[Task]) -> None:
        self.mutant = mutant
        self.tasks = tasks
        self.passed: list[Outcome] = []
        self.failed: list[Outcome] = []  # several only where all tasks are run, those of an original
        context = mp.get_context("fork")
        self.pipe, child = context.Pipe(duplex=False)
        self.process = context.Process(target=_work, args=(mutant, tasks, child), daemon=True)
        self.process.start()
        child.close()

    def read(self) -> bool:
        """Take what the process says; is there more to come?"""
        try:
            outcome: Outcome = self.pipe.recv()
        except EOFError:
            self.process.join()
            done = len(self.passed) + len(self.failed)
            if (self.mutant is None or not self.failed) and done < len(self.tasks):
                task = self.tasks[done]
                timed_out = self.process.exitcode == -signal.SIGVTALRM
                text = f"more than {task.seconds:.0f} s of CPU" if timed_out else f"exit code {self.process.exitcode}"
                self.failed.append(Outcome(task, "hangs" if timed_out else "crashes", text, task.seconds))
            return False
        if outcome.verdict:
            self.failed.append(outcome)
        else:
            self.passed.append(outcome)
        return True

    @property
    def killed(self) -> Outcome | None:
        """The first task that found something."""
        return self.failed[0] if self.failed else None

    def stop(self) -> None:
        self.process.kill()
        self.process.join()


def _work(mutant: Mutant | None, tasks: list[Task], pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    task = tasks[0]
    try:
        if mutant is not None:
            put_in_place(mutant)
        for task in tasks:
            signal.setitimer(signal.ITIMER_VIRTUAL, task.seconds)
            outcome = run_task(task)
            pipe.send(outcome)
            if outcome.verdict and mutant is not None:
                break
    except Exception as error:
        pipe.send(Outcome(task, type(error).__name__, str(error)[:300], 0.0))
