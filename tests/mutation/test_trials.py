"""What mutants are tried on."""

from __future__ import annotations

import pytest
from trials import FAULTS, handwritten, trials_for

from congenial.systems.catalogue import SOUND


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
