"""Every mutant is killed, by the verdict it should be killed by; the algorithm it was made from lives."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest
from mutant import MUTANTS, Mutant

from congenial.checker.check import check
from congenial.systems.catalogue import ALGORITHMS, SOUND

# states after which every mutant is dead, reduced or not, and to which originals are explored here
LIMITS = {True: 15_000, False: 40_000}
ORIGINAL_LIMITS = {True: 2_500, False: 40_000}
FAMILIES = [import_module(path.stem) for path in sorted(Path(__file__).parent.glob("broken_*.py"))]


def test_there_are_at_least_three_mutants_of_each_algorithm() -> None:
    counted = Counter(mutant.algorithm.spec.name for mutant in MUTANTS)
    assert set(counted) == set(SOUND)
    assert min(counted.values()) >= 3


def test_every_verdict_kills_some_mutant() -> None:
    kinds = {mutant.kind for mutant in MUTANTS}
    assert kinds == {"safety", "deadlock", "starvation", "concurrent entry", "bound", "illegal step"}


def test_every_mutant_is_of_one_algorithm_and_one_family() -> None:
    assert {mutant.algorithm.__module__ for mutant in MUTANTS} == {family.__name__ for family in FAMILIES}
    assert all([mutant.original in ALGORITHMS.values() for mutant in MUTANTS])
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_the_mutant_is_killed(mutant: Mutant) -> None:
    result = check(mutant.algorithm, limit=LIMITS[True], reduce=True, **mutant.system)
    assert result.counterexample is not None, result.verdict()
    assert result.counterexample.kind == mutant.kind, result.verdict()
    assert result.counterexample.events


@pytest.mark.deep
@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_without_reduction_it_is_killed_too(mutant: Mutant) -> None:
    result = check(mutant.algorithm, limit=LIMITS[False], reduce=False, **mutant.system)
    assert not result.ok


SYSTEMS = {f"{mutant.original.spec.name} {mutant.system}": mutant for mutant in MUTANTS}


@pytest.mark.deep
@pytest.mark.parametrize("reduce", [True, False], ids=["reduced", "full"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_original_lives_where_its_mutants_die(name: str, reduce: bool) -> None:
    mutant = SYSTEMS[name]
    result = check(mutant.original, limit=ORIGINAL_LIMITS[reduce], reduce=reduce, **mutant.system)
    assert result.ok, result.verdict()
