"""Epochs: what survives crashes, partitions and false suspicions, step by step and in many runs."""

from __future__ import annotations

from typing import Any

import pytest
from cluster import Cluster

from congenial.checker.bounds import Bounds
from congenial.checker.check import check
from congenial.checker.fuzz import fuzz, run_once
from congenial.checker.stepper import Stepper
from congenial.kernel.errors import ConfigError
from congenial.kernel.node import IDLE, INSIDE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.trace import Trace
from congenial.parts.consensus import Prepare
from congenial.problems.epochs import EPOCH_BITS, LAST_FENCE
from congenial.sim.scenario import Scenario
from congenial.sim.simulate import simulate
from congenial.systems.catalogue import find_algorithm
from congenial.systems.system import System
from congenial.transform.epochs import REJOIN, Change, Epochs, Join, Ready, Recall
from congenial.transform.instances import Inside

GRANT = 1 << EPOCH_BITS


def test_without_faults_it_does_what_the_algorithm_does() -> None:
    plain = simulate("token-gme", nodes=7, groups=3, requests=20, seed=4)
    wrapped = simulate("token-gme+epochs", nodes=7, groups=3, requests=20, seed=4)
    assert wrapped.messages == plain.messages
    assert wrapped.waiting_time_mean == plain.waiting_time_mean


def test_a_crashed_holder_is_done_without() -> None:
    cluster = Cluster("suzuki-kasami+epochs", 3)
    cluster.do(0, "request", (0,))
    cluster.do(1, "request", (0,))
    cluster.settle()
    assert set(cluster.fences) == {0}
    cluster.lose(0)
    assert cluster.nodes[1].members == (1, 2)
    assert cluster.fences == {0: 1, 1: GRANT + 1}


def test_a_process_that_is_inside_is_not_disturbed_by_another_s_crash() -> None:
    """It stays, keeps its fence, and the next epoch waits for it."""
    cluster = Cluster("suzuki-kasami+epochs", 3)
    cluster.do(0, "request", (0,))
    cluster.do(1, "request", (0,))
    cluster.lose(2)
    assert cluster.nodes[0].phase == INSIDE
    assert cluster.nodes[1].phase == WAITING
    assert cluster.nodes[0].instance == cluster.nodes[1].instance == 1
    cluster.do(0, "release")
    cluster.settle()
    assert cluster.fences == {1: GRANT + 1}


def test_a_process_that_was_taken_for_dead_is_ejected_when_it_learns_of_it_and_rejoins() -> None:
    cluster = Cluster("suzuki-kasami+epochs", 3)
    cluster.do(0, "request", (0,))
    cluster.lose(0)
    cluster.do(1, "request", (0,))
    cluster.settle()
    assert cluster.fences == {0: 1, 1: GRANT + 1}, "exclusion is weak, but the fences tell"
    cluster.find(0)
    assert cluster.nodes[0].phase == IDLE
    assert set(cluster.fences) == {1}
    cluster.do(0, "request", (0,))
    cluster.do(1, "release")
    cluster.do(0, "on_timer", REJOIN)
    cluster.settle()
    assert cluster.nodes[2].members == (0, 1, 2)
    assert cluster.fences == {0: 2 * GRANT + 1}


def test_a_minority_lets_nobody_in_and_throws_its_own_out() -> None:
    cluster = Cluster("suzuki-kasami+epochs", 3)
    cluster.do(0, "request", (0,))
    cluster.do(0, "on_suspect", 1)
    assert cluster.nodes[0].phase == INSIDE
    assert cluster.do(0, "on_suspect", 2).ejected
    cluster.do(0, "request", (0,))
    assert cluster.nodes[0].phase == WAITING
    assert not cluster.fences
    cluster.do(0, "on_trust", 1)
    assert cluster.fences == {0: 2}, "the token was there all the time"


def test_an_epoch_whose_fences_run_out_is_followed_by_another() -> None:
    cluster = Cluster("suzuki-kasami+epochs", 3)
    cluster.nodes[0].inner.entries = LAST_FENCE // 2
    for expected in (LAST_FENCE // 2 + 1, GRANT + 1, GRANT + 2):
        cluster.do(0, "request", (0,))
        assert cluster.fences == {0: expected}
        cluster.do(0, "release")
        cluster.settle()
    cluster.nodes[0].inner.entries = LAST_FENCE
    cluster.do(0, "request", (0,))
    assert cluster.fences == {}, "better no entry than one with the fence of another epoch"


def test_a_process_that_could_enter_says_so() -> None:
    cluster = Cluster("srimani-reddy+epochs", 3)
    node = cluster.nodes[0]
    assert node.could_enter()
    cluster.do(0, "on_suspect", 1)
    cluster.do(0, "on_suspect", 2)
    assert not node.could_enter()
    assert not cluster.do(0, "on_timer", REJOIN).sent, "nor does it ask processes that it does not hear"


def test_calls_are_answered_by_who_knows_better() -> None:
    cluster = Cluster("suzuki-kasami+epochs", 3)
    cluster.lose(2)
    for late in (Change(1, (0, 1)), Join(0), Inside(0, Recall())):
        out = cluster.do(0, "receive", 2, late)
        assert [(dst, type(message).__name__) for dst, message in out.sent][:1] == [(2, "Epoch")]


def test_a_member_begins_when_all_are_ready_and_keeps_what_comes_early() -> None:
    cluster = Cluster("ricart-agrawala+epochs", 3)
    node: Epochs = cluster.nodes[1]
    cluster.do(1, "request", (0,))
    cluster.do(1, "receive", 0, Ready(1, (0, 1), False))
    assert node.running
    assert node.members == (0, 1)
    assert cluster.told.count("Ready") == 1
    cluster.do(0, "receive", 1, Inside(1, cluster.under_way[-1][2].body))
    assert cluster.nodes[0].instance == 0
    cluster.do(0, "receive", 1, Ready(1, (0, 1), False))
    assert cluster.nodes[0].running
    assert cluster.told[-1] == "Inside", "the early request was answered"


def test_after_a_crash_no_epoch_is_run_a_second_time() -> None:
    cluster = Cluster("suzuki-kasami+epochs", 3)
    cluster.nodes[0] = cluster.system.node(0)
    out = cluster.do(0, "on_recover")
    assert [type(message).__name__ for _, message in out.sent[:1]] == ["Change"]
    assert not cluster.nodes[0].running
    cluster.settle()
    assert [node.instance for node in cluster.nodes] == [1, 1, 1]
    assert all([node.running for node in cluster.nodes])


def test_a_process_that_has_lost_its_memory_abstains_for_two_epochs() -> None:
    cluster = Cluster("suzuki-kasami+epochs", 3)
    cluster.lose(0)
    cluster.nodes[0] = cluster.system.node(0)
    cluster.under_way = []
    cluster.away = set()
    cluster.do(0, "on_amnesia")
    assert cluster.nodes[0].votes_from > 1 << 60
    for other in (1, 2):
        cluster.do(other, "on_trust", 0)
    cluster.settle()
    node: Epochs = cluster.nodes[0]
    assert (node.instance, node.runs_from, node.votes_from) == (1, 2, 3)
    assert cluster.nodes[1].abstainers == {0}
    cluster.do(0, "on_timer", REJOIN)
    cluster.settle()
    assert (node.instance, node.members, node.running) == (2, (0, 1, 2), True)
    assert cluster.nodes[1].abstainers == set()


def test_a_process_that_votes_is_no_abstainer() -> None:
    """Two processes that take each other for abstainers would outbid each other forever."""
    cluster = Cluster("suzuki-kasami+epochs", 3)
    cluster.do(0, "receive", 1, Recall())
    assert cluster.nodes[0].abstainers == cluster.nodes[0].consensus.suspects == {1}
    cluster.do(0, "receive", 1, Prepare(1, 4))
    assert cluster.nodes[0].abstainers == cluster.nodes[0].consensus.suspects == set()
    assert cluster.told[-1] == "Promise", "and not a ballot of its own"


# -- many runs ---------------------------------------------------------------------------------------------

FAULTS: dict[str, dict[str, Any]] = {
    "crashes": {"crash": ("0@200", "3@500")},
    "crashes and recoveries": {"crash": ("0@200-300", "3@350-700", "1@800-900")},
    "a crash too short to be noticed": {"crash": ("0@200-205", "1@400-401")},
    "false suspicions": {"suspect": ("0.001/40",)},
    "crashes and false suspicions": {"suspect": ("0.0005/40",), "crash": ("2@200-300", "4@600")},
    "random crashes": {"crash": ("0.0004/60",)},
}


@pytest.mark.parametrize("faults", FAULTS)
@pytest.mark.parametrize("algorithm", ["token-gme", "home-gme", "suzuki-kasami", "maekawa", "raymond-tree", "lamport"])
def test_all_who_are_alive_are_served(algorithm: str, faults: str) -> None:
    for seed in range(3):
        result = simulate(
            f"{algorithm}+epochs", nodes=5, groups=2, requests=15, detection=20.0, seed=seed, **FAULTS[faults]
        )
        assert result.ok, result.verdict()


def test_fences_grow_from_entry_to_entry_where_nobody_is_superseded() -> None:
    trace = Trace()
    parameters: dict[str, Any] = {"nodes": 5, "groups": 2, "requests": 20, "crash": ("1@300-500",), "detection": 20.0}
    Scenario("token-gme+epochs", **parameters).engine(3, trace).run()
    fences = [event.fence for event in trace.events if event.event == "enter"]
    assert len(fences) == 100
    assert fences == sorted(fences)
    assert fences[-1] >> EPOCH_BITS >= 2


@pytest.mark.parametrize("algorithm", ["raymond-tree", "token-gme", "home-gme"])
@pytest.mark.parametrize("faults", [{"crashes": 1}, {"suspicions": 1}, {"crashes": 1, "recovery": False}])
def test_small_systems_are_explored(algorithm: str, faults: dict[str, Any]) -> None:
    result = check(f"{algorithm}+epochs", nodes=3, requests=1, timers="quiet", limit=8_000, **faults)
    assert result.ok, result.verdict()


@pytest.mark.parametrize("nodes", [3, 5])
def test_random_schedules_with_crashes_and_false_suspicions(nodes: int) -> None:
    result = fuzz(
        "suzuki-kasami+epochs", nodes=nodes, requests=3, runs=60, crashes=nodes // 2 + 1, suspicions=3, timers="quiet"
    )
    assert result.ok, result.verdict()


def superseded_members(algorithm: str | type[Node], seed: int, **faults: int) -> list[str]:
    """Run a random schedule, and look after every step for a process that somebody inside of a later epoch has
    superseded although it is a member of that epoch. The judge of runs cannot see the members."""
    system = System(find_algorithm(algorithm), 3)
    rules = Bounds(
        requests=3, crashes=faults.get("crashes", 0), suspicions=faults.get("suspicions", 0), timers="quiet"
    ).rules(system)
    stepper = Stepper(system, False)
    found = []
    for action in run_once(system, rules, seed).actions:
        stepper.take(action)
        inside: list[Any] = [stepper.nodes[process] for process in stepper.holders()]
        for late in inside:
            for early in inside:
                if early.entered < late.entered == late.instance and early.me in late.members:
                    found.append(f"{early.me} is inside in epoch {early.entered}, {late.me} in {late.entered}")
    return found


def test_a_member_of_an_epoch_is_never_superseded_by_it() -> None:
    for seed in range(60):
        assert superseded_members("suzuki-kasami+epochs", seed, suspicions=3) == []
        assert superseded_members("suzuki-kasami+epochs", seed, crashes=1, suspicions=2) == []


class Forgetful(find_algorithm("suzuki-kasami+epochs")):  # type: ignore[misc]
    """Has no stable storage."""

    durable = ()

    def on_recover(self, out: Out) -> None:
        self.on_amnesia(out)


@pytest.mark.parametrize("nodes", [3, 5])
def test_random_schedules_with_loss_of_memory(nodes: int) -> None:
    result = fuzz(Forgetful, nodes=nodes, requests=2, runs=60, crashes=nodes // 2, suspicions=2, timers="quiet")
    assert result.ok, result.verdict()


class Hasty(find_algorithm("suzuki-kasami+epochs")):  # type: ignore[misc]
    """Does not wait until the others are ready."""

    def _start(self, out: Out) -> None:
        if not self.running and self.me in self.ready:
            self.ready = set(self.members)
            super()._start(out)


class Selfish(find_algorithm("suzuki-kasami+epochs")):  # type: ignore[misc]
    """Decides on epochs alone."""

    def _call(self, out: Out) -> None:
        if self.called_for <= self.instance:
            self.called_for = self.instance + 1
            self._install(self.instance + 1, self._trusted(), out)


class Returning(find_algorithm("suzuki-kasami+epochs")):  # type: ignore[misc]
    """Goes on in its epoch after a crash, as if it had not crashed."""

    def on_recover(self, out: Out) -> None:
        pass


def test_a_mutant_that_does_not_wait_supersedes_members() -> None:
    assert any([superseded_members(Hasty, seed, suspicions=3) for seed in range(100)])


@pytest.mark.parametrize(("mutant", "faults"), [(Selfish, "suspicions"), (Returning, "crashes")])
def test_mutants_are_found(mutant: type[Node], faults: str) -> None:
    more: dict[str, Any] = {faults: 3}
    assert not fuzz(mutant, nodes=3, requests=3, runs=300, timers="quiet", **more).ok


# -- names -------------------------------------------------------------------------------------------------


def test_options_are_those_of_the_algorithm() -> None:
    system = System(find_algorithm("maekawa+epochs"), 7, {"quorums": "majority"})
    assert system.node(0).settings == (("quorums", "majority"),)  # type: ignore[attr-defined]
    assert system.sizes["q"] == 4
    with pytest.raises(ConfigError, match="unknown quorum system 'nonsense'"):
        System(find_algorithm("maekawa+epochs"), 7, {"quorums": "nonsense"})


def test_what_cannot_be_is_said() -> None:
    assert find_algorithm("maekawa+epochs") is find_algorithm("maekawa+epochs")
    with pytest.raises(ConfigError, match=r"unknown transform 'wings' in 'maekawa\+wings': there are"):
        find_algorithm("maekawa+wings")
    with pytest.raises(ConfigError, match="did you mean 'maekawa'"):
        find_algorithm("maekawi+epochs")
