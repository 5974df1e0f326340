"""Velazquez 1993, section 4, "Naimi-Trehel algorithm": how it detects a failure and recovers, sentence by sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from steps import node, receive, release, request, step

from congenial.algorithms.token.naimi_trehel import NOBODY, Request, Token
from congenial.algorithms.token.naimi_trehel_recovery import (
    ALARM,
    CALM,
    CONSULTING,
    OBSERVING,
    QUERYING,
    Consult,
    Elected,
    Election,
    NaimiTrehelRecovery,
    Present,
    Query,
    Queued,
)
from congenial.kernel.errors import ConfigError
from congenial.kernel.out import Outbox

SECOND_ERA = 1 << 32


@pytest.fixture
def nodes() -> list[Any]:
    return [node(NaimiTrehelRecovery, me, 4, wait="30", answer="8") for me in range(4)]


def timers(act: Callable[[Outbox], None]) -> tuple[list[tuple[int, float]], list[int]]:
    out = Outbox()
    act(out)
    return out.timers_set, out.timers_cancelled


def alarm(process: Any) -> list[str]:
    return step(lambda out: process.on_timer(ALARM, out))


def looking(process: Any, alarms: int) -> Any:
    """A process that has asked, and whose time has run out so often."""
    request(process)
    for _ in range(alarms):
        alarm(process)
    return process


def test_a_process_that_waits_sets_twait(nodes: list[Any]) -> None:
    """ "When a node i sends a request message, it enters a waiting state." """
    assert timers(lambda out: nodes[2].request((0,), out))[0] == [(ALARM, 30.0)]


def test_the_token_ends_the_waiting(nodes: list[Any]) -> None:
    request(nodes[2])
    assert timers(lambda out: nodes[2].receive(0, Token(0), out))[1] == [ALARM]
    assert nodes[2].stage == CALM


def test_it_consults_whether_anybody_has_its_request(nodes: list[Any]) -> None:
    """ "If it does not receive the token within Twait, there is a presumption of failure. ... node i consults" """
    request(nodes[2])
    assert alarm(nodes[2]) == ["Consult() to all"]
    assert nodes[2].stage == CONSULTING
    # "if any node k has record of its request and NEXTk=i"
    request(nodes[0])
    receive(nodes[0], 2, Request(2))
    assert receive(nodes[0], 2, Consult()) == ["Queued() to 2"]
    assert receive(nodes[0], 3, Consult()) == []


def test_a_process_that_is_queued_goes_back_to_waiting_and_then_looks_for_the_token(nodes: list[Any]) -> None:
    """ "an answer from another node may arrive, and the inquiring node goes back to the waiting state"; ours: once"""
    looking(nodes[2], 1)
    assert timers(lambda out: nodes[2].receive(0, Queued(), out))[0] == [(ALARM, 30.0)]
    assert nodes[2].stage == CALM
    assert alarm(nodes[2]) == ["Query(life=0) to all"]


def test_without_an_answer_it_queries(nodes: list[Any]) -> None:
    """ "After Telec has timeout, it queries the other nodes to detect if the token is present in the system." """
    looking(nodes[2], 1)
    assert alarm(nodes[2]) == ["Query(life=0) to all"]
    assert receive(nodes[0], 2, Query(0)) == ["Present(era=0, life=0) to 2"]
    assert receive(nodes[1], 2, Query(0)) == []
    # an answer: it asks the holder again
    nodes[2].next = 3
    assert receive(nodes[2], 0, Present(0, 0)) == ["Request(origin=2) to 0"]
    assert (nodes[2].stage, nodes[2].next) == (CALM, NOBODY)


def test_queries_are_recorded_in_case_the_token_is_travelling(nodes: list[Any]) -> None:
    """ "Queries for the presence of the token in the system are recorded by the nodes" """
    request(nodes[1])
    receive(nodes[1], 3, Query(2))
    receive(nodes[1], 2, Query(0))
    assert receive(nodes[1], 0, Token(4)) == ["Present(era=0, life=0) to 2", "Present(era=0, life=2) to 3", "enters"]


def test_then_it_becomes_a_candidate(nodes: list[Any]) -> None:
    """ "When this Telec expires, node i becomes a candidate ..., broadcasts an election message" """
    looking(nodes[2], 2)
    assert alarm(nodes[2]) == ["Election(life=0) to all"]


def test_the_smallest_number_is_elected(nodes: list[Any]) -> None:
    """ "the one with the smallest node number will be elected. All other nodes in the system become observers" """
    looking(nodes[2], 3)
    receive(nodes[2], 3, Election(0))
    assert alarm(nodes[2]) == ["Elected(era=1) to all", "enters"]
    looking(nodes[3], 3)
    receive(nodes[3], 2, Election(0))
    receive(nodes[1], 2, Election(0))
    assert (nodes[3].stage, nodes[1].stage) == (OBSERVING, OBSERVING)


def test_an_observer_that_hears_nothing_stands_itself(nodes: list[Any]) -> None:
    receive(nodes[1], 2, Election(0))
    assert alarm(nodes[1]) == ["Election(life=0) to all"]


def test_the_elected_possesses_the_new_token_and_is_the_root(nodes: list[Any]) -> None:
    """ "All nodes set their LAST to be the elected node number and NEXT is set to 0." """
    looking(nodes[1], 3)
    nodes[3].next = 2
    request(nodes[3])
    alarm(nodes[1])
    assert (nodes[1].father, nodes[1].next, nodes[1].holding) == (1, NOBODY, True)
    assert receive(nodes[3], 1, Elected(1)) == ["Request(origin=3) to 1"]  # it waits, and resumes
    assert receive(nodes[2], 1, Elected(1)) == []
    assert (nodes[2].father, nodes[3].next) == (1, NOBODY)
    receive(nodes[1], 3, Request(3))
    assert release(nodes[1]) == [f"Token(entries={SECOND_ERA + 1}) to 3"]


def test_the_token_may_arrive_while_it_is_looked_for(nodes: list[Any]) -> None:
    """ "During the interval delays at the consulting and query phases, the token ... may arrive" """
    for alarms in (1, 2, 3):
        process = looking(node(NaimiTrehelRecovery, 2, 4), alarms)
        assert receive(process, 0, Token(7)) == ["enters"]
        assert process.stage == CALM


# -- what is added for processes that recover --------------------------------------------------------------


def test_a_process_that_recovers_looks_for_the_token_and_takes_none_before(nodes: list[Any]) -> None:
    assert step(nodes[0].on_recover) == ["Query(life=1) to all"]
    assert (nodes[0].stage, nodes[0].holding) == (QUERYING, False)
    assert request(nodes[0]) == []
    assert receive(nodes[0], 1, Token(3)) == []  # an old one, for all it knows
    assert receive(nodes[0], 1, Request(1)) == []
    assert receive(nodes[0], 3, Present(1, 0)) == []  # an answer to a question of its former life
    assert receive(nodes[0], 3, Present(1, 1)) == ["Request(origin=0) to 3"]
    assert nodes[0].era == 1


def test_an_old_token_is_thrown_away(nodes: list[Any]) -> None:
    request(nodes[2])
    receive(nodes[2], 1, Elected(1))
    assert receive(nodes[2], 0, Token(5)) == []
    assert receive(nodes[2], 1, Token(SECOND_ERA + 2)) == ["enters"]


def test_a_holder_answers_a_candidate(nodes: list[Any]) -> None:
    assert receive(nodes[0], 2, Election(0)) == ["Present(era=0, life=0) to 2"]
    assert nodes[0].stage == CALM


def test_a_token_that_is_not_wanted_rests_or_goes_on(nodes: list[Any]) -> None:
    assert receive(nodes[1], 0, Token(5)) == []
    assert (nodes[1].holding, nodes[1].father) == (True, 1)
    nodes[2].next = 3
    assert receive(nodes[2], 0, Token(5)) == ["Token(entries=5) to 3"]


def test_a_request_that_has_gone_round_is_dropped(nodes: list[Any]) -> None:
    request(nodes[2])
    assert receive(nodes[2], 0, Request(2)) == []
    nodes[1].father = 2
    assert receive(nodes[1], 0, Request(2)) == []


@pytest.mark.parametrize("time", ["0", "-1", "soon", "inf", "nan"])
def test_a_time_out_is_a_time(time: str) -> None:
    with pytest.raises(ConfigError, match="a time-out must be"):
        node(NaimiTrehelRecovery, 0, 2, wait=time)
