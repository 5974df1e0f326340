"""Velazquez 1993, section 4, "Ricart-Agrawala algorithm", sentence by sentence."""

from __future__ import annotations

from typing import Any

import pytest
from steps import node, receive, release, request

from congenial.algorithms.token.ricart_agrawala_token import Request, RicartAgrawalaToken, Token
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.state import state_of


def process(me: int) -> Any:
    return node(RicartAgrawalaToken, me, 5)


def inside(me: int = 2, granted: tuple[int, ...] = (0, 0, 0, 0, 0)) -> Any:
    holder = process(me)
    request(holder)
    assert receive(holder, 0, Token(granted, 5)) == ["enters"]
    return holder


def test_a_request_goes_to_all_others_with_the_incremented_number() -> None:
    """ "it increments its request sequence number counter and sends a request message ... to all other N-1 nodes." """
    asker = process(2)
    assert request(asker) == ["Request(number=1) to all"]
    receive(asker, 0, Token((0, 0, 0, 0, 0), 0))
    receive(asker, 1, Request(1))
    release(asker)
    assert request(asker) == ["Request(number=2) to all"]


def test_a_process_that_has_the_token_enters_without_a_message() -> None:
    """ "A node holding an idle token can enter its critical section without the need to send a request message." """
    assert request(process(0)) == ["enters"]


def test_leaving_records_the_request_as_granted() -> None:
    """ "it updates token_data[i] with its sequence number to indicate that its current request has been granted" """
    holder = inside()
    assert release(holder) == []
    assert holder.granted == [0, 0, 1, 0, 0]
    assert holder.holding  # "If no node has sent a request, node i retains the idle token."


@pytest.mark.parametrize(("asking", "chosen"), [((0, 1, 3, 4), 3), ((0, 1, 4), 4), ((1, 0), 0), ((1,), 1)])
def test_the_search_goes_round_the_circle(asking: tuple[int, ...], chosen: int) -> None:
    """ "it searches a logical circular list for the first node whose last request has not been granted yet": not the
    first that asked ("a first-come-first-served service is not guaranteed")."""
    holder = inside()
    for source in asking:
        assert receive(holder, source, Request(1)) == []
    assert release(holder) == [f"Token(granted=(0, 0, 1, 0, 0), entries=6) to {chosen}"]
    assert not holder.holding


def test_an_idle_holder_sends_the_token_at_once() -> None:
    """ "If node k is holding the token and is not in its critical section, then k sends the token to node j." """
    first = process(0)
    assert receive(first, 3, Request(1)) == ["Token(granted=(0, 0, 0, 0, 0), entries=0) to 3"]
    assert receive(first, 4, Request(1)) == []  # the token has gone


def test_old_requests_are_not_granted_again() -> None:
    """ "This update takes care of out-of-order request messages and old requests already granted." """
    holder = inside(granted=(0, 0, 0, 4, 0))
    release(holder)
    assert receive(holder, 3, Request(4)) == []
    assert receive(holder, 3, Request(2)) == []
    assert holder.requested[3] == 4
    assert receive(holder, 3, Request(5)) == ["Token(granted=(0, 0, 1, 4, 0), entries=6) to 3"]


@pytest.mark.parametrize("holder", [process(0), process(1), inside()], ids=["first", "idle", "inside"])
def test_a_token_that_was_not_asked_for_cannot_be(holder: Any) -> None:
    token: Message = Token((0, 0, 0, 0, 0), 1)
    before = state_of(holder)
    with pytest.raises(UnexpectedMessage):
        receive(holder, 4, token)
    assert state_of(holder) == before
