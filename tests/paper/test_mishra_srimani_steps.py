"""Velazquez 1993, section 4, "Mishra-Srimani", sentence by sentence."""

from __future__ import annotations

from typing import Any

import pytest
from steps import node, receive, release, request, step

from congenial.algorithms.token.aged_token import TIME_OUT, AgedPrivilege
from congenial.algorithms.token.mishra_srimani import (
    CreatePrivilege,
    FalseAlarm,
    MishraSrimani,
    NoCritical,
    PrivilegeCheck,
    Recovered,
    RepCritical,
    Update,
)
from congenial.algorithms.token.suzuki_kasami import Privilege, Request
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.out import Outbox
from congenial.kernel.state import state_of


def process(me: int, n: int = 4) -> Any:
    return node(MishraSrimani, me, n)


def waiting(me: int) -> Any:
    asker = process(me)
    request(asker)
    return asker


def time_out(asker: Any) -> list[str]:
    return step(lambda out: asker.on_timer(TIME_OUT, out))


def test_a_process_that_asks_sets_a_time_out() -> None:
    """ "it sets a time-out after sending its request to all other nodes" """
    asker = process(1)
    out = Outbox()
    asker.request((0,), out)
    assert out.timers_set == [(TIME_OUT, 4000.0)]
    out = Outbox()
    asker.receive(0, AgedPrivilege((), (0, 0, 0, 0), 3, 0), out)
    assert out.entered is not None
    assert out.timers_cancelled == [TIME_OUT]


def test_the_time_out_starts_the_search() -> None:
    """ "It sends a PRIVILEGE_CHECK(j) message to all nodes and waits for their response." """
    assert time_out(waiting(1)) == ["PrivilegeCheck(number=1) to all"]


def test_a_process_that_knows_of_a_search_waits() -> None:
    """ "If that is the case, j waits for a message indicating it can reset its time-out." """
    asker = waiting(2)
    receive(asker, 1, PrivilegeCheck(1))
    assert time_out(asker) == []
    assert time_out(asker) == ["PrivilegeCheck(number=1) to all"]  # no word came: it may have failed
    other = waiting(2)
    receive(other, 1, PrivilegeCheck(1))
    assert receive(other, 1, FalseAlarm()) == []
    assert other.checker == -1


def test_a_token_that_is_not_lost_was_a_false_alarm() -> None:
    """ "j sends a message to all other nodes indicating that it was a false alarm and waits again" """
    asker = waiting(1)
    time_out(asker)
    assert receive(asker, 0, RepCritical()) == ["FalseAlarm() to all"]
    assert receive(asker, 0, RepCritical()) == []


def test_the_answers_to_a_search() -> None:
    """ "it either sends a REP_CRITICAL(k) message to j if k has the token, or sends a NO_CRIT(k) message" """
    holder = process(0)
    request(holder)
    assert receive(holder, 1, PrivilegeCheck(1)) == ["RepCritical() to 1"]
    assert release(holder) == ["AgedPrivilege(queue=(), served=(0, 0, 0, 0), entries=1, age=0) to 1"]
    assert receive(process(2), 1, PrivilegeCheck(1)) == ["NoCritical(age=0) to 1"]


def test_of_two_searches_the_smaller_number_s_goes_on() -> None:
    """ "if j's node number is less than k's, then node k stops the generation procedure. Otherwise, k ignores" """
    low, high = waiting(1), waiting(2)
    time_out(low)
    time_out(high)
    assert receive(low, 2, PrivilegeCheck(1)) == []
    assert receive(high, 1, PrivilegeCheck(1)) == ["NoCritical(age=0) to 1"]
    assert receive(high, 0, NoCritical(0)) == []  # it has stopped


def test_the_token_is_regenerated() -> None:
    """ "It then sends CREATE_PRIVILEGE(k) messages to all correct nodes and gets an UPDATE message from each one of
    them ... sends messages to all nodes indicating the recovery of the system and starts executing its critical
    section." """
    asker = waiting(1)
    time_out(asker)
    for source in (2, 3):
        assert receive(asker, source, NoCritical(6)) == []
    assert time_out(asker) == ["CreatePrivilege(age=9) to all"]  # "at most one node could have failed"
    assert receive(asker, 2, Update(9, 5, 4)) == []
    assert receive(asker, 3, Update(5, 7, 6)) == []  # of another attempt
    assert receive(asker, 3, Update(9, 2, 2)) == []
    assert time_out(asker) == ["Recovered(age=9) to all", "enters"]
    assert release(asker) == ["AgedPrivilege(queue=(), served=(0, 1, 4, 2), entries=1, age=9) to 2"]


def test_too_few_answers_start_it_again() -> None:
    asker = waiting(1)
    time_out(asker)
    receive(asker, 2, NoCritical(0))
    assert time_out(asker) == ["PrivilegeCheck(number=1) to all"]


def test_an_update_tells_of_the_request_that_waits() -> None:
    """ "This message contains enough information to construct the state of the token's queue of pending requests." """
    assert receive(waiting(2), 1, CreatePrivilege(1)) == ["Update(age=1, number=1, granted=0) to 1"]
    assert receive(process(3), 1, CreatePrivilege(1)) == ["Update(age=1, number=0, granted=0) to 1"]


def test_duplicates_die() -> None:
    """ "The algorithm ensures the elimination of duplicated tokens in the system." """
    asker = waiting(2)
    receive(asker, 1, CreatePrivilege(1))
    assert receive(asker, 0, AgedPrivilege((), (0, 0, 0, 0), 0, 0)) == []
    late = process(0)
    request(late)
    out = Outbox()
    late.receive(1, Recovered(1), out)
    assert out.ejected
    assert not late.holding


def test_a_holder_objects_to_a_new_token_and_takes_its_age() -> None:
    holder = process(0)
    assert receive(holder, 1, CreatePrivilege(5)) == ["RepCritical() to 1"]
    assert receive(holder, 2, Request(1)) == ["AgedPrivilege(queue=(), served=(0, 0, 0, 0), entries=0, age=5) to 2"]


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
