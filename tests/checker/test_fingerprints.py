"""The fingerprint that the explorer computes step by step is that of the whole state, and states differ in theirs."""

from __future__ import annotations

from typing import Any

import pytest
from faulty import Gambler, OnceAgain

from congenial.checker.bounds import Bounds
from congenial.checker.counterexample import path_to
from congenial.checker.explore import Explorer
from congenial.checker.world import World
from congenial.systems.catalogue import find_algorithm
from congenial.systems.system import System

SYSTEMS: list[tuple[Any, int, dict[str, Any]]] = [
    ("ricart-agrawala", 2, {"requests": 2}),
    ("lamport", 2, {"requests": 2}),
    ("suzuki-kasami", 2, {"requests": 1, "losses": 1, "duplicates": 1, "order": "fifo"}),
    ("suzuki-kasami", 2, {"requests": 2, "crashes": 1, "losses": 1, "duplicates": 1, "order": "any"}),
    ("maekawa", 3, {"requests": 1}),
    ("token-gme", 2, {"requests": 1, "groups": 2}),
    ("wme-1", 2, {"requests": 1, "operations": 1}),
    (OnceAgain, 2, {"requests": 1, "losses": 2, "timers": "patient"}),
    (Gambler, 2, {"requests": 1, "suspicions": 1}),
]


@pytest.mark.parametrize(("algorithm", "nodes", "bounds"), SYSTEMS)
def test_step_by_step_or_at_once(algorithm: Any, nodes: int, bounds: dict[str, Any]) -> None:
    system = System(find_algorithm(algorithm), nodes)
    explorer = Explorer(World(system, Bounds(**bounds).rules(system)), 1500)
    explorer.run(stop_at_first=False)
    states = [path_to(explorer, index)[1] for index in range(explorer.count)]
    found = [int(explorer.successors.fingerprint(state)) for state in states]
    assert found == [int(explorer.table.fingerprints[index]) for index in range(explorer.count)]
    assert len({tuple(state) for state in states}) == len(set(found)) == explorer.count
