"""Several processes find what one finds."""

from __future__ import annotations

import os
from dataclasses import dataclass
from threading import Lock
from typing import Any

import pytest

from congenial.algorithms.permission.ricart_agrawala import RicartAgrawala
from congenial.algorithms.system import System
from congenial.check import check as checking
from congenial.check import parallel
from congenial.check.check import CheckResult, check
from congenial.check.digest import digest
from congenial.check.explore import Explorer
from congenial.check.worker import ROWS, Worker
from congenial.check.world import Bounds, World
from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message
from congenial.kernel.out import Out

LIMIT = 50_000  # and thereby the size of the table
SYSTEMS: list[tuple[str, dict[str, Any]]] = [
    ("ricart-agrawala", {"limit": LIMIT, "nodes": 3, "requests": 1}),
    ("ricart-agrawala", {"limit": LIMIT, "nodes": 3, "requests": 1, "order": "fifo"}),
    ("maekawa", {"limit": LIMIT, "nodes": 3, "requests": 1}),
    ("suzuki-kasami", {"limit": LIMIT, "nodes": 3, "requests": 1}),
    ("token-gme", {"limit": LIMIT, "nodes": 3, "requests": 1, "groups": 2}),
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
    assert alone.complete
    assert alone.states > 100
    for jobs in (2, 3):
        assert findings(check(algorithm, reduce=False, jobs=jobs, **system)) == findings(alone)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(("algorithm", "system"), SYSTEMS[:-1])
def test_a_reduced_exploration_comes_to_the_same_end(algorithm: str, system: dict[str, Any]) -> None:
    alone = check(algorithm, **system)
    together = check(algorithm, jobs=2, **system)
    assert together.ok
    assert together.complete
    assert (together.least_messages, together.most_messages) == (alone.least_messages, alone.most_messages)
    assert findings(check(algorithm, jobs=2, **system)) == findings(together)  # and so it does each time


@pytest.mark.usefixtures("eager")
def test_more_processes_than_states_to_deal_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "ENOUGH", 1)
    system: dict[str, Any] = {"nodes": 2, "requests": 3, "limit": LIMIT, "reduce": False}
    assert findings(check("ricart-agrawala", jobs=4, **system)) == findings(check("ricart-agrawala", **system))


@pytest.mark.parametrize("fifo", [False, True])
def test_work_that_is_given_away_stays_the_same(fifo: bool) -> None:
    giver, taker = worker(fifo), worker(fifo)
    translator = parallel.Translator(taker.world)
    gift = parallel.Translator(giver.world)
    giver.explore(300)
    taker.take_over([taker.world.initial()], [0])
    taker.explore(30)  # knows some of it by other numbers
    for state in reversed(giver.states):
        states, places = translator.unpack_states(gift.pack_states([state], [7]))
        assert places == [7]
        assert taker.fingerprint(states[0]) == giver.fingerprint(state)
        assert meaning(taker, states[0]) == meaning(giver, state)


def worker(fifo: bool) -> Worker:
    world = World(System(RicartAgrawala, 3), Bounds(fifo=fifo))
    world.make_portable()
    table = memoryview(bytearray(8 << 14)).cast("q")
    board = memoryview(bytearray(8 * (ROWS + 2))).cast("q")
    lock = Lock()
    made = Worker(Explorer(world, 10_000), table, board, lock.acquire, lock.release)
    made.start()
    return made


def meaning(worker: Worker, state: tuple[int, ...]) -> list[object]:
    world = worker.world
    processes = [world.states[number].key() for number in state[3:6]]
    packets = [(world.sources[i], world.destinations[i], world.messages[i]) for i in state[6:]]
    return [*state[:3], processes, packets]


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

    alone = check(Generous, nodes=3, requests=2, limit=LIMIT, reduce=reduce)
    assert alone.violations == 1
    assert findings(check(Generous, nodes=3, requests=2, limit=LIMIT, reduce=reduce, jobs=2)) == findings(alone)


@pytest.mark.usefixtures("eager")
def test_the_limit_holds_for_all_together() -> None:
    result = check("ricart-agrawala", nodes=3, requests=2, reduce=False, limit=5000, jobs=2)
    assert not result.complete
    assert 5000 <= result.states < 15_000
    assert "not all were seen" in result.verdict()


@pytest.mark.usefixtures("eager")
def test_a_process_that_dies_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel.Team, "_explore", lambda self, number: os._exit(3))
    with pytest.raises(RuntimeError, match="exit code 3"):
        check("ricart-agrawala", nodes=3, requests=1, limit=LIMIT, reduce=False, jobs=2)


def test_jobs_must_be_some() -> None:
    with pytest.raises(ConfigError, match="--jobs must be at least 1"):
        check("ricart-agrawala", jobs=0)


def test_digests_tell_what_hashes_do_not() -> None:
    different = [-1, -2, None, "", "a", (), (0,), (0, 0), ((0,),), One(1), Other(1), One(-1), One(-2), One, Other, list]
    assert len({digest(value) for value in different}) == len(different)
    assert digest((1, 0)) == digest((True, False)) == digest((1.0, 0))
    assert digest(("state", -1, 2)) == 804756413496199486  # in every run
