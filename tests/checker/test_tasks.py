"""Several processes, each with its tasks, find what one finds."""

from __future__ import annotations

from typing import Any

import pytest
from distributed import LocalCluster

from congenial.checker.check import check
from congenial.checker.rules import Rules
from congenial.checker.tasks import split
from congenial.lab.workers import workers
from congenial.systems.catalogue import ALGORITHMS


@pytest.mark.parametrize("name", ["ra1", "token-gme", "token-gme-types", "suzuki-kasami", "raymond-tree", "maekawa"])
def test_verdict_and_costs_are_the_same(name: str) -> None:
    groups = 2 if ALGORITHMS[name].spec.problem is not None and ALGORITHMS[name].spec.problem.groups else 1
    one, two = [check(name, nodes=3, requests=1, groups=groups, jobs=jobs) for jobs in (1, 2)]
    assert one.ok
    assert two.ok
    assert one.complete
    assert two.complete
    assert (one.least_messages, one.most_messages) == (two.least_messages, two.most_messages)


@pytest.mark.parametrize(
    ("name", "system", "kind"),
    [
        ("maekawa", {"order": "any"}, "illegal step"),
        ("suzuki-kasami", {"losses": 1, "requests": 1}, "deadlock"),
        ("token-gme", {"groups": 2, "losses": 1, "requests": 1}, "deadlock"),
        ("ricart-agrawala", {"crashes": 1, "requests": 1}, "illegal step"),
    ],
)
def test_what_one_process_finds_two_find(name: str, system: dict[str, Any], kind: str) -> None:
    for jobs in (1, 2):
        result = check(name, nodes=3, jobs=jobs, **system)
        assert result.counterexample is not None
        assert result.counterexample.kind == kind or jobs > 1
        assert result.counterexample.events


def test_the_same_tasks_for_any_number_of_jobs() -> None:
    results = [check("ra1", nodes=2, requests=2, groups=2, jobs=jobs) for jobs in (2, 3)]
    assert results[0].states == results[1].states
    assert results[0].transitions == results[1].transitions


def test_tasks_are_all_the_ways_to_ask_and_all_the_victims() -> None:
    menus = [[(0,), (1,)], [(0,)]]
    parts = split(Rules(requests=2, menus=menus, losses=1), 2)
    assert len(parts) == 4 * 2
    assert sorted({str(part.menus) for part in parts})[0] == "[[(0,), (0,)], [(0,), (0,)]]"
    assert {part.victim for part in parts} == {0, 1}
    assert all(part.in_turn and part.losses == 1 for part in parts)
    assert len(split(Rules(requests=2, menus=[[(0,)], [(0,)]]), 2)) == 1


def test_a_cluster_finds_what_this_machine_finds() -> None:
    """Also of a class that only its name leads to (`+restart`), and where there is nothing to divide."""
    systems: list[tuple[str, dict[str, Any]]] = [
        ("ra1", {"nodes": 2, "requests": 1, "groups": 2}),
        ("ricart-agrawala+restart", {"nodes": 2, "requests": 1, "crashes": 1, "recovery": False}),
        ("ricart-agrawala", {"nodes": 2, "requests": 1}),
        ("suzuki-kasami", {"nodes": 2, "requests": 1, "losses": 1}),
    ]
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
        workers(cluster=cluster.scheduler_address) as found,
    ):
        for name, system in systems:
            here = check(name, jobs=2, **system)
            there = check(name, executor=found.executor, **system)
            assert there.complete == here.complete
            if here.ok and not here.reduced and not there.reduced:  # where they race, either may be the first
                assert (there.states, there.transitions) == (here.states, here.transitions)
            assert (there.least_messages, there.most_messages) == (here.least_messages, here.most_messages)
            assert there.ok == here.ok == (name != "suzuki-kasami")
