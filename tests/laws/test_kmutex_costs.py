"""What an entry costs where k may be inside (Velazquez 1993, table 3), and how many are inside together."""

from __future__ import annotations

from typing import Any

import pytest

from congenial.algorithms.kmutex.kakugawa import Kakugawa, Kept
from congenial.checker.stepper import Action, Stepper
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Out, Outbox
from congenial.kernel.trace import Event, Trace
from congenial.sim.scenario import Scenario
from congenial.sim.simulate import simulate
from congenial.systems.catalogue import ALGORITHMS
from congenial.systems.streams import stream
from congenial.systems.system import System

K_ALGORITHMS = ["raymond-k", "srimani-reddy", "kakugawa", "home-k"]
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


# -- Srimani-Reddy: n+k-1 at most, or 0 with a token to spare ---------------------------------------------------


@pytest.mark.parametrize(("n", "k"), [(2, 1), (5, 2), (9, 3), (9, 8), (4, 6)])
@pytest.mark.parametrize("load", list(LOADS))
def test_every_entry_costs_nothing_or_one_request_and_at_most_k_tokens(n: int, k: int, load: str) -> None:
    for seed, fifo in enumerate((True, False)):
        events = traced("srimani-reddy", seed, nodes=n, fifo=fifo, options={"k": str(k)}, **LOADS[load])
        asked = [0] * n
        tokens = [0] * n
        for event in events:
            if event.event == "send" and event.message == "Request":
                asked[event.node] += 1
            elif event.event == "send":
                tokens[event.peer] += 1
                assert tokens[event.peer] <= asked[event.peer] * k
        assert all(asked[process] <= tokens[process] <= k * asked[process] for process in range(n))
        assert sent(events, n) == sum(asked) * (n - 1) + sum(tokens)


def test_a_token_that_is_not_asked_for_stays_and_costs_nothing() -> None:
    result = simulate("srimani-reddy", nodes=4, options={"k": "4"}, think=3, hold=4, requests=20)
    assert result.entries == 80
    assert result.messages == 0


def test_with_one_token_it_is_suzuki_and_kasami_s_algorithm() -> None:
    for seed in range(3):
        load = {"nodes": 6, "think": 3, "hold": 4, "requests": 6, "seed": seed}
        ours, theirs = simulate("srimani-reddy", options={"k": "1"}, **load), simulate("suzuki-kasami", **load)
        assert ours.messages_by_kind == theirs.messages_by_kind
        assert ours.waiting_time_mean == theirs.waiting_time_mean


# -- Kakugawa et al.: 3(s-1) alone; at most 6 per member asked -------------------------------------------------


@pytest.mark.parametrize(
    ("n", "options"),
    [
        (4, {"coterie": "square"}),
        (9, {"coterie": "square", "k": "3"}),
        (7, {"coterie": "majority"}),
        (14, {"coterie": "blocks"}),  # two planes of seven
    ],
)
def test_alone_it_costs_request_lock_and_release(n: int, options: dict[str, str]) -> None:
    s = System(ALGORITHMS["kakugawa"], n, options).sizes["q"]
    result = simulate("kakugawa", nodes=n, options=options, load="turns", requests=2)
    assert result.messages == 3 * (s - 1) * result.entries
    assert set(result.messages_by_kind) == {"Request", "Locked", "Release"}


@pytest.mark.parametrize("coterie", ["blocks", "majority", "square"])
@pytest.mark.parametrize("think", [0, 30])
def test_under_load_it_asks_beyond_its_quorum_and_pays_at_most_six_per_member(coterie: str, think: int) -> None:
    options = {"coterie": coterie, "k": "3"} if coterie != "majority" else {"coterie": coterie, "k": "2"}
    n = 9 if coterie != "majority" else 8
    events = traced("kakugawa", 1, nodes=n, options=options, think=think, hold=5, requests=15)
    requests = [event for event in events if event.event == "send" and event.message == "Request"]
    entries = [event for event in events if event.event == "enter"]
    s = System(ALGORITHMS["kakugawa"], n, options).sizes["q"]
    assert 5 * s * len(entries) < sent(events, n) <= 6 * len(requests)


def get_in(algorithm: type[Node], n: int, k: int, coterie: str, seed: int) -> int:
    """How many get in when all ask and nobody leaves."""
    rng = stream(seed, 0)
    stepper = Stepper(System(algorithm, n, {"k": str(k), "coterie": coterie}), fifo=True)
    outside = list(range(n))
    while outside or stepper.deliverable():
        packets = stepper.deliverable()
        turn = rng.randrange(len(outside) + len(packets))
        if turn < len(outside):
            stepper.take(Action("request", outside.pop(turn), groups=(0,)))
        else:
            packet = packets[turn - len(outside)]
            stepper.take(Action("deliver", int(packet.dst), int(packet.src), int(packet.number)))
    return len(stepper.holders())


QUORUMS = [(4, 2, "square"), (9, 3, "square"), (6, 2, "majority"), (8, 4, "blocks"), (5, 3, "servers")]


@pytest.mark.parametrize(("n", "k", "coterie"), QUORUMS)
def test_whatever_the_quorums_are_k_get_in_though_nobody_leaves(n: int, k: int, coterie: str) -> None:
    assert {get_in(Kakugawa, n, k, coterie, seed) for seed in range(20)} == {k}


class HoldersKeepSilent(Kakugawa):
    """A process that is inside does not answer inquiries."""

    def _tell(self, dst: int, msg: Message, out: Out) -> None:
        if not isinstance(msg, Kept):
            super()._tell(dst, msg, out)


class RestNotReleased(Kakugawa):
    """A process that enters keeps the locks that it does not need until it leaves."""

    def _enter_with(self, index: int, out: Out) -> None:
        asked, locks = set(self.asked), set(self.locks)
        self.asked.intersection_update(self.quorums[index])
        super()._enter_with(index, out)
        self.asked, self.locks = asked, locks


@pytest.mark.parametrize("broken", [HoldersKeepSilent, RestNotReleased])
def test_for_that_holders_must_answer_and_give_back_what_they_do_not_need(broken: type[Node]) -> None:
    assert min([get_in(broken, 9, 3, "square", seed) for seed in range(20)]) < 3


# -- all of them -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", K_ALGORITHMS)
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_under_load_k_are_inside_and_never_more(name: str, k: int) -> None:
    result = simulate(name, nodes=7, options={"k": str(k)}, think=0, hold=50, requests=10, seed=k)
    assert result.ok
    assert result.concurrency_max == k


@pytest.mark.parametrize("name", K_ALGORITHMS)
def test_more_at_once_means_less_waiting(name: str) -> None:
    waits = [
        simulate(name, nodes=8, options={"k": str(k)}, think=50, hold=30, requests=20, seed=1).waiting_time_mean
        for k in (1, 2, 4)
    ]
    assert waits == sorted(waits, reverse=True)


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_process_that_says_that_it_could_enter_does(name: str, n: int) -> None:
    for node in System(ALGORITHMS[name], n).nodes():
        could = node.could_enter()
        out = Outbox()
        node.request((0,), out)
        assert out.entered is not None or not could
        if name == "srimani-reddy":
            assert could == (out.entered is not None) == (node.me < 2)
