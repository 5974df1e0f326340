"""What it costs to look for the token over any network, and along fathers (Velazquez 1993, section 4, table 1)."""

from __future__ import annotations

from itertools import pairwise
from math import log
from typing import Any

import pytest

from congenial.kernel.out import Outbox
from congenial.kernel.trace import Event, Trace
from congenial.parts.graphs import build_graph
from congenial.sim.scenario import Scenario
from congenial.sim.simulate import simulate
from congenial.systems.catalogue import ALGORITHMS
from congenial.systems.streams import stream
from congenial.systems.system import System

LOADS: dict[str, dict[str, Any]] = {
    "light": {"think": 500, "hold": 1, "requests": 4},
    "heavy": {"think": 0, "hold": 5, "requests": 4},
    "hasty": {"think": 5, "hold": 0, "requests": 4, "delay": "lognormal:5,1.5"},
    "turns": {"load": "turns", "requests": 2},
}


def traced(name: str, seed: int, **parameters: Any) -> list[Event]:
    trace = Trace()
    Scenario(name, **parameters).engine(seed, trace).run()
    return trace.events


# -- Helary-Plouzeau-Raynal: what the network makes of it --------------------------------------------------


def costs_over(network: str, n: int, load: str, fifo: bool) -> list[int]:
    """What each entry cost: every sending of its request, and every step of the token on its way."""
    events = traced("helary-plouzeau-raynal", 1, nodes=n, fifo=fifo, options={"network": network}, **LOADS[load])
    flooded: dict[tuple[int, int], int] = {}
    walked: list[list[int]] = [[] for _ in range(n)]
    walking = [False] * n
    for event in events:
        if event.event == "send" and event.fields is not None and event.message == "Request":
            request = (int(str(event.fields["origin"])), int(str(event.fields["date"])))
            flooded[request] = flooded.get(request, 0) + 1
        elif event.event == "send" and event.fields is not None and event.message == "Token":
            to = int(str(event.fields["to"]))
            if not walking[to]:
                walked[to].append(0)
            walking[to] = True
            walked[to][-1] += 1
        elif event.event == "enter":
            walking[event.node] = False
    costs = []
    for process in range(n):
        requests = sorted([request for request in flooded if request[0] == process])
        assert len(requests) == len(walked[process]), "every request that is sent brings the token once"
        costs += [flooded[request] + steps for request, steps in zip(requests, walked[process], strict=True)]
    sent = len([event for event in events if event.event == "send"])
    assert sum(costs) == sent
    return costs


BOUNDS = {
    "complete": lambda n, d: (n, n),
    "line": lambda n, d: (n, 2 * (n - 1)),
    "ring": lambda n, d: (n, 2 * n),
    "star": lambda n, d: (n, n - 1 + d),
    "balanced": lambda n, d: (n, n - 1 + d),
    "random-tree": lambda n, d: (n, n - 1 + d),
}


@pytest.mark.parametrize("load", list(LOADS))
@pytest.mark.parametrize("n", [3, 4, 5, 9, 14])
@pytest.mark.parametrize("network", list(BOUNDS))
def test_every_entry_over_a_network_costs_what_table_1_says(network: str, n: int, load: str) -> None:
    least, most = BOUNDS[network](n, build_graph(network, n).diameter())
    for fifo in (True, False):
        costs = costs_over(network, n, load, fifo)
        assert costs
        assert max(costs) <= most
        if fifo:  # a request that is overtaken by the next of its origin goes no farther, and costs less
            assert least <= min(costs)


@pytest.mark.parametrize("network", ["line", "star", "balanced", "random-tree"])
def test_on_a_tree_a_request_crosses_every_link_and_the_token_the_links_between(network: str) -> None:
    """Alone, a request costs n-1 messages, and the token the distance."""
    n = 9
    graph = build_graph(network, n)
    events = traced("helary-plouzeau-raynal", 1, nodes=n, options={"network": network}, **LOADS["turns"])
    asked = [place for place, event in enumerate(events) if event.event == "request"]
    holder = far = 0
    for start, end in zip(asked, [*asked[1:], len(events)], strict=True):
        asker = events[start].node
        sent = len([event for event in events[start:end] if event.event == "send"])
        distance = graph.distances(holder)[asker]
        assert sent == (n - 1 + distance if distance else 0)
        holder, far = asker, max(far, distance)
    assert far > graph.diameter() / 2


def test_over_any_network_the_holder_enters_without_a_message() -> None:
    for network in ("complete", "ring", "line", "random"):
        events = traced("helary-plouzeau-raynal", 1, nodes=5, options={"network": network}, load="turns", requests=1)
        before = [event.event for event in events[: [event.event for event in events].index("enter")]]
        assert "send" not in before  # process 0 asks first


# -- Naimi-Trehel: the harmonic number, on average ---------------------------------------------------------


def harmonic(n: int) -> float:
    return sum([1 / i for i in range(1, n + 1)])


def mean_cost(n: int, warm_up: int, entries: int) -> float:
    """Messages per entry if anyone is equally likely to ask next, the holder included, and one asks at a time."""
    nodes = System(ALGORITHMS["naimi-trehel"], n).nodes()
    rng = stream(n, 0)
    sent = 0
    for turn in range(warm_up + entries):
        asker = rng.randrange(n)
        out = Outbox()
        nodes[asker].request((0,), out)
        while out.entered is None:
            ((to, message),) = out.sent
            sent += turn >= warm_up
            out = Outbox()
            nodes[to].receive(0, message, out)
        nodes[asker].release(Outbox())
    return sent / entries


@pytest.mark.parametrize("n", [2, 3, 10, 100, 1000])
def test_naimi_trehel_costs_the_harmonic_number_on_average(n: int) -> None:
    """Naimi, Trehel & Arnold 1996: path reversal costs H(n-1) on average, the token included; about ln n."""
    assert mean_cost(n, 4 * n, 6000) == pytest.approx(harmonic(n - 1), rel=0.05)


def test_the_average_grows_as_the_logarithm_of_n() -> None:
    costs = [mean_cost(n, 4 * n, 3000) for n in (30, 300, 3000)]
    for smaller, larger in pairwise(costs):
        assert larger - smaller == pytest.approx(log(10), rel=0.25)


def test_naimi_trehel_with_ten_thousand_processes() -> None:
    result = simulate("naimi-trehel", nodes=10_000, requests=1, think=20_000_000, hold=1)
    assert result.ok, result.verdict()
    assert result.entries == 10_000
    assert result.messages_per_entry < 2 * log(10_000)


@pytest.mark.parametrize("n", [2, 5, 12])
def test_naimi_trehel_never_costs_more_than_n(n: int) -> None:
    """A line of fathers is the worst tree: its far end asks by n-1 messages, and gets the token by one."""
    nodes = System(ALGORITHMS["naimi-trehel"], n).nodes()
    for process in range(1, n):
        nodes[process].father = process - 1  # type: ignore[attr-defined]
    out = Outbox()
    nodes[n - 1].request((0,), out)
    sent = 0
    while out.entered is None:
        ((to, message),) = out.sent
        sent += 1
        out = Outbox()
        nodes[to].receive(0, message, out)
    assert sent == n
    assert [process.father for process in nodes] == [n - 1] * n  # type: ignore[attr-defined]


@pytest.mark.parametrize("load", list(LOADS))
def test_under_load_naimi_trehel_gets_cheaper(load: str) -> None:
    result = simulate("naimi-trehel", nodes=50, **LOADS[load])
    assert result.ok
    assert result.messages_per_entry < 2 * harmonic(49)
