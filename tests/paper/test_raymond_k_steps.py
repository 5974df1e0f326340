"""Velazquez 1993, section 6, "Raymond's algorithm", sentence by sentence."""

from __future__ import annotations

from typing import Any

import pytest
from steps import node, receive, release, request

from congenial.algorithms.kmutex.raymond_k import RaymondK, Reply, Request
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.state import state_of


def process(me: int, n: int = 4, k: str = "2") -> Any:
    return node(RaymondK, me, n, k=k)


def test_a_request_goes_to_all_others_with_the_highest_number_known() -> None:
    """ "it sends a request message to all other N-1 nodes. A request message contains the maximum sequence number in
    the system that the node has knowledge of" """
    asker = process(1)
    receive(asker, 0, Request(7))
    assert request(asker) == ["Request(number=8) to all"]


def test_it_enters_with_n_minus_k_replies() -> None:
    """ "When the requesting node receives N-k reply messages, it is free to execute its CS." """
    asker = process(1)
    request(asker)
    assert receive(asker, 3, Reply(1)) == []
    assert receive(asker, 0, Reply(1)) == ["enters"]


def test_the_remaining_replies_come_late() -> None:
    """ "The remaining k-1 reply messages can arrive at the requesting node while it is in the CS, or after it has
    released it." """
    asker = process(1)
    request(asker)
    receive(asker, 3, Reply(1))
    receive(asker, 0, Reply(1))
    assert receive(asker, 2, Reply(1)) == []
    release(asker)
    request(asker)
    for source in (0, 3):
        receive(asker, source, Reply(1))
    release(asker)
    assert receive(asker, 2, Reply(1)) == []


def test_a_late_reply_does_not_agree_to_a_later_request() -> None:
    """ "Each node keeps record of the reply messages received by any other node": what was owed for an earlier request
    is no permission for this one."""
    asker = process(0, n=3)
    request(asker)
    assert receive(asker, 1, Reply(1)) == ["enters"]  # 2 still owes one
    release(asker)
    request(asker)
    assert receive(asker, 2, Reply(1)) == []  # for the first request
    assert receive(asker, 2, Reply(1)) == ["enters"]


def test_a_reply_is_given_at_once_or_deferred() -> None:
    """ "If j is in the CS, or it is requesting the CS and its sequence number is smaller than that in i's request, the
    sending of a reply is deferred. Otherwise, node j sends a reply message to i." """
    idle = process(1)
    assert receive(idle, 2, Request(5)) == ["Reply(count=1) to 2"]
    request(idle)  # number 6
    assert receive(idle, 2, Request(7)) == []
    assert receive(idle, 3, Request(4)) == ["Reply(count=1) to 3"]


def test_ties_favour_the_smallest_node_number() -> None:
    """ "Ties are broken by favoring the smallest node number." """
    asker = process(1)
    request(asker)
    assert receive(asker, 0, Request(1)) == ["Reply(count=1) to 0"]
    assert receive(asker, 2, Request(1)) == []


def test_a_process_that_is_inside_defers_even_an_older_request() -> None:
    """ "If j is in the CS": then an older request can exist, since it needs no reply from j to enter."""
    inside = process(0, n=3)
    receive(inside, 1, Request(4))
    request(inside)
    receive(inside, 1, Reply(1))
    assert receive(inside, 2, Request(1)) == []
    assert release(inside) == ["Reply(count=1) to 2"]


def test_deferred_replies_are_sent_as_one_with_their_number() -> None:
    """ "node i sends a reply message which contains the number of replies deferred for requests received from j" """
    inside = process(0, n=3)
    request(inside)
    receive(inside, 1, Reply(1))
    for number in (2, 3, 4):  # 2 comes and goes with the permission of 1
        assert receive(inside, 2, Request(number)) == []
    receive(inside, 1, Request(5))
    assert release(inside) == ["Reply(count=1) to 1", "Reply(count=3) to 2"]


def test_with_room_for_all_nobody_waits() -> None:
    assert request(process(1, n=3, k="3")) == ["Request(number=1) to all", "enters"]
    assert request(process(0, n=1)) == ["Request(number=1) to all", "enters"]


@pytest.mark.parametrize("count", [0, -1, 2])
def test_more_replies_than_are_owed_cannot_be(count: int) -> None:
    asker = process(0, n=3)
    request(asker)
    before = state_of(asker)
    with pytest.raises(UnexpectedMessage):
        receive(asker, 1, Reply(count))
    assert state_of(asker) == before
