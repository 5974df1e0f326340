"""Every algorithm of the catalogue passes the suite that users get for their own."""

from __future__ import annotations

import pytest

from congenial.systems.catalogue import SOUND
from congenial.testing import Case, conformance

CASES = [pytest.param(case, id=f"{name}: {case}") for name in SOUND for case in conformance(name, states=3000, runs=12)]


@pytest.mark.parametrize("case", CASES)
def test_conformance(case: Case) -> None:
    case.run()
