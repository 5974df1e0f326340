"""Velazquez 1993, section 5, "Ricart-Agrawala algorithm", sentence by sentence."""

from __future__ import annotations

from typing import Any

from steps import node, receive, release, request

from congenial.algorithms.permission.ricart_agrawala import Reply, Request, RicartAgrawala


def process(me: int, n: int = 3) -> Any:
    return node(RicartAgrawala, me, n)


def test_a_request_goes_to_every_other_node() -> None:
    """ "A node wishing to execute its CS sends a request message to every other node and waits" """
    assert request(process(1)) == ["Request(number=1) to all"]


def test_a_request_is_numbered_above_all_that_are_known() -> None:
    """ "it increments the highest sequence number it has knowledge of and includes it in its request message" """
    asker = process(1)
    receive(asker, 0, Request(7))
    assert request(asker) == ["Request(number=8) to all"]


def test_it_enters_with_the_last_of_n_minus_1_replies() -> None:
    """ "node i waits for the arrival of N-1 reply messages to enter its CS" """
    asker = process(1)
    request(asker)
    assert receive(asker, 2, Reply()) == []
    assert receive(asker, 0, Reply()) == ["enters"]


def test_permission_is_given_at_once_if_not_requesting() -> None:
    """ "it sends back its permission if it is not requesting the CS itself, and updates its highest sequence number
    value" """
    idle = process(1)
    assert receive(idle, 2, Request(5)) == ["Reply() to 2"]
    assert idle.highest == 5


def test_permission_is_given_to_a_lower_number() -> None:
    """ "If node j is requesting ... and the sequence number in the request from i is lower ..., then j sends its
    permission" """
    asker = process(1)
    receive(asker, 0, Request(3))
    request(asker)  # number 4
    assert receive(asker, 2, Request(3)) == ["Reply() to 2"]


def test_permission_is_deferred_if_ones_own_number_is_lower_and_sent_on_release() -> None:
    """ "If j is requesting and its request sequence number is lower, then it defers a response to i ... When a node
    releases its CS, it sends its permission to all nodes for which a reply to their requests was deferred." """
    asker = process(0)
    request(asker)
    assert receive(asker, 2, Request(2)) == []
    receive(asker, 1, Reply())
    assert receive(asker, 2, Reply()) == ["enters"]
    assert receive(asker, 1, Request(3)) == []
    assert sorted(release(asker)) == ["Reply() to 1", "Reply() to 2"]
    assert request(asker) == ["Request(number=4) to all"]


def test_ties_go_to_the_lower_node_number() -> None:
    """ "Ties are solved by granting the permission to the node with the lowest node number." """
    asker = process(1)
    request(asker)
    assert receive(asker, 0, Request(1)) == ["Reply() to 0"]
    assert receive(asker, 2, Request(1)) == []


def test_a_holder_defers_even_what_would_come_first() -> None:
    """An older request cannot exist while someone is inside; a younger one has to wait for the release."""
    alone = process(0, 2)
    request(alone)
    receive(alone, 1, Reply())
    assert receive(alone, 1, Request(2)) == []
    assert release(alone) == ["Reply() to 1"]


def test_a_system_of_one_enters_at_once() -> None:
    assert "enters" in request(process(0, 1))
