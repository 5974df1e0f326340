"""Three processes with a fault: every run, where that takes seconds. docs/checking.md says what takes longer."""

from __future__ import annotations

from typing import ClassVar

import pytest

from congenial.algorithms.token.nishio_li_manning import NishioLiManning
from congenial.checker.bounds import Bounds
from congenial.checker.check import check
from congenial.checker.counterexample import path_to
from congenial.checker.events import HEADER
from congenial.checker.explore import Explorer
from congenial.checker.faults import DEADLOCK
from congenial.checker.graph import StateGraph
from congenial.checker.graph_faults import starvation
from congenial.checker.world import World
from congenial.kernel.node import WAITING
from congenial.kernel.out import Out
from congenial.kernel.state import node_from
from congenial.systems.system import System


@pytest.mark.deep
def test_mishra_srimani_with_a_crash_where_stays_are_longer_than_time_outs() -> None:
    """Time-outs run out when no message is under way, whoever is inside: every search finds the holder."""
    result = check("mishra-srimani", nodes=3, requests=1, crashes=1, timers="quiet", reduce=False)
    assert result.ok, result.verdict()
    assert result.complete
    assert result.states == 2_934_745


@pytest.mark.deep
@pytest.mark.parametrize(("name", "states"), [("wme-1", 417_643), ("wme-2", 998_955)])
def test_two_weak_mutexes_with_an_operation_each_and_a_false_suspicion(name: str, states: int) -> None:
    result = check(name, nodes=2, requests=1, operations=1, suspicions=1, reduce=False)
    assert result.ok, result.verdict()
    assert result.complete
    assert result.states == states


class FewAges(NishioLiManning):
    """Ages up to `most` only: a process that would have to propose a higher one gives up."""

    most: ClassVar[int] = 0

    def on_timer(self, timer: int, out: Out) -> None:
        if self.proposing or not self.at_the_end():
            super().on_timer(timer, out)

    def at_the_end(self) -> bool:
        return self._age_above(max(self.age, self.highest)) > self.most


class AgesTo30(FewAges):
    most = 30


class AgesTo300(FewAges):
    most = 300


@pytest.mark.deep
@pytest.mark.parametrize(("algorithm", "states"), [(AgesTo30, 98_170), (AgesTo300, 534_580)])
def test_nishio_li_manning_with_a_crash_up_to_an_age(algorithm: type[FewAges], states: int) -> None:
    """While one process is down and the two others wait, these propose ever higher ages: without a bound there is no
    end. With one, all goes well, until a process that waits has come to the end of its ages."""
    system = System(algorithm, 3)
    rules = Bounds(requests=1, crashes=1).rules(system)
    world = World(system, rules)
    explorer = Explorer(world, 1_000_000)
    explorer.run(stop_at_first=False)
    assert explorer.complete
    assert explorer.count == states
    graph = StateGraph(explorer.edges, rules.timers_wait, rules.lasting)
    assert starvation(explorer, graph, graph.cycles()) is None
    assert {fault.kind for fault in explorer.faults} == {DEADLOCK}
    for fault in explorer.faults:
        locals_ = path_to(explorer, int(fault.index))[1][HEADER : HEADER + 3]
        waiting = [world.states[local].node for local in locals_ if world.phases[local] == WAITING]
        nodes = [node_from(node) for node in waiting]
        assert any(isinstance(node, FewAges) and node.at_the_end() for node in nodes)
