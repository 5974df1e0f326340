"""The cost laws, measured. What must hold is what each algorithm's `Spec` says, so new algorithms are tested too."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from math import sqrt
from typing import Any

import pytest

from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message
from congenial.kernel.out import Outbox
from congenial.kernel.trace import Event, Trace
from congenial.parts.trees import TREES
from congenial.sim.result import Result
from congenial.sim.scenario import Scenario
from congenial.sim.simulate import simulate
from congenial.systems.catalogue import ALGORITHMS, SOUND
from congenial.systems.system import System

LOADS: dict[str, dict[str, Any]] = {
    "light": {"think": 500, "hold": 1, "requests": 8},
    "heavy": {"think": 0, "hold": 5, "requests": 8},
    "hasty": {"think": 5, "hold": 0, "requests": 8, "delay": "lognormal:5,1.5"},
    "burst": {"load": "burst"},
    "turns": {"load": "turns", "requests": 2},
    "single": {"load": "single"},
}


def variants(name: str, n: int) -> Iterator[dict[str, str]]:
    """The algorithm with each of the choices for its options that there are for n processes."""
    options = ALGORITHMS[name].spec.options
    if not options:
        yield {}
    for option in options:
        for value in option.choices or (option.default,):
            try:
                System(ALGORITHMS[name], n, {option.name: value})
            except ConfigError:
                continue
            yield {option.name: value}


def channels(name: str) -> list[bool]:
    return [True] if ALGORITHMS[name].spec.fifo else [True, False]


CASES = [
    pytest.param(name, n, options, id=f"{name}-{n}-{'-'.join(options.values())}")
    for name in SOUND
    for n in (1, 2, 3, 7, 10, 13)
    for options in variants(name, n)
]


@pytest.mark.parametrize(("name", "n", "options"), CASES)
def test_messages_per_entry_stay_within_the_law(name: str, n: int, options: dict[str, str]) -> None:
    problem = ALGORITHMS[name].spec.problem
    groups = 3 if problem is not None and problem.groups else 1
    system = Scenario(name, nodes=n, groups=groups, options=options).system()
    law = system.spec.messages
    assert law is not None, f"{name} states no message law"
    for number, (load, parameters) in enumerate(LOADS.items()):
        for fifo in channels(name):
            result = simulate(name, nodes=n, groups=groups, options=options, fifo=fifo, seed=number, **parameters)
            assert result.ok, f"{load}: {result.verdict()}"
            assert result.entries == result.requests
            least, most = law.least_for(system.sizes), law.most_for(system.sizes)
            assert least - 1e-9 <= result.messages_per_entry <= most + 1e-9, (load, fifo)


def run(name: str, **parameters: Any) -> Result:
    result = simulate(name, **parameters)
    assert result.ok, result.verdict()
    return result


def traced(name: str, seed: int, **parameters: Any) -> list[Event]:
    trace = Trace()
    Scenario(name, **parameters).engine(seed, trace).run()
    return trace.events


# -- Ricart-Agrawala: 2(n-1), always -----------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 8, 20])
@pytest.mark.parametrize("load", list(LOADS))
@pytest.mark.parametrize("fifo", [True, False])
def test_ricart_agrawala_sends_one_request_and_one_reply_per_peer(n: int, load: str, fifo: bool) -> None:
    for seed in range(3):
        result = run("ricart-agrawala", nodes=n, fifo=fifo, seed=seed, **LOADS[load])
        assert result.messages == 2 * (n - 1) * result.entries
        if n > 1:
            assert result.messages_by_kind == {"Request": result.messages // 2, "Reply": result.messages // 2}


# -- Suzuki-Kasami: n, or 0 for the holder of the idle token -----------------------------------------------


def cost_of_each_entry(events: list[Event], n: int) -> list[int]:
    """What each entry cost: its request, if it sent one, and the sending of the token to it."""
    costs = []
    asked = [0] * n
    for event in events:
        if event.event == "send" and event.message == "Request":
            asked[event.node] += n - 1
        elif event.event == "send" and event.message == "Privilege":
            asked[event.peer] += 1
        elif event.event == "enter":
            costs.append(asked[event.node])
            asked[event.node] = 0
    assert not any(asked)
    return costs


@pytest.mark.parametrize("n", [2, 3, 8, 20])
@pytest.mark.parametrize("load", list(LOADS))
@pytest.mark.parametrize("fifo", [True, False])
def test_every_entry_of_suzuki_kasami_costs_n_or_nothing(n: int, load: str, fifo: bool) -> None:
    for seed in range(2):
        events = traced("suzuki-kasami", seed, nodes=n, fifo=fifo, **LOADS[load])
        costs = cost_of_each_entry(events, n)
        assert set(costs) <= {0, n}
        sent = sum(n - 1 if event.peer < 0 else 1 for event in events if event.event == "send")
        assert sum(costs) == sent


def test_suzuki_kasami_costs_nothing_where_the_token_rests() -> None:
    events = traced("suzuki-kasami", 1, nodes=1, requests=5)
    assert cost_of_each_entry(events, 1) == [0] * 5


@pytest.mark.parametrize("n", [2, 3, 7])
@pytest.mark.parametrize("length", [2, 3, 8])
@pytest.mark.parametrize("fifo", [True, False])
def test_bounded_suzuki_kasami_adds_one_round_of_acknowledgements(n: int, length: int, fifo: bool) -> None:
    """L*n + (n-1) for every L entries of a process that it had to ask for (Velazquez 1993, section 4)."""
    requests = 4 * length
    for seed in range(3):
        parameters: dict[str, Any] = {"nodes": n, "requests": requests, "think": 20, "hold": 5, "fifo": fifo}
        events = traced("suzuki-kasami-bounded", seed, options={"round": str(length)}, **parameters)
        asked = [0] * n
        acknowledged = [0] * n
        for event in events:
            if event.event == "send" and event.message == "Request":
                assert event.fields is not None
                asked[event.node] += 1
                assert event.fields["number"] == (asked[event.node] - 1) % (2 * length) + 1
            elif event.event == "deliver" and event.message == "RoundReceived":
                acknowledged[event.node] += 1
        assert acknowledged == [(count // length) * (n - 1) for count in asked]
        sent = sum(n - 1 if event.peer < 0 else 1 for event in events if event.event == "send")
        assert sent == sum(asked) * n + sum(acknowledged)
        assert max(asked) >= length


# -- Raymond: at most 2D, and about 4 at saturation --------------------------------------------------------


@pytest.mark.parametrize("tree", list(TREES))
@pytest.mark.parametrize("n", [2, 5, 16, 40])
def test_raymond_without_contention_costs_two_messages_per_edge_on_the_way(tree: str, n: int) -> None:
    """One request at a time: each walks to the last holder, and the token walks back."""
    shape = TREES[tree](n)
    events = traced("raymond-tree", 1, nodes=n, load="turns", requests=2, options={"tree": tree})
    holder = 0
    sent = 0
    for event in events:
        if event.event == "send":
            sent += 1
        elif event.event == "enter":
            assert sent == 2 * shape.distances(holder)[event.node] <= 2 * shape.diameter()
            holder, sent = event.node, 0


@pytest.mark.parametrize("n", [10, 30, 100])
def test_raymond_costs_about_four_at_saturation_on_a_star(n: int) -> None:
    result = run("raymond-tree", nodes=n, requests=20, think=0, options={"tree": "star"})
    assert 3 < result.messages_per_entry <= 4


def test_raymond_costs_about_four_at_saturation_on_a_balanced_tree() -> None:
    result = run("raymond-tree", nodes=127, requests=20, think=0)
    assert 3 < result.messages_per_entry < 4.5


# -- Maekawa: 3(q-1) alone, more under contention; FIFO ----------------------------------------------------


@pytest.mark.parametrize("n", [7, 13, 21, 31])
def test_maekawa_without_contention_costs_request_lock_and_release(n: int) -> None:
    q = System(ALGORITHMS["maekawa"], n).sizes["q"]
    result = run("maekawa", nodes=n, load="turns", requests=2)
    assert result.messages == 3 * (q - 1) * result.entries
    assert set(result.messages_by_kind) == {"Request", "Locked", "Release"}


@pytest.mark.parametrize("n", [7, 13, 21, 31])
@pytest.mark.parametrize("delay", ["10", "constant:10", "lognormal:10,2"])
def test_maekawa_on_a_plane_costs_three_to_five_times_the_root_of_n(n: int, delay: str) -> None:
    for think in (0, 20, 100):
        result = run("maekawa", nodes=n, requests=15, think=think, hold=5, delay=delay, seed=think)
        assert 3 * (sqrt(n) - 1) < result.messages_per_entry < 5 * sqrt(n)


def test_maekawa_needs_fifo_channels() -> None:
    """Where a message may overtake another some run goes wrong; in FIFO channels the same runs are correct."""
    for fifo, all_well in ((True, True), (False, False)):
        runs = [simulate("maekawa", nodes=7, requests=20, think=5, hold=1, seed=s, fifo=fifo) for s in range(8)]
        assert all([result.ok for result in runs]) == all_well


def youngest_first(n: int, quorums: str) -> tuple[float, System]:
    """All ask at the same time; requests reach member 0 oldest first, so that all but one have lost there, and every
    other member youngest first, so that each has to take its lock back again and again. Everything else is quick."""
    system = System(ALGORITHMS["maekawa"], n, {"quorums": quorums})
    nodes = system.nodes()
    events: list[tuple[float, int, int, int, Message | None]] = []
    latest: dict[tuple[int, int], float] = {}
    sent = entries = 0

    def effects(now: float, process: int, out: Outbox) -> None:
        nonlocal sent, entries
        for to, message in out.sent:
            sent += 1
            age = process if to == 0 else n - process
            arrival = now + (1.0 + age if type(message).__name__ == "Request" else 0.001)
            latest[process, to] = max(arrival, latest.get((process, to), 0.0))
            heappush(events, (latest[process, to], sent, process, to, message))
        if out.entered is not None:
            entries += 1
            heappush(events, (now + 0.01, -entries, process, process, None))

    for process, node in enumerate(nodes):
        out = Outbox()
        node.request((0,), out)
        effects(0.0, process, out)
    while events:
        now, _, source, to, message = heappop(events)
        out = Outbox()
        if message is None:
            nodes[to].release(out)
        else:
            nodes[to].receive(source, message, out)
        effects(now, to, out)
    assert entries == n
    return sent / entries, system


@pytest.mark.parametrize(("n", "quorums"), [(41, "majority"), (91, "plane"), (25, "grid")])
def test_maekawa_never_costs_more_than_six_messages_per_member(n: int, quorums: str) -> None:
    cost, system = youngest_first(n, quorums)
    law = system.spec.messages
    assert law is not None
    assert 4.5 * (system.sizes["q"] - 1) < cost <= law.most_for(system.sizes)


def test_maekawa_can_cost_more_than_five_messages_per_member() -> None:
    """Maekawa 1985 counts REQUEST, INQUIRE, RELINQUISH, LOCKED and RELEASE: the lock given back is sent again."""
    cost, system = youngest_first(41, "majority")
    assert cost > 5 * system.sizes["q"]
