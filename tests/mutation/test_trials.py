"""What mutants are tried on."""

from __future__ import annotations

import sys

import pytest
from tests_as_trials import names_of_tests, run_test
from trials import FAULTS, handwritten, trials_for

from congenial.systems.catalogue import SOUND

CALLS: list[tuple[int, int]] = []


@pytest.mark.parametrize("name", SOUND)
def test_every_algorithm_has_trials_of_each_kind(name: str) -> None:
    algorithm = SOUND[name]
    trials = trials_for(algorithm)
    assert len(trials) == len(set(trials)) >= 8
    assert {trial.call for trial in trials} == {"check", "fuzz", "scenario"}


@pytest.mark.parametrize("name", SOUND)
def test_an_algorithm_that_survives_faults_is_tried_with_faults(name: str) -> None:
    kinds = {"crashes", "losses", "suspicions", "duplicates"}
    faulty = [trial for trial in trials_for(SOUND[name]) if kinds & dict(trial.parameters).keys()]
    assert bool(faulty) == (SOUND[name].spec.faults != "none")


def test_the_systems_of_handwritten_mutants_are_among_them() -> None:
    assert set(handwritten()) == {algorithm.__name__ for algorithm in SOUND.values()}
    assert set(FAULTS) <= set(SOUND)


@pytest.mark.parametrize("numerator", [1, 2])
@pytest.mark.parametrize(("divisor", "quotients"), [(1, (1, 2)), (2, (0, 1))])
def test_of_division(numerator: int, divisor: int, quotients: tuple[int, int]) -> None:
    CALLS.append((numerator, divisor))
    assert numerator // divisor == quotients[numerator - 1]


def test_tests_are_called_with_each_set_of_their_parameters() -> None:
    assert "test_of_division" in names_of_tests("mutation/test_trials.py")
    CALLS.clear()
    run_test("mutation/test_trials.py", "test_of_division")
    calls = sys.modules["test_trials"].CALLS
    assert sorted(calls) == [(1, 1), (1, 2), (2, 1), (2, 2)]
