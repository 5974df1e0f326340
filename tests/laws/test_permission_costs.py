"""What the permission algorithms of Velazquez 1993, section 5, cost, and what they need of their channels."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from congenial.checker.check import check
from congenial.checker.stepper import Action, Stepper
from congenial.kernel.trace import DELIVER, EXIT, REQUEST
from congenial.parts.quorums.information import build_information
from congenial.sim.result import Result
from congenial.sim.simulate import simulate
from congenial.systems.catalogue import ALGORITHMS
from congenial.systems.system import System

LOADS: dict[str, dict[str, Any]] = {
    "light": {"think": 500, "hold": 1, "requests": 6},
    "heavy": {"think": 0, "hold": 5, "requests": 6},
    "hasty": {"think": 5, "hold": 0, "requests": 6, "delay": "lognormal:5,1.5"},
    "burst": {"load": "burst"},
}


def run(name: str, **parameters: Any) -> Result:
    result = simulate(name, **parameters)
    assert result.ok, result.verdict()
    assert result.entries == result.requests
    return result


# -- Lamport: 3(n-1), always; FIFO -------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 8, 20])
@pytest.mark.parametrize("load", LOADS)
def test_lamport_sends_request_reply_and_release_to_every_peer(n: int, load: str) -> None:
    for seed in range(2):
        result = run("lamport", nodes=n, seed=seed, **LOADS[load])
        each = (n - 1) * result.entries
        assert result.messages_by_kind == {"Release": each, "Reply": each, "Request": each}


def test_lamport_needs_fifo_channels() -> None:
    """A reply overtakes the request sent before it, and with it the news that somebody else comes first."""
    assert check("lamport", nodes=2, requests=2, order="fifo").complete
    found = check("lamport", nodes=2, requests=1, order="any").counterexample
    assert found is not None
    assert found.kind == "safety"
    for kind in ("send", "deliver"):
        heard = [event.message for event in found.events if event.event == kind and event.node == (kind == "deliver")]
        expected = ["Request", "Reply"] if kind == "send" else ["Reply", "Request"]
        assert heard[:2] == expected, "the reply of 0 arrives at 1 before the request sent first"


# -- Carvalho-Roucairol: 0 .. 2(n-1) -----------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 8, 20])
def test_carvalho_roucairol_costs_nothing_while_nobody_else_asks(n: int, tmp_path: Path) -> None:
    """If only one process asks, its first entry costs 2(n-1), all others nothing."""
    arrivals = tmp_path / "alone.csv"
    arrivals.write_text("time,process\n" + "".join([f"{1000 * turn},{n - 1}\n" for turn in range(9)]))
    result = run("carvalho-roucairol", nodes=n, load=str(arrivals))
    assert result.entries == 9
    assert result.messages == 2 * (n - 1)


@pytest.mark.parametrize("n", [3, 8, 20])
def test_carvalho_roucairol_costs_what_ricart_agrawala_does_if_all_always_ask(n: int) -> None:
    """At saturation everyone has been asked by everyone since its last entry."""
    result = run("carvalho-roucairol", nodes=n, requests=20, think=0, hold=5, delay="constant:1")
    assert 0.9 * 2 * (n - 1) <= result.messages_per_entry <= 2 * (n - 1)


@pytest.mark.parametrize("fifo", [True, False])
@pytest.mark.parametrize("load", LOADS)
def test_carvalho_roucairol_never_costs_more_than_ricart_agrawala(load: str, fifo: bool) -> None:
    for n in (2, 5, 12):
        result = run("carvalho-roucairol", nodes=n, fifo=fifo, seed=n, **LOADS[load])
        counts = result.messages_by_kind
        assert counts["Request"] == counts["Reply"] <= (n - 1) * result.entries


# -- Sanders: |I - {i}| + 2|R - {i}|, and the algorithms it generalises ------------------------------------


@pytest.mark.parametrize(
    "structure", ["clusters", "clusters:2", "ricart-agrawala", "maekawa", "centralised", "everybody"]
)
@pytest.mark.parametrize("n", [2, 7, 12])
def test_sanders_without_contention_asks_and_informs_its_sets(structure: str, n: int) -> None:
    sets = build_information(structure, n)
    informed = sum([len({*sets.informs(process)} - {process}) for process in range(n)])
    asked = sum([len({*sets.asks(process)} - {process}) for process in range(n)])
    result = run("sanders", nodes=n, load="turns", requests=2, options={"structure": structure})
    counts = {"Grant": 2 * asked, "Release": 2 * informed, "Request": 2 * asked}
    assert result.messages_by_kind == {kind: count for kind, count in counts.items() if count}


RENAMED = {
    "Grant": "Reply/Locked",
    "Fail": "Failed",
    "Yield": "Relinquish",
    "Reply": "Reply/Locked",
    "Locked": "Reply/Locked",
}


def under_way(stepper: Stepper) -> dict[tuple[int, int], list[str]]:
    """The messages in every channel, in order: what they are, and the numbers of requests."""
    channels: dict[tuple[int, int], list[str]] = {}
    for packet in stepper.packets:
        kind = type(packet.msg).__name__
        number = getattr(packet.msg, "number", "")
        channels.setdefault((int(packet.src), int(packet.dst)), []).append(f"{RENAMED.get(kind, kind)} {number}")
    return channels


def in_lockstep(original: System, general: System, requests: int, seed: int) -> list[str]:
    """Both take the same random steps. After each, messages in transit and processes inside are the same in both.
    Returns what the general one has sent."""
    rng = Random(seed)
    first, second = Stepper(original, True), Stepper(general, True)
    left = [requests] * original.n
    eager = rng.choice([0.1, 0.5, 0.9])  # how likely a request, or an exit, comes before a message
    while True:
        waiting = set(first.judge.waiters())
        calls = [Action(EXIT, process) for process in first.holders()]
        idle = [p for p in range(original.n) if left[p] and p not in waiting and p not in first.holders()]
        calls += [Action(REQUEST, process, groups=(0,)) for process in idle]
        packets = first.deliverable()
        if not calls and not packets:
            break
        if calls and (not packets or rng.random() < eager):
            action = other = rng.choice(calls)
            left[action.node] -= action.event == REQUEST
        else:
            packet = rng.choice(packets)
            twin = next(p for p in second.deliverable() if (p.src, p.dst) == (packet.src, packet.dst))
            action = Action(DELIVER, int(packet.dst), int(packet.src), int(packet.number))
            other = Action(DELIVER, int(packet.dst), int(packet.src), int(twin.number))
        first.take(action)
        second.take(other)
        assert under_way(first) == under_way(second), action
        assert first.holders() == second.holders()
    assert first.entries == second.entries == original.n * requests
    return [event.message for event in second.events if event.event == "send"]


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_with_their_sets_sanders_sends_what_ricart_and_agrawala_send(n: int) -> None:
    for seed in range(12):
        original = System(ALGORITHMS["ricart-agrawala"], n)
        sent = in_lockstep(original, System(ALGORITHMS["sanders"], n, {"structure": "ricart-agrawala"}), 4, seed)
        assert set(sent) <= {"Request", "Grant"}


@pytest.mark.parametrize("quorums", ["plane", "grid", "majority", "singleton"])
@pytest.mark.parametrize("n", [3, 7])
def test_with_his_sets_sanders_sends_what_maekawa_sends(quorums: str, n: int) -> None:
    kinds: set[str] = set()
    for seed in range(12):
        original = System(ALGORITHMS["maekawa"], n, {"quorums": quorums})
        general = System(ALGORITHMS["sanders"], n, {"structure": f"maekawa:{quorums}"})
        kinds.update(in_lockstep(original, general, 4, seed))
    if n == 7 and quorums != "singleton":
        assert kinds == {"Request", "Grant", "Fail", "Inquire", "Yield", "Release"}


@pytest.mark.parametrize(
    ("name", "options", "structure"),
    [
        ("ricart-agrawala", {}, "ricart-agrawala"),
        ("maekawa", {"quorums": "plane"}, "maekawa:plane"),
        ("maekawa", {"quorums": "grid"}, "maekawa:grid"),
        ("maekawa", {"quorums": "majority"}, "maekawa:majority"),
    ],
)
def test_in_the_simulator_too_they_send_the_same(name: str, options: dict[str, str], structure: str) -> None:
    """Delays of one unit, so that both runs draw the same random numbers."""
    for seed in range(5):
        load: dict[str, Any] = {
            "nodes": 13,
            "requests": 10,
            "think": 30,
            "hold": 3,
            "delay": "constant:1",
            "fifo": True,
        }
        original = run(name, options=options, seed=seed, **load)
        general = run("sanders", options={"structure": structure}, seed=seed, **load)
        assert renamed(original) == renamed(general)
        assert original.waiting_time_mean == pytest.approx(general.waiting_time_mean)
        assert original.simulated_time == pytest.approx(general.simulated_time)


def renamed(result: Result) -> dict[str, int]:
    return {RENAMED.get(kind, kind): count for kind, count in result.messages_by_kind.items()}


def test_clusters_cost_less_than_ricart_agrawala() -> None:
    """3 + 2(n - size) for a member of a cluster, 2(n - size) for its head: here 4 clusters of 4."""
    result = run("sanders", nodes=16, load="turns", requests=1)
    assert result.messages == 4 * (2 * 12) + 12 * (3 + 2 * 12)
    assert result.messages_per_entry < 2 * 15


def test_sanders_needs_fifo_channels() -> None:
    assert check("sanders", nodes=3, requests=1, order="fifo").complete
    assert not check("sanders", nodes=3, requests=1, order="any").ok


# -- Raynal's primes: 2(n-1) for every attempt; mended, a request and at most n-1 steps of the turn --------


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_raynal_s_algorithm_asks_all_in_every_attempt(n: int) -> None:
    """If they ask in the order of the ring, one attempt is enough."""
    result = run("raynal-primes", nodes=n, load="turns", requests=3)
    assert result.messages == 2 * (n - 1) * result.entries
    crowded = run("raynal-primes", nodes=n, requests=5, think=0)
    assert crowded.messages_by_kind["Request"] == crowded.messages_by_kind["Reply"]
    assert crowded.messages_by_kind["Request"] % (n - 1) == 0


def test_raynal_s_algorithm_is_not_bound_by_2_n_minus_1_squared() -> None:
    for n in (2, 5):
        assert run("raynal-primes", nodes=n, requests=20, think=0).messages_per_entry > 2 * (n - 1) ** 2


@pytest.mark.parametrize("n", [2, 3, 8])
@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("fifo", [True, False])
def test_mended_the_turn_takes_at_most_n_minus_1_steps_to_an_entry(n: int, load: str, fifo: bool) -> None:
    """(n-1)^2 values, as the survey says, and n-1 requests."""
    counts = run("raynal-primes-mended", nodes=n, fifo=fifo, seed=n, **LOADS[load]).messages_by_kind
    entries = n * LOADS[load].get("requests", 1)
    assert counts["Inform"] <= (n - 1) ** 2 * entries
    assert counts["Request"] <= (n - 1) * entries


@pytest.mark.parametrize("n", [2, 3, 8])
def test_mended_the_dearest_entry_is_that_of_the_farthest(n: int) -> None:
    """The turn is with 0, and the last one asks: a request, and n-1 steps."""
    assert run("raynal-primes-mended", nodes=n, load="single").messages == n * (n - 1)


@pytest.mark.parametrize("n", [3, 8])
def test_mended_two_messages_per_peer_are_enough_if_all_always_ask(n: int) -> None:
    result = run("raynal-primes-mended", nodes=n, requests=20, think=0, hold=50, delay="constant:1")
    assert result.messages_per_entry <= 2 * (n - 1)
