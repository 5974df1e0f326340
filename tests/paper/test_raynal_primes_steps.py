"""Velazquez 1993, section 5, "Raynal's algorithm" and its modification, sentence by sentence."""

from __future__ import annotations

from typing import Any

import pytest
from steps import node, receive, release, request

from congenial.algorithms.permission import raynal_primes
from congenial.algorithms.permission.raynal_primes import RaynalPrimes, Reply
from congenial.algorithms.permission.raynal_primes_mended import Inform, RaynalPrimesMended, Request
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.out import Outbox
from congenial.kernel.state import state_of

# Of three processes the primes are 2, 3 and 5, so Q = 30, and the values at first 1, 3 and 5.


def original(me: int, n: int = 3) -> Any:
    return node(RaynalPrimes, me, n)


def mended(me: int, n: int = 3) -> Any:
    return node(RaynalPrimesMended, me, n)


def test_attributes_and_first_values() -> None:
    """ "These attributes are natural integers, different from 1, and pairwise prime. Each node maintains a variable Xi
    initialized to Ai except for one Xk initialized to 1. They also know that Q is the total product" """
    nodes = [original(me) for me in range(3)]
    assert [process.prime for process in nodes] == [2, 3, 5]
    assert [process.value for process in nodes] == [(1, 1), (3, 1), (5, 1)]
    assert {process.all_primes for process in nodes} == {30}


def test_it_asks_all_and_they_answer_with_their_values() -> None:
    """ "it sends a request message of the form REQUEST(i) to all other N-1 nodes and waits to receive a reply message
    ... Reply messages have the form REPLY(j, Xj)." """
    assert request(original(1)) == ["Request() to all"]
    assert receive(original(2), 1, raynal_primes.Request()) == ["Reply(numerator=5, denominator=1) to 1"]


def test_it_enters_if_the_product_says_that_it_is_its_turn() -> None:
    """ "When all replies have arrived, node i computes T ... If T equals Q/Ai, then node i can proceed to enter" """
    asker = original(0)
    request(asker)
    assert receive(asker, 1, Reply(3, 1)) == []
    assert receive(asker, 2, Reply(5, 1)) == ["enters"]


def test_otherwise_it_waits_for_a_time_and_asks_again() -> None:
    """ "Otherwise, it waits for a time and then re-sends request messages to all other nodes." """
    asker = original(1)
    request(asker)
    receive(asker, 0, Reply(1, 1))
    out = Outbox()
    asker.receive(2, Reply(5, 1), out)
    assert out.timers_set == [(0, 10.0)]
    assert out.entered is None
    again = Outbox()
    asker.on_timer(0, again)
    assert again.sent == [(-1, raynal_primes.Request())]


def test_leaving_gives_the_turn_to_the_next() -> None:
    """ "When node i releases the CS, it updates its variable Xi to (Xi * Ai/Aj), where j = (i + 1) mod N." """
    first, second = original(0), original(1)
    request(first)
    receive(first, 1, Reply(3, 1))
    receive(first, 2, Reply(5, 1))
    assert release(first) == []
    assert first.value == (2, 3)
    request(second)
    receive(second, 0, Reply(2, 3))
    assert receive(second, 2, Reply(5, 1)) == ["enters"]  # 2/3 * 3 * 5 = 30/3


def test_if_the_next_is_not_interested_nobody_gets_in() -> None:
    """ "The algorithm can suffer from deadlock if the next node in the logical ring does not want to enter the CS" """
    asker = original(2)
    for _ in range(3):
        request(asker) if asker.phase == 0 else asker.on_timer(0, Outbox())
        receive(asker, 0, Reply(2, 3))  # it was the turn of 0, now it is that of 1
        assert receive(asker, 1, Reply(3, 1)) == []


def test_mended_the_one_whose_turn_it_is_enters_without_a_message() -> None:
    """ "each node knows the value of all Xi, and the node endowed with the value Xi=1 has the permission" """
    assert request(mended(0)) == ["enters"]


def test_mended_it_informs_all_when_it_gives_its_turn_away() -> None:
    """ "it updates its variable Xi to give the permission to another node ... After the update, it sends a message of
    the form INFORM(i, Xi) to all other N-1 nodes." """
    holder = mended(0)
    request(holder)
    assert receive(holder, 2, Request(1)) == []
    assert release(holder) == ["Inform(numerator=2, denominator=3, served=1) to all"]


def test_mended_the_next_passes_the_turn_on_if_it_does_not_want_to_enter() -> None:
    """ "If it is not requesting, but it is next, then it behaves as if it were releasing the CS." """
    idle, asker = mended(1), mended(2)
    request(asker)
    receive(idle, 2, Request(1))
    assert receive(idle, 0, Inform(2, 3, 0)) == ["Inform(numerator=9, denominator=5, served=0) to all"]
    assert receive(asker, 1, Inform(9, 5, 0)) == []  # one value is still missing
    assert receive(asker, 0, Inform(2, 3, 0)) == ["enters"]


def test_mended_the_turn_rests_while_nobody_waits() -> None:
    """Ours."""
    holder = mended(0)
    request(holder)
    assert release(holder) == []
    assert request(holder) == ["enters"]
    release(holder)
    assert receive(holder, 1, Request(1)) == ["Inform(numerator=2, denominator=3, served=2) to all"]


def test_mended_a_request_that_comes_after_it_was_served_moves_nothing() -> None:
    idle = mended(2)
    receive(idle, 0, Inform(2, 3, 0))
    receive(idle, 1, Inform(9, 5, 1))  # 1 has been inside; the turn is mine
    assert idle.my_turn
    assert receive(idle, 1, Request(1)) == []
    assert receive(idle, 1, Request(2)) == ["Inform(numerator=25, denominator=2, served=0) to all"]


@pytest.mark.parametrize(
    ("process", "source", "message"),
    [
        (original(1), 0, Reply(1, 1)),
        (mended(0), 1, Inform(9, 5, 0)),
        (mended(1), 0, Inform(4, 9, 0)),
    ],
    ids=["a value nobody asked for", "a turn of another while it is mine", "a value that cannot follow"],
)
def test_what_cannot_be_is_refused(process: Any, source: int, message: Message) -> None:
    before = state_of(process)
    with pytest.raises(UnexpectedMessage, match=f"from process {source}"):
        process.receive(source, message, Outbox())
    assert state_of(process) == before
