"""Velazquez 1993, section 5, "Carvalho-Roucairol algorithm", sentence by sentence."""

from __future__ import annotations

from typing import Any

import pytest
from steps import node, receive, release, request

from congenial.algorithms.permission.carvalho_roucairol import CarvalhoRoucairol, Reply, Request
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.out import Outbox
from congenial.kernel.state import state_of


def process(me: int, n: int = 3) -> Any:
    return node(CarvalhoRoucairol, me, n)


def served(me: int, n: int = 3) -> Any:
    """A process that has been inside once, and has everybody's permission."""
    asker = process(me, n)
    request(asker)
    for other in range(n):
        if other != me:
            receive(asker, other, Reply(0))
    release(asker)
    return asker


def test_the_first_request_goes_to_all() -> None:
    assert request(process(1)) == ["Request(number=1) to all"]


def test_a_permission_is_kept_and_used_again() -> None:
    """ "it can keep it for future use until a request is received from that node ... The last node entering its CS can
    reenter it if no other node requests it." """
    asker = served(1)
    assert request(asker) == ["enters"]


def test_only_those_are_asked_whose_permission_is_not_kept() -> None:
    """ "it will send request messages only to those other nodes whose permission is not already kept by i" """
    asker = served(1)
    assert receive(asker, 2, Request(5)) == ["Reply(fence=1) to 2"]
    assert request(asker) == ["Request(number=6) to 2"]
    assert receive(asker, 2, Reply(4)) == ["enters"]


def test_permission_is_given_if_idle_or_younger() -> None:
    """ "sends its permission to node i if either it is not in its CS or requesting it, or is requesting the CS, but the
    request sequence number from i is lower than its own" """
    idle = process(1)
    assert receive(idle, 2, Request(5)) == ["Reply(fence=0) to 2"]
    request(idle)  # number 6
    assert receive(idle, 0, Request(5)) == ["Reply(fence=0) to 0"]


def test_permission_is_deferred_if_older_or_inside_and_given_on_release() -> None:
    """ "If node j is either in its CS, or is requesting it and its request is lower than that from i, then the
    sending of the permission is deferred ... When a node releases the CS, it sends its permission to all nodes for
    which a reply to their requests was deferred, and updates its array of valid permission." """
    asker = process(0)
    request(asker)
    assert receive(asker, 1, Request(1)) == []
    receive(asker, 1, Reply(0))
    assert receive(asker, 2, Reply(0)) == ["enters"]
    assert receive(asker, 2, Request(1)) == []
    assert release(asker) == ["Reply(fence=1) to 1", "Reply(fence=1) to 2"]
    assert asker.agreed == [True, False, False]


def test_inside_even_an_older_request_waits() -> None:
    """Its permission had been kept, so its number says nothing about the order."""
    asker = served(1)
    receive(asker, 2, Request(7))
    request(asker)
    receive(asker, 2, Reply(3))  # inside, with number 8
    assert receive(asker, 0, Request(1)) == []
    assert release(asker) == ["Reply(fence=4) to 0"]


def test_the_special_case() -> None:
    """ "node j is requesting the CS, the permission from node i is still valid, but the new request from i contains a
    lower sequence number than its request. Node j records in its array[i] that node's i permission is no longer
    valid, sends its permission to i, and sends a request message to it." """
    asker = served(1)
    receive(asker, 2, Request(7))
    request(asker)  # number 8, to 2 only
    assert receive(asker, 0, Request(1)) == ["Reply(fence=1) to 0", "Request(number=8) to 0"]
    assert asker.agreed == [False, True, False]
    assert receive(asker, 2, Reply(1)) == []
    assert receive(asker, 0, Reply(2)) == ["enters"]


@pytest.mark.parametrize(
    ("source", "message"),
    [(0, Reply(0)), (2, Request(9))],
    ids=["a permission one has", "a second request of one that waits for a reply"],
)
def test_what_cannot_be_is_refused(source: int, message: Message) -> None:
    asker = process(1)
    request(asker)
    receive(asker, 0, Reply(0))
    receive(asker, 2, Request(8))  # younger: deferred
    before = state_of(asker)
    with pytest.raises(UnexpectedMessage):
        asker.receive(source, message, Outbox())
    assert state_of(asker) == before


def test_a_reply_nobody_asked_for_is_refused() -> None:
    idle = process(1)
    with pytest.raises(UnexpectedMessage):
        idle.receive(0, Reply(0), Outbox())
    assert state_of(idle) == state_of(process(1))
