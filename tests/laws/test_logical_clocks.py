"""Atreya, Mittal & Peri 2007, section III-B: "Lamport's logical clock [3] is used to assign a timestamp to every
request for critical section." """

from __future__ import annotations

import pytest

from congenial.kernel.trace import Trace
from congenial.sim.scenario import Scenario

WITH_CLOCKS = (
    "surrogate-a",
    "surrogate-b",
    "surrogate",
    "surrogate-concurrent",
    "surrogate-types",
    "surrogate-information",
    "surrogate-solitary",
    "maekawa-m",
    "toyomura",
)


def time_of(fields: dict[str, object] | None) -> int:
    assert fields is not None
    time = fields["time"]
    assert isinstance(time, int)
    return time


@pytest.mark.parametrize("name", WITH_CLOCKS)
def test_section_3_b_clocks_grow_with_every_message(name: str) -> None:
    """Whatever a process sends, and so every request, is later than all that it has received, of any kind."""
    nodes, requests = 9, 8
    trace = Trace()
    Scenario(name, nodes=nodes, groups=3, requests=requests, think=5, hold=1).engine(1, trace).run()
    heard = [0] * nodes
    asked = [0] * nodes
    kinds: set[str] = set()
    for event in trace.events:
        if event.event == "deliver":
            heard[event.node] = max(heard[event.node], time_of(event.fields))
        elif event.event == "send":
            kinds.add(event.message)
            assert time_of(event.fields) > heard[event.node]
            if event.message == "Request":
                assert time_of(event.fields) >= asked[event.node]
                asked[event.node] = time_of(event.fields)
    assert {"Request", "Locked", "Failed"} <= kinds
    assert max(asked) > nodes * requests  # numbers that count requests would end there
