"""Velazquez 1993, section 4, "Naimi-Trehel algorithm", sentence by sentence."""

from __future__ import annotations

from typing import Any

import pytest
from steps import node, receive, release, request

from congenial.algorithms.token.naimi_trehel import NOBODY, NaimiTrehel, Request, Token
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.state import state_of


@pytest.fixture
def nodes() -> list[Any]:
    return [node(NaimiTrehel, me, 4) for me in range(4)]


def test_a_request_goes_to_last_and_the_requester_is_the_new_root(nodes: list[Any]) -> None:
    """ "it sends a request to node LASTi, it sets LASTi:=i, and waits for the token to arrive" """
    assert request(nodes[2]) == ["Request(origin=2) to 0"]
    assert nodes[2].father == 2


def test_a_process_that_has_the_token_enters_directly(nodes: list[Any]) -> None:
    assert request(nodes[0]) == ["enters"]


def test_a_process_that_is_on_the_path_forwards_and_takes_the_requester_for_its_father(nodes: list[Any]) -> None:
    """ "node j forwards the request from i to node LASTj. Node j sets LASTj:=i." """
    assert receive(nodes[1], 3, Request(3)) == ["Request(origin=3) to 0"]
    assert nodes[1].father == 3


def test_a_root_inside_remembers_who_is_next(nodes: list[Any]) -> None:
    """ "k is the root node ... and it is in its critical section, then node k sets NEXTk:=i and LASTk:=i" """
    request(nodes[0])
    assert receive(nodes[0], 2, Request(2)) == []
    assert (nodes[0].next, nodes[0].father) == (2, 2)


def test_an_idle_token_is_sent_at_once(nodes: list[Any]) -> None:
    """ "If k is the root node and is holding an idle token, then it sends the token to node i and sets LASTk:=i." """
    assert receive(nodes[0], 1, Request(3)) == ["Token(entries=0) to 3"]
    assert (nodes[0].next, nodes[0].father) == (NOBODY, 3)


def test_a_holder_that_is_not_the_root_forwards(nodes: list[Any]) -> None:
    """ "In the case that node k is not the root node, it forwards the request from node i to node LASTk." """
    request(nodes[0])
    receive(nodes[0], 2, Request(2))
    assert receive(nodes[0], 3, Request(3)) == ["Request(origin=3) to 2"]
    assert (nodes[0].next, nodes[0].father) == (2, 3)


def test_a_process_that_leaves_sends_the_token_to_next(nodes: list[Any]) -> None:
    """ "sends the token to node NEXTk and sets NEXTk:=0. If ... no pending requests ..., ... keeps the idle token" """
    request(nodes[0])
    assert release(nodes[0]) == []
    request(nodes[0])
    receive(nodes[0], 2, Request(2))
    assert release(nodes[0]) == ["Token(entries=2) to 2"]
    assert nodes[0].next == NOBODY


def test_the_queue_is_the_path_of_nexts(nodes: list[Any]) -> None:
    """ "The queue of pending requests can be deduced by following the path of the NEXT state in each node." """
    request(nodes[0])
    for asker in (3, 1, 2):
        request(nodes[asker])
        to = nodes[0].father
        receive(nodes[0], asker, Request(asker))
        if to != 0:
            receive(nodes[to], 0, Request(asker))
    assert [process.next for process in nodes] == [3, 2, NOBODY, 1]


@pytest.mark.parametrize(
    ("me", "message"),
    [
        (2, Token(1)),  # it has not asked
        (0, Token(1)),  # a second token
        (2, Request(2)),  # its own request
    ],
)
def test_what_cannot_be_is_refused(nodes: list[Any], me: int, message: Message) -> None:
    before = state_of(nodes[me])
    with pytest.raises(UnexpectedMessage):
        receive(nodes[me], 1, message)
    assert state_of(nodes[me]) == before
