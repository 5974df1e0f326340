"""How many states there are: pinned, so that a change in an algorithm or in the explorer does not go unseen.

`pytest tests/check/test_state_counts.py --rewrite` writes the table anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from congenial.algorithms.catalogue import ALGORITHMS
from congenial.check.check import check

TABLE = Path(__file__).with_name("state_counts.json")
MUTEX_SYSTEMS: list[dict[str, Any]] = [{"nodes": 2, "requests": 2}, {"nodes": 3, "requests": 1}]
GROUP_SYSTEMS: list[dict[str, Any]] = [
    {"nodes": 2, "requests": 1, "groups": 2},
    {"nodes": 3, "requests": 1, "wants": "0;0;1"},
]


def counts(name: str) -> dict[str, dict[str, list[int]]]:
    problem = ALGORITHMS[name].spec.problem
    assert problem is not None
    found: dict[str, dict[str, list[int]]] = {}
    for system in GROUP_SYSTEMS if problem.groups else MUTEX_SYSTEMS:
        where = ", ".join([f"{key} {value}" for key, value in system.items()])
        found[where] = {}
        for way, reduce in (("all", False), ("reduced", True)):
            result = check(name, reduce=reduce, **system)
            assert result.ok, result.verdict()
            assert result.complete
            found[where][way] = [result.states, result.transitions, result.depth]
    return found


@pytest.mark.parametrize("name", ALGORITHMS)
def test_states_transitions_and_depth(name: str, rewrite: bool) -> None:
    found = counts(name)
    table: dict[str, Any] = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    if rewrite:
        table[name] = found
        TABLE.write_text(json.dumps({key: table[key] for key in sorted(table)}, indent=1) + "\n")
    assert found == table.get(name), f"{name} is not what it was; if that is meant, run this test with --rewrite"
