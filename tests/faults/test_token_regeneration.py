"""A lost token is regenerated: in seeded simulations with faults, and in all runs of small systems with one or two."""

from __future__ import annotations

from typing import Any

import pytest

from congenial.checker.check import check
from congenial.checker.check_run import CheckRun
from congenial.checker.fuzz import fuzz
from congenial.checker.rules import Rules
from congenial.kernel.trace import Trace
from congenial.sim.scenario import Scenario
from congenial.sim.simulate import simulate
from congenial.systems.catalogue import ALGORITHMS
from congenial.systems.system import System

MS, NLM = "mishra-srimani", "nishio-li-manning"
SHORT = {"patience": "200n", "reply": "200"}  # generous beside a mean delay of 10
SEEDS = range(6)

# -- simulated ---------------------------------------------------------------------------------------------

CRASHES: dict[str, tuple[str, ...]] = {
    "the first holder, immediately": ("0@0-2000",),
    "for a moment": ("1@100-101", "0@150-151", "2@200-201"),
    "one after the other": ("0@100-900", "3@3000-9000", "1@12000-12010", "4@20000-29000"),
    "again and again": tuple([f"{k % 5}@{3000 * k + 100}-{3000 * k + 1000}" for k in range(8)]),
}


def served(algorithm: str, seed: int, **faults: Any) -> None:
    result = simulate(algorithm, nodes=5, requests=15, seed=seed, options=SHORT, **faults)
    assert result.violation == ""
    assert result.waiting == ()  # all that are up are served
    assert result.entries >= 50


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("story", CRASHES)
@pytest.mark.parametrize("algorithm", [MS, NLM])
def test_crashes_with_recovery(algorithm: str, story: str, seed: int) -> None:
    served(algorithm, seed, crash=CRASHES[story])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("victim", [0, 3])
def test_mishra_srimani_survives_a_crash_for_good(victim: int, seed: int) -> None:
    served(MS, seed, crash=(f"{victim}@{100 + 30 * seed}",))


@pytest.mark.parametrize("seed", SEEDS)
def test_nishio_li_manning_survives_loss_and_random_crashes(seed: int) -> None:
    served(NLM, seed, loss=("0.03@0-20000",), crash=("1@500-1500", "3@6000-8000"))
    served(NLM, seed, crash=("0.0001/300",), loss=("0.01",), until=1e6)


@pytest.mark.parametrize("seed", SEEDS)
def test_nishio_li_manning_survives_a_partition_that_ends(seed: int) -> None:
    served(NLM, seed, partition=("0,1|2,3,4@100-3000", "0|1@5000-6000"))


def test_a_token_lost_with_its_holder_is_regenerated() -> None:
    """The holder crashes inside: without regeneration nobody would enter again."""
    burst: dict[str, Any] = {"nodes": 4, "load": "burst", "hold": "constant:20", "delay": "constant:1"}
    stuck = simulate("suzuki-kasami", crash=("0@10",), **burst)
    assert stuck.waiting == (1, 2, 3)
    regenerated = simulate(MS, crash=("0@10",), options=SHORT, **burst)
    assert regenerated.ok
    assert regenerated.entries == 4
    assert regenerated.messages_by_kind["Recovered"] == 3
    kept = simulate(NLM, crash=("0@10-11",), options=SHORT, **burst)  # its controller has it still
    assert kept.ok
    assert "Ack" not in kept.messages_by_kind


@pytest.mark.parametrize("seed", SEEDS)
def test_hasty_time_outs_cost_nishio_li_manning_messages_only(seed: int) -> None:
    hasty = {"patience": "30", "reply": "30"}
    result = simulate(NLM, nodes=4, requests=10, seed=seed, options=hasty, until=1e5)
    assert result.violation == ""
    assert result.messages_by_kind["Nack"] > 0


# -- checked -----------------------------------------------------------------------------------------------

SURVIVED: list[tuple[str, dict[str, Any]]] = [
    (MS, {"nodes": 2, "requests": 2, "crashes": 1}),
    (MS, {"nodes": 2, "requests": 2, "crashes": 1, "recovery": False}),
    (MS, {"nodes": 2, "requests": 1, "crashes": 1, "timers": "quiet"}),  # long stays inside, too
    (MS, {"nodes": 3, "requests": 1, "crashes": 1, "recovery": False}),
    (MS, {"nodes": 2, "requests": 2, "losses": 1}),
    (NLM, {"nodes": 2, "requests": 2, "crashes": 1}),
    (NLM, {"nodes": 2, "requests": 2, "losses": 1}),
    (NLM, {"nodes": 2, "requests": 1, "crashes": 1, "losses": 1}),
    (NLM, {"nodes": 2, "requests": 1, "crashes": 2}),
    (NLM, {"nodes": 3, "requests": 1, "losses": 1}),
]


@pytest.mark.parametrize(("algorithm", "system"), SURVIVED, ids=str)
def test_all_runs_with_faults_that_it_survives(algorithm: str, system: dict[str, Any]) -> None:
    result = check(algorithm, **system)
    assert result.ok, result.verdict()
    assert result.complete


@pytest.mark.deep
def test_all_runs_of_three_processes_with_a_crash_and_recovery() -> None:
    result = check(MS, nodes=3, requests=1, crashes=1, reduce=False)
    assert result.ok, result.verdict()
    assert result.complete
    assert result.states == 169_356


@pytest.mark.parametrize("victim", [0, 1, 2])
@pytest.mark.parametrize("askers", [[0], [1], [0, 1], [1, 2]], ids=str)
def test_nishio_li_manning_all_runs_of_three_processes_with_a_crash(askers: list[int], victim: int) -> None:
    """One of three crashes and recovers; all runs are seen if not two processes wait while another one is down. Where
    they do, the states are endless (see below). A bound on ages, or on how often time-outs run out, would end them."""
    endless = len(askers) == 2 and victim not in askers and askers != [0, 1]
    rules = Rules(1, [[(0,)]] * 3, crashes=1, patient=True, victim=victim, askers=askers)
    result = CheckRun(System(ALGORITHMS[NLM], 3), rules, False, False, 5_000, None).result(False)
    assert result.ok, result.verdict()
    assert result.complete is not endless


def test_nishio_li_manning_two_that_wait_outbid_each_other_while_the_holder_is_down() -> None:
    """Each agrees to the other's age, and proposes a higher one if its own time is up first, until the third is back.
    In a check time-outs run out in any order; here `patience` is shorter than `reply`."""
    ages = []
    impatient = {"patience": "100", "reply": "300"}
    for back in (10_000, 40_000):
        trace = Trace()
        engine = Scenario(NLM, nodes=3, requests=1, crash=(f"0@0-{back}",), options=impatient).engine(1, trace)
        engine.run()
        assert not engine.judge.waiters()
        proposed = [event.fields["age"] for event in trace.events if event.message == "TokenMissing" and event.fields]
        ages.append(max([age for age in proposed if isinstance(age, int)]))
    assert ages[1] > 2 * ages[0] > 10


@pytest.mark.parametrize("timers", ["free", "quiet", "patient"])
def test_nishio_li_manning_never_lets_two_in(timers: str) -> None:
    """Ages grow with every wrong time-out, so the states are endless: explore the first ones."""
    result = check(NLM, nodes=3, requests=1, limit=15_000, crashes=1, losses=1, timers=timers)
    assert result.ok, result.verdict()


def test_nishio_li_manning_in_random_runs_with_several_faults() -> None:
    for timers in ("quiet", "patient"):
        result = fuzz(NLM, nodes=4, requests=2, runs=100, crashes=3, losses=3, timers=timers)
        assert result.ok, result.verdict()


def test_mishra_srimani_in_random_runs_with_a_crash() -> None:
    for recovery in (True, False):
        result = fuzz(MS, nodes=4, requests=2, runs=100, crashes=1, timers="quiet", recovery=recovery)
        assert result.ok, result.verdict()


# -- what they do not survive: every line of Spec.flaws ----------------------------------------------------

FLAWS: list[tuple[str, str, dict[str, Any]]] = [
    (MS, "safety", {"nodes": 2, "requests": 1, "timers": "free"}),
    (MS, "starvation", {"nodes": 3, "requests": 1, "crashes": 2, "recovery": False}),
    (MS, "safety", {"nodes": 2, "requests": 1, "losses": 3}),
    (NLM, "starvation", {"nodes": 2, "requests": 1, "crashes": 1, "recovery": False}),
    (NLM, "illegal step", {"nodes": 2, "requests": 1, "duplicates": 1}),
]


@pytest.mark.parametrize(("algorithm", "kind", "system"), FLAWS, ids=str)
def test_what_it_does_not_survive(algorithm: str, kind: str, system: dict[str, Any]) -> None:
    result = check(algorithm, **system)
    assert result.counterexample is not None
    assert result.counterexample.kind == kind


def test_a_loss_less_is_survived() -> None:
    assert check(MS, nodes=2, requests=1, losses=2).ok
