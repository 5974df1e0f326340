"""How many states there are: pinned, so that a change in an algorithm or in the explorer does not go unseen.

`pytest tests/checker/test_state_counts.py --rewrite` writes the tables again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from congenial.checker.check import check
from congenial.kernel.problem import Problem
from congenial.systems.catalogue import ALGORITHMS, SOUND

TABLES = Path(__file__).with_name("state_counts")
MUTEX_SYSTEMS: list[dict[str, Any]] = [{"nodes": 2, "requests": 2}, {"nodes": 3, "requests": 1}]
GROUP_SYSTEMS: list[dict[str, Any]] = [
    {"nodes": 2, "requests": 1, "groups": 2},
    {"nodes": 3, "requests": 1, "wants": "0;0;1"},
]
KMUTEX_SYSTEMS: list[dict[str, Any]] = [
    {"nodes": 2, "requests": 2, "options": {"k": "1"}},
    {"nodes": 2, "requests": 2},
    {"nodes": 3, "requests": 1},
]
WEAK_SYSTEMS: list[dict[str, Any]] = [{"nodes": 2, "requests": 1}, {"nodes": 2, "requests": 1, "operations": 1}]


def systems(problem: Problem) -> list[dict[str, Any]]:
    if problem.groups:
        return GROUP_SYSTEMS
    if problem.operations:
        return WEAK_SYSTEMS
    return KMUTEX_SYSTEMS if problem.concurrent_entry else MUTEX_SYSTEMS


def counts(name: str) -> dict[str, dict[str, list[int]]]:
    problem = ALGORITHMS[name].spec.problem
    assert problem is not None
    found: dict[str, dict[str, list[int]]] = {}
    for system in systems(problem):
        where = ", ".join([f"{key} {value}" for key, value in system.items()])
        found[where] = {}
        for way, reduce in (("all", False), ("reduced", True)):
            if reduce and "operations" in system:
                continue  # never reduced
            result = check(name, reduce=reduce, **system)
            assert result.ok, result.verdict()
            assert result.complete
            found[where][way] = [result.states, result.transitions, result.depth]
    return found


@pytest.mark.parametrize("name", SOUND)
def test_states_transitions_and_depth(name: str, rewrite: bool) -> None:
    found = counts(name)
    table = TABLES / f"{name}.json"
    if rewrite:
        table.write_text(json.dumps(found, indent=1) + "\n")
    assert table.exists(), f"{table.name} is missing: pytest --rewrite writes it"
    pinned: Any = json.loads(table.read_text())
    assert found == pinned, f"{name} is not what it was; if that is meant, run this test with --rewrite"


def test_no_table_is_left_over() -> None:
    assert {path.stem for path in TABLES.glob("*.json")} == set(SOUND)
