"""A short soak; `python tests/net/soak.py` runs a long one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from netlab import witness_process
from soak import soak


@pytest.mark.deep
def test_nothing_is_lost_and_nothing_leaks(tmp_path: Path) -> None:
    with witness_process(tmp_path) as witness:
        tally = asyncio.run(soak(seconds=8, nodes=5, tasks=100, locks=50, witness=witness))
    assert tally.violations == 0
    assert tally.lost < 50
    assert tally.entries > 500
    assert tally.cancelled > 50
    assert tally.timeouts > 0
    assert tally.cuts > 10
    assert tally.memory[-1] < tally.memory[0] * 1.3 + 4096
    assert max(tally.open_files) < 150
