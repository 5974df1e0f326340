"""Agrawal and El Abbadi's algorithm, step by step. Quotations are from Velazquez 1993, section 5."""

from __future__ import annotations

from typing import Any

import pytest
from steps import node, receive, release, request, step

from congenial.algorithms.permission.agrawal_el_abbadi import (
    AgrawalElAbbadi,
    Failed,
    Inquire,
    Locked,
    Recovered,
    Release,
    Request,
    Yield,
)
from congenial.kernel.errors import ConfigError, UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.out import Outbox
from congenial.kernel.state import durable_state, restore_durable, state_of

N = 7  # the root 0, its children 1 and 2, the leaves 3, 4 and 5, 6


def process(me: int, **options: str) -> Any:
    return node(AgrawalElAbbadi, me, N, **options)


def suspect(peer: Any, other: int) -> list[str]:
    return step(lambda out: peer.on_suspect(other, out))


def trust(peer: Any, other: int) -> list[str]:
    return step(lambda out: peer.on_trust(other, out))


# -- locking -----------------------------------------------------------------------------------------------


def test_a_request_goes_to_a_path_from_the_root_to_a_leaf() -> None:
    """ "it determines a tree quorum and sends a timestamped request to all nodes in the quorum" """
    assert request(process(3)) == ["Request(number=1) to 0", "Request(number=1) to 1"]
    assert request(process(0)) == ["Request(number=1) to 2", "Request(number=1) to 6"]


def test_it_enters_with_the_permission_of_all_members() -> None:
    """ "It then waits to receive permission from all members of the quorum." """
    asker = process(3)
    request(asker)
    assert receive(asker, 0, Locked(1)) == []
    assert receive(asker, 1, Locked(1)) == ["enters"]
    assert release(asker) == ["Release(number=1) to 0", "Release(number=1) to 1"]


def test_an_earlier_request_makes_the_member_inquire() -> None:
    """ "If the request at the head ... has a greater timestamp, an inquire message is sent to check if the node has
    been successful"; "If a yield message is received, node j sends its permission to i." """
    member = process(0)
    assert receive(member, 3, Request(2)) == ["Locked(number=2) to 3"]
    assert receive(member, 4, Request(1)) == ["Inquire(number=2) to 3"]
    assert receive(member, 3, Yield(2)) == ["Locked(number=1) to 4"]
    assert receive(member, 4, Release(1)) == ["Locked(number=2) to 3"]


def test_a_later_request_is_told_that_it_failed() -> None:
    member = process(0)
    receive(member, 3, Request(2))
    assert receive(member, 4, Request(4)) == ["Failed(number=4) to 4"]
    assert receive(member, 5, Request(3)) == ["Failed(number=3) to 5"]
    assert receive(member, 6, Request(1)) == ["Inquire(number=2) to 3"]


def test_a_process_that_has_succeeded_ignores_the_inquiry_and_one_that_has_failed_yields() -> None:
    """ "If it has not, it cedes its permission by sending a yield message ... If it has succeded, it
    ignores the inquire messsage." """
    asker = process(3)
    request(asker)
    receive(asker, 0, Locked(1))
    assert receive(asker, 0, Inquire(1)) == []
    assert receive(asker, 1, Failed(1)) == ["Yield(number=1) to 0"]
    assert receive(asker, 0, Locked(1)) == []
    assert receive(asker, 1, Locked(1)) == ["enters"]
    assert receive(asker, 0, Inquire(1)) == []


# -- failures ----------------------------------------------------------------------------------------------


def test_a_failed_member_is_replaced_by_two_paths() -> None:
    """ "If some node on the path fails, it is replaced by two paths starting from the children of the failed node" """
    asker = process(3)
    request(asker)
    receive(asker, 1, Locked(1))
    assert suspect(asker, 0) == [
        "Release(number=1) to 0",
        "Release(number=1) to 1",
        "Request(number=2) to 1",
        "Request(number=2) to 2",
        "Request(number=2) to 5",
    ]
    assert receive(asker, 1, Locked(1)) == ["Release(number=1) to 1"]  # left over from the old request
    assert asker.locks == [3]


def test_where_no_quorum_can_be_formed_it_waits_for_a_return() -> None:
    """ "If a leaf node on a path has failed, then a quorum cannot be formed." """
    asker = process(3)
    for failed in (0, 5, 6):
        suspect(asker, failed)
    assert request(asker) == []
    assert asker.quorum == ()
    assert trust(asker, 5) == ["Request(number=2) to 1", "Request(number=2) to 2", "Request(number=2) to 5"]


def test_a_suspicion_elsewhere_changes_nothing() -> None:
    asker = process(3)
    request(asker)
    assert suspect(asker, 6) == []
    assert asker.quorum == (0, 1, 3)


def test_the_lock_of_a_suspected_process_is_freed_or_kept() -> None:
    for orphans, after in (("free", ["Locked(number=2) to 4"]), ("keep", [])):
        member = process(0, orphans=orphans)
        receive(member, 3, Request(1))
        receive(member, 4, Request(2))
        assert suspect(member, 3) == after


def test_the_request_of_a_suspected_process_waits() -> None:
    member = process(0)
    suspect(member, 3)
    assert receive(member, 3, Request(1)) == []
    assert trust(member, 3) == ["Locked(number=1) to 3"]


def test_a_member_that_recovers_remembers_its_lock_and_says_so() -> None:
    member = process(0)
    receive(member, 3, Request(4))
    receive(member, 4, Request(5))
    saved = durable_state(member)
    back = process(0)
    restore_durable(back, saved)
    assert step(back.on_recover) == ["Recovered(number=4, process=3) to all"]
    assert (back.locked_for, back.queue, back.highest) == ((4, 3), [], 5)


def test_one_that_was_locked_for_itself_is_free() -> None:
    member = process(0)
    request(member)
    back = process(0)
    restore_durable(back, durable_state(member))
    assert step(back.on_recover) == ["Recovered(number=0, process=0) to all"]
    assert request(back) == ["Request(number=2) to 2", "Request(number=2) to 6"]  # a number is never used twice


def test_a_process_that_hears_of_a_return_forgets_releases_and_asks_again() -> None:
    inside = process(3)
    request(inside)
    receive(inside, 0, Locked(1))
    receive(inside, 1, Locked(1))
    assert receive(inside, 0, Recovered(1, 3)) == []  # it remembers rightly
    release(inside)
    assert receive(inside, 0, Recovered(1, 3)) == ["Release(number=1) to 0"]
    waiting = process(3)
    receive(waiting, 1, Request(1))
    receive(waiting, 0, Request(2))
    request(waiting)
    assert receive(waiting, 1, Recovered(0, 0)) == [
        "Locked(number=2) to 0",
        "Release(number=3) to 0",
        "Release(number=3) to 1",
        "Request(number=4) to 0",
        "Request(number=4) to 1",
    ]


def test_a_new_request_takes_the_place_of_an_old_one() -> None:
    """The RELEASE of the old one was lost when the member was down."""
    member = process(0)
    receive(member, 3, Request(1))
    receive(member, 4, Request(2))
    assert receive(member, 3, Request(3)) == ["Locked(number=2) to 4", "Failed(number=3) to 3"]
    assert receive(member, 4, Request(4)) == ["Locked(number=3) to 3", "Failed(number=4) to 4"]
    assert member.queue == [(4, 4)]


# -- what cannot be ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("message", [Locked(5), Failed(5), Inquire(5)], ids=str)
def test_an_answer_to_a_request_that_was_never_made_is_refused(message: Message) -> None:
    asker = process(3)
    request(asker)
    before = state_of(asker)
    with pytest.raises(UnexpectedMessage, match="from process 1"):
        asker.receive(1, message, Outbox())
    assert state_of(asker) == before


def test_unknown_orphans_are_refused() -> None:
    with pytest.raises(ConfigError, match="orphans must be one of free, keep"):
        process(0, orphans="adopt")
