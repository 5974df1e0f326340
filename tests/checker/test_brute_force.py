"""The explorer against one that shares no code with it."""

from __future__ import annotations

from random import Random

import pytest
from broken import BROKEN
from brute import brute_force
from protocols import node_class, protocol

from congenial.checker.check import check
from congenial.kernel.node import Node
from congenial.systems.catalogue import ALGORITHMS, SOUND
from congenial.systems.system import System

ORDERS = ("any", "fifo")


def agree(algorithm: type[Node], nodes: int, requests: int, groups: int, order: str) -> None:
    states, depth, faults = brute_force(System(algorithm, nodes), requests, groups, order == "fifo")
    result = check(algorithm, nodes=nodes, requests=requests, groups=groups, order=order, reduce=False)
    found = result.counterexample
    if not faults:
        assert (result.states, result.depth, result.complete) == (states, depth, True)
        assert found is None or found.kind in ("concurrent entry", "bound", "starvation"), result.verdict()
    else:
        assert found is not None, f"brute force finds {faults}"
        assert (found.kind, len(found.actions)) in faults


@pytest.mark.deep
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", SOUND)
def test_the_explorer_sees_all_states_and_no_others(name: str, order: str) -> None:
    algorithm = ALGORITHMS[name]
    groups = 2 if algorithm.spec.problem is not None and algorithm.spec.problem.groups else 1
    few = groups > 1 or not check(name, nodes=2, requests=2, order=order, limit=1000, reduce=False).complete
    agree(algorithm, 2, 1 if few else 2, groups, order)


@pytest.mark.deep
@pytest.mark.parametrize("name", ["suzuki-kasami", "raymond-tree", "maekawa"])
def test_also_with_three_processes(name: str) -> None:
    agree(ALGORITHMS[name], 3, 1, 1, "any" if name != "maekawa" else "fifo")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("broken", BROKEN)
def test_it_finds_a_shortest_run_to_the_same_faults(broken: type[Node], order: str) -> None:
    groups = 2 if broken.spec.problem is not None and broken.spec.problem.groups else 1
    agree(broken, 2, 2, groups, order)


@pytest.mark.deep
def test_both_agree_on_protocols_that_nobody_wrote() -> None:
    tried = 0
    for seed in range(400):
        rng = Random(seed)
        made = protocol(rng.randrange)
        order = ORDERS[rng.randrange(2)]
        if check(node_class(made), nodes=2, requests=1, order=order, reduce=False, limit=400).states < 400:
            agree(node_class(made), 2, 1, 1, order)
            tried += 1
    assert tried > 150
