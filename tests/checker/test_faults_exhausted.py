"""Three processes with a fault: every run, where that takes seconds. docs/checking.md says what takes longer."""

from __future__ import annotations

import pytest

from congenial.checker.check import check


@pytest.mark.deep
def test_mishra_srimani_with_a_crash_where_stays_are_longer_than_time_outs() -> None:
    """Time-outs run out when no message is under way, whoever is inside: every search finds the holder."""
    result = check("mishra-srimani", nodes=3, requests=1, crashes=1, timers="quiet", reduce=False)
    assert result.ok, result.verdict()
    assert result.complete
    assert result.states == 2_934_745
