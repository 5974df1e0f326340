"""Singhal's dynamic information structure, step by step. Quotations are from Velazquez 1993, section 5."""

from __future__ import annotations

from typing import Any

import pytest
from steps import node, receive, release, request

from congenial.algorithms.permission.singhal_dynamic import Reply, Request, SinghalDynamic
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.out import Outbox
from congenial.kernel.state import state_of


def process(me: int) -> Any:
    return node(SinghalDynamic, me, 4)


def asks(asker: Any) -> list[int]:
    return [peer for peer, lacks in enumerate(asker.ask) if lacks]


def test_at_first_there_is_a_staircase() -> None:
    assert [asks(process(me)) for me in range(4)] == [[], [0], [0, 1], [0, 1, 2]]


def test_a_request_goes_to_all_nodes_in_the_request_set() -> None:
    """ "it sends a timestamped request to all nodes in its Ri and waits to receive their permission" """
    assert request(process(2)) == ["Request(number=1) to 0", "Request(number=1) to 1"]
    assert request(process(0)) == ["enters"]


def test_a_process_that_gave_its_permission_leaves_the_set() -> None:
    """ "When a permission is received, the granting node is removed from Ri." """
    asker = process(2)
    request(asker)
    assert receive(asker, 1, Reply(0)) == []
    assert asks(asker) == [0]
    assert receive(asker, 0, Reply(6)) == ["enters"]
    assert asks(asker) == []
    assert asker.fence == 7


def test_a_process_that_does_not_want_to_enter_agrees_and_will_ask() -> None:
    """ "If node j is neither requesting, nor executing the CS, it sends its permission and node i is added to its
    Rj set." """
    idle = process(1)
    assert receive(idle, 3, Request(5)) == ["Reply(fence=0) to 3"]
    assert asks(idle) == [0, 3]
    assert request(idle) == ["Request(number=6) to 0", "Request(number=6) to 3"]


def test_a_process_that_is_inside_agrees_when_it_leaves() -> None:
    """ "When node j is in the CS, node i is added to its Ij set"; nodes in Ii get the permission "after it releases the
    CS", and from then on have to be asked."""
    holder = process(0)
    request(holder)
    assert receive(holder, 3, Request(1)) == []
    assert release(holder) == ["Reply(fence=1) to 3"]
    assert asks(holder) == [3]
    assert not any(holder.owed)


def test_a_process_that_waits_with_an_older_request_keeps_the_other_waiting() -> None:
    """ "When node j is requesting and its request has a lower timestamp, it adds node i to its Ij set." """
    older = process(1)
    request(older)
    assert receive(older, 3, Request(1)) == []  # the same number: the smaller process is older
    assert older.owed[3]


def test_a_process_that_waits_with_a_younger_request_agrees_and_asks_in_turn() -> None:
    """ "If its request has a greater timestamp, it sends its permission to i and if node i was not in its Rj set, it is
    added and a request is sent to it." """
    younger = process(1)
    receive(younger, 2, Request(4))
    receive(younger, 3, Request(5))
    request(younger)
    receive(younger, 3, Reply(0))
    assert receive(younger, 0, Request(1)) == ["Reply(fence=0) to 0"]  # asked already
    receive(younger, 2, Reply(0))
    assert receive(younger, 2, Request(3)) == ["Reply(fence=0) to 2", "Request(number=6) to 2"]
    assert asks(younger) == [0, 2]
    assert receive(younger, 0, Reply(0)) == []
    assert receive(younger, 2, Reply(0)) == ["enters"]


def test_a_process_that_enters_again_and_alone_asks_nobody() -> None:
    asker = process(1)
    request(asker)
    receive(asker, 0, Reply(0))
    release(asker)
    assert request(asker) == ["enters"]


def waiting() -> Any:
    asker = process(2)
    request(asker)
    return asker


def owing() -> Any:
    holder = process(0)
    request(holder)
    receive(holder, 1, Request(3))
    return holder


IMPOSSIBLE: dict[str, tuple[Any, int, Message]] = {
    "a permission nobody asked for": (process(2), 1, Reply(0)),
    "a permission of a process that was not asked": (waiting(), 3, Reply(0)),
    "a second request": (owing(), 1, Request(4)),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_what_cannot_be_is_refused(case: str) -> None:
    asker, source, message = IMPOSSIBLE[case]
    before = state_of(asker)
    with pytest.raises(UnexpectedMessage, match=f"from process {source}"):
        asker.receive(source, message, Outbox())
    assert state_of(asker) == before
