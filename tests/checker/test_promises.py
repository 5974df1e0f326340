"""What a spec or a problem promises besides exclusion: a fence with every entry, and concurrent entry."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import pytest
from broken import Alone, Shy, Unfenced

from congenial.checker.check import check
from congenial.checker.fuzz import fuzz
from congenial.checker.replay import play
from congenial.kernel.errors import SafetyViolation
from congenial.kernel.judge import Judge, is_kept_out
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Spec
from congenial.problems.group import GROUP
from congenial.problems.kmutex import KMUTEX
from congenial.problems.mutex import MUTEX
from congenial.sim.simulate import simulate
from congenial.systems.catalogue import SOUND
from congenial.systems.system import System


class Unpromised(Unfenced):
    """Gives fences now and then, and promises none."""

    spec: ClassVar[Spec] = replace(Unfenced.spec, fences=False)


class Irregular(Node):
    """Gives every other entry a fence, always the same one, and the others the other group. For one process."""

    spec: ClassVar[Spec] = Spec("irregular", "irregular fences", GROUP)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.entries = 0

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.entries += 1
        self.enter(out, *((5, groups[0]) if self.entries % 2 else (0, groups[-1])))

    def release(self, out: Out) -> None:
        self.leave()


class Unsociable(Alone):
    """Says that it keeps others out."""

    spec: ClassVar[Spec] = replace(Alone.spec, concurrent_entry=False)


# -- fences ------------------------------------------------------------------------------------------------


def test_a_promised_fence_that_is_missing_is_found_by_every_driver() -> None:
    checked = check(Unfenced, nodes=2, requests=1).counterexample
    fuzzed = fuzz(Unfenced, nodes=4, requests=1, runs=2).counterexample
    for found in (checked, fuzzed):
        assert found is not None
        assert (found.kind, "without a fence" in found.text) == ("safety", True)
    simulated = simulate(Unfenced, nodes=3, requests=2)
    assert "without a fence" in simulated.verdict()


def test_a_fence_that_nobody_promised_may_be_missing() -> None:
    assert check(Unpromised, nodes=2, requests=2).ok
    assert fuzz(Unpromised, nodes=4, runs=10).ok
    assert simulate(Unpromised, nodes=3, requests=2).ok


def test_entries_share_a_fence_only_if_none_of_another_group_comes_between() -> None:
    """One without a fence comes between as well, for every driver."""
    assert check(Irregular, nodes=1, requests=3, wants="0").ok
    assert fuzz(Irregular, nodes=1, requests=3, wants="0", runs=4).ok
    checked = check(Irregular, nodes=1, requests=3, wants="0|1").counterexample
    fuzzed = fuzz(Irregular, nodes=1, requests=3, wants="0|1", runs=4).counterexample
    for found in (checked, fuzzed):
        assert found is not None
        assert (found.kind, found.text) == ("safety", "process 0 enters with fence 5 after one with fence 5")


def test_a_judge_asks_for_fences_only_if_told_to() -> None:
    Judge(MUTEX, 1).ask(0, (0,))
    for fenced in (False, True):
        judge = Judge(MUTEX, 1, fenced)
        judge.ask(0, (0,))
        if fenced:
            with pytest.raises(SafetyViolation, match="its spec promises one"):
                judge.enter(0, 0, 0)
            assert judge.inside == 0
        judge.enter(0, 0, 1 if fenced else 0)
        assert judge.inside == 1


WITHOUT_FENCES = {
    "agrawal-el-abbadi": "a holder that crashes takes the number of its entry with it",
    "raymond-k": "several are inside, and none knows of the others",
    "srimani-reddy": "several are inside, and none knows of the others",
    "kakugawa": "several are inside, and none knows of the others",
    "home-k": "several are inside, and have no order",
    "token-gme-bounded": "its session numbers start again",
}


@pytest.mark.parametrize("name", SOUND)
def test_all_algorithms_promise_fences_but_for_those_that_cannot(name: str) -> None:
    assert SOUND[name].spec.fences == (name not in WITHOUT_FENCES)


# -- concurrent entry --------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", [Alone, Shy])
def test_random_runs_find_that_others_are_kept_out(algorithm: type[Node]) -> None:
    groups = 2 if algorithm.spec.problem is not None and algorithm.spec.problem.groups else 1
    found = fuzz(algorithm, nodes=5, requests=3, groups=groups, runs=40).counterexample
    assert found is not None
    assert found.kind == "concurrent entry"
    assert "none leaves" in found.text
    again = play(System(algorithm, 5), False, list(found.actions))  # a replay comes to the same verdict
    assert (again.kind, again.text) == (found.kind, found.text)
    assert len(found.actions) < 40  # it was made short


@pytest.mark.parametrize("algorithm", [Alone, Shy])
def test_an_exploration_finds_it_long_before_it_is_complete(algorithm: type[Node]) -> None:
    groups = 2 if algorithm.spec.problem is not None and algorithm.spec.problem.groups else 1
    result = check(algorithm, nodes=4, requests=2, groups=groups, limit=20_000)
    assert result.counterexample is not None
    assert result.counterexample.kind == "concurrent entry"
    assert not result.complete


def test_an_algorithm_that_promises_nothing_is_not_judged() -> None:
    assert fuzz(Unsociable, nodes=4, runs=40).ok
    assert check(Unsociable, nodes=3, requests=1).ok


def test_who_is_kept_out() -> None:
    three = KMUTEX.sized({"k": 3})
    assert is_kept_out(three, [0, 0], [(0,)])
    assert not is_kept_out(three, [0, 0, 0], [(0,)])  # there is no room
    assert is_kept_out(GROUP, [1, 1], [(1,), (1,)])
    assert not is_kept_out(GROUP, [1], [(1,), (0,)])  # another group waits, and may come first
    assert not is_kept_out(GROUP, [1], [(0, 1)])  # not a request for one group
    assert not is_kept_out(GROUP, [], [(1,)])  # nobody is inside: that would be a deadlock
    assert not is_kept_out(MUTEX, [0], [(0,)])
