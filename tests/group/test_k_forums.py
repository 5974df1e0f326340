"""Up to k forums in session at the same time: Atreya, Mittal & Peri 2007, section IX, name the problem and leave it as
future work. What their algorithm does with it as it is: each process gets a quorum of a k-coterie, of which at most k
are disjoint. docs/algorithms.md has what is shown here.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from congenial.algorithms.group.surrogate import Surrogate
from congenial.algorithms.group.surrogate_a import SurrogateA
from congenial.algorithms.group.surrogate_b import SurrogateB
from congenial.checker.check import check
from congenial.kernel.node import Node
from congenial.kernel.problem import Problem
from congenial.kernel.spec import Option, Spec
from congenial.kernel.trace import Event, Trace
from congenial.parts.quorums.kcoteries import build_kcoterie
from congenial.parts.quorums.system import Quorums
from congenial.sim.scenario import Scenario

LATE = "lognormal:5,1.5"  # delays: some messages are very late


class Forums(Problem):
    """Up to k forums, where no two processes ask for the same group; with k = 0 nothing is judged."""

    def __init__(self, k: int) -> None:
        super().__init__("forums", groups=True, concurrent_entry=False)
        self.k = k

    def admits(self, inside: int, current: int, group: int) -> bool:
        return self.k == 0 or inside < self.k

    def may_follow(self, last_fence: int, last_group: int, fence: int, group: int) -> bool:
        return True  # sessions that overlap have no order


def given(sets: list[tuple[int, ...]]) -> Quorums:
    """These quorums, although some do not meet."""
    quorums = Quorums("k-coterie", [range(len(sets))] * len(sets))
    quorums.sets = sets
    return quorums


def of_a_coterie(text: str, n: int) -> Quorums:
    """Each process's first choice in `majority:2`, for example."""
    name, _, k = text.partition(":")
    coterie = build_kcoterie(name, n, int(k))
    return given([coterie.quorums[home] for home in coterie.home])


def in_a_square(text: str, n: int) -> Quorums:
    """Rows and columns of a square of four processes: two members are asked by three each."""
    assert n == 4
    sets = [(0, 2), (0, 1), (2, 3), (0, 2)]
    assert set(sets) <= set(build_kcoterie("square", n, 2).quorums)
    return given(sets)


SQUARE = Option("quorums", "square", "", in_a_square)


@cache
def over(algorithm: type[Node], option: Option, k: int = 0) -> type[Node]:
    """The algorithm as it is, over other quorums, for another problem."""
    changed = replace(
        algorithm.spec, problem=Forums(k), messages=None, waiting=None, sync_delay=None, options=(option,)
    )

    class Changed(algorithm):  # type: ignore[misc, valid-type]
        spec: Spec = changed

    return Changed


def over_a_coterie(algorithm: type[Node], coterie: str) -> type[Node]:
    return over(algorithm, Option("quorums", coterie, "", of_a_coterie))


def forums(events: list[Event]) -> int:
    """How many were in session together, at most."""
    inside: dict[int, int] = {}
    most = 0
    for event in events:
        if event.event == "enter":
            inside[event.node] = event.group
        elif event.event == "exit":
            del inside[event.node]
        most = max(most, len(set(inside.values())))
    return most


def events_of(algorithm: type[Node], seed: int, **load: Any) -> list[Event]:
    trace = Trace()
    engine = Scenario(algorithm, **load).engine(seed, trace)
    engine.run()
    assert not engine.judge.waiters()
    return trace.events


@pytest.mark.deep
def test_every_run_of_the_first_stage_with_one_group() -> None:
    """A process may be invited by two leaders for the same request. Nothing gets stuck."""
    result = check(over(SurrogateA, SQUARE), nodes=4, requests=1, wants="0;0;0;0", reduce=False)
    assert result.ok, result.verdict()
    assert result.complete
    assert result.states == 205_551


@pytest.mark.deep
def test_the_third_stage_invites_for_a_request_that_is_over() -> None:
    """Lemma 3: "From the intersection property of a quorum system, there exists a causal path via RELEASED and LOCKED
    messages from all requests satisfied in some forum to the leader of every subsequent forum." Two quorums of a
    k-coterie need not intersect, and there is no such path."""
    found = check(over(Surrogate, SQUARE), nodes=4, requests=1, wants="0;0;0;0", reduce=False).counterexample
    assert found is not None
    assert found.kind == "illegal step"
    assert "cannot make sense of Invite" in found.text


@pytest.mark.deep
@pytest.mark.parametrize("algorithm", [SurrogateA, SurrogateB])
def test_every_run_with_a_group_for_each_has_two_forums_at_most(algorithm: type[Node]) -> None:
    for k, well in ((2, True), (1, False)):  # and there are runs with two
        changed = over(algorithm, SQUARE, k)
        result = check(changed, nodes=4, requests=1, wants="0;1;2;3", reduce=False)
        assert result.ok == well
        assert result.complete == well
        if well:
            assert result.states == 48_672
        else:
            assert result.counterexample is not None
            assert result.counterexample.kind == "safety"


@pytest.mark.parametrize("algorithm", [SurrogateA, SurrogateB])
@pytest.mark.parametrize(
    ("coterie", "n", "k"), [("blocks:2", 9, 2), ("blocks:3", 12, 3), ("majority:2", 6, 2), ("square:3", 9, 3)]
)
def test_k_forums_are_in_session_and_never_more(algorithm: type[Node], coterie: str, n: int, k: int) -> None:
    changed = over_a_coterie(algorithm, coterie)
    load: dict[str, Any] = {"nodes": n, "groups": 5, "requests": 10, "think": 5, "hold": 5, "delay": LATE}
    assert max([forums(events_of(changed, seed, **load)) for seed in range(5)]) == k


def test_processes_whose_quorums_meet_keep_each_other_out_although_there_is_room(tmp_path: Path) -> None:
    """Each process has one quorum, as in the paper. So it is not enough that fewer than k forums are in session."""
    load = tmp_path / "meeting.csv"
    load.write_text("time,process,group,hold\n0,0,0,1000\n100,1,1,5\n")
    quorums = of_a_coterie("majority:2", 6)
    assert set(quorums.of(0)) & set(quorums.of(1))
    events = events_of(over_a_coterie(SurrogateA, "majority:2"), 1, nodes=6, load=str(load), delay="constant:1")
    assert forums(events) == 1
    assert max([event.t for event in events if event.event == "enter"]) > 1000
