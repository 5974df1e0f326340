"""Weak mutexes with faults: every run of small systems, as far as that goes here, and how long histories get."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from congenial.algorithms.weak.wme1 import WME1
from congenial.algorithms.weak.wme2 import WME2
from congenial.algorithms.weak.wme_consensus import WMEConsensusFast
from congenial.checker.check import check
from congenial.checker.check_run import CheckRun
from congenial.checker.rules import Rules
from congenial.kernel.errors import ConfigError
from congenial.kernel.node import Node
from congenial.kernel.trace import Trace
from congenial.sim.scenario import Scenario
from congenial.sim.simulate import simulate
from congenial.systems.catalogue import ALGORITHMS
from congenial.systems.system import System

WEAK = [name for name in ALGORITHMS if name.startswith("wme-")]


@pytest.mark.parametrize("name", ["wme-1", "wme-2"])
def test_a_false_suspicion(name: str) -> None:
    """All suspicions, at any time; the state counts are pinned."""
    result = check(name, nodes=2, requests=1, suspicions=1)
    assert result.ok, result.verdict()
    assert result.complete
    assert result.states == {"wme-1": 9830, "wme-2": 12694}[name]


@pytest.mark.parametrize("name", WEAK)
@pytest.mark.parametrize(
    "faults",
    [
        {"crashes": 1, "victim": 0, "askers": [0], "recovery": False, "vanishing": True},
        {"crashes": 1, "victim": 0, "askers": [1], "recovery": False, "vanishing": True},
        {"suspicions": 1, "victim": 1, "askers": [0]},
    ],
    ids=["the holder crashes", "the owner crashes", "the holder is suspected"],
)
def test_the_first_runs_of_three_processes(name: str, faults: dict[str, Any]) -> None:
    """With a limit, since there are from 10^5 to more than 10^6 states. Those of the owner's crash, without operations,
    were all seen once: 142,622 of WME-1, 157,566 of WME-2."""
    rules = Rules(1, [[(0,)]] * 3, operations=1, **faults)
    result = CheckRun(System(ALGORITHMS[name], 3), rules, False, False, 4_000, None).result(False)
    assert result.ok, result.verdict()


@pytest.mark.deep
@pytest.mark.parametrize(("name", "states"), [("wme-1", 724_050), ("wme-2", 439_146)])
def test_a_false_suspicion_among_three_processes(name: str, states: int) -> None:
    """Process 1 asks, and process 0, the first owner, suspects another process though that is alive. Where another
    process suspects the owner, an epoch ends, and there are more than 48,000,000 states even if nobody asks."""
    rules = Rules(1, [[(0,)]] * 3, suspicions=1, victim=0, askers=[1])
    result = CheckRun(System(ALGORITHMS[name], 3), rules, False, False, 2_000_000, None).result(False)
    assert result.ok, result.verdict()
    assert result.complete
    assert result.states == states


class Pruned1(WME1):
    interval: ClassVar[int] = 4


class Pruned2(WME2):
    interval: ClassVar[int] = 4


class PrunedConsensus(WMEConsensusFast):
    interval: ClassVar[int] = 4


@pytest.mark.parametrize("algorithm", [Pruned1, Pruned2, PrunedConsensus])
def test_what_all_have_executed_is_forgotten(algorithm: type[Node]) -> None:
    engine = Scenario(algorithm, nodes=3, requests=20, operations=5, delay="uniform:1,3").engine(1)
    engine.run()
    for node in engine.nodes:
        kept = node.consensus.decisions if isinstance(node, WMEConsensusFast) else node.history  # type: ignore[attr-defined]
        assert len(kept) < 20
        assert len(node.replica.lines) == 300  # type: ignore[attr-defined]


class ShortEpochs(WME1):
    most_entries: ClassVar[int] = 3


@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_an_epoch_ends_before_its_fences_run_out(nodes: int) -> None:
    """Nobody is ejected for it."""
    trace = Trace()
    engine = Scenario(ShortEpochs, nodes=nodes, requests=10, operations=1).engine(1, trace)
    engine.run()
    assert engine.nodes[0].epoch >= 2  # type: ignore[attr-defined]
    assert not engine.waiters()
    kinds = [event.event for event in trace.events]
    assert (kinds.count("enter"), kinds.count("eject")) == (10 * nodes, 0)


@pytest.mark.parametrize("name", WEAK)
def test_a_majority_is_enough_and_less_is_not(name: str) -> None:
    """Nothing is granted while a majority is gone; nothing is wrong, either."""
    crashes = ("3@30", "4@60")
    result = simulate(name, nodes=5, requests=5, operations=1, crash=crashes, detection=3.0)
    assert result.ok, result.verdict()
    late = simulate(name, nodes=5, requests=50, operations=1, crash=(*crashes, "2@90"), detection=3.0)
    assert late.violations == 0
    assert late.waiting
    assert late.entries < 150


def test_operations_are_for_weak_exclusion() -> None:
    with pytest.raises(ConfigError, match="lamport is not weak"):
        check("lamport", nodes=2, operations=1)
    with pytest.raises(ConfigError, match="unknown resource 'piano'"):
        check("wme-1", nodes=2, options={"resource": "piano"})
