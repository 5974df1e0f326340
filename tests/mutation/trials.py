"""Where a mutant is tried: small systems for `check` and larger ones for `fuzz`, by problem and by algorithm.

Cheap ones come first, since most mutants die immediately. The original must pass all of them (`run.py` makes sure).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from recovery_scenarios import RECOVERY
from trial import RUNS, Trial, check, fuzz, scenario
from view_trials import VIEW_TRIALS

from congenial.kernel.node import Node
from congenial.kernel.problem import Problem
from congenial.problems.mutex import MUTEX

HANDWRITTEN = Path(__file__).parents[1] / "mutants"
HANDWRITTEN_LIMIT = 40_000

MUTEX_TRIALS = (
    check(nodes=1, requests=2),
    check(nodes=2, requests=1),
    check(nodes=2, requests=2),
    check(nodes=3, requests=1),
    fuzz(nodes=4, requests=3),
    check(nodes=3, requests=2),
    check(nodes=2, requests=4),
    fuzz(nodes=7, requests=2),
    fuzz(nodes=3, requests=8, runs=20),
    fuzz(nodes=7, requests=3, runs=400),
)
GROUP_TRIALS = (
    check(nodes=1, requests=2, groups=2),
    check(nodes=2, requests=1, groups=2),
    check(nodes=2, requests=2, groups=2),
    check(nodes=3, requests=1),
    check(nodes=3, requests=1, wants="0;0;1"),
    check(nodes=3, requests=1, groups=2),
    fuzz(nodes=4, requests=3, groups=2),
    check(nodes=3, requests=2, wants="0;1;0"),
    check(nodes=2, requests=3, wants="0;1"),
    check(nodes=2, requests=2, wants="0,1;0", limit=20_000),
    fuzz(nodes=7, requests=2, groups=3),
    fuzz(nodes=3, requests=8, groups=2, runs=20),
    check(nodes=4, requests=1, wants="0;0;1;1"),
    check(nodes=3, requests=1, wants="0|1;1|2;0"),
    fuzz(nodes=4, requests=3, wants="0|1;1|2;0,1;0|2", runs=100),
    fuzz(nodes=3, requests=2, wants="0;1;2", runs=12_000),  # nobody follows anybody, and some request arrives very late
)
KMUTEX_TRIALS = (
    check(nodes=1, requests=2),
    check(nodes=1, requests=2),
    check(nodes=2, requests=1),
    check(nodes=3, requests=1),
    check(nodes=2, requests=2, options=(("k", "1"),)),
    fuzz(nodes=4, requests=3),
    check(nodes=3, requests=2),
    fuzz(nodes=7, requests=3, options=(("k", "3"),)),
    fuzz(nodes=3, requests=8, options=(("k", "1"),), runs=20),
    check(nodes=4, requests=1),
)
HASTY = (("interval", 1),)  # everything is forgotten as soon as may be
WEAK_TRIALS = (
    check(nodes=1, requests=2),
    check(nodes=2, requests=1),
    check(nodes=2, requests=1, operations=1),
    check(nodes=2, requests=2),
    fuzz(nodes=3, requests=2, operations=2),
    check(nodes=3, requests=1, operations=1),
    check(nodes=2, requests=1, operations=2),
    check(nodes=2, requests=1, suspicions=1),
    fuzz(nodes=5, requests=3, operations=2, crashes=2, suspicions=3, recovery=False),
    check(nodes=2, requests=1, operations=1, suspicions=1),
    check(nodes=3, requests=1, crashes=1, recovery=False),
    fuzz(nodes=2, requests=3, operations=2, suspicions=4, runs=300),
    fuzz(nodes=3, requests=3, operations=2, suspicions=4, runs=300),
    fuzz(nodes=3, requests=3, operations=2, crashes=1, suspicions=3, recovery=False, runs=300),
    fuzz(nodes=3, requests=12, operations=12, suspicions=2, runs=20),
    check(nodes=1, requests=2, operations=2),
    scenario("memory lost"),
    fuzz(nodes=3, requests=2, operations=2, crashes=1, suspicions=3, recovery=False, settings=HASTY, runs=1000),
)

MANY = 1500  # runs, for faults to strike at the wrong moment
KEEP = (("orphans", "keep"),)
IN_EPOCHS = (scenario("fences run out"), scenario("granted twice"), scenario("forgotten twice"))
BY_CONSENSUS = (
    scenario("leaving"),
    fuzz(nodes=3, requests=2, operations=1, crashes=1, suspicions=2, recovery=False, runs=200),
    fuzz(nodes=5, requests=1, operations=1, suspicions=3),
)
FAULTS: dict[str, tuple[Trial, ...]] = {
    "wme-1": IN_EPOCHS,
    "wme-2": IN_EPOCHS,
    "wme-consensus-fast": BY_CONSENSUS,
    "wme-consensus-lean": BY_CONSENSUS,
    "drs-gme-faults": (
        scenario("token kept"),
        check(nodes=2, requests=1, groups=2, crashes=1),
        check(nodes=2, requests=1, groups=2, losses=1),
        check(nodes=2, requests=1, groups=2, duplicates=1),
        check(nodes=2, requests=2, wants="0,1;0", crashes=1),
        check(nodes=2, requests=2, groups=2, losses=1),
        fuzz(nodes=2, requests=3, groups=2, crashes=2, losses=2, duplicates=2, runs=MANY),
        fuzz(nodes=3, requests=3, groups=2, crashes=2, losses=2, duplicates=2, runs=MANY),
        fuzz(nodes=3, requests=3, groups=2, crashes=2, losses=2, duplicates=2, timers="quiet", runs=MANY),
        check(nodes=3, requests=1, wants="0;0;1", losses=1, limit=60_000),
        check(nodes=3, requests=1, wants="0;0;1", crashes=1, limit=60_000),
    ),
    "drs-gme-extended-faults": (
        check(nodes=2, requests=1, wants="0|1;1", crashes=1),
        check(nodes=2, requests=1, wants="0|1;1|2", losses=1),
        check(nodes=3, requests=1, wants="0|1;1|2;0", losses=1, limit=60_000),
        fuzz(nodes=3, requests=3, wants="0|1;1|2;0,0|2", crashes=2, losses=2, duplicates=2, runs=MANY),
    ),
    "mishra-srimani": (
        check(nodes=2, requests=1, timers="quiet"),
        check(nodes=2, requests=1, crashes=1),
        check(nodes=2, requests=1, losses=1),
        check(nodes=2, requests=1, crashes=1, recovery=False),
        check(nodes=2, requests=2, crashes=1, limit=40_000),
        check(nodes=2, requests=2, losses=1, limit=40_000),
        check(nodes=3, requests=1, crashes=1, limit=60_000),
        check(nodes=3, requests=1, losses=1, limit=60_000),
        fuzz(nodes=2, requests=3, crashes=1, runs=MANY),
        fuzz(nodes=3, requests=2, crashes=1, timers="quiet", runs=MANY),
        fuzz(nodes=3, requests=2, crashes=1, runs=MANY),
        fuzz(nodes=3, requests=2, losses=2, timers="quiet", runs=MANY),
        fuzz(nodes=3, requests=2, crashes=1, recovery=False, runs=MANY),
        fuzz(nodes=5, requests=2, crashes=1, timers="quiet", runs=400),
        fuzz(nodes=3, requests=4, crashes=3, runs=600),
        scenario("unanswered"),
        scenario("answer to earlier search"),
        scenario("answer to earlier proposal"),
        scenario("smaller goes on"),
        scenario("larger gives way"),
        scenario("lower age gives way"),
        scenario("own age"),
        scenario("age in answers"),
        scenario("objection"),
        scenario("objection and crash"),
        scenario("objection under way"),
        scenario("idle holder"),
        scenario("ejected"),
        scenario("late news"),
        scenario("old token after consent"),
        scenario("old token after news"),
        scenario("old token after use"),
    ),
    "nishio-li-manning": (
        check(nodes=2, requests=1, timers="quiet"),
        check(nodes=2, requests=1, timers="free"),
        check(nodes=2, requests=1, crashes=1),
        check(nodes=2, requests=1, losses=1),
        check(nodes=2, requests=1, losses=2),
        check(nodes=2, requests=2, crashes=1),
        check(nodes=2, requests=2, crashes=1, losses=1, limit=40_000),
        check(nodes=3, requests=1, crashes=1, limit=60_000),
        check(nodes=3, requests=1, losses=1, limit=60_000),
        check(nodes=3, requests=1, crashes=1, losses=1, timers="free", limit=60_000),
        fuzz(nodes=2, requests=3, crashes=2, losses=2, runs=MANY),
        fuzz(nodes=3, requests=2, crashes=2, losses=2, runs=MANY),
        fuzz(nodes=3, requests=2, crashes=2, losses=2, timers="quiet", runs=MANY),
        fuzz(nodes=4, requests=2, crashes=3, losses=3, timers="quiet", runs=400),
        fuzz(nodes=2, requests=2, crashes=1, losses=1, timers="free", runs=250),
        scenario("promise forgotten"),
    ),
    "nishio-propagation": (
        check(nodes=1, requests=2, crashes=1),
        check(nodes=2, requests=1, timers="quiet"),
        check(nodes=2, requests=1, crashes=1),
        check(nodes=2, requests=1, crashes=1, losses=1),
        check(nodes=2, requests=2, crashes=1),
        check(nodes=3, requests=1, crashes=1, limit=60_000),
        fuzz(nodes=3, requests=2, crashes=1, losses=1, timers="quiet", runs=MANY),
        fuzz(nodes=4, requests=3, crashes=1, timers="quiet", runs=400),
    ),
    "raymond-recovery": (
        check(nodes=1, requests=2, crashes=1),
        check(nodes=2, requests=1, crashes=3, limit=40_000),
        check(nodes=3, requests=1, crashes=1),
        check(nodes=3, requests=2, crashes=1, limit=60_000),
        check(nodes=3, requests=1, crashes=2, limit=60_000),
        fuzz(nodes=7, requests=2, crashes=6, runs=400),
        fuzz(nodes=5, requests=3, crashes=10, options=(("tree", "line"),), runs=400),
        fuzz(nodes=6, requests=2, crashes=8, options=(("tree", "star"),), runs=400),
    ),
    "naimi-trehel-recovery": (
        check(nodes=2, requests=1, crashes=1),
        check(nodes=2, requests=1, losses=1),
        check(nodes=3, requests=1, losses=1, limit=60_000),
        check(nodes=2, requests=2, crashes=1),
        check(nodes=3, requests=1, crashes=1, recovery=False, limit=60_000),
        check(nodes=3, requests=1, crashes=1, limit=60_000),
        check(nodes=3, requests=2, losses=1, limit=60_000),
        fuzz(nodes=2, requests=3, crashes=1, runs=MANY),
        fuzz(nodes=3, requests=3, crashes=1, runs=MANY),
        fuzz(nodes=4, requests=2, crashes=1, runs=MANY),
        fuzz(nodes=3, requests=3, losses=1, runs=MANY),
        fuzz(nodes=4, requests=2, losses=1, runs=MANY),
        fuzz(nodes=4, requests=3, crashes=1, recovery=False, runs=MANY),
        fuzz(nodes=3, requests=3, crashes=2, runs=800),
        fuzz(nodes=3, requests=3, crashes=1, losses=1, runs=800),
        *[scenario(name) for name in RECOVERY],
    ),
    "agrawal-el-abbadi": (
        scenario("asks again"),
        check(nodes=2, requests=1, crashes=1),
        check(nodes=2, requests=2, crashes=1),
        check(nodes=3, requests=1, crashes=1, limit=60_000),
        check(nodes=3, requests=1, crashes=1, recovery=False, limit=60_000),
        check(nodes=2, requests=1, suspicions=1, options=KEEP),
        fuzz(nodes=3, requests=3, crashes=3, runs=400),
        fuzz(nodes=3, requests=3, crashes=2, runs=MANY),
        fuzz(nodes=7, requests=2, crashes=5, runs=200),
        fuzz(nodes=3, requests=3, crashes=3, suspicions=3, options=KEEP, runs=400),
        fuzz(nodes=7, requests=2, crashes=3, suspicions=3, options=KEEP, runs=200),
        fuzz(nodes=7, requests=3, crashes=2, recovery=False, runs=200),
    ),
}

MAJORITY = (("k", "2"), ("coterie", "majority"))
MAJORITY_OF_3 = (("k", "3"), ("coterie", "majority"))
LARGER: dict[str, tuple[Trial, ...]] = {  # where what is to be found needs many processes
    "kakugawa": (
        fuzz(nodes=4, requests=1, options=MAJORITY, runs=1500),
        fuzz(nodes=6, requests=1, options=MAJORITY_OF_3, runs=1500),
        fuzz(nodes=7, requests=2, options=MAJORITY, runs=300),
        fuzz(nodes=6, requests=2, options=MAJORITY_OF_3, runs=3000),
        fuzz(nodes=6, requests=3, runs=400),
    ),
    "home-k": (
        scenario("kept and recalled"),
        scenario("recalled in vain"),
        scenario("recalled late"),
        scenario("the last permit"),
        scenario("handed over"),
    ),
    "home-gme": (scenario("session handed over"), scenario("session begun in turn")),
    "surrogate-concurrent": (scenario("held back"),),
    "surrogate-b": (fuzz(nodes=7, requests=3, groups=3, runs=60),),
    "raynal-primes": (  # it asks again and again: few runs
        fuzz(nodes=2, requests=3, runs=10),
        fuzz(nodes=3, requests=2, runs=4),
        fuzz(nodes=3, requests=2, order="fifo", runs=4),
    ),
    "sanders": (fuzz(nodes=9, requests=2, options=(("structure", "maekawa:grid"),), runs=300),),
}


def trials_for(algorithm: type[Node]) -> list[Trial]:
    """What to try an algorithm on: the systems of its problem, its faults, those in which its handwritten mutants die,
    and its options."""
    spec = algorithm.spec
    if spec.name in VIEW_TRIALS:
        return VIEW_TRIALS[spec.name]
    problem = spec.problem or MUTEX
    usual = usual_trials(problem)
    special = [
        scenario("rounds"),
        *(() if problem.operations else (scenario("crowds"),)),
        *FAULTS.get(spec.name, ()),
        *LARGER.get(spec.name, ()),
        *handwritten().get(algorithm.__name__, ()),
    ]
    return list(dict.fromkeys([*usual, *special, *_with_other_options(algorithm, usual)]))


@cache
def handwritten() -> dict[str, list[Trial]]:
    """The systems in tests/mutants, by class: the parameters of `@killed(...)`."""
    found: dict[str, list[Trial]] = {}
    for path in sorted(HANDWRITTEN.glob("broken_*.py")):
        constants: dict[str, Any] = {}
        for mutant in ast.parse(path.read_text()).body:
            if isinstance(mutant, ast.Assign):
                constants[ast.unparse(mutant.targets[0])] = ast.literal_eval(mutant.value)
            elif isinstance(mutant, ast.ClassDef) and mutant.decorator_list:
                decorator = mutant.decorator_list[0]
                assert isinstance(decorator, ast.Call)
                system = {
                    keyword.arg or "": constants.get(ast.unparse(keyword.value)) or ast.literal_eval(keyword.value)
                    for keyword in decorator.keywords
                }
                if "options" in system:
                    system["options"] = tuple(system["options"].items())
                found.setdefault(ast.unparse(mutant.bases[0]), []).append(check(limit=HANDWRITTEN_LIMIT, **system))
    return found


def usual_trials(problem: Problem) -> tuple[Trial, ...]:
    if problem.operations:
        return WEAK_TRIALS
    if problem.groups:
        return GROUP_TRIALS
    return KMUTEX_TRIALS if problem.concurrent_entry else MUTEX_TRIALS


def _with_other_options(algorithm: type[Node], usual: tuple[Trial, ...]) -> Iterator[Trial]:
    """For every value of an option: two small systems, and the larger ones."""
    fuzzed = [trial for trial in usual if trial.call == "fuzz" and dict(trial.parameters)["runs"] <= RUNS]
    others = (usual[0], usual[2], *fuzzed)
    for option in algorithm.spec.options:
        for choice in option.choices:
            if choice != option.default and option.name != "k":
                for trial in others:
                    yield trial.with_options({option.name: choice})
