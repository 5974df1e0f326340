"""Velazquez 1993, section 5, "Maekawa's algorithm", sentence by sentence."""

from __future__ import annotations

from typing import Any

from steps import node, receive, release, request

from congenial.algorithms.permission.maekawa import (
    Failed,
    Inquire,
    Locked,
    Maekawa,
    Release,
    Relinquish,
    Request,
)

N = 7  # a plane of order 2: quorums {i, i+1, i+3} mod 7


def process(me: int) -> Any:
    made: Any = node(Maekawa, me, N)
    assert made.quorum == tuple(sorted([me, (me + 1) % N, (me + 3) % N]))
    return made


def test_a_request_goes_to_every_other_member_and_to_oneself() -> None:
    """ "it increments the highest sequence number known and sends a request message to every other member of Si.
    Node i itself pretends to have received a request" """
    asker = process(0)
    receive(asker, 6, Request(4))
    receive(asker, 6, Release(0))
    assert request(asker) == ["Request(number=5) to 1", "Request(number=5) to 3"]
    assert asker.locked_for == (5, 0)
    assert asker.locks == [0]


def test_a_free_arbitrator_grants_its_permission() -> None:
    """ "each node k ... checks if it has already granted its permission. If it has not, it sends its permission" """
    arbitrator = process(1)
    assert receive(arbitrator, 0, Request(1)) == ["Locked(fence=0) to 0"]
    assert arbitrator.locked_for == (1, 0)


def test_a_later_request_is_queued_and_told_that_it_failed() -> None:
    """ "Otherwise, it enqueues i's request in its ordered waiting queue. If any request in the queue has a lower
    sequence number than that of i's, a failed message is sent to node i." """
    arbitrator = process(1)
    receive(arbitrator, 0, Request(1))
    assert receive(arbitrator, 5, Request(2)) == ["Failed() to 5"]
    assert receive(arbitrator, 2, Request(3)) == ["Failed() to 2"]
    assert arbitrator.queue == [(2, 5), (3, 2)]


def test_ties_favour_the_lower_node_number() -> None:
    """ "Ties are solved by favoring the node with the lowest node number." """
    arbitrator = process(1)
    receive(arbitrator, 0, Request(1))
    assert receive(arbitrator, 5, Request(1)) == ["Failed() to 5"]
    other = process(1)
    receive(other, 5, Request(1))
    assert receive(other, 0, Request(1)) == ["Inquire() to 5"]


def test_an_earlier_request_makes_the_arbitrator_inquire_once() -> None:
    """ "If the request from node i has the lowest sequence number, then an inquire message is sent to the node to which
    permission was granted" """
    arbitrator = process(1)
    receive(arbitrator, 5, Request(3))
    assert receive(arbitrator, 0, Request(2)) == ["Inquire() to 5"]


def test_one_who_leads_the_queue_and_is_overtaken_is_told_that_it_failed() -> None:
    """Sanders 1987: without this FAILED the published algorithm can deadlock."""
    arbitrator = process(1)
    receive(arbitrator, 5, Request(3))
    receive(arbitrator, 0, Request(2))
    assert receive(arbitrator, 2, Request(1)) == ["Failed() to 0"]  # and 5 has been asked already


def test_it_enters_with_the_permission_of_all_members() -> None:
    """ "When node i obtains permission from all other members of Si, it can enter its CS." """
    asker = process(0)
    request(asker)
    assert receive(asker, 1, Locked(0)) == []
    assert receive(asker, 3, Locked(0)) == ["enters"]


def test_a_process_that_has_succeeded_keeps_its_permissions() -> None:
    """ "If this node has succeeded, it is free to access the CS." """
    asker = process(0)
    request(asker)
    receive(asker, 1, Locked(0))
    receive(asker, 3, Locked(0))
    assert receive(asker, 1, Inquire()) == []
    assert release(asker) == ["Release(fence=1) to 1", "Release(fence=1) to 3"]


def test_a_process_that_has_failed_cedes_its_permission() -> None:
    """ "If it has not succeeded, it cedes its permission to free its member node k" """
    asker = process(0)
    request(asker)
    receive(asker, 1, Locked(0))
    assert receive(asker, 3, Failed()) == []
    assert receive(asker, 1, Inquire()) == ["Relinquish() to 1"]
    assert asker.locks == [0]


def test_a_process_that_does_not_know_yet_answers_when_it_fails() -> None:
    asker = process(0)
    request(asker)
    receive(asker, 1, Locked(0))
    assert receive(asker, 1, Inquire()) == []
    assert receive(asker, 3, Failed()) == ["Relinquish() to 1"]


def test_a_ceded_permission_goes_to_the_earliest_request() -> None:
    """ "Node k enqueues the unsuccessful request. It removes from its queue the request from node i, and sends it its
    permission." """
    arbitrator = process(1)
    receive(arbitrator, 5, Request(3))
    receive(arbitrator, 0, Request(2))
    assert receive(arbitrator, 5, Relinquish()) == ["Locked(fence=0) to 0"]
    assert arbitrator.queue == [(3, 5)]


def test_a_release_passes_the_permission_on_in_order() -> None:
    """ "When a release message arrives at node k, it grants its permission to the next request in its waiting queue.
    No action is taken if the queue is empty." """
    arbitrator = process(1)
    for source, number in ((0, 1), (5, 3), (2, 2)):
        receive(arbitrator, source, Request(number))
    assert receive(arbitrator, 0, Release(4)) == ["Locked(fence=4) to 2"]
    assert receive(arbitrator, 2, Release(5)) == ["Locked(fence=5) to 5"]
    assert receive(arbitrator, 5, Release(6)) == []
    assert arbitrator.locked_for is None


def test_a_process_out_of_its_own_quorum_asks_as_a_stranger() -> None:
    """A central lock: everybody's quorum is process 0."""
    server, client = node(Maekawa, 0, 3, quorums="singleton"), node(Maekawa, 2, 3, quorums="singleton")
    assert request(server) == ["enters"]
    assert request(client) == ["Request(number=1) to 0"]
    assert receive(server, 2, Request(1)) == ["Failed() to 2"]
    assert release(server) == ["Locked(fence=1) to 2"]
