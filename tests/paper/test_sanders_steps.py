"""Velazquez 1993, section 5, "Sanders' algorithm", sentence by sentence."""

from __future__ import annotations

from typing import Any

import pytest
from steps import node, receive, release, request

from congenial.algorithms.permission.sanders import Fail, Grant, Inquire, Release, Request, Sanders, Yield
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.out import Outbox
from congenial.kernel.state import state_of


def process(me: int, n: int = 5, structure: str = "clusters:2") -> Any:
    """Clusters 0 1 2 and 3 4; their heads are 0 and 3."""
    return node(Sanders, me, n, structure=structure)


def test_it_must_obtain_permission_from_its_request_set() -> None:
    """ "When node i wants to enter its CS, it must obtain permission from all other members in Ri." """
    asker = process(1)
    assert request(asker) == ["Request(number=1) to 0", "Request(number=1) to 3", "Request(number=1) to 4"]
    assert asker.holder == (1, 1)  # its own permission it has given itself
    receive(asker, 0, Grant(0))
    receive(asker, 3, Grant(0))
    assert receive(asker, 4, Grant(0)) == ["enters"]


def test_permission_to_a_member_of_its_status_set_locks() -> None:
    """ "When k sends its permission to a requesting node which is a member of its Sk, it sets its variable CSSTATk to
    indicate that this node is in the CS." """
    head = process(0)
    assert receive(head, 2, Request(1)) == ["Grant(fence=0) to 2"]
    assert head.holder == (1, 2)


def test_permission_to_others_does_not() -> None:
    """ "When the node is not a member of its Sk, then CSSTATk indicates the CS is free." """
    head = process(0)
    assert receive(head, 4, Request(1)) == ["Grant(fence=0) to 4"]
    assert head.holder is None
    assert receive(head, 2, Request(2)) == ["Grant(fence=0) to 2"]


def test_a_larger_timestamp_fails() -> None:
    """ "If the CS is not free and i's timestamp is larger than that of the node indicated in CSSTATk, then a fail
    message is sent to i." """
    head = process(0)
    receive(head, 2, Request(1))
    assert receive(head, 1, Request(2)) == ["Fail() to 1"]
    assert head.queue == [(2, 1)]


def test_a_lower_timestamp_makes_it_inquire() -> None:
    """ "If i's timestamp is lower, then an inquire message is sent to the node indicated in CSSTATk" """
    head = process(0)
    receive(head, 2, Request(3))
    assert receive(head, 4, Request(2)) == ["Inquire() to 2"]


def test_a_process_that_has_not_been_sent_a_fail_is_sent_one_when_it_is_overtaken() -> None:
    """ "A fail message is sent to a node with a larger timestamp that has not yet been sent one." """
    head = process(0)
    receive(head, 2, Request(3))
    receive(head, 4, Request(2))
    assert receive(head, 1, Request(1)) == ["Fail() to 4"]


def test_release_goes_to_the_inform_set_only() -> None:
    """ "When node i releases the CS, it sends a release message to all nodes in Ii." """
    asker = process(1)
    request(asker)
    for member in (0, 3, 4):
        receive(asker, member, Grant(6))
    assert release(asker) == ["Release(fence=7) to 0"]


def test_a_release_is_followed_by_permissions_up_to_the_first_that_locks() -> None:
    """ "They repeat to send their permission until the privileged node is in their status set, or until the queue is
    empty." """
    head = process(0)
    receive(head, 2, Request(1))
    for source, number in ((3, 3), (4, 2), (1, 4)):
        receive(head, source, Request(number))
    assert receive(head, 2, Release(1)) == ["Grant(fence=1) to 4", "Grant(fence=1) to 3", "Grant(fence=1) to 1"]
    assert head.holder == (4, 1)
    assert receive(head, 1, Release(2)) == []
    assert head.holder is None


def test_a_ceded_permission_returns_the_request_to_the_queue() -> None:
    """ "When a node cedes its permission, it sends a yield message to the node inquiring. Its request is returned to
    the requesting queue and the inquiring node proceeds as if a release message had been received." """
    head = process(0)
    receive(head, 2, Request(3))
    receive(head, 4, Request(2))
    assert receive(head, 2, Yield()) == ["Grant(fence=0) to 4", "Grant(fence=0) to 2"]  # 4 does not lock
    assert head.holder == (3, 2)


def test_it_yields_when_it_has_lost_somewhere_and_not_before() -> None:
    asker = process(1)
    request(asker)
    receive(asker, 0, Grant(0))
    assert receive(asker, 0, Inquire()) == []
    assert receive(asker, 3, Fail()) == ["Yield() to 0"]
    assert asker.missing == {0, 3, 4}


def test_a_process_that_is_inside_keeps_its_permissions() -> None:
    asker = process(1)
    request(asker)
    for member in (0, 3, 4):
        receive(asker, member, Grant(0))
    assert receive(asker, 0, Inquire()) == []
    assert asker.missing == set()


def test_a_process_that_is_informed_about_by_itself_alone_gives_way_at_once() -> None:
    """Ours: with Ricart and Agrawala's sets an older request is granted immediately, a younger one hears nothing."""
    asker = process(1, 3, "ricart-agrawala")
    receive(asker, 0, Request(5))
    request(asker)  # number 6
    assert receive(asker, 0, Request(6)) == ["Grant(fence=0) to 0"]
    assert asker.holder == (6, 1)
    assert receive(asker, 2, Request(6)) == []
    assert asker.queue == [(6, 2)]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (2, Grant(0)),
        (0, Grant(0)),
        (2, Fail()),
        (3, Inquire()),
        (0, Yield()),
        (0, Release(1)),
    ],
    ids=[
        "a permission of one not asked",
        "a permission one has",
        "a failure at one not asked",
        "an inquiry of one not informed",
        "a lock given back that was not given",
        "a release of another's lock",
    ],
)
def test_what_cannot_be_is_refused(source: int, message: Message) -> None:
    asker = process(1)
    request(asker)
    receive(asker, 0, Grant(0))
    before = state_of(asker)
    with pytest.raises(UnexpectedMessage, match=f"from process {source}"):
        asker.receive(source, message, Outbox())
    assert state_of(asker) == before
