"""What an entry costs where k may be inside (Velazquez 1993, table 3), and how many are inside together."""

from __future__ import annotations

from typing import Any

import pytest

from congenial.kernel.trace import Event, Trace
from congenial.sim.scenario import Scenario
from congenial.sim.simulate import simulate

LOADS: dict[str, dict[str, Any]] = {
    "light": {"think": 500, "hold": 1, "requests": 8},
    "heavy": {"think": 0, "hold": 5, "requests": 8},
    "stays": {"think": 1, "hold": "lognormal:20,2", "requests": 8},
    "burst": {"load": "burst"},
    "turns": {"load": "turns", "requests": 2},
}


def traced(name: str, seed: int, **parameters: Any) -> list[Event]:
    trace = Trace()
    Scenario(name, **parameters).engine(seed, trace).run()
    return trace.events


def sent(events: list[Event], n: int) -> int:
    return sum(n - 1 if event.peer < 0 else 1 for event in events if event.event == "send")


# -- Raymond: at most 2(n-1) -------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "k"), [(2, 1), (5, 2), (9, 3), (9, 8), (4, 6)])
@pytest.mark.parametrize("load", list(LOADS))
def test_raymond_s_replies_cost_less_only_where_several_go_as_one(n: int, k: int, load: str) -> None:
    """n-1 requests, and a reply to each of them, alone or with others."""
    for seed, fifo in enumerate((True, False)):
        events = traced("raymond-k", seed, nodes=n, fifo=fifo, options={"k": str(k)}, **LOADS[load])
        replies = [event for event in events if event.event == "send" and event.message == "Reply"]
        requests = [event for event in events if event.event == "send" and event.message == "Request"]
        entries = [event for event in events if event.event == "enter"]
        assert len(requests) == len(entries)
        counts = [event.fields["count"] for event in replies if event.fields is not None]
        assert sum(counts) == len(entries) * (n - 1)  # type: ignore[arg-type]
        assert len(entries) * max(0, n - k) <= len(replies) <= len(entries) * (n - 1)


def test_raymond_with_k_1_is_ricart_and_agrawala_s_algorithm() -> None:
    for seed in range(3):
        load = {"nodes": 6, "think": 3, "hold": 4, "requests": 6, "seed": seed}
        ours, theirs = simulate("raymond-k", options={"k": "1"}, **load), simulate("ricart-agrawala", **load)
        assert ours.messages_by_kind == theirs.messages_by_kind
        assert ours.waiting_time_mean == theirs.waiting_time_mean


def test_raymond_saves_replies_when_one_stays_and_others_come_and_go() -> None:
    result = simulate("raymond-k", nodes=5, options={"k": "3"}, think=1, hold="lognormal:20,2", requests=30, seed=2)
    assert result.ok
    assert 4 + 2 <= result.messages_per_entry < 8


# -- all of them -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["raymond-k"])
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_under_load_k_are_inside_and_never_more(name: str, k: int) -> None:
    result = simulate(name, nodes=7, options={"k": str(k)}, think=0, hold=50, requests=10, seed=k)
    assert result.ok
    assert result.concurrency_max == k


@pytest.mark.parametrize("name", ["raymond-k"])
def test_more_at_once_means_less_waiting(name: str) -> None:
    waits = [
        simulate(name, nodes=8, options={"k": str(k)}, think=50, hold=30, requests=20, seed=1).waiting_time_mean
        for k in (1, 2, 4)
    ]
    assert waits == sorted(waits, reverse=True)
