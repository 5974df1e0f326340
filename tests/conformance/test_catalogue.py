"""Every algorithm of the catalogue passes the suite that users get for their own."""

from __future__ import annotations

import pytest

from congenial.systems.catalogue import SOUND
from congenial.testing import Case, conformance

DEEP = ("wme-consensus-fast", "wme-consensus-lean", "surrogate-concurrent")  # many messages, so many runs

CASES = [
    pytest.param(case, id=f"{name}: {case}", marks=pytest.mark.deep if name in DEEP else ())
    for name in SOUND
    for case in conformance(name, states=3000, runs=12)
]


@pytest.mark.parametrize("case", CASES)
def test_conformance(case: Case) -> None:
    case.run()
