"""Consensus with one thing broken: the checker finds it in three processes with a crash or a false suspicion."""

from __future__ import annotations

from typing import Any

import pytest
from agreement import Eager, Phoenix

from congenial.checker.check_run import CheckRun
from congenial.checker.fuzz import fuzz
from congenial.checker.rules import Rules
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.parts.consensus import NEVER, Campaign, Consensus, Prepare
from congenial.systems.system import System

SUSPICION: dict[str, Any] = {"suspicions": 1}
CRASH: dict[str, Any] = {"crashes": 1, "recovery": False}


class HidesWhatItAccepted(Consensus):
    """A promise does not tell what was accepted before."""

    def _on_prepare(self, src: int, instance: int, msg: Prepare, out: Out) -> None:
        kept = self.accepted.pop(instance, None)
        super()._on_prepare(src, instance, msg, out)
        if kept is not None and instance not in self.decisions:
            self.accepted[instance] = kept


class ProposesItsOwn(Consensus):
    """The owner proposes its own value, whatever others have accepted."""

    def _try_to_propose(self, instance: int, campaign: Campaign, out: Out) -> None:
        campaign.highest = NEVER
        super()._try_to_propose(instance, campaign, out)


class BreaksPromises(Consensus):
    """Accepts in lower ballots than it has promised."""

    def _is_new(self, src: int, instance: int, ballot: int, out: Out) -> bool:
        if instance not in self.decisions:
            self.ballots[instance] = 0
        return super()._is_new(src, instance, ballot, out)


class HalfIsEnough(Consensus):
    """Takes half of the processes, rounded down, for a majority."""

    def __init__(self, me: int, n: int, everyone: bool) -> None:
        super().__init__(me, n, everyone)
        self.majority = n // 2


class NeverPrepares(Consensus):
    """Every owner proposes immediately, as the first may."""

    def _campaign(self, instance: int, out: Out) -> None:
        super()._campaign(instance, out)
        campaign = self.campaigns.get(instance)
        if campaign is not None and not campaign.proposed:
            campaign.needed = 0
            self._try_to_propose(instance, campaign, out)


class KeepsDecisionsForItself(Consensus):
    """Does not pass decisions on."""

    def _spread(self, instance: int, out: Out) -> None:
        pass


class NobodyFollows(Consensus):
    """Leaves it to the owner of the ballot, suspected or not."""

    def _heir(self, owner: int) -> int:
        return owner


class SavesNothing(Consensus):
    """Promises and votes are gone after a crash."""

    durable = ("decisions", "low")


MUTANTS: list[tuple[type[Consensus], type[Node], str, str, dict[str, Any]]] = [
    (HidesWhatItAccepted, Eager, "yes", "safety", SUSPICION),
    (HidesWhatItAccepted, Eager, "no", "safety", SUSPICION),
    (ProposesItsOwn, Eager, "yes", "safety", SUSPICION),
    (ProposesItsOwn, Eager, "no", "safety", SUSPICION),
    (BreaksPromises, Eager, "yes", "safety", SUSPICION),
    (HalfIsEnough, Eager, "no", "safety", SUSPICION),
    (NeverPrepares, Eager, "no", "safety", SUSPICION),
    (KeepsDecisionsForItself, Eager, "yes", "deadlock", CRASH),
    (NobodyFollows, Eager, "yes", "deadlock", CRASH),
    (NobodyFollows, Eager, "no", "deadlock", CRASH),
    (SavesNothing, Phoenix, "yes", "illegal step", SUSPICION | {"crashes": 1}),  # an answer to what it forgot it asked
]


@pytest.mark.parametrize(
    ("part", "node", "form", "kind", "faults"),
    MUTANTS,
    ids=[f"{part.__name__}-{form}" for part, _, form, *_ in MUTANTS],
)
def test_the_mutant_is_killed_and_the_original_lives(
    part: type[Consensus], node: type[Node], form: str, kind: str, faults: dict[str, Any]
) -> None:
    broken = type(part.__name__, (node,), {"part": part})
    options = {"everyone": form}
    rules = Rules(requests=1, fifo=True, vanishing=True, **faults)
    result = CheckRun(System(broken, 3, options), rules, False, False, 60_000, None).result()
    assert result.counterexample is not None, "it lives"
    assert result.counterexample.kind == kind, result.verdict()
    limit = min(result.states, 10_000)
    assert CheckRun(System(node, 3, options), rules, False, False, limit, None).result().ok


def test_with_four_processes_the_owner_must_tell() -> None:
    """Two of three know already; of four nobody does but the owner."""
    broken = type("Mute", (Eager,), {"part": KeepsDecisionsForItself})
    found = fuzz(broken, nodes=4, requests=1, runs=10, options={"everyone": "no"}).counterexample
    assert found is not None
    assert found.kind == "deadlock"
