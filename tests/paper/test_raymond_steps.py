"""Velazquez 1993, section 4, "Raymond's algorithm": its story of the nodes A to F, step by step."""

from __future__ import annotations

from typing import Any

import pytest
from steps import receive, release, request

from congenial.algorithms.token.raymond_tree import Privilege, RaymondTree, Request
from congenial.parts.trees import Tree

A, B, C, D, E, F = range(6)
TREE = Tree("the paper's", 6, [(A, B), (A, C), (A, D), (D, E), (D, F)])


@pytest.fixture
def nodes() -> list[Any]:
    """A holds the token and is inside."""
    made: list[Any] = [RaymondTree(me, 6, tree=TREE) for me in range(6)]
    assert request(made[A]) == ["enters"]
    return made


def test_everyone_knows_the_neighbour_on_the_way_to_the_token(nodes: list[Any]) -> None:
    """ "B, C, and D know A holds the token. ... E and F ... only know that D represents the relative location" """
    assert [process.holder for process in nodes] == [A, A, A, A, D, D]


def test_the_story(nodes: list[Any]) -> None:
    # "E ... needs to send a request to D after placing itself in its own request queue."
    assert request(nodes[E]) == [f"Request() to {D}"]
    assert nodes[E].queue == [E]
    # "Node D adds E's request in its request queue and sends a request to A on its own behalf."
    assert receive(nodes[D], E, Request()) == [f"Request() to {A}"]
    # "node D receives a request from its neighbor node F, it enqueues F's request, but it does not send another
    # request to A"
    assert request(nodes[F]) == [f"Request() to {D}"]
    assert receive(nodes[D], F, Request()) == []
    # "D now wants to enter ..., so it enqueues its own request ..., but it does not send a request to A"
    assert request(nodes[D]) == []
    assert nodes[D].queue == [E, F, D]
    # "Node A receives only one request from node D. It enqueues D's request on its request queue."
    assert receive(nodes[A], D, Request()) == []
    assert nodes[A].queue == [D]
    # "After completing ..., A sends the token to the first node in its queue, say D, and learns that node D will now
    # be the relative location of the token."
    assert release(nodes[A]) == [f"Privilege(entries=1) to {D}"]
    assert nodes[A].holder == D
    # "It sends the token to E, and learns ... It also discovers that its request queue is not empty ... and sends a
    # request message to E"
    assert receive(nodes[D], A, Privilege(1)) == [f"Privilege(entries=1) to {E}", f"Request() to {E}"]
    assert nodes[D].holder == E
    # "Upon receiving the token, node E finds its own request as the oldest in the queue."
    assert receive(nodes[E], D, Privilege(1)) == ["enters"]
    # "When it receives the request from node D, it adds it to its queue of pending requests."
    assert receive(nodes[E], D, Request()) == []
    assert nodes[E].queue == [D]
    # "When it releases the critical section, finds the oldest request in its queue ...; sends the token to D"
    assert release(nodes[E]) == [f"Privilege(entries=2) to {D}"]
    assert nodes[E].holder == D
    # "D receives the token and finds that the oldest request is from node F. It sends the token to F ... Since its
    # queue is not empty, it sends a request to F."
    assert receive(nodes[D], E, Privilege(2)) == [f"Privilege(entries=2) to {F}", f"Request() to {F}"]
    assert nodes[D].queue == [D]
    # "And the process continues."
    assert receive(nodes[F], D, Privilege(2)) == ["enters"]
    assert receive(nodes[F], D, Request()) == []
    assert release(nodes[F]) == [f"Privilege(entries=3) to {D}"]
    assert receive(nodes[D], F, Privilege(3)) == ["enters"]


def test_a_holder_with_others_waiting_asks_for_the_token_back(nodes: list[Any]) -> None:
    """ "If A discovers that there are still nodes enqueued in its request queue, ... it sends a request to node D." """
    receive(nodes[A], D, Request())
    receive(nodes[A], B, Request())
    assert release(nodes[A]) == [f"Privilege(entries=1) to {D}", f"Request() to {D}"]


def test_an_idle_holder_passes_the_token_at_once(nodes: list[Any]) -> None:
    release(nodes[A])
    assert receive(nodes[A], C, Request()) == [f"Privilege(entries=1) to {C}"]


def test_the_edges_always_lead_to_the_holder(nodes: list[Any]) -> None:
    """ "a single directed path could be deduced from each node to the token holder" """
    release(nodes[A])
    request(nodes[F])
    receive(nodes[D], F, Request())
    receive(nodes[A], D, Request())
    receive(nodes[D], A, Privilege(1))
    receive(nodes[F], D, Privilege(1))
    for start in range(6):
        at, seen = start, set()
        while at not in seen:
            seen.add(at)
            at = nodes[at].holder
        assert at == F
