"""TQGmx, step by step.

The paper's text could not be had, so this is what our docstring says. There are four processes in a grid: process 0 has
the quorum {0, 1, 2}, process 1 {0, 1, 3}, process 2 {0, 2, 3} and process 3 {1, 2, 3}.
"""

from __future__ import annotations

from typing import Any

import pytest
from steps import node, receive, release, step

from congenial.algorithms.group.tqgmx import Acquired, Forward, Leave, Left, Main, Request, Return, Sub, TQGmx
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.node import Node
from congenial.sim.hops import measure_hops
from congenial.sim.simulate import simulate


def process(me: int) -> Any:
    return node(TQGmx, me, 4, quorums="grid")


def ask(asker: Node, group: int) -> list[str]:
    return step(lambda out: asker.request((group,), out))


def holder_inside() -> Any:
    """Process 0, inside for group 5 in session 1."""
    holder = process(0)
    assert ask(holder, 5) == ["enters"]
    return holder


# -- asking ------------------------------------------------------------------------------------------------


def test_the_holder_of_the_main_token_enters_without_a_message_for_any_group() -> None:
    holder = holder_inside()
    assert release(holder) == []
    assert ask(holder, 6) == ["enters"]


def test_others_ask_their_quorum() -> None:
    assert ask(process(3), 5) == ["Request(number=1, group=5) to 1", "Request(number=1, group=5) to 2"]  # and itself


def test_a_member_passes_a_request_on_to_the_holder_that_it_knows() -> None:
    member = process(1)
    assert receive(member, 3, Request(1, 5)) == ["Forward(process=3, number=1, group=5) to 0"]


def test_a_member_that_knows_no_holder_keeps_the_latest_request_of_each_until_one_announces_itself() -> None:
    member = process(3)
    assert receive(member, 1, Request(1, 5)) == []
    assert receive(member, 2, Request(1, 6)) == []
    assert receive(member, 1, Request(2, 7)) == []
    told = ["Forward(process=2, number=1, group=6) to 2", "Forward(process=1, number=2, group=7) to 2"]
    assert receive(member, 2, Acquired()) == told
    assert receive(member, 2, Leave()) == ["Left() to 2"]
    assert receive(member, 2, Acquired()) == []


# -- subtokens ---------------------------------------------------------------------------------------------


def test_a_request_for_the_group_inside_gets_a_subtoken_once() -> None:
    holder = holder_inside()
    assert receive(holder, 1, Forward(3, 1, 5)) == ["Sub(session=1, group=5) to 3"]
    assert receive(holder, 2, Forward(3, 1, 5)) == []  # the same by another member
    assert receive(holder, 2, Forward(3, 2, 5)) == ["Sub(session=1, group=5) to 3"]


def test_a_subtoken_lets_enter_and_goes_back_to_its_issuer() -> None:
    other = process(3)
    ask(other, 5)
    assert receive(other, 0, Sub(1, 5)) == ["enters"]
    assert release(other) == ["Return() to 0"]


# -- the main token moves ----------------------------------------------------------------------------------


def test_the_holder_leaves_its_quorum_as_soon_as_another_group_waits() -> None:
    holder = holder_inside()
    assert receive(holder, 1, Forward(3, 1, 6)) == ["Leave() to 1", "Leave() to 2"]
    assert receive(holder, 2, Forward(3, 1, 6)) == []
    assert receive(holder, 1, Forward(1, 1, 5)) == ["Sub(session=1, group=5) to 1"]  # the leave is not confirmed yet
    assert receive(holder, 1, Left()) == []
    assert receive(holder, 2, Left()) == []
    assert receive(holder, 1, Request(2, 5)) == []  # as a member it keeps it: nobody is known to hold the main token
    assert release(holder) == []
    token = "Main(session=1, served=(1, 1, 0, 0), queue=((3, 1, 6),)) to 3"
    assert receive(holder, 1, Return()) == [token]


def test_the_main_token_waits_for_every_confirmation_and_for_its_holder() -> None:
    holder = holder_inside()
    receive(holder, 1, Forward(3, 1, 6))
    assert receive(holder, 1, Left()) == []
    assert release(holder) == []
    assert ask(holder, 5) == ["enters"]  # the session is still open
    assert receive(holder, 2, Left()) == []
    told = release(holder)
    assert told == ["Main(session=1, served=(2, 0, 0, 0), queue=((3, 1, 6),)) to 3"]


def test_the_next_holder_admits_its_group_and_announces_itself() -> None:
    heir = process(3)
    ask(heir, 6)
    token = Main(1, (1, 0, 0, 0), ((3, 1, 6), (1, 1, 6)))
    told = ["Sub(session=2, group=6) to 1", "Acquired() to 1", "Acquired() to 2", "enters"]
    assert receive(heir, 0, token) == told
    assert receive(heir, 1, Forward(2, 1, 7)) == ["Leave() to 1", "Leave() to 2"]


def test_a_holder_that_will_be_in_the_next_session_keeps_the_main_token() -> None:
    holder = holder_inside()
    receive(holder, 1, Forward(3, 1, 5))
    release(holder)
    assert ask(holder, 6) == []  # process 3 is still inside
    assert receive(holder, 1, Forward(1, 1, 6)) == []
    assert receive(holder, 1, Forward(2, 1, 5)) == []  # others wait, so nobody joins
    told = ["Sub(session=2, group=6) to 1", "Leave() to 1", "Leave() to 2", "enters"]
    assert receive(holder, 3, Return()) == told


def test_a_holder_that_has_left_its_quorum_announces_itself_again() -> None:
    holder = holder_inside()
    receive(holder, 1, Forward(1, 1, 5))
    receive(holder, 1, Forward(3, 1, 6))
    receive(holder, 1, Left())
    receive(holder, 2, Left())
    release(holder)
    assert ask(holder, 6) == []  # process 1 is still inside
    told = ["Sub(session=2, group=6) to 3", "Acquired() to 1", "Acquired() to 2", "enters"]
    assert receive(holder, 1, Return()) == told


def test_a_session_that_has_ended_admits_not_even_its_holder() -> None:
    holder = holder_inside()
    receive(holder, 1, Forward(1, 1, 5))
    receive(holder, 1, Forward(3, 1, 6))
    receive(holder, 1, Left())
    receive(holder, 2, Left())
    release(holder)
    assert ask(holder, 5) == []
    token = "Main(session=1, served=(1, 1, 0, 0), queue=((3, 1, 6), (0, 2, 5))) to 3"
    assert receive(holder, 1, Return()) == [token]


# -- what is refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("me", "source", "message"),
    [
        (1, 2, Acquired()),  # process 0 has not left
        (1, 2, Leave()),
        (1, 2, Forward(3, 1, 5)),
        (0, 1, Left()),
        (0, 1, Return()),
        (1, 0, Sub(1, 5)),
        (1, 0, Main(1, (0, 0, 0, 0), ())),
    ],
)
def test_what_cannot_be_is_refused(me: int, source: int, message: Any) -> None:
    with pytest.raises(UnexpectedMessage):
        receive(process(me), source, message)


# -- costs -------------------------------------------------------------------------------------------------


def test_what_entries_cost_that_come_one_after_the_other() -> None:
    """Process 0 is everybody's quorum: at most one message of each kind for every entry."""
    result = simulate("tqgmx", nodes=9, groups=9, load="turns", requests=20, options={"quorums": "singleton"})
    kinds = result.messages_by_kind
    assert max(kinds.values()) <= result.entries
    assert kinds["Leave"] == kinds["Left"]
    assert kinds["Sub"] == kinds["Return"]
    assert kinds["Main"] + kinds["Sub"] <= kinds["Request"] + 20  # process 0 asks itself
    assert 4 < result.messages_per_entry < 6


@pytest.mark.parametrize("quorums", ["grid", "majority", "singleton"])
@pytest.mark.parametrize("n", [4, 9, 25])
def test_hops(n: int, quorums: str) -> None:
    hops = measure_hops("tqgmx", n, groups=3, options={"quorums": quorums})
    assert hops.waiting is not None
    assert hops.sync_delay is not None
    assert hops.waiting.kept
    assert hops.sync_delay.kept


@pytest.mark.parametrize("n", [2, 5, 16, 40])
def test_all_that_ask_for_one_group_are_inside_together(n: int) -> None:
    assert simulate("tqgmx", nodes=n, groups=1, load="burst", hold="constant:10000").concurrency_max == n
