"""Table 1 of the survey (Velazquez 1993, section 4), measured: Ricart-Agrawala, Mizuno-Neilsen-Rao, Neilsen-Mizuno,
Singhal (heuristic)."""

from __future__ import annotations

from math import log2, sqrt
from typing import Any

import pytest

from congenial.kernel.trace import Event, Trace
from congenial.parts.trees import TREES
from congenial.sim.result import Result
from congenial.sim.scenario import Scenario
from congenial.sim.simulate import simulate
from congenial.systems.catalogue import ALGORITHMS
from congenial.systems.system import System

LOADS: dict[str, dict[str, Any]] = {
    "light": {"think": 500, "hold": 1, "requests": 5},
    "heavy": {"think": 0, "hold": 5, "requests": 5},
    "hasty": {"think": 5, "hold": 0, "requests": 5, "delay": "lognormal:5,1.5"},
    "burst": {"load": "burst"},
    "turns": {"load": "turns", "requests": 2},
}


def run(name: str, **parameters: Any) -> Result:
    result = simulate(name, **parameters)
    assert result.ok, result.verdict()
    assert result.entries == result.requests
    return result


def traced(name: str, seed: int = 1, **parameters: Any) -> list[Event]:
    trace = Trace()
    Scenario(name, **parameters).engine(seed, trace).run()
    return trace.events


def cost_of_each_entry(events: list[Event], n: int, of_request: str = "") -> list[int]:
    """What each entry cost: the messages with which it was asked for, and the sending of the token to it.

    A request belongs to the process that sends it, or to the one named in its field `of_request`.
    """
    costs = []
    spent = [0] * n
    for event in events:
        if event.event == "send" and event.message == "Request":
            asker = event.node
            if of_request:
                assert event.fields is not None
                asker = event.fields[of_request]
            spent[asker] += n - 1 if event.peer < 0 else 1
        elif event.event == "send":
            spent[event.peer] += 1
        elif event.event == "enter":
            costs.append(spent[event.node])
            spent[event.node] = 0
    return costs


# -- Ricart-Agrawala: n, or 0 for the holder of the idle token ---------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 8, 20])
@pytest.mark.parametrize("load", list(LOADS))
@pytest.mark.parametrize("fifo", [True, False])
def test_every_entry_of_ricart_agrawala_costs_n_or_nothing(n: int, load: str, fifo: bool) -> None:
    events = traced("ricart-agrawala-token", nodes=n, fifo=fifo, **LOADS[load])
    costs = cost_of_each_entry(events, n)
    assert set(costs) <= {0, n}
    assert n in costs


@pytest.mark.parametrize("n", [2, 5, 12])
def test_ricart_agrawala_under_heavy_load_makes_the_round(n: int) -> None:
    """ "The token moves in a logical circular ring of nodes ordered by their unique identification number." """
    events = traced("ricart-agrawala-token", nodes=n, think="constant:0", hold="constant:50", delay=1, requests=4)
    entered = [event.node for event in events if event.event == "enter"]
    assert entered == list(range(n)) * 4


# -- Neilsen-Mizuno: at most D+1 ---------------------------------------------------------------------------


@pytest.mark.parametrize("tree", list(TREES))
@pytest.mark.parametrize("n", [2, 5, 16, 40])
def test_no_entry_of_neilsen_mizuno_costs_more_than_the_diameter_and_one(tree: str, n: int) -> None:
    """Each single entry, not only their mean: the request's steps, at most D, and the token's one."""
    diameter = TREES[tree](n).diameter()
    for load in LOADS.values():
        costs = cost_of_each_entry(traced("neilsen-mizuno", nodes=n, options={"tree": tree}, **load), n, "origin")
        assert max(costs) <= diameter + 1


@pytest.mark.parametrize("tree", list(TREES))
@pytest.mark.parametrize("n", [2, 5, 16])
def test_neilsen_mizuno_without_contention_costs_the_distance_and_one(tree: str, n: int) -> None:
    shape = TREES[tree](n)
    events = traced("neilsen-mizuno", nodes=n, load="turns", requests=2, options={"tree": tree})
    entered = [event.node for event in events if event.event == "enter"]
    holders = [0, *entered[:-1]]
    away = [shape.distances(holder)[process] for holder, process in zip(holders, entered, strict=True)]
    assert cost_of_each_entry(events, n, "origin") == [distance + 1 if distance else 0 for distance in away]


@pytest.mark.parametrize(("tree", "bound"), [("star", "3"), ("line", "n")])
@pytest.mark.parametrize("n", [3, 10, 50])
def test_neilsen_mizuno_on_a_star_costs_three_and_on_a_line_n_at_most(tree: str, bound: str, n: int) -> None:
    system = System(ALGORITHMS["neilsen-mizuno"], n, {"tree": tree})
    assert system.spec.messages is not None
    most = 3 if bound == "3" else n
    assert system.spec.messages.most_for(system.sizes) == most
    costs = cost_of_each_entry(
        traced("neilsen-mizuno", nodes=n, options={"tree": tree}, load="turns", requests=2), n, "origin"
    )
    assert max(costs) == most  # reached, by the process at the other end


@pytest.mark.parametrize("tree", ["star", "balanced", "random"])
def test_neilsen_mizuno_with_ten_thousand_processes(tree: str) -> None:
    diameter = System(ALGORITHMS["neilsen-mizuno"], 10_000, {"tree": tree}).sizes["D"]
    result = run("neilsen-mizuno", nodes=10_000, requests=1, think=0, hold=1, options={"tree": tree})
    assert 2 < result.messages_per_entry < min(4, diameter + 1)  # under load requests meet soon, whatever the tree


# -- Singhal: (n+1)/2 under light load, n under heavy load -------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 8, 20])
@pytest.mark.parametrize("load", list(LOADS))
@pytest.mark.parametrize("fifo", [True, False])
def test_no_entry_of_singhals_costs_more_than_n(n: int, load: str, fifo: bool) -> None:
    """Each request goes to each other process once at most; late answers count for the request they carry."""
    for seed in range(3):
        events = traced("singhal-heuristic", seed, nodes=n, fifo=fifo, **LOADS[load])
        sent: dict[tuple[int, int], list[int]] = {}
        for event in events:
            if event.event == "send" and event.message == "Request":
                assert event.fields is not None
                sent.setdefault((event.node, event.fields["number"]), []).append(event.peer)
        assert all([len(set(peers)) == len(peers) for peers in sent.values()])
        tokens = sum([event.event == "send" and event.message == "Token" for event in events])
        assert tokens == len(sent)


@pytest.mark.parametrize("n", [3, 8, 20, 50])
def test_singhals_costs_about_half_of_n_under_light_load(n: int) -> None:
    """The vectors stay a staircase. A process that had the token k holders ago asks k processes. So a random process
    pays (1 + k) messages, k = 1..n-1, or nothing if it still has the token: (n+1)/2 - 1/n on average."""
    result = run("singhal-heuristic", nodes=n, think=100_000 * n, hold=1, requests=6000 // n)
    assert result.messages_per_entry == pytest.approx((n + 1) / 2 - 1 / n, rel=0.05)


@pytest.mark.parametrize("n", [3, 8, 20, 50])
def test_singhals_costs_n_under_heavy_load(n: int) -> None:
    result = run("singhal-heuristic", nodes=n, think=0, hold="constant:100", delay=1, requests=12)
    assert 0.85 * n < result.messages_per_entry <= n


# -- Mizuno-Neilsen-Rao: 3 sqrt(n), 2 sqrt(2) sqrt(n) - 2, O(log n) ----------------------------------------


def worst(n: int, agreement: str) -> float:
    system = System(ALGORITHMS["mizuno-neilsen-rao"], n, {"agreement": agreement})
    assert system.spec.messages is not None
    return system.spec.messages.most_for(system.sizes)


@pytest.mark.parametrize("n", [7, 13, 21, 31, 57, 91, 133])
def test_in_a_plane_three_roots_of_n_at_most(n: int) -> None:
    assert 2.6 * sqrt(n) < worst(n, "plane") < 3 * sqrt(n)


@pytest.mark.parametrize("n", [2, 8, 18, 32, 50, 98, 200])
def test_in_a_grid_twice_as_high_as_wide_two_roots_of_two_roots_of_n_less_two(n: int) -> None:
    assert worst(n, "grid") == pytest.approx(2 * sqrt(2) * sqrt(n) - 2)


@pytest.mark.parametrize("n", [3, 7, 10, 63, 100, 1000])
def test_in_a_tree_three_logarithms_of_n_at_most(n: int) -> None:
    assert worst(n, "tree") <= 3 * log2(n) + 1


@pytest.mark.parametrize(("agreement", "n"), [("plane", 13), ("plane", 57), ("grid", 18), ("grid", 60), ("tree", 60)])
@pytest.mark.parametrize("load", list(LOADS))
@pytest.mark.parametrize("fifo", [True, False])
def test_mizuno_neilsen_rao_answers_an_acquired_once_at_most(agreement: str, n: int, load: str, fifo: bool) -> None:
    """So r + 2a + 1, and what each kind of message costs by itself."""
    result = run("mizuno-neilsen-rao", nodes=n, fifo=fifo, options={"agreement": agreement}, **LOADS[load])
    sizes = System(ALGORITHMS["mizuno-neilsen-rao"], n, {"agreement": agreement}).sizes
    kinds = result.messages_by_kind
    asked = kinds["Privilege"]
    assert kinds["Request"] <= sizes["r"] * asked
    assert kinds["Acquired"] <= sizes["a"] * asked
    assert kinds["Requests"] <= sizes["a"] * asked
    assert asked <= result.entries
    assert result.messages <= worst(n, agreement) * asked


@pytest.mark.parametrize("load", list(LOADS))
@pytest.mark.parametrize("n", [2, 3, 8])
def test_if_everyone_is_asked_mizuno_neilsen_rao_is_suzuki_kasami(n: int, load: str) -> None:
    """ "The algorithm from Suzuki and Kazami is a special case of this algorithm if all nodes except i are in Ri and i
    is the only node in Ai": the same messages at the same times, and the same entries."""
    parameters: dict[str, Any] = {"nodes": n, **LOADS[load], "delay": "constant:3"}
    ours = traced("mizuno-neilsen-rao", options={"agreement": "everyone"}, **parameters)
    theirs = traced("suzuki-kasami", **parameters)
    assert story(ours) == story(theirs)


def story(events: list[Event]) -> list[tuple[float, str, int, str]]:
    """What each process did, and when; a broadcast is told once, as is a request sent to everyone in turn."""
    steps = [event for event in events if event.event in ("send", "enter", "leave")]
    return sorted({(round(event.t, 6), event.event, event.node, event.message) for event in steps})


@pytest.mark.parametrize(("agreement", "most"), [("grid", 2 * sqrt(2) * 100), ("tree", 3 * log2(10_000))])
def test_mizuno_neilsen_rao_with_ten_thousand_processes(agreement: str, most: float) -> None:
    """Some two hundred of them ask; all are there to pass requests on."""
    parameters: dict[str, Any] = {"think": 1e6, "hold": 1, "until": 2e4, "options": {"agreement": agreement}}
    result = simulate("mizuno-neilsen-rao", nodes=10_000, **parameters)
    assert result.ok, result.verdict()
    assert result.entries > 150
    assert most / 2 < result.messages_per_entry < most
