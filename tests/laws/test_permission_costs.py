"""What the permission algorithms of Velazquez 1993, section 5, cost, and what they need of their channels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from congenial.check.check import check
from congenial.sim.result import Result
from congenial.sim.simulate import simulate

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
    """The first entry of the only one who asks costs 2(n-1), all others nothing."""
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
