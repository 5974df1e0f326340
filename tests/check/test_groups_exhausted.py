"""Three processes, two groups, two requests each: every run of the group algorithms, two processes against one."""

from __future__ import annotations

import pytest

from congenial.check.check import check


@pytest.mark.parametrize(
    ("name", "requests"),
    [("ra1", 2), ("ra2", 1), ("token-gme", 2), ("token-gme-fifo", 2), ("token-gme-types", 2), ("token-gme-bounded", 2)],
)
def test_every_run_was_seen(name: str, requests: int) -> None:
    result = check(name, nodes=3, requests=requests, groups=2, wants="0;1;0", reduce=False, limit=1_000_000)
    assert result.ok
    assert result.complete
