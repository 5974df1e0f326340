"""Velazquez 1993, section 4, "Neilsen-Mizuno algorithm", sentence by sentence."""

from __future__ import annotations

from typing import Any

import pytest
from steps import receive, release, request

from congenial.algorithms.token.neilsen_mizuno import NOBODY, NeilsenMizuno, Privilege, Request
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.state import state_of
from congenial.parts.trees import line


@pytest.fixture
def nodes() -> list[Any]:
    """0 - 1 - 2 - 3, the token at 0."""
    return [NeilsenMizuno(me, 4, tree=line(4)) for me in range(4)]


def queue(nodes: list[Any]) -> list[int]:
    """ "The queue of pending requests can be deduced by following the state of NEXT in each node, starting at the node
    holding the token." """
    at = next(process.me for process in nodes if process.holding)
    waiting = []
    while nodes[at].next != NOBODY:
        at = nodes[at].next
        waiting.append(at)
    return waiting


def test_the_edges_lead_to_the_token_at_first(nodes: list[Any]) -> None:
    assert [process.last for process in nodes] == [0, 0, 1, 2]
    assert [process.holding for process in nodes] == [True, False, False, False]


def test_the_story_of_three_requests(nodes: list[Any]) -> None:
    assert request(nodes[0]) == ["enters"]
    # "it sends a request of the form REQUEST(my_id, origin) to LAST ... becoming a sink node"
    assert request(nodes[2]) == ["Request(origin=2) to 1"]
    assert nodes[2].last == 2
    # "it will forward a REQUEST(j, origin) to LASTj, on behalf of its neighbor ... LASTj := y"
    assert receive(nodes[1], 2, Request(2)) == ["Request(origin=2) to 0"]
    assert nodes[1].last == 2
    # "The request message will travel along the path until it arrives to the sink node. [It] will be 'enqueued'."
    assert receive(nodes[0], 1, Request(2)) == []
    assert (nodes[0].next, nodes[0].last) == (2, 1)
    # "If node j receives a request from node k at this point, it sets NEXTj := origin and LASTj := k."
    assert request(nodes[3]) == ["Request(origin=3) to 2"]
    assert receive(nodes[2], 3, Request(3)) == []
    assert (nodes[2].next, nodes[2].last) == (3, 3)
    # a third request walks all the way to the new sink
    assert request(nodes[1]) == ["Request(origin=1) to 2"]
    assert receive(nodes[2], 1, Request(1)) == ["Request(origin=1) to 3"]
    assert receive(nodes[3], 2, Request(1)) == []
    assert queue(nodes) == [2, 3, 1]
    assert [process.last for process in nodes] == [1, 1, 1, 2]
    # "After exiting it, if there is a pending request (NEXTj > 0), the token is sent to NEXTj and NEXTj := 0."
    assert release(nodes[0]) == ["Privilege(entries=1) to 2"]
    assert nodes[0].next == NOBODY
    # "When j receives the token, it can enter its CS."
    assert receive(nodes[2], 0, Privilege(1)) == ["enters"]
    assert queue(nodes) == [3, 1]
    assert release(nodes[2]) == ["Privilege(entries=2) to 3"]


def test_an_idle_token_stays_and_needs_no_request(nodes: list[Any]) -> None:
    """ "If there were no pending requests, node j keeps the idle token. A node holding an idle token does not need to
    send a request to enter its critical section again." """
    request(nodes[0])
    assert release(nodes[0]) == []
    assert request(nodes[0]) == ["enters"]


def test_an_idle_holder_sends_the_token_straight_to_the_origin(nodes: list[Any]) -> None:
    assert receive(nodes[0], 1, Request(3)) == ["Privilege(entries=0) to 3"]
    assert (nodes[0].last, nodes[0].next, nodes[0].holding) == (1, NOBODY, False)


@pytest.mark.parametrize(
    ("receiver", "source", "message"),
    [(0, 2, Privilege(1)), (1, 0, Privilege(1)), (1, 0, Request(0))],
    ids=["a second token", "a token not asked for", "a request against the edge"],
)
def test_what_cannot_be(nodes: list[Any], receiver: int, source: int, message: Message) -> None:
    before = state_of(nodes[receiver])
    with pytest.raises(UnexpectedMessage):
        receive(nodes[receiver], source, message)
    assert state_of(nodes[receiver]) == before
