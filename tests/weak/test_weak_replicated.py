"""The node behind guarded objects on the network: WME-2 that ends epochs to forget."""

from __future__ import annotations

import pytest
from turbulence import Turbulence

from congenial.net import replica
from congenial.net.replica import Replicated
from congenial.problems.weak import Journal
from congenial.problems.weak_history import faults_in, unfinished
from congenial.systems.catalogue import ALGORITHMS


@pytest.mark.parametrize("nodes", [2, 3, 5])
@pytest.mark.parametrize("mistakes", [0, 15])
def test_epochs_that_end_all_the_time(nodes: int, mistakes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is ejected by that alone, not even where messages overtake each other."""
    monkeypatch.setitem(ALGORITHMS, "replicated", Replicated)
    monkeypatch.setattr(replica, "LONGEST_HISTORY", 2)
    epochs = ejected = 0
    for seed in range(10):
        turbulence = Turbulence("replicated", nodes, seed, mistakes=mistakes)
        turbulence.crashes *= bool(mistakes)
        events = turbulence.run()
        assert faults_in(events, Journal()) == [], f"seed {seed}"
        assert unfinished(events) == [], f"seed {seed}"
        epochs += max([node.epoch for node in turbulence.stepper.nodes])  # type: ignore[attr-defined]
        ejected += len([event for event in events if event.event == "eject"])
    assert epochs >= 10 * nodes
    assert bool(ejected) == bool(mistakes)
