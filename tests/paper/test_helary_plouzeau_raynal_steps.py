"""Velazquez 1993, section 4, "Helary-Plouzeau-Raynal algorithm", sentence by sentence."""

from __future__ import annotations

from typing import Any

import pytest
from steps import receive, release, request

from congenial.algorithms.token.helary_plouzeau_raynal import HelaryPlouzeauRaynal, Request, Token
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.state import state_of
from congenial.parts.graphs import build_graph

#     0 -- 1
#     |    |
#     2 -- 3 -- 4
NETWORK = build_graph("0-1,0-2,1-3,2-3,3-4", 5)
TOKEN = "granted=(0, 0, 0, 0, 1), entries=0"


@pytest.fixture
def nodes() -> list[Any]:
    return [HelaryPlouzeauRaynal(me, 5, network=NETWORK) for me in range(5)]


def asked(nodes: list[Any]) -> None:
    """4 has asked, and 3 and 1 have had its request; 2 has not yet."""
    request(nodes[4])
    receive(nodes[3], 4, Request(4, 1, (3, 4)))
    receive(nodes[1], 3, Request(4, 1, (1, 2, 3, 4)))


def test_a_process_that_holds_the_token_enters(nodes: list[Any]) -> None:
    """ "if the requesting node owns the token there is no need to send any request messages" """
    assert request(nodes[0]) == ["enters"]
    assert release(nodes[0]) == []
    assert request(nodes[0]) == ["enters"]


def test_a_request_goes_to_the_neighbours_only(nodes: list[Any]) -> None:
    """ "a process ... not possessing the token sends a request only to its neighbors and waits for the token" """
    assert request(nodes[4]) == ["Request(origin=4, date=1, told=(3, 4)) to 3"]


def test_it_is_passed_on_to_those_it_was_not_sent_to(nodes: list[Any]) -> None:
    """ "finds out to which of its own neighbors the request has not been sent yet. ... only to those neighbors" """
    copy = "Request(origin=4, date=1, told=(1, 2, 3, 4)) to"
    assert receive(nodes[3], 4, Request(4, 1, (3, 4))) == [f"{copy} 1", f"{copy} 2"]
    assert receive(nodes[1], 3, Request(4, 1, (1, 2, 3, 4))) == ["Request(origin=4, date=1, told=(0, 1, 2, 3, 4)) to 0"]
    assert receive(nodes[1], 0, Request(4, 1, (0, 1, 2, 3, 4))) == []  # another way, later


def test_the_idle_token_goes_back_the_way_the_request_came(nodes: list[Any]) -> None:
    """ "A return path to the requesting node is constructed with ... the nodes that have propagated the request." """
    asked(nodes)
    told = (0, 1, 2, 3, 4)
    assert receive(nodes[0], 1, Request(4, 1, told)) == [f"Token(to=4, {TOKEN}) to 1"]
    assert receive(nodes[0], 2, Request(4, 1, told)) == []  # the token has left
    # "When a node k receives the token message and the token final destination node is not itself, it ... forwards"
    token = Token(4, (0, 0, 0, 0, 1), 0)
    assert receive(nodes[1], 0, token) == [f"Token(to=4, {TOKEN}) to 3"]
    assert receive(nodes[3], 1, token) == [f"Token(to=4, {TOKEN}) to 4"]
    # "If the token is addressed to k, then it can proceed to enter its critical section."
    assert receive(nodes[4], 3, token) == ["enters"]


def test_the_oldest_request_known_is_granted(nodes: list[Any]) -> None:
    """ "node i finds the oldest request from its own set of pending ones" """
    request(nodes[0])
    everyone = (0, 1, 2, 3, 4)
    receive(nodes[0], 2, Request(3, 4, everyone))
    receive(nodes[0], 1, Request(4, 3, everyone))
    receive(nodes[0], 1, Request(2, 3, everyone))
    assert release(nodes[0]) == ["Token(to=2, granted=(0, 0, 3, 0, 0), entries=1) to 1"]


def test_what_was_granted_is_not_granted_again(nodes: list[Any]) -> None:
    """ "updates outdated information ... deleting requests already granted" """
    request(nodes[2])
    receive(nodes[2], 3, Request(4, 1, (1, 2, 3, 4)))
    receive(nodes[2], 0, Token(2, (0, 0, 1, 0, 1), 1))
    assert release(nodes[2]) == []
    request(nodes[2])
    assert release(nodes[2]) == []


def test_an_old_request_that_comes_late_is_dropped(nodes: list[Any]) -> None:
    """ "The algorithm does not require message-order preservation." """
    receive(nodes[1], 3, Request(4, 5, (1, 2, 3, 4)))
    assert receive(nodes[1], 0, Request(4, 2, (0, 1, 2))) == []
    assert nodes[1].back[4] == 3


def test_a_request_is_dated_after_all_that_are_known(nodes: list[Any]) -> None:
    """ "Node i synchronizes its logical clock" """
    receive(nodes[1], 3, Request(4, 5, (1, 2, 3, 4)))
    assert request(nodes[1])[0] == "Request(origin=1, date=6, told=(0, 1, 3)) to 0"


@pytest.mark.parametrize(
    ("me", "source", "message"),
    [
        (4, 0, Request(0, 1, (0, 4))),  # no neighbour
        (4, 0, Token(4, (0,) * 5, 0)),  # no neighbour
        (3, 1, Token(3, (0,) * 5, 0)),  # it has not asked
        (3, 1, Token(4, (0,) * 5, 0)),  # it knows of no request of 4
        (0, 1, Token(4, (0,) * 5, 0)),  # a second token
    ],
)
def test_what_cannot_be_is_refused(nodes: list[Any], me: int, source: int, message: Message) -> None:
    before = state_of(nodes[me])
    with pytest.raises(UnexpectedMessage):
        receive(nodes[me], source, message)
    assert state_of(nodes[me]) == before
