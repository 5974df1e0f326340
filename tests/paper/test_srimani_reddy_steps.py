"""Velazquez 1993, section 6, "Srimani-Reddy algorithm", sentence by sentence."""

from __future__ import annotations

from typing import Any

import pytest
from steps import node, receive, release, request

from congenial.algorithms.kmutex.srimani_reddy import Privilege, Request, SrimaniReddy
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.state import state_of


def process(me: int, n: int = 4, k: str = "2") -> Any:
    return node(SrimaniReddy, me, n, k=k)


def waiting(me: int = 2) -> Any:
    asker = process(me)
    request(asker)
    return asker


def test_there_are_k_tokens() -> None:
    """ "There exist K tokens in the system to allow K nodes to execute simultaneously in their CS." """
    assert [process(me).spare for me in range(4)] == [1, 1, 0, 0]
    assert [process(me, 3, "7").spare for me in range(3)] == [1, 1, 1]


def test_without_a_token_a_request_goes_to_all() -> None:
    """ "it increments its sequence number ... Then, a request message ... is sent to all other N-1 nodes" """
    asker = process(3)
    assert request(asker) == ["Request(number=1) to all"]
    assert receive(asker, 0, Privilege((), (0, 0, 0, 1))) == ["enters"]


def test_with_a_token_it_enters_without_a_message() -> None:
    """ "When node i wants to enter its CS and possesses one or more tokens, it is free to enter ... it decrements the
    number of tokens it possesses" """
    holder = process(0)
    assert request(holder) == ["enters"]
    assert holder.spare == 0


def test_a_process_that_leaves_sends_the_token_to_the_head_of_its_queue() -> None:
    """ "if there is a pending request in this token's queue, it sends the token to the requesting node" """
    asker = waiting()
    receive(asker, 3, Request(1))
    receive(asker, 0, Request(1))
    receive(asker, 1, Privilege((3,), (0, 0, 1, 0)))
    assert release(asker) == ["Privilege(queue=(0,), served=(0, 0, 1, 1)) to 3"]


def test_a_process_that_leaves_keeps_the_token_if_nobody_waits() -> None:
    """ "If no request was in the queue, node i increments the number of tokens it possesses." """
    asker = waiting()
    receive(asker, 1, Privilege((), (0, 0, 1, 4)))
    assert release(asker) == []
    assert asker.spare == 1


def test_a_token_s_queue_tells_of_requests_that_have_not_arrived() -> None:
    """ "Q and LN are the same as in the original algorithm": a process in Q has asked once more than LN says."""
    asker = waiting()
    receive(asker, 1, Privilege((3, 0), (0, 0, 1, 4)))
    assert release(asker) == ["Privilege(queue=(0,), served=(0, 0, 1, 5)) to 3"]


def test_a_spare_token_is_sent_at_once_also_from_inside() -> None:
    """ "if it holds a token and is not requesting, or it has a spare token, then ... the token is sent it to node
    i" """
    idle = process(0)
    assert receive(idle, 3, Request(1)) == ["Privilege(queue=(), served=(0, 0, 0, 1)) to 3"]
    inside = waiting()
    receive(inside, 0, Privilege((), (0, 0, 1, 0)))
    assert receive(inside, 1, Privilege((), (0, 0, 1, 0))) == []
    assert inside.spare == 1
    assert receive(inside, 3, Request(1)) == ["Privilege(queue=(), served=(0, 0, 1, 1)) to 3"]


def test_no_token_is_sent_for_a_request_that_is_known_to_be_served() -> None:
    """ "The information in PLN prevents a node from sending unnecessary tokens whenever the information needed is
    available at the node." """
    asker = waiting()
    receive(asker, 0, Privilege((), (0, 0, 1, 5)))
    release(asker)
    assert receive(asker, 3, Request(5)) == []  # it was late
    assert receive(asker, 3, Request(6)) == ["Privilege(queue=(), served=(0, 0, 1, 6)) to 3"]


def test_a_second_token_is_sent_on_or_kept() -> None:
    """ "Otherwise, it updates the information in the token and if there is a request in its queue, it sends the token
    to the requesting node. If no request is in the queue, node i increments the number of tokens it possesses." """
    asker = waiting()
    receive(asker, 0, Privilege((), (0, 0, 1, 0)))
    receive(asker, 3, Request(1))
    assert receive(asker, 1, Privilege((3,), (0, 0, 0, 0))) == ["Privilege(queue=(), served=(0, 0, 1, 1)) to 3"]
    assert receive(asker, 1, Privilege((3,), (0, 0, 0, 0))) == []
    assert asker.spare == 1


def test_each_token_has_its_own_view() -> None:
    """ "Therefore, each token will have different state information about the system." """
    asker = waiting()
    receive(asker, 0, Privilege((), (3, 0, 1, 0)))
    release(asker)
    receive(asker, 1, Privilege((), (0, 4, 0, 0)))
    assert asker.served == [3, 4, 1, 0]


@pytest.mark.parametrize(
    ("asker", "message"),
    [
        (process(3), Privilege((), (0, 0, 0, 0))),  # never asked
        (process(2), Privilege((), (0,) * 3)),
        (waiting(), Privilege((), (0,) * 3)),  # of another system
        (waiting(), Privilege((4,), (0,) * 4)),  # with somebody else in its queue
    ],
)
def test_a_token_that_cannot_be(asker: Any, message: Message) -> None:
    before = state_of(asker)
    with pytest.raises(UnexpectedMessage):
        receive(asker, 0, message)
    assert state_of(asker) == before


def test_more_tokens_than_there_are_cannot_be() -> None:
    asker = waiting()
    for source in (0, 1):
        receive(asker, source, Privilege((), (0, 0, 1, 0)))
    before = state_of(asker)
    with pytest.raises(UnexpectedMessage):
        receive(asker, 3, Privilege((), (0, 0, 1, 0)))
    assert state_of(asker) == before
