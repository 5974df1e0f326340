"""DRS_GME with faults: what is lost comes again, in seeded simulations, and in all runs of small systems."""

from __future__ import annotations

from typing import Any

import pytest

from congenial.checker.check import check
from congenial.checker.fuzz import fuzz
from congenial.sim.simulate import simulate

DRS = "drs-gme-faults"
SHORT = {"patience": "200n", "reply": "200"}  # generous beside a mean delay of 10
SEEDS = range(5)

# -- simulated ---------------------------------------------------------------------------------------------


def served(seed: int, least: int = 60, **faults: Any) -> None:
    result = simulate(DRS, nodes=5, groups=2, requests=15, seed=seed, options=SHORT, **faults)
    assert result.violation == ""
    assert result.waiting == ()  # all that are up are served
    assert result.entries >= least


CRASHES: dict[str, tuple[str, ...]] = {
    "the first holder, immediately": ("0@0-2000",),
    "for a moment": ("1@100-101", "0@150-151", "2@200-201"),
    "one after the other": ("0@100-900", "3@3000-9000", "1@12000-12010", "4@20000-29000"),
    "all at the same time": tuple([f"{process}@300-{500 + 100 * process}" for process in range(5)]),
    "again and again": tuple([f"{k % 5}@{300 * k + 100}-{300 * k + 200}" for k in range(20)]),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("story", CRASHES)
def test_crashes_with_recovery(story: str, seed: int) -> None:
    served(seed, least=50, crash=CRASHES[story])


@pytest.mark.parametrize("seed", SEEDS)
def test_loss(seed: int) -> None:
    served(seed, least=75, loss=("0.05@0-20000",))
    served(seed, least=75, loss=("1@200-260",))
    served(seed, least=75, loss=("0.02",))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_partition_that_ends(seed: int) -> None:
    served(seed, least=75, partition=("0,1|2,3,4@100-3000", "0|1@5000-6000"))


@pytest.mark.parametrize("seed", SEEDS)
def test_loss_and_random_crashes(seed: int) -> None:
    served(seed, least=30, crash=("0.0001/300",), loss=("0.02",), until=1e6)
    served(seed, least=50, crash=("1@500-1500", "3@2000-2500"), loss=("0.1@0-3000",), duplicate=("0.1@0-3000",))


@pytest.mark.parametrize("seed", SEEDS)
def test_hasty_time_outs_cost_messages_only(seed: int) -> None:
    hasty = {"patience": "30", "reply": "15"}
    result = simulate(DRS, nodes=5, groups=2, requests=15, seed=seed, options=hasty)
    assert result.ok
    assert result.messages_by_kind["GenToken"] > 0
    assert result.messages_by_kind["IsComplete"] > 0


@pytest.mark.parametrize("message", ["request", "token", "start", "complete"])
def test_each_kind_of_message_can_be_lost(message: str) -> None:
    """One follower and one conflicting request, at constant delay: everything of a short interval is lost."""
    times = {"request": "0.5-1.5", "token": "1.5-2.5", "start": "2.5-4.5", "complete": "22.5-24.5"}
    burst: dict[str, Any] = {"nodes": 4, "groups": 2, "load": "burst", "hold": "constant:20", "delay": "constant:1"}
    for seed in range(5):
        result = simulate(DRS, seed=seed, options=SHORT, loss=(f"1@{times[message]}",), **burst)
        assert result.ok
        assert result.entries == 4


def test_a_crash_alone_does_not_lose_the_token() -> None:
    burst: dict[str, Any] = {"nodes": 4, "groups": 1, "load": "burst", "hold": "constant:20", "delay": "constant:1"}
    stuck = simulate("drs-gme", crash=("0@0.5-2",), **burst)
    assert stuck.waiting != ()
    kept = simulate(DRS, crash=("0@10-11",), options=SHORT, **burst)
    assert kept.ok
    assert "GenToken" not in kept.messages_by_kind


# -- checked -----------------------------------------------------------------------------------------------

SURVIVED: list[dict[str, Any]] = [
    {"nodes": 2, "requests": 2, "groups": 2, "losses": 1},
    {"nodes": 2, "requests": 2, "groups": 2, "losses": 1, "timers": "quiet"},
    {"nodes": 2, "requests": 1, "groups": 2, "losses": 3},
    {"nodes": 2, "requests": 2, "groups": 1, "crashes": 1},
    {"nodes": 2, "requests": 1, "groups": 2, "crashes": 1, "losses": 1},
    {"nodes": 2, "requests": 1, "groups": 2, "crashes": 2, "timers": "quiet"},
    {"nodes": 2, "requests": 1, "groups": 2, "losses": 1, "duplicates": 1},
    {"nodes": 3, "requests": 1, "wants": "0;0;1", "losses": 1},
    {"nodes": 3, "requests": 1, "wants": "0;0;1", "crashes": 1},
]


@pytest.mark.parametrize("system", SURVIVED, ids=str)
def test_all_runs_with_faults_that_it_survives(system: dict[str, Any]) -> None:
    result = check(DRS, **system)
    assert result.ok, result.verdict()
    assert result.complete


@pytest.mark.parametrize("timers", ["free", "quiet", "patient"])
def test_nothing_is_wrong_in_the_first_of_all_runs(timers: str) -> None:
    system: dict[str, Any] = {"nodes": 3, "requests": 2, "wants": "0;0,1;1"}
    result = check(DRS, limit=12_000, crashes=1, losses=1, duplicates=1, timers=timers, **system)
    assert result.ok, result.verdict()


@pytest.mark.parametrize("timers", ["quiet", "patient"])
def test_random_runs_with_several_faults(timers: str) -> None:
    result = fuzz(DRS, nodes=4, requests=3, groups=2, runs=60, crashes=3, losses=3, duplicates=2, timers=timers)
    assert result.ok, result.verdict()


def test_what_it_does_not_survive() -> None:
    """A process that does not recover: Spec.flaws."""
    for system in ({"nodes": 2, "requests": 1}, {"nodes": 3, "requests": 1, "wants": "0;0;1"}):
        result = check(DRS, crashes=1, recovery=False, **system)
        assert result.counterexample is not None
        assert result.counterexample.kind in ("deadlock", "starvation")


@pytest.mark.parametrize("fault", ["losses", "crashes"])
def test_without_time_outs_it_would_not_be_survived(fault: str) -> None:
    found = check("drs-gme", nodes=2, requests=1, groups=2, **{fault: 1}).counterexample
    assert found is not None
