"""What a page asks for, checked: a run of an algorithm of the catalogue, or of a file named on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from congenial.checker.bounds import Bounds
from congenial.kernel.errors import ConfigError
from congenial.kernel.inputs import shown, whole
from congenial.kernel.node import Node
from congenial.problems.mutex import MUTEX
from congenial.sim.scenario import Scenario
from congenial.studio.explore import ExploredSystem
from congenial.systems.catalogue import ALGORITHMS, TRANSFORMS, find_algorithm

MOST_PROCESSES = 200  # with more, the ring cannot be read
MOST_EXPLORED = 20
MOST_RUNS = 1_000_000
BUDGETS = ("crashes", "losses", "duplicates", "suspicions")
WHOLE = ("nodes", "groups", "requests", "seed")
COUNTS = (*WHOLE, *BUDGETS, "runs")
NUMBERS = ("detection", "until", "bandwidth")
FAULTS = ("loss", "duplicate", "reorder", "crash", "pause", "partition", "suspect")
TEXTS = ("think", "hold", "delay", "skew")
LOADS = ("closed", "burst", "single", "turns")  # not a file
KINDS = {
    "mutex": "Mutual exclusion",
    "kmutex": "k entries at the same time",
    "group": "Group mutual exclusion",
    "weak": "Weak exclusion",
}
OWN_FILES = "Your own"
OPERATIONS = 2  # that a process issues in each stay, under weak exclusion
FILES = "file:"  # a distribution from a file, which a page may not name


def catalogue(own: Sequence[str]) -> dict[str, object]:
    """What a page can choose from; `own` are the files that the command line names."""
    named = {**{name: find_algorithm(name) for name in own}, **ALGORITHMS}
    return {
        "algorithms": [_described(name, algorithm, name in own) for name, algorithm in named.items()],
        "first": own[0] if own else "token-gme",
        "suffixes": list(TRANSFORMS),
    }


def _described(name: str, algorithm: type[Node], own: bool) -> dict[str, object]:
    spec = algorithm.spec
    problem = spec.problem or MUTEX
    return {
        "name": name,
        "title": spec.title if spec.problem is not None else name,
        "kind": OWN_FILES if own else KINDS.get(problem.name, problem.name),
        "groups": problem.groups,
        "reference": spec.reference,
        "faults": spec.faults,
        "flaws": spec.flaws,
        "options": [
            {"name": option.name, "default": option.default, "help": option.help, "choices": option.choices}
            for option in spec.options
        ],
    }


def scenario(wish: Any, own: Sequence[str]) -> tuple[Scenario, int]:
    """The scenario and the seed that a page wishes to see. `ConfigError` says what is wrong with it."""
    if not isinstance(wish, dict):
        raise ConfigError("the settings of a run must be a JSON object")
    name = wish.get("algorithm", "")
    if not isinstance(name, str) or (name not in ALGORITHMS and name not in own):
        raise ConfigError(f"unknown algorithm {shown(name)}: choose one of the list")
    suffix = wish.get("suffix", "")
    if suffix and str(suffix) not in TRANSFORMS:
        raise ConfigError(f"unknown transform {shown(suffix)}: there are {', '.join(TRANSFORMS)}")
    problem = find_algorithm(name).spec.problem or MUTEX
    given: dict[str, Any] = {"requests": 10}
    unknown = set(wish) - {"algorithm", "suffix", "load", "fifo", "options", *WHOLE, *NUMBERS, *FAULTS, *TEXTS}
    if unknown:
        raise ConfigError(f"unknown setting {shown(sorted(map(str, unknown))[0])}")
    for setting in set(wish) & {*WHOLE, *NUMBERS, *FAULTS, *TEXTS}:
        given[setting] = _value(setting, wish[setting])
    seed = given.pop("seed", 1)
    if given.get("nodes", 0) > MOST_PROCESSES:
        raise ConfigError(f"nodes must be at most {MOST_PROCESSES} on a page, not {given['nodes']}")
    if wish.get("load", "closed") not in LOADS:
        raise ConfigError(f"unknown load {shown(wish['load'])}: {', '.join(LOADS)}")
    if str(wish.get("fifo", "")) not in ("", "true", "false"):
        raise ConfigError("fifo must be true or false")
    return (
        Scenario(
            f"{name}+{suffix}" if suffix else name,
            load=wish.get("load", "closed"),
            fifo={"true": True, "false": False}.get(str(wish.get("fifo", ""))),
            operations=OPERATIONS if problem.operations else 0,
            options=wish.get("options", {}),
            **given,
        ),
        seed,
    )


def explored_system(wish: Any, own: Sequence[str]) -> ExploredSystem:
    """What a page wishes to explore. Of the settings of a run it uses those that matter there."""
    made, _ = scenario(wish, own)
    if made.nodes > MOST_EXPLORED:
        raise ConfigError(f"nodes must be at most {MOST_EXPLORED} to explore by hand, not {made.nodes}")
    return ExploredSystem.of(str(made.algorithm), made.system(), made.requests, made.groups, made.fifo)


def order(wish: Any, own: Sequence[str]) -> dict[str, object]:
    """The check, or the random runs, that a page wishes: what `studio.checks` takes."""
    if not isinstance(wish, dict) or wish.get("kind") not in ("check", "fuzz"):
        raise ConfigError("the kind of a check must be check or fuzz")
    made, _ = scenario(wish.get("setting"), own)
    numbers = {name: _value(name, wish.get(name, 0)) for name in BUDGETS}
    runs = _value("runs", wish.get("runs", 1000))
    bounds = Bounds(
        requests=made.requests,
        groups=made.groups,
        order="" if made.fifo is None else "fifo" if made.fifo else "any",
        operations=1 if made.operations else 0,
        **numbers,
    )
    made.system()  # what is wrong with it is better said now
    return {
        "kind": wish["kind"],
        "algorithm": made.algorithm,
        "nodes": made.nodes,
        "options": made.settings(),
        "runs": whole(runs, "runs", 1, MOST_RUNS),
        "bounds": {
            **numbers, "requests": bounds.requests, "groups": bounds.groups, "order": bounds.order,
            "operations": bounds.operations,
        },
    }  # fmt: skip


def _value(setting: str, text: Any) -> Any:
    """A setting as a form has it: a text."""
    if not isinstance(text, str | int | float) or isinstance(text, bool):
        raise ConfigError(f"{setting} must be a text or a number, not {shown(text)}")
    words = str(text).strip()
    if setting in FAULTS:
        return tuple([word.strip() for word in words.split(";") if word.strip()])
    if setting in TEXTS:
        if words.startswith(FILES):
            raise ConfigError(f"{setting}: a page cannot name files")
        return words
    try:
        return int(words) if setting in COUNTS else float(words)
    except ValueError:
        raise ConfigError(
            f"{setting} must be a {'whole ' if setting in COUNTS else ''}number, not {shown(words)}"
        ) from None
