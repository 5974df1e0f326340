"""A mutant takes the place of a module in all that is made of it; what goes wrong in a process is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from workbench import SOURCES, imports_of, module_name

HERE = Path(__file__).parent
REPLACED = """
import sys
from mutate import mutants_of
from workbench import SOURCES, put_in_place, set_up
set_up()
group = "congenial.algorithms.group."
old = dict(sys.modules)
mutant = mutants_of(SOURCES / "congenial/algorithms/group/surrogate_quorum.py")[0]
put_in_place(mutant)
new = sys.modules
for name in ("surrogate_quorum", "surrogate_b", "surrogate", "surrogate_solitary"):
    assert new[group + name] is not old[group + name], name
    assert getattr(new[group[:-1]], name) is new[group + name], name
assert new[group + "ra1"] is old[group + "ra1"]
assert issubclass(new[group + "surrogate"].Locked, new[group + "surrogate_quorum"].Locked)
algorithm = new["congenial.systems.catalogue"].ALGORITHMS["surrogate-solitary"]
assert algorithm is new[group + "surrogate_solitary"].SurrogateSolitary
"""
KNOWN = """
import run
from pathlib import Path
from rich.progress import Progress
from workbench import set_up
set_up()
mutants = [mutant for mutant in run.all_mutants() if mutant.lenient][:3]
cache = run.Cache(Path("no results"))
with Progress() as progress:
    assert len(run.Hunt(run.Laboratory(cache, 1.0), cache).run(mutants, 1, progress)) == 3
"""
OUTCOMES = """
from mutate import mutants_of
from trials import check
from workbench import SOURCES, Task, Worker, set_up
set_up()
task = Task("raymond-tree", check(nodes=2, requests=1), 20.0)
found = {}
for mutant in mutants_of(SOURCES / "congenial/algorithms/token/raymond_tree.py"):
    if mutant.owner in ("RaymondTree.request", "RaymondTree.__init__"):
        worker = Worker(mutant, [task])
        while worker.read():
            pass
        found[mutant.name.partition(": ")[2]] = worker.killed.verdict if worker.killed else ""
assert found["`self.wait()` -> `pass`"] == "illegal step", found
assert found["`self._serve(out)` -> `pass`"] == "deadlock", found
assert found["`super().__init__(me, n)` -> `pass`"] == "ConfigError", found
assert found["in `self.entries = 0`: `0` -> `1`"] == "", found
"""

IN_VIEWS = """
from mutate import mutants_of
from trial import tested
from workbench import SOURCES, Task, Worker, set_up
set_up()
trials = {
    "parts/mutual.py": tested("parts/test_mutual.py", "test_the_process_with_the_broken_cable_goes"),
    "transform/views.py": tested("transform/test_views.py", "test_random_schedules_with_crashes_and_false_suspicions"),
}
found = {}
for file, trial in trials.items():
    mutants = mutants_of(SOURCES / "congenial" / file)
    mutant = next(mutant for mutant in mutants if mutant.owner in ("without_cuts", "InViews._on_told"))
    for one in (None, mutant):
        worker = Worker(one, [Task("home-gme+views", trial, 60.0)])
        while worker.read():
            pass
        found[file, one is None] = worker.killed.verdict if worker.killed else ""
assert not found["parts/mutual.py", True] and not found["transform/views.py", True], found
assert found["parts/mutual.py", False] and found["transform/views.py", False], found
"""


def run(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_a_mutated_module_is_replaced_wherever_it_is_used() -> None:
    run(REPLACED)


def test_what_becomes_of_mutants() -> None:
    run(OUTCOMES)


@pytest.mark.deep
def test_tests_are_trials_of_what_runs_in_views() -> None:
    run(IN_VIEWS)


def test_a_hunt_ends_when_all_is_known() -> None:
    run(KNOWN)


def test_what_a_module_is_made_of() -> None:
    path = SOURCES / "congenial" / "algorithms" / "group" / "surrogate.py"
    found = [name.rpartition(".")[2] for name in imports_of(module_name(path))]
    assert found == ["surrogate", "surrogate_b", "surrogate_quorum", "yielding"]
