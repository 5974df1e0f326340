"""Naimi and Trehel's recovery under faults: what it survives, explored and simulated, and what it does not."""

from __future__ import annotations

from typing import Any

import pytest

from congenial.algorithms.token.naimi_trehel_recovery import SPEC
from congenial.checker.check import check
from congenial.checker.result import CheckResult
from congenial.sim.engine import SimulationFailed
from congenial.sim.scenario import Scenario
from congenial.systems.streams import stream

SURVIVED: list[dict[str, Any]] = [
    {"nodes": 2, "requests": 2, "crashes": 1},
    {"nodes": 2, "requests": 2, "crashes": 1, "timers": "quiet"},
    {"nodes": 3, "requests": 1, "crashes": 1, "recovery": False},
    {"nodes": 3, "requests": 1, "crashes": 1},
    {"nodes": 3, "requests": 1, "losses": 1},
    {"nodes": 2, "requests": 2, "losses": 1, "timers": "quiet"},
]


def named(system: dict[str, Any]) -> str:
    return ", ".join([f"{name} {value}" for name, value in system.items()])


@pytest.mark.parametrize("system", SURVIVED, ids=named)
def test_one_fault_does_no_harm_if_answers_come_in_time(system: dict[str, Any]) -> None:
    result = check("naimi-trehel-recovery", limit=100_000, **system)
    assert result.ok, result.verdict()
    assert result.complete


def found(**system: Any) -> CheckResult:
    result = check("naimi-trehel-recovery", limit=50_000, **system)
    assert result.counterexample is not None, "its Spec names a flaw that is not there any more"
    assert result.counterexample.kind == "safety"
    assert result.counterexample.events
    return result


def test_late_answers_make_two_tokens() -> None:
    assert "an answer that takes longer than Telec can lead to two tokens" in SPEC.flaws
    assert "while process 0 is inside" in found(nodes=2, requests=1, timers="free").verdict()


def test_two_lost_messages_make_two_tokens() -> None:
    assert "inside" in found(nodes=2, requests=1, losses=2).verdict()


def test_two_that_are_down_at_once_forget_the_era() -> None:
    assert "enters with fence" in found(nodes=2, requests=2, crashes=2).verdict()


def outages(kind: str, seed: int, n: int) -> dict[str, Any]:
    rng = stream(seed, 7)
    times: list[str] = []
    at = 0.0
    for _ in range(4 if kind == "crashes in turn" else 1):
        at += 150 * rng.random() + (60 if kind == "crashes in turn" else 0)
        back = at + (0.5, 2.0, 10.0, 50.0)[rng.randrange(4)]
        times.append(f"{rng.randrange(n)}@{at:.1f}" + ("" if kind == "one stays away" else f"-{back:.1f}"))
        at = back
    return {"crash": tuple(times)}


@pytest.mark.parametrize("kind", ["one stays away", "one comes back", "crashes in turn"])
def test_crashes_one_at_a_time_in_the_simulator(kind: str) -> None:
    """Answers take less than Telec; Twait is shorter than a stay inside, or longer than all waiting."""
    for seed in range(80):
        n = 2 + seed % 5
        settings: dict[str, Any] = {"nodes": n, "requests": 1 + seed % 3, "think": (0, 20, 200)[seed % 3]}
        times = {"wait": ("30", "200")[seed % 2], "answer": "8"}
        hold = ("constant:100", "constant:5")[seed // 2 % 2]
        faults = outages(kind, seed, n)
        scenario = Scenario(
            "naimi-trehel-recovery", **settings, **faults, hold=hold, delay="uniform:0.5,1.5", options=times, until=9000
        )
        engine = scenario.engine(seed)
        engine.run()
        assert engine.judge.waiters() == [], (seed, faults)
        assert engine.meter.entries > 0 or n == 1 or kind == "one stays away"


def test_a_rate_of_losses_is_too_much_now_and_then_and_never_ends_in_waiting() -> None:
    broken = 0
    for seed in range(60):
        scenario = Scenario(
            "naimi-trehel-recovery", nodes=5, requests=3, think=20, hold="constant:20", delay="uniform:0.5,1.5",
            loss=("0.2@0-200",), options={"wait": "60", "answer": "8"}, until=20_000,
        )  # fmt: skip
        engine = scenario.engine(seed)
        try:
            engine.run()
        except SimulationFailed:
            broken += 1
        else:
            assert engine.judge.waiters() == []
    assert 0 < broken < 60
