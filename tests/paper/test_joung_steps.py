"""Maekawa_M, Maekawa_S and Toyomura et al., step by step.

Quotations are from Atreya, Mittal & Peri 2007, sections I and III-B, which describe Joung's algorithms; the rest is
what our docstrings say. There are four processes and two groups: group 0 has the quorums {0, 1} and {2, 3}, group 1 has
{0, 2} and {1, 3}.
"""

from __future__ import annotations

from typing import Any

import pytest
import steps
from steps import node, step, untimed

from congenial.algorithms.group import maekawa_s as s
from congenial.algorithms.group.maekawa_m import Failed, Inquire, Locked, MaekawaM, Release, Relinquish, Request
from congenial.algorithms.group.maekawa_s import MaekawaS
from congenial.algorithms.group.toyomura import Toyomura
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Outbox
from congenial.kernel.state import state_of

N = 4


def ask(process: Node, group: int) -> list[str]:
    return untimed(step(lambda out: process.request((group,), out)))


def receive(process: Node, source: int, message: Message) -> list[str]:
    return untimed(steps.receive(process, source, message))


def release(process: Node) -> list[str]:
    return untimed(steps.release(process))


def m(me: int) -> Any:
    return node(MaekawaM, me, N)


def sequential(me: int) -> Any:
    return node(MaekawaS, me, N)


# -- Maekawa_M: several locks ------------------------------------------------------------------------------


def test_a_request_goes_to_the_quorum_of_the_process_and_its_group() -> None:
    """ "it selects a quorum and sends a REQUEST message to all the quorum members" """
    assert ask(m(1), 0) == ["Request(time=1, group=0) to 2", "Request(time=1, group=0) to 3"]
    assert ask(m(1), 1) == ["Request(time=1, group=1) to 3"]  # and to itself
    assert ask(m(1), 9) == ["Request(time=1, group=9) to 0", "Request(time=1, group=9) to 3"]  # the shared one


def test_a_member_issues_several_locks_for_one_group() -> None:
    """ "The first modification enables quorum nodes to issue multiple locks for requests belonging to the same
    group." """
    member = m(3)
    assert receive(member, 1, Request(2, 0)) == ["Locked(fence=0) to 1"]
    assert receive(member, 2, Request(5, 0)) == ["Locked(fence=0) to 2"]
    assert receive(member, 0, Request(1, 0)) == ["Locked(fence=0) to 0"]


def test_a_younger_request_for_another_group_fails() -> None:
    """ "In case the node decides not to preempt the locking process, it sends a FAILED message" """
    member = m(3)
    receive(member, 1, Request(2, 0))
    assert receive(member, 2, Request(2, 1)) == ["Failed() to 2"]


def test_an_older_one_takes_all_younger_locks_back() -> None:
    """ "in the event of conflict between requests of different groups, deadlock resolution requires multiple locks
    to be taken back" """
    member = node(MaekawaM, 4, 5)
    for source, number in ((0, 3), (1, 1), (2, 3)):
        receive(member, source, Request(number, 0))
    assert receive(member, 3, Request(2, 1)) == ["Failed() to 3"]  # 1 is older, and so far the oldest
    assert receive(member, 1, Release(0, 1)) == ["Inquire() to 0", "Inquire() to 2"]


def test_what_is_given_back_goes_to_the_oldest_and_to_its_group() -> None:
    """ "A node, on receiving a RELINQUISH or RELEASED message, grants the lock to the process whose request has the
    highest priority" """
    member = m(3)
    receive(member, 0, Request(3, 0))
    assert receive(member, 1, Request(2, 1)) == ["Inquire() to 0"]
    assert receive(member, 2, Request(2, 1)) == []  # it has not lost either: nobody older asks for another group
    assert receive(member, 0, Relinquish(0)) == ["Locked(fence=0) to 1", "Locked(fence=0) to 2"]
    assert member.queue == [(3, 0, 0)]


def test_the_oldest_request_decides_which_process_a_member_is_for() -> None:
    member = m(3)
    receive(member, 0, Request(1, 0))
    assert receive(member, 1, Request(2, 1)) == ["Failed() to 1"]
    assert receive(member, 2, Request(3, 0)) == ["Locked(fence=0) to 2"]  # with the oldest, past an older one
    assert receive(member, 0, Release(0, 1)) == ["Inquire() to 2"]  # which is now the oldest
    assert receive(member, 0, Request(4, 0)) == ["Failed() to 0"]
    assert receive(member, 2, Relinquish(0)) == ["Locked(fence=1) to 1"]
    assert receive(member, 1, Release(0, 2)) == ["Locked(fence=2) to 2", "Locked(fence=2) to 0"]


def test_one_who_is_overtaken_in_the_queue_is_told_once() -> None:
    member = node(MaekawaM, 4, 5)
    receive(member, 0, Request(3, 0))
    receive(member, 1, Request(2, 1))
    assert receive(member, 2, Request(1, 2)) == ["Failed() to 1"]  # 0 has been asked already
    assert receive(member, 3, Request(0, 3)) == ["Failed() to 2"]


def test_a_process_that_has_lost_gives_back_what_it_is_asked_for() -> None:
    """ "unlocks the quorum node by sending a RELINQUISH message as and when it realizes that it will not be able to
    successfully lock all its quorum members" """
    asker = m(1)
    ask(asker, 0)
    receive(asker, 2, Locked(0, 0))
    assert receive(asker, 2, Inquire(0)) == []
    assert receive(asker, 3, Failed(0)) == ["Relinquish() to 2"]
    assert asker.locks == []


def test_it_enters_with_all_locks_and_gives_them_back() -> None:
    """ "It enters the critical section once it has successfully locked all its quorum members." """
    asker = m(1)
    ask(asker, 0)
    assert receive(asker, 3, Locked(0, 4)) == []
    assert receive(asker, 2, Locked(0, 2)) == ["enters"]
    assert receive(asker, 2, Inquire(0)) == []
    assert release(asker) == ["Release(fence=5) to 2", "Release(fence=5) to 3"]


def test_fences_count_the_sessions_of_others() -> None:
    member = m(3)
    for source, group, fence in ((0, 0, 1), (1, 1, 2), (2, 1, 2)):
        receive(member, source, Request(1, group))
        receive(member, source, Release(0, fence))
    assert receive(member, 0, Request(2, 1)) == ["Locked(fence=1) to 0"]  # the session goes on
    receive(member, 0, Release(0, 2))
    assert receive(member, 0, Request(3, 0)) == ["Locked(fence=2) to 0"]


# -- Toyomura et al.: any coterie --------------------------------------------------------------------------


def test_toyomura_asks_one_quorum_for_all_groups() -> None:
    """ "Toyomura et al have proposed a quorum-based algorithm that uses a traditional quorum system" """
    for group in (0, 1, 10**30):
        asker = node(Toyomura, 1, N, quorums="grid")
        assert ask(asker, group) == [f"Request(time=1, group={group}) to {to}" for to in (0, 3)]


# -- Maekawa_S: a fixed order ------------------------------------------------------------------------------


def test_members_are_locked_one_after_the_other() -> None:
    """ "deadlocks are avoided by locking quorum nodes in some fixed order" """
    asker = sequential(1)
    assert ask(asker, 0) == ["Request(group=0) to 2"]
    assert receive(asker, 2, s.Locked(0)) == ["Request(group=0) to 3"]
    assert receive(asker, 3, s.Locked(2)) == ["enters"]
    assert release(asker) == ["Release(fence=3) to 2", "Release(fence=3) to 3"]


def test_its_own_lock_takes_its_place_in_the_order() -> None:
    asker = sequential(1)
    assert ask(asker, 1) == ["Request(group=1) to 3"]
    assert asker.holders == [1]
    assert receive(asker, 3, s.Locked(0)) == ["enters"]


def test_a_locked_member_takes_in_its_group_until_somebody_else_waits() -> None:
    member = node(MaekawaS, 4, 5)
    assert receive(member, 0, s.Request(0)) == ["Locked(fence=0) to 0"]
    assert receive(member, 1, s.Request(0)) == ["Locked(fence=0) to 1"]
    assert receive(member, 2, s.Request(1)) == []
    assert receive(member, 3, s.Request(0)) == []
    assert receive(member, 0, s.Release(1)) == []
    assert receive(member, 1, s.Release(1)) == ["Locked(fence=1) to 2"]


def test_a_free_member_locks_for_the_first_and_all_of_its_group() -> None:
    member = node(MaekawaS, 4, 5)
    for source, group in ((3, 0), (0, 1), (1, 0), (2, 1)):
        receive(member, source, s.Request(group))
    assert receive(member, 3, s.Release(1)) == ["Locked(fence=1) to 0", "Locked(fence=1) to 2"]


# -- what cannot be ----------------------------------------------------------------------------------------


def waiting(process: Any) -> Any:
    ask(process, 0)
    return process


IMPOSSIBLE: dict[str, tuple[Any, int, Message]] = {
    "a second request": (waiting(m(0)), 0, Request(5, 0)),
    "a lock nobody asked for": (m(0), 1, Locked(0, 0)),
    "a lock from no member": (waiting(m(0)), 3, Locked(0, 0)),
    "a failure of no request": (m(0), 1, Failed(0)),
    "a lock given back that was not given": (m(0), 1, Relinquish(0)),
    "a release of another's lock": (waiting(m(0)), 1, Release(0, 1)),
    "a request twice, in order": (waiting(sequential(0)), 0, s.Request(0)),
    "a lock out of order": (waiting(sequential(1)), 3, s.Locked(0)),
    "a lock of no request, in order": (sequential(1), 2, s.Locked(0)),
    "a release of no lock, in order": (sequential(1), 2, s.Release(0)),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_what_cannot_be_is_refused(case: str) -> None:
    process, source, message = IMPOSSIBLE[case]
    before = state_of(process)
    with pytest.raises(UnexpectedMessage, match=f"from process {source}"):
        process.receive(source, message, Outbox())
    assert state_of(process) == before
