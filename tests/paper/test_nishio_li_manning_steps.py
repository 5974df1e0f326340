"""Velazquez 1993, section 4, "Nishio-Li-Manning algorithm", sentence by sentence."""

from __future__ import annotations

from typing import Any

import pytest
from steps import node, receive, release, request, step

from congenial.algorithms.token.aged_token import TIME_OUT, AgedPrivilege
from congenial.algorithms.token.nishio_li_manning import Ack, Nack, NishioLiManning, TokenMissing
from congenial.algorithms.token.suzuki_kasami import Privilege, Request
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.state import durable_state, restore_durable, state_of


def process(me: int, n: int = 4) -> Any:
    return node(NishioLiManning, me, n)


def waiting(me: int) -> Any:
    asker = process(me)
    request(asker)
    return asker


def time_out(asker: Any) -> list[str]:
    return step(lambda out: asker.on_timer(TIME_OUT, out))


def back(crashed: Any) -> tuple[Any, list[str]]:
    """The process after a crash, and what it does first."""
    again = process(crashed.me)
    restore_durable(again, durable_state(crashed))
    return again, step(again.on_recover)


def test_the_token_goes_round_a_ring() -> None:
    """ "The token is granted to the nearest node, in a logical circular list, whose last request has not been granted
    yet" """
    holder = waiting(2)
    receive(holder, 0, AgedPrivilege((), (4, 0, 0, 0), 4, 0))
    for source, number in ((1, 1), (0, 4)):
        receive(holder, source, Request(number))
    assert release(holder) == ["AgedPrivilege(queue=(), served=(4, 0, 1, 0), entries=5, age=0) to 1"]


def test_an_old_token_is_discarded_and_the_request_sent_again() -> None:
    """ "then it is a duplicated token and is discarded. The process re-sends its request to all other nodes" """
    asker = waiting(1)
    receive(asker, 2, TokenMissing(2))
    assert receive(asker, 0, AgedPrivilege((), (0,) * 4, 7, 0)) == ["Request(number=1) to all"]
    assert not asker.holding


def test_a_token_of_at_least_the_known_age_lets_it_in() -> None:
    """ "If the age of the token is at least equal to the age value at site i, the age value of i is updated and it can
    proceed to enter into its critical section." """
    asker = waiting(1)
    assert receive(asker, 0, AgedPrivilege((), (0,) * 4, 7, 6)) == ["enters"]
    assert asker.age == 6


def test_the_time_out_starts_the_regeneration() -> None:
    """ "A TOKEN_MISSING message is sent to all other nodes. If one of them does not respond, the procedure starts
    again." """
    asker = waiting(1)
    assert time_out(asker) == ["TokenMissing(age=1) to all"]
    receive(asker, 0, Ack(1, 0))
    assert time_out(asker) == ["TokenMissing(age=1) to all"]


def test_with_the_consent_of_all_others_there_is_a_new_token() -> None:
    """ "If all other N-1 nodes responded with an ACK message, a new token is regenerated and an incremented age is
    given to it ... the array of most recently requests granted can be constructed in the new token." """
    asker = waiting(1)
    time_out(asker)
    assert receive(asker, 0, Ack(1, 8)) == []
    assert receive(asker, 0, Ack(1, 8)) == []  # the same once more
    assert receive(asker, 2, Ack(1, 0)) == []
    assert receive(asker, 3, Ack(1, 5)) == ["enters"]
    receive(asker, 3, Request(6))
    assert release(asker) == ["AgedPrivilege(queue=(), served=(8, 1, 0, 5), entries=1, age=1) to 3"]


def test_one_refusal_is_enough() -> None:
    """ "In the case that a single node replied with a NACK message, the procedure re-starts at the point where node i
    sends again its request to all other nodes." """
    asker = waiting(1)
    time_out(asker)
    assert receive(asker, 2, Nack(9)) == ["Request(number=1) to all"]
    assert receive(asker, 3, Ack(1, 0)) == []
    assert time_out(asker) == ["TokenMissing(age=13) to all"]  # above 9, and its own


def test_a_process_that_has_the_token_refuses() -> None:
    """ "NACK messages help in resolving conflicts ... or to indicate that the token has not been lost." """
    holder = process(0)
    assert receive(holder, 1, TokenMissing(1)) == ["Nack(age=1) to 1"]
    assert receive(holder, 2, Request(1)) == ["AgedPrivilege(queue=(), served=(0, 0, 0, 0), entries=0, age=1) to 2"]
    assert receive(holder, 1, TokenMissing(1)) == ["Nack(age=1) to 1"]  # it has agreed to nothing of that age


def test_the_highest_proposed_age_wins() -> None:
    """ "The node with the highest proposed age is candidate to regenerate the new token." """
    low, high = waiting(1), waiting(2)
    time_out(low)
    time_out(high)
    assert receive(high, 1, TokenMissing(1)) == ["Nack(age=2) to 1"]
    assert receive(low, 2, TokenMissing(2)) == ["Ack(age=2, granted=0) to 2"]
    assert receive(low, 2, TokenMissing(2)) == ["Ack(age=2, granted=0) to 2"]  # proposed again
    assert receive(low, 0, Ack(1, 0)) == []  # it proposes no more


def test_a_processor_that_fails_inside_leaves_the_token_to_its_controller() -> None:
    """ "state arrays are stored in the controller's memory" """
    holder = process(0)
    request(holder)
    receive(holder, 3, Request(1))
    again, done = back(holder)
    assert done == ["AgedPrivilege(queue=(), served=(0, 0, 0, 0), entries=1, age=0) to 3"]
    assert not again.holding


def test_a_token_for_a_request_given_up_goes_on() -> None:
    asker = waiting(1)
    receive(asker, 2, Request(1))
    again, done = back(asker)
    assert done == []
    assert receive(again, 0, AgedPrivilege((), (0,) * 4, 3, 0)) == [
        "AgedPrivilege(queue=(), served=(0, 1, 0, 0), entries=3, age=0) to 2"
    ]


IMPOSSIBLE: dict[str, tuple[Any, Message]] = {
    "a token without an age": (waiting(1), Privilege((), (0,) * 4, 0)),
    "a token nobody asked for": (process(1), AgedPrivilege((), (0,) * 4, 0, 0)),
    "a second token": (process(0), AgedPrivilege((), (0,) * 4, 0, 0)),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_what_cannot_be_is_refused(case: str) -> None:
    receiver, message = IMPOSSIBLE[case]
    before = state_of(receiver)
    with pytest.raises(UnexpectedMessage):
        receive(receiver, 2, message)
    assert state_of(receiver) == before
