"""Velazquez 1993, section 5, "Lamport's algorithm", sentence by sentence."""

from __future__ import annotations

from typing import Any

import pytest
from steps import node, receive, release, request

from congenial.algorithms.permission.lamport import Lamport, Release, Reply, Request
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.out import Outbox
from congenial.kernel.state import state_of


def process(me: int, n: int = 3) -> Any:
    return node(Lamport, me, n)


def test_a_request_goes_to_all_others_and_into_ones_own_queue() -> None:
    """ "it sends a request message of the form REQUEST(Tm, i) to all other N-1 nodes and puts that message in its
    request queue" """
    asker = process(1)
    assert request(asker) == ["Request(time=1) to all"]
    assert asker.queue == [(1, 1)]


def test_a_request_is_queued_and_answered_with_a_later_time() -> None:
    """ "When process j receives the request from node i, it places it in its request queue, updates its Cj and sends a
    timestamped reply message to i" """
    other = process(2)
    assert receive(other, 1, Request(4)) == ["Reply(time=5) to 1"]
    assert other.queue == [(4, 1)]


def test_what_is_sent_after_a_receipt_is_later_than_what_was_received() -> None:
    """ "it sets Cj greater than or equal to its present value and greater than Tm" """
    asker = process(2)
    receive(asker, 1, Request(4))
    assert request(asker) == ["Request(time=6) to all"]


def test_the_queue_is_in_the_order_of_time_then_id() -> None:
    other = process(0, 4)
    for source, time in ((3, 2), (2, 2), (1, 5)):
        receive(other, source, Request(time))
    assert other.queue == [(2, 2), (2, 3), (5, 1)]


def test_it_enters_with_all_replies_if_its_request_is_next() -> None:
    """ "When process i receives reply messages from all N-1 other processes with a timestamp greater than the
    timestamp in its request message, and its request is next in its queue, then it can enter" """
    asker = process(1)
    request(asker)
    assert receive(asker, 0, Reply(2)) == []
    assert receive(asker, 2, Reply(2)) == ["enters"]


def test_all_replies_are_not_enough_behind_an_older_request() -> None:
    asker = process(1)
    request(asker)
    receive(asker, 0, Request(1))
    receive(asker, 0, Reply(3))
    assert receive(asker, 2, Reply(2)) == []
    assert receive(asker, 0, Release(4)) == ["enters"]


def test_a_release_strikes_the_request_out_everywhere() -> None:
    """ "it deletes any request (Tm, i) from its request queue and sends a timestamped release message to all other
    processes. When process j receives a release message from i, it deletes any request message (Tm, i)" """
    asker, other = process(1, 2), process(0, 2)
    request(asker)
    receive(other, 1, Request(1))
    receive(asker, 0, Reply(2))
    assert release(asker) == ["Release(time=3) to all"]
    assert asker.queue == []
    receive(other, 1, Release(3))
    assert other.queue == []


@pytest.mark.parametrize(
    ("source", "message"),
    [(0, Reply(1)), (0, Release(9)), (2, Request(9))],
    ids=["a reply no later than the request", "a release of no request", "a second request"],
)
def test_what_cannot_be_is_refused(source: int, message: Message) -> None:
    asker = process(1)
    request(asker)
    receive(asker, 2, Request(3))
    before = state_of(asker)
    with pytest.raises(UnexpectedMessage):
        asker.receive(source, message, Outbox())
    assert state_of(asker) == before


def test_a_reply_nobody_asked_for_is_refused() -> None:
    idle = process(1)
    with pytest.raises(UnexpectedMessage):
        idle.receive(0, Reply(3), Outbox())
    assert state_of(idle) == state_of(process(1))
