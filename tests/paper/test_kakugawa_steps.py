"""Velazquez 1993, section 6, "Kakugawa et al algorithm", sentence by sentence; its example, where nothing else is said:
k = 2, quorums {0,1}, {0,2}, {1,3}, {2,3}."""

from __future__ import annotations

from typing import Any

import pytest
from steps import node, receive, release, request

from congenial.algorithms.kmutex.kakugawa import (
    Failed,
    Inquire,
    Kakugawa,
    Kept,
    Locked,
    Release,
    Relinquish,
    Request,
)
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.state import state_of


def process(me: int, n: int = 4, k: str = "2", coterie: str = "square") -> Any:
    return node(Kakugawa, me, n, k=k, coterie=coterie)


def waiting(me: int = 0) -> Any:
    asker = process(me)
    request(asker)
    return asker


def test_the_example() -> None:
    """ "the quorums in the k-coterie are q1 = {1,2}, q2 = {1,3}, q3 = {2,4}, and q4 = {3,4}" """
    assert process(0).quorums == ((0, 1), (0, 2), (1, 3), (2, 3))
    homes = [process(me).quorums[process(me).home] for me in range(4)]
    assert homes == [(0, 1), (1, 3), (0, 2), (2, 3)]
    assert all(me in home for me, home in enumerate(homes))


def test_a_request_goes_to_a_quorum_and_to_oneself() -> None:
    """ "it increments the highest sequence number known and sends a request message to every other member of an
    appropriate quorum Qi ... Node i itself pretends to have received a request." """
    asker = process(0)
    receive(asker, 2, Request(4))
    receive(asker, 2, Release())
    assert request(asker) == ["Request(number=5) to 1"]
    assert asker.locked_for == (5, 0)
    assert asker.locks == {0}


def test_a_free_member_grants_its_permission() -> None:
    """ "each member node j of Qi checks if it has already granted its permission. If it has not, it sends its
    permission to i" """
    assert receive(process(1), 0, Request(1)) == ["Locked(number=1) to 0"]


def test_a_later_request_is_queued_and_told() -> None:
    """ "Otherwise, it enqueues i's request ... if any request in the queue has a lower sequence number than that of
    i's, a failed message is sent to node i" """
    member = process(1)
    receive(member, 0, Request(1))
    assert receive(member, 3, Request(2)) == ["Failed(number=2) to 3"]
    assert receive(member, 2, Request(3)) == ["Failed(number=3) to 2"]
    assert member.queue == [(2, 3), (3, 2)]


def test_an_earlier_request_makes_the_member_inquire_once() -> None:
    """ "Suppose that the request from node i has the lowest sequence number, then an inquire message is sent to the
    node to which the permission was granted" """
    member = process(1)
    receive(member, 3, Request(3))
    assert receive(member, 2, Request(2)) == ["Inquire(number=3) to 3"]
    assert receive(member, 0, Request(1)) == ["Failed(number=2) to 2"]  # the process that led until now


def test_a_process_that_has_not_succeeded_cedes_and_looks_elsewhere() -> None:
    """ "If it has not succeeded, it cedes its permission to free its member node j" """
    asker = process(0, n=5, coterie="majority")  # all pairs
    assert request(asker) == ["Request(number=1) to 1"]
    assert receive(asker, 2, Request(0)) == ["Locked(number=0) to 2", "Request(number=1) to 2"]
    assert asker.lost == {0}


def test_the_ceded_permission_goes_to_the_earliest_request() -> None:
    """ "Node j enqueues the unsuccessful request. It removes from its queue the request from node i, and sends it its
    permission." """
    member = process(1)
    receive(member, 3, Request(3))
    receive(member, 0, Request(2))
    assert receive(member, 3, Relinquish()) == ["Locked(number=2) to 0"]
    assert member.queue == [(3, 3)]


def test_a_process_that_has_failed_asks_another_quorum() -> None:
    """ "By the nonintersection property, if less than k processes are in the CS, then a requesting process can enter
    the CS by selecting an appropriate quorum." """
    asker = waiting(0)
    assert receive(asker, 1, Failed(1)) == ["Request(number=1) to 2"]
    assert sorted(receive(asker, 2, Locked(1))) == ["Release() to 1", "enters"]


def test_it_enters_with_any_quorum_and_releases_the_rest() -> None:
    """ "When node i obtains permission from all other members of Qi, it can enter its CS." """
    asker = waiting(0)
    receive(asker, 1, Failed(1))
    assert sorted(receive(asker, 1, Locked(1))) == ["Release() to 2", "enters"]
    assert receive(asker, 2, Locked(1)) == []  # it was under way
    assert release(asker) == ["Release() to 1"]


def test_a_process_that_is_inside_says_so_and_the_older_request_is_told() -> None:
    """ "If this node has succeeded, it is free to access the CS." """
    asker = waiting(0)
    receive(asker, 1, Locked(1))
    assert receive(asker, 1, Inquire(1)) == ["Kept() to 1"]
    member = process(1)
    receive(member, 3, Request(3))
    receive(member, 0, Request(2))
    assert receive(member, 3, Kept()) == ["Failed(number=2) to 0"]
    assert receive(member, 2, Request(1)) == ["Failed(number=1) to 2"]  # without another inquiry


def test_a_release_passes_the_permission_on_in_order() -> None:
    """ "When a release message arrives at node j, it grants its permission to the next request in its waiting queue. No
    action is taken if the queue is empty." """
    member = process(1)
    for source, number in ((0, 1), (3, 3), (2, 2)):
        receive(member, source, Request(number))
    assert receive(member, 0, Release()) == ["Locked(number=2) to 2"]
    assert receive(member, 3, Release()) == []  # it has entered elsewhere
    assert receive(member, 2, Release()) == []
    assert member.locked_for is None


def test_an_answer_to_what_has_been_released_changes_nothing() -> None:
    asker = waiting(0)
    receive(asker, 1, Locked(1))
    release(asker)
    request(asker)
    before = state_of(asker)
    for late in (Locked(1), Failed(1), Inquire(1)):
        assert receive(asker, 1, late) == []
    assert state_of(asker) == before


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (process(0), Locked(1)),
        (process(0), Failed(1)),
        (process(0), Inquire(1)),
        (waiting(0), Locked(2)),
        (process(0), Release()),
        (process(0), Relinquish()),
        (process(0), Kept()),
        (waiting(0), Relinquish()),
    ],
)
def test_messages_that_cannot_be(node: Any, message: Message) -> None:
    before = state_of(node)
    with pytest.raises(UnexpectedMessage):
        receive(node, 1, message)
    assert state_of(node) == before


def test_a_second_request_of_one_process_cannot_be() -> None:
    member = process(1)
    receive(member, 0, Request(1))
    with pytest.raises(UnexpectedMessage):
        receive(member, 0, Request(2))
