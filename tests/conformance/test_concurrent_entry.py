"""Everybody inside together, where it is promised: with every value of every option."""

from __future__ import annotations

import pytest

from congenial.kernel.errors import ConfigError
from congenial.systems.catalogue import SOUND
from congenial.systems.system import System
from congenial.testing import Case, conformance

NODES = 6  # as in the suite


def cases() -> list[tuple[str, Case]]:
    found: list[tuple[str, Case]] = []
    for name, algorithm in SOUND.items():
        for option in algorithm.spec.options:
            for choice in option.choices:
                options = {option.name: choice}
                try:
                    System(algorithm, NODES, options)
                    all_cases = conformance(name, options=options)
                except ConfigError:  # not for so many processes
                    continue
                together = [case for case in all_cases if case.name.startswith("everybody inside together")]
                found.extend([(f"{name}, {option.name} {choice}: {case}", case) for case in together])
    return found


CASES = cases()


def test_there_are_many() -> None:
    assert len(CASES) > 30


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in CASES])
def test_everybody_gets_in(case: Case) -> None:
    case.run()
