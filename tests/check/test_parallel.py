"""Several processes find what one finds."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import pytest

from congenial.algorithms.permission.ricart_agrawala import RicartAgrawala
from congenial.check import check as checking
from congenial.check import parallel
from congenial.check.check import CheckResult, check
from congenial.check.digest import digest
from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message
from congenial.kernel.out import Out

SYSTEMS: list[tuple[str, dict[str, Any]]] = [
    ("ricart-agrawala", {"nodes": 3, "requests": 1}),
    ("ricart-agrawala", {"nodes": 3, "requests": 1, "order": "fifo"}),
    ("maekawa", {"nodes": 3, "requests": 1}),
    ("suzuki-kasami", {"nodes": 3, "requests": 2}),
    ("token-gme", {"nodes": 3, "requests": 1, "groups": 2}),
]


@dataclass(frozen=True)
class One(Message):
    number: int


@dataclass(frozen=True)
class Other(Message):
    number: int


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork even for what one process would do in no time."""
    monkeypatch.setattr(checking, "ALONE", 0)
    monkeypatch.setattr(parallel, "ENOUGH", 20)


def findings(result: CheckResult) -> dict[str, object]:
    data = result.as_dict()
    del data["seconds"], data["states_per_second"]
    return data


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(("algorithm", "system"), SYSTEMS)
def test_the_same_states_and_verdicts(algorithm: str, system: dict[str, Any]) -> None:
    alone = check(algorithm, reduce=False, **system)
    assert alone.complete and alone.ok and alone.states > 100
    for jobs in (2, 3):
        assert findings(check(algorithm, reduce=False, jobs=jobs, **system)) == findings(alone)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(("algorithm", "system"), SYSTEMS)
def test_a_reduced_exploration_comes_to_the_same_end(algorithm: str, system: dict[str, Any]) -> None:
    alone = check(algorithm, **system)
    together = check(algorithm, jobs=2, **system)
    assert together.ok and together.complete and together.reduced
    assert (together.least_messages, together.most_messages) == (alone.least_messages, alone.most_messages)
    assert findings(check(algorithm, jobs=2, **system)) == findings(together)  # and so it does each time


@pytest.mark.usefixtures("eager")
def test_one_with_nothing_to_do_is_given_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "ENOUGH", 1)  # a single state to deal out: only one of the workers gets any
    alone = check("token-gme", nodes=3, requests=1, groups=2, reduce=False)
    gifts = parallel.mmap(-1, 3)
    hand_over = parallel.Team._hand_over

    def noted(self: parallel.Team, other: int, states: list[Any], places: list[int]) -> None:
        gifts[other - 1] = 1
        hand_over(self, other, states, places)

    monkeypatch.setattr(parallel.Team, "_hand_over", noted)
    assert findings(check("token-gme", nodes=3, requests=1, groups=2, reduce=False, jobs=3)) == findings(alone)
    assert sum(gifts[:]) >= 2


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("reduce", [False, True])
def test_the_counterexample_is_that_of_one_process(reduce: bool) -> None:
    class Generous(RicartAgrawala):
        """Agrees to everything, even while inside."""

        def receive(self, src: int, msg: Message, out: Out) -> None:
            phase, self.phase = self.phase, 0
            if type(msg).__name__ == "Request":
                super().receive(src, msg, out)
                self.phase = phase
            else:
                self.phase = phase
                super().receive(src, msg, out)

    alone = check(Generous, nodes=3, requests=2, reduce=reduce)
    assert alone.violations == 1
    assert findings(check(Generous, nodes=3, requests=2, reduce=reduce, jobs=2)) == findings(alone)


@pytest.mark.usefixtures("eager")
def test_the_limit_holds_for_all_together() -> None:
    result = check("ricart-agrawala", nodes=3, requests=2, reduce=False, limit=5000, jobs=2)
    assert not result.complete and 5000 <= result.states < 15_000
    assert "not all were seen" in result.verdict()


@pytest.mark.usefixtures("eager")
def test_a_process_that_dies_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel.Team, "_explore", lambda self, number: os._exit(3))
    with pytest.raises(RuntimeError, match="exit code 3"):
        check("ricart-agrawala", nodes=3, requests=1, reduce=False, jobs=2)


def test_jobs_must_be_some() -> None:
    with pytest.raises(ConfigError, match="--jobs must be at least 1"):
        check("ricart-agrawala", jobs=0)


def test_digests_tell_what_hashes_do_not() -> None:
    different = [-1, -2, None, "", "a", (), (0,), (0, 0), ((0,),), One(1), Other(1), One(-1), One(-2), One, Other, list]
    assert len({digest(value) for value in different}) == len(different)
    assert digest((1, 0)) == digest((True, False)) == digest((1.0, 0))
    assert digest(("state", -1, One(2))) == 0
