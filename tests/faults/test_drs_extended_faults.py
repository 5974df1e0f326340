"""Swaroop & Singh 2007, section VII, with timers and regeneration: type sets, and what is lost comes again."""

from __future__ import annotations

from typing import Any

import pytest

from congenial.checker.check import check
from congenial.checker.fuzz import fuzz
from congenial.sim.simulate import simulate

NAME = "drs-gme-extended-faults"
SETS = "0|1;1|2;0"


@pytest.mark.parametrize(
    "system",
    [
        {"nodes": 2, "requests": 1, "wants": "0|1;1", "crashes": 1},
        {"nodes": 2, "requests": 1, "wants": "0|1;1|2", "losses": 1},
        {"nodes": 2, "requests": 1, "wants": "0|1;1", "duplicates": 1},
        {"nodes": 3, "requests": 1, "wants": SETS},
        pytest.param({"nodes": 3, "requests": 1, "wants": SETS, "losses": 1}, marks=pytest.mark.deep),
        pytest.param({"nodes": 3, "requests": 1, "wants": SETS, "crashes": 1}, marks=pytest.mark.deep),
    ],
    ids=str,
)
def test_every_run_was_seen(system: dict[str, Any]) -> None:
    result = check(NAME, **system)
    assert result.ok, result.verdict()
    assert result.complete


@pytest.mark.parametrize("timers", ["patient", "quiet"])
def test_random_runs_with_all_faults(timers: str) -> None:
    faults = {"crashes": 2, "losses": 2, "duplicates": 2}
    result = fuzz(NAME, nodes=3, requests=3, wants="0|1;1|2;0,0|2", timers=timers, runs=60, **faults)
    assert result.ok, result.verdict()


@pytest.mark.parametrize("seed", range(3))
def test_lost_tokens_are_made_again(seed: int) -> None:
    result = simulate(
        NAME, nodes=5, groups=3, requests=15, seed=seed, loss=("0.03",), options={"patience": "200n", "reply": "200"}
    )
    assert result.ok, result.verdict()
    assert result.messages_by_kind["GenToken"] > 0
