"""Velazquez 1993, section 4, "Singhal's algorithm" [24], sentence by sentence."""

from __future__ import annotations

from typing import Any

import pytest
from steps import node, receive, release, request

from congenial.algorithms.token.singhal_heuristic import Request, SinghalHeuristic, Token
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.state import state_of

NOBODY = (False, False, False, False)


def process(me: int) -> Any:
    return node(SinghalHeuristic, me, 4)


def inside(me: int = 2, requesting: tuple[bool, ...] = NOBODY, numbers: tuple[int, ...] = (0, 0, 0, 0)) -> Any:
    holder = process(me)
    request(holder)
    assert receive(holder, 0, Token(requesting, numbers, 5)) == ["enters"]
    return holder


def test_the_vectors_begin_as_a_staircase() -> None:
    """Singhal 1989: process i believes all before it to be requesting, so that of any two one will ask the other."""
    for me in range(4):
        assert [index for index, believed in enumerate(process(me).requesting) if believed] == list(range(me))


def test_only_those_believed_to_be_requesting_are_asked() -> None:
    """ "sends a request to only those nodes which are in the 'requesting' state" """
    assert request(process(2)) == ["Request(number=1) to 0", "Request(number=1) to 1"]


def test_a_process_that_holds_an_idle_token_need_not_ask() -> None:
    """ "a node holding an idle token does not need to send a request message" """
    assert request(process(0)) == ["enters"]


def test_an_idle_process_takes_note() -> None:
    """ "If the request is a new one from node i, then it verifies the information in its state vector to update
    i's state." """
    hearer = process(1)
    assert receive(hearer, 3, Request(1)) == []
    assert hearer.requesting == [True, False, False, True]
    assert hearer.numbers == [0, 0, 0, 1]


def test_a_process_that_waits_asks_the_asker_in_turn_if_it_did_not_know() -> None:
    """ "If node j is requesting and the state information for i, before the update, was not 'requesting,' then j sends
    a request message to i because it became one of the nodes that probably know the location of the token." """
    asker = process(2)
    request(asker)
    assert receive(asker, 3, Request(1)) == ["Request(number=1) to 3"]
    assert receive(asker, 1, Request(1)) == []  # 1 was asked already


def test_an_idle_holder_sends_the_token() -> None:
    """ "If node j is holding an idle token, then it sends the token to i." """
    first = process(0)
    token = "Token(requesting=(False, False, True, False), numbers=(0, 0, 1, 0), entries=0) to 2"
    assert receive(first, 2, Request(1)) == [token]
    assert not first.holding


def test_vectors_are_merged_at_the_exit() -> None:
    """ "if the vectors in the token hold out-dated information, these are updated with the information contained in the
    node's state vectors, and vice versa." """
    holder = inside(requesting=(False, True, True, False), numbers=(4, 2, 0, 0))
    receive(holder, 3, Request(1))
    token = "Token(requesting=(False, True, False, True), numbers=(4, 2, 1, 1), entries=6) to 3"
    assert release(holder) == [token]
    assert holder.requesting == [False, True, False, True]  # 0 is believed to be requesting no more
    assert holder.numbers == [4, 2, 1, 1]


@pytest.mark.parametrize(
    ("numbers", "chosen"), [((1, 1, 0, 1), 3), ((1, 1, 0, 2), 0), ((2, 1, 0, 2), 1), ((2, 2, 0, 2), 3)]
)
def test_the_lowest_number_is_served_and_among_equals_the_nearest(numbers: tuple[int, ...], chosen: int) -> None:
    """ "The token will be granted to the nearest requesting node with the lowest sequence number." """
    holder = inside(requesting=(True, True, False, True), numbers=numbers)
    (sent,) = release(holder)
    assert sent.endswith(f" to {chosen}")


def test_if_nobody_asks_the_token_stays() -> None:
    holder = inside()
    assert release(holder) == []
    assert holder.holding
    assert holder.requesting == [False] * 4


def test_an_outdated_request_is_not_served_but_answered_once() -> None:
    """The survey discards it; then neither of the two might ever ask the other (docs/errata.md)."""
    holder = inside(numbers=(0, 0, 0, 3))
    assert receive(holder, 3, Request(3)) == ["Request(number=1) to 3"]
    release(holder)
    assert receive(holder, 3, Request(2)) == []
    assert holder.requesting == [False] * 4
    assert holder.holding


def test_a_process_that_was_asked_already_gets_no_answer() -> None:
    holder = inside(numbers=(0, 3, 0, 0))
    assert receive(holder, 1, Request(3)) == []


@pytest.mark.parametrize("holder", [process(0), process(1), inside()], ids=["first", "idle", "inside"])
def test_a_token_that_was_not_asked_for_cannot_be(holder: Any) -> None:
    before = state_of(holder)
    with pytest.raises(UnexpectedMessage):
        receive(holder, 3, Token(NOBODY, (0, 0, 0, 0), 1))
    assert state_of(holder) == before
