"""Mittal & Mohan 2007, section 5.3.4: "The second phase of the restart operation, strictly speaking, is not necessary.
We use it to restrict the number of messages that are exchanged due to a request to 2n - 1. Otherwise, a request may
generate as many as nf messages, in the worst case" """

from __future__ import annotations

from typing import Any

import pytest

from congenial.checker.check import check
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.kernel.trace import Trace
from congenial.sim.scenario import Scenario
from congenial.systems.catalogue import find_algorithm

Restarted: Any = find_algorithm("token-gme+restart")
NODES = 10


class NoSecondPhase(Restarted):  # type: ignore[misc]
    """Old requests are not served by themselves: their processes ask again in the new instance."""

    def _serve_old(self, out: Out) -> None:
        self._resume_all(out)


class OldRequestsForgotten(Restarted):  # type: ignore[misc]
    """The second phase left out and nothing put in its place."""

    def _serve_old(self, out: Out) -> None:
        self._resume_all(out)

    def _resume(self, out: Out) -> None:
        self.running = True


def checked(algorithm: type[Node]) -> Any:
    return check(algorithm, nodes=3, requests=1, wants="0;1;0", crashes=1, recovery=False, limit=200_000)


def test_strictly_speaking_it_is_not_necessary() -> None:
    result = checked(NoSecondPhase)
    assert result.ok, result.verdict()
    assert result.complete


def test_but_old_requests_must_then_be_made_again() -> None:
    found = checked(OldRequestsForgotten).counterexample
    assert found is not None
    assert found.kind == "deadlock"


def requests_of_one(algorithm: type[Node], crashes: int) -> int:
    """The most REQUEST messages that one request led to: those that its process sent until it entered."""
    most = 0
    for seed in range(3):
        trace = Trace()
        engine = Scenario(
            algorithm,
            nodes=NODES,
            groups=NODES,
            requests=12,
            think=1,
            hold=5,
            delay=2,
            crash=tuple([f"{NODES - 1 - victim}@{60 + 60 * victim}" for victim in range(crashes)]),
            detection=3.0,
        ).engine(seed, trace)
        engine.run()
        sent = [0] * NODES
        for event in trace.events:
            if event.event == "request":
                sent[event.node] = 0
            elif event.event == "send" and event.fields is not None:
                body = event.fields.get("body")
                if isinstance(body, dict) and body["message"] == "Request":
                    to_all = event.peer < 0
                    sent[event.node] += NODES - 1 if to_all else 1
            elif event.event == "enter":
                most = max(most, sent[event.node])
    return most


@pytest.mark.parametrize("crashes", [1, 3, 5])
def test_with_it_a_request_is_sent_once(crashes: int) -> None:
    """So that an old request, too, costs at most 2n-1 messages: n-1 REQUEST, 1 TOKEN, n-1 LEAVE."""
    assert requests_of_one(Restarted, crashes) <= NODES - 1


def test_without_it_a_request_is_sent_again_after_every_crash() -> None:
    few, many = [requests_of_one(NoSecondPhase, crashes) for crashes in (1, 5)]
    assert NODES - 1 < few <= 2 * (NODES - 1)
    assert few < many <= NODES * 5
