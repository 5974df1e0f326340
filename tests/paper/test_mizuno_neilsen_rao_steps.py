"""Velazquez 1993, section 4, "Mizuno-Neilsen-Rao", sentence by sentence; in a grid of eight, two wide and four high."""

from __future__ import annotations

from typing import Any

import pytest
from steps import node, receive, release, request

from congenial.algorithms.token.mizuno_neilsen_rao import (
    NOBODY,
    Acquired,
    MizunoNeilsenRao,
    Privilege,
    Request,
    Requests,
)
from congenial.checker.check import check
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.state import state_of

N = 8
NONE = (0,) * N


def process(me: int) -> Any:
    return node(MizunoNeilsenRao, me, N)


def queued(**numbers: int) -> tuple[int, ...]:
    """LN, with `p3=2` for the second request of process 3."""
    return tuple([numbers.get(f"p{p}", 0) for p in range(N)])


def inside(me: int, queue: tuple[int, ...] = ()) -> Any:
    """The first entry was another's, the second is its own."""
    holder = process(me)
    request(holder)
    receive(holder, 0, Privilege(queue, queued(**{f"p{me}": 1}), 1))
    return holder


def test_the_request_set_is_asked() -> None:
    """ "it sends request messages, which contain its new sequence number RN, only to all other members of Ri" """
    assert request(process(5)) == ["Request(number=1) to 1", "Request(number=1) to 3", "Request(number=1) to 7"]


def test_a_member_that_holds_the_token_sends_it() -> None:
    """ "The best case is when another member of Ri is holding the token, then the process of locating the token
    ends." """
    first = process(0)
    assert receive(first, 4, Request(1)) == [f"Privilege(queue=(), queued={queued(p4=1)}, entries=0) to 4"]
    assert first.holder == NOBODY


def test_a_process_that_receives_the_token_tells_its_acquired_set() -> None:
    """ "Node j has sent an ACQUIRED(j, LNj) message to all other nodes in Aj." """
    asker = process(4)
    request(asker)
    token = Privilege((6,), queued(p4=1, p6=1), 7)
    assert receive(asker, 0, token) == [f"Acquired(queued={queued(p4=1, p6=1)}, entry=8) to 5", "enters"]


def test_a_process_that_hears_of_a_holder_passes_outstanding_requests_on() -> None:
    """ "Upon receiving the acquired message from j, all other nodes k in Aj check if they have requests that have not
    been granted yet. ... it confirms it has an outstanding request from i and sends a REQUEST(RNk) to node j." """
    link = process(5)
    for source in (7, 1, 3):
        assert receive(link, source, Request(1)) == []
    assert receive(link, 4, Acquired(queued(p3=1), 3)) == ["Requests(processes=(1, 7), numbers=(1, 1)) to 4"]


def test_a_process_that_knows_of_the_holder_passes_a_request_on_when_it_comes() -> None:
    """Either may come first; but one request is enough to make that holder send the token away."""
    link = process(5)
    assert receive(link, 4, Acquired(NONE, 3)) == []
    assert receive(link, 7, Request(1)) == ["Requests(processes=(7,), numbers=(1,)) to 4"]
    assert receive(link, 3, Request(1)) == []
    # the next holder is told of what it does not know
    assert receive(link, 4, Acquired(queued(p7=1), 9)) == ["Requests(processes=(3,), numbers=(1,)) to 4"]


def test_a_member_of_both_sets_passes_its_own_request_on() -> None:
    asker = process(1)  # in the row of 0, which has the token first
    assert request(asker)[-1] == "Requests(processes=(1,), numbers=(1,)) to 0"


def test_news_of_an_earlier_holder_is_no_news() -> None:
    link = process(5)
    receive(link, 4, Acquired(NONE, 3))
    assert receive(link, 4, Acquired(NONE, 2)) == []
    assert link.entries == 3


def test_passed_on_requests_are_queued_in_ascending_order_and_the_first_gets_the_token() -> None:
    """ "it ... enqueues i's request in the token's queue. Requests are enqueued in an ascending node number order.
    After node j leaves the critical section, the token is sent to the next node in the token's queue." """
    holder = inside(4, queue=(6,))
    assert receive(holder, 5, Requests((3, 7), (1, 1))) == []
    assert receive(holder, 2, Request(1)) == []
    expected = queued(p2=1, p3=1, p4=1, p7=1)
    assert release(holder) == [f"Privilege(queue=(2, 3, 7), queued={expected}, entries=2) to 6"]


def test_an_idle_holder_sends_the_token_on_a_passed_on_request() -> None:
    holder = inside(4)
    assert release(holder) == []  # "If the queue is empty, node j holds the idle token."
    expected = queued(p3=1, p4=1, p7=1)
    assert receive(holder, 5, Requests((3, 7), (1, 1))) == [f"Privilege(queue=(7,), queued={expected}, entries=2) to 3"]


def test_a_process_that_holds_the_idle_token_enters_without_a_message() -> None:
    holder = inside(4)
    release(holder)
    assert request(holder) == ["enters"]


def test_old_requests_do_not_count() -> None:
    holder = inside(4)
    release(holder)
    assert receive(holder, 5, Requests((4,), (1,))) == []
    assert receive(holder, 6, Request(0)) == []


@pytest.mark.parametrize(
    ("node", "source", "message"),
    [
        (process(0), 4, Privilege((), NONE, 1)),
        (process(1), 4, Privilege((), NONE, 1)),
        (process(0), 1, Acquired(NONE, 1)),
        (process(0), 7, Requests((7,), (1,))),
        (process(0), 1, Requests((7,), ())),
    ],
    ids=["a second token", "a token not asked for", "a second holder", "a strange link", "a number short"],
)
def test_what_cannot_be(node: Any, source: int, message: Message) -> None:
    before = state_of(node)
    with pytest.raises(UnexpectedMessage):
        receive(node, source, message)
    assert state_of(node) == before


@pytest.mark.parametrize("agreement", ["plane", "tree"])
def test_all_runs_of_three_where_requests_are_passed_on(agreement: str) -> None:
    """The default, a grid, asks everyone as long as there are only a few processes; here sets are smaller."""
    result = check("mizuno-neilsen-rao", nodes=3, requests=1, options={"agreement": agreement})
    assert result.ok, result.verdict()
    assert result.complete
