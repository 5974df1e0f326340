"""What locking quorums for groups costs: the laws in Atreya, Mittal & Peri 2007, section I, measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from congenial.checker.check import check
from congenial.kernel.out import Outbox
from congenial.kernel.trace import Event, Trace
from congenial.parts.quorums.surficial import Surficial
from congenial.sim.hops import measure_hops
from congenial.sim.result import Result
from congenial.sim.scenario import Scenario
from congenial.sim.simulate import simulate
from congenial.systems.catalogue import ALGORITHMS
from congenial.systems.system import System

ALL = ("maekawa-m", "maekawa-s", "toyomura")
LOADS: dict[str, dict[str, Any]] = {
    "light": {"think": 500, "hold": 1, "requests": 6},
    "heavy": {"think": 0, "hold": 5, "requests": 6},
    "hasty": {"think": 5, "hold": 0, "requests": 6, "delay": "lognormal:5,1.5"},
    "turns": {"load": "turns", "requests": 2},
}


def run(name: str, **parameters: Any) -> Result:
    result = simulate(name, **parameters)
    assert result.ok, result.verdict()
    return result


def asked_others(events: list[Event], n: int, m: int) -> int:
    """How many members other than themselves the processes of a run had to ask."""
    quorums = Surficial(n, m)
    total = 0
    for event in events:
        if event.event == "request":
            members = quorums.of(event.node, event.groups[0])
            total += len(members) - (event.node in members)
    return total


# -- messages ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "m"), [(4, 2), (9, 3), (12, 3), (16, 5)])
@pytest.mark.parametrize("load", list(LOADS))
def test_maekawa_s_costs_three_messages_per_member_under_every_load(n: int, m: int, load: str) -> None:
    """ "this approach reduces message complexity to O(q)" """
    for seed in range(2):
        trace = Trace()
        engine = Scenario("maekawa-s", nodes=n, groups=m, **LOADS[load]).engine(seed, trace)
        engine.run()
        assert not engine.judge.waiters()
        sent = [event for event in trace.events if event.event == "send"]
        assert len(sent) == 3 * asked_others(trace.events, n, m)


@pytest.mark.parametrize(("n", "m"), [(4, 2), (9, 3), (12, 3), (16, 5)])
def test_maekawa_m_without_contention_costs_the_same(n: int, m: int) -> None:
    trace = Trace()
    Scenario("maekawa-m", nodes=n, groups=m, **LOADS["turns"]).engine(1, trace).run()
    sent = [event.message for event in trace.events if event.event == "send"]
    assert len(sent) == 3 * asked_others(trace.events, n, m)
    assert set(sent) == {"Request", "Locked", "Release"}


@pytest.mark.parametrize("name", ALL)
def test_no_message_carries_more_than_two_integers(name: str) -> None:
    trace = Trace()
    Scenario(name, nodes=9, groups=3, requests=5, think=0).engine(1, trace).run()
    assert max([len(event.fields or {}) for event in trace.events if event.event == "send"]) <= 2


def taken_back(n: int, m: int) -> tuple[int, System]:
    """All ask at the same time, process 0 for group 0 and the others for group 1; the request of process 0, which is
    the oldest, arrives last, when the others have all the locks but its own. How many are asked back?"""
    system = System(ALGORITHMS["maekawa-m"], n, {"groups": str(m)})
    nodes: list[Any] = system.nodes()
    asked: list[Outbox] = []
    for process, node in enumerate(nodes):
        asked.append(Outbox())
        node.request((min(process, 1),), asked[process])
    for process in [*range(1, n), 0]:
        for member, message in asked[process].sent:
            nodes[member].receive(process, message, Outbox())
    return sum([len(node.inquired) for node in nodes]), system


@pytest.mark.parametrize("k", [3, 5, 8])
def test_one_request_of_maekawa_m_may_have_to_take_n_q_over_d_locks_back(k: int) -> None:
    """ "deadlock resolution requires multiple locks to be taken back": with two groups and n = k*k, there are n/d = k
    at each of q = k members, of which process 0 is one itself."""
    locks, system = taken_back(k * k, 2)
    sizes = system.sizes
    assert (sizes["q"], sizes["b"]) == (k, k)
    assert locks == (k - 1) * k
    law = system.spec.messages
    assert law is not None
    assert 3 * locks <= law.most_for(sizes) == k * (4 + 6 * k)


def test_more_groups_make_quorums_larger_and_the_degree_smaller() -> None:
    """Degree sqrt(2n/(m(m-1))), size sqrt(2n(m-1)/m); the process itself may be a member."""
    for m, degree, size in ((2, 6, 6), (9, 1, 8)):
        assert Surficial(36, m).degree == degree
        cost = run("maekawa-m", nodes=36, groups=m, load="turns", requests=2).messages_per_entry
        assert 3 * (size - 1) <= cost <= 3 * size


# -- concurrency -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("n", [2, 5, 16, 40])
def test_everybody_who_asks_for_one_group_is_inside_together(name: str, n: int) -> None:
    """ "the maximum concurrency is n", not the degree; and nobody is told that it lost."""
    result = run(name, nodes=n, groups=1, load="burst", hold="constant:10000")
    assert result.concurrency_max == n
    assert "Failed" not in result.messages_by_kind


# -- hops --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["maekawa-m", "toyomura"])
@pytest.mark.parametrize(("n", "m"), [(4, 2), (9, 3), (16, 5), (25, 20)])
def test_maekawa_m_takes_two_hops_to_enter_and_to_hand_over(name: str, n: int, m: int) -> None:
    """ "We ignore the delay incurred due to deadlock resolution and only analyze the best-case synchronization delay"
    (section III-B): two hops more, where locks have to be asked back."""
    hops = measure_hops(name, n, m)
    assert hops.waiting is not None
    assert hops.sync_delay is not None
    assert hops.waiting.least == hops.waiting.most == 2
    assert hops.sync_delay.kept
    assert hops.sync_delay.least <= 2
    assert hops.sync_delay.mean < 4


@pytest.mark.parametrize(("n", "m"), [(4, 2), (9, 3), (16, 5), (25, 20)])
def test_maekawa_s_takes_two_hops_for_every_member(n: int, m: int) -> None:
    """ "the synchronization delay evidently increases from two to O(q) messages hops" """
    hops = measure_hops("maekawa-s", n, m)
    q = Surficial(n, m).sizes()["q"]
    assert hops.waiting is not None
    assert hops.sync_delay is not None
    assert 2 * (q - 1) <= hops.waiting.most <= 2 * q
    assert hops.sync_delay.most <= 2 * q
    assert n < 9 or hops.sync_delay.most > q


# -- groups that nobody planned for ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_thousands_of_groups_may_appear_while_running(name: str, tmp_path: Path) -> None:
    """The quorums are made for three groups; 3000 more turn up, one after the other, and safety does not suffer."""
    arrivals = tmp_path / "arrivals.csv"
    n, requests = 8, 3200
    rows = [
        f"{time * 3},{time * 7 % n},{time % 3 if time < 200 or time % 5 == 0 else time},2" for time in range(requests)
    ]
    arrivals.write_text("\n".join(["time,process,group,hold", *rows]))
    options = {} if name == "toyomura" else {"groups": "3"}
    result = run(name, nodes=n, groups=3, load=str(arrivals), delay="uniform:0,2", options=options)
    assert result.entries == requests


@pytest.mark.parametrize("name", ["maekawa-m", "maekawa-s"])
def test_every_run_with_planned_and_other_groups_is_safe(name: str) -> None:
    result = check(name, nodes=3, requests=1, wants="0,2;1,3;2", options={"groups": "2"})
    assert result.ok, result.verdict()
    assert result.complete


@pytest.mark.parametrize("name", ALL)
def test_channels_must_be_fifo(name: str) -> None:
    assert not check(name, nodes=3, requests=2, groups=2, order="any", limit=20_000).ok
