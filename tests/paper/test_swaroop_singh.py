"""Swaroop & Singh 2007, sentence by sentence: DRS_GME, sections III, IV and VII. Processes are numbered from 0 here."""

from __future__ import annotations

from typing import Any

import pytest

from congenial.algorithms.group.drs_gme import NONE, Complete, DrsGme, Request, Start, Token
from congenial.algorithms.group.drs_gme_extended import DrsGmeExtended
from congenial.algorithms.group.drs_gme_faults import T1, T2, DrsGmeFaults, GenToken, IsComplete
from congenial.checker.check import check
from congenial.kernel.effects import EVERYONE
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.node import IDLE, INSIDE, WAITING, Node
from congenial.kernel.out import Outbox
from congenial.kernel.state import state_of

X, Y, Z = 7, 8, 9


def request(node: DrsGme, *groups: int) -> Outbox:
    out = Outbox()
    node.request(groups, out)
    return out


def release(node: DrsGme) -> Outbox:
    out = Outbox()
    node.release(out)
    return out


def receive(node: DrsGme, src: int, msg: Message) -> Outbox:
    out = Outbox()
    node.receive(src, msg, out)
    return out


def timer(node: Node, which: int) -> Outbox:
    out = Outbox()
    node.on_timer(which, out)
    return out


def request_set(node: DrsGme) -> set[int]:
    return set(range(node.n)) - {node.me} if node.peers.everyone else node.peers.some


def token(*queue: tuple[int, tuple[tuple[int, int], ...]], session: int = 1, n: int = 4) -> Token:
    known = [0] * n
    for _, members in queue:
        for process, number in members:
            known[process] = number
    return Token(session, tuple(known), queue)


def captain(group: int = X, n: int = 4) -> DrsGme:
    node = DrsGme(0, n)
    request(node, group)
    return node


def captain_outside(follower: int = 1) -> DrsGme:
    """It has left, and one follower is inside."""
    node = captain()
    receive(node, follower, Request(1, (X,)))
    release(node)
    return node


# -- section III and the beginning -------------------------------------------------------------------------


def test_initially_the_first_process_holds_the_token_and_the_others_ask_everybody() -> None:
    nodes = [DrsGme(me, 4) for me in range(4)]
    assert [node.holding for node in nodes] == [True, False, False, False]
    assert [request_set(node) for node in nodes] == [set(), {0, 2, 3}, {0, 1, 3}, {0, 1, 2}]


def test_requests_for_the_same_resource_are_one_entry_in_the_queue() -> None:
    node = captain()
    for process, group in ((1, Y), (2, Z), (3, Y)):
        receive(node, process, Request(1, (group,)))
    assert node.queue == [(Y, [(1, 1), (3, 1)]), (Z, [(2, 1)])]


# -- section IV: the requester -----------------------------------------------------------------------------


def test_a_process_sends_its_request_to_all_members_of_its_request_set() -> None:
    node = DrsGme(2, 4)
    assert request(node, X).sent == [(EVERYONE, Request(1, (X,)))]
    node = DrsGme(0, 4)
    receive(node, 3, Request(1, (X,)))
    receive(node, 1, Request(1, (X,)))
    assert request(node, Y).sent == [(1, Request(1, (Y,))), (3, Request(1, (Y,)))]


def test_a_process_that_holds_the_token_idle_immediately_enters_as_captain() -> None:
    node = DrsGme(0, 4)
    assert node.could_enter()
    out = request(node, X)
    assert (out.entered, out.sent) == ((X, 1), [])
    assert release(node).sent == []
    assert request(node, Y).entered == (Y, 2)


def test_a_captain_outside_enters_only_if_the_type_is_the_same_and_the_queue_is_empty() -> None:
    assert request(captain_outside(), X).entered == (X, 1)
    other = captain_outside()
    assert request(other, Y).entered is None
    assert other.queue == [(Y, [(0, 2)])]
    behind = captain_outside()
    receive(behind, 2, Request(1, (Y,)))
    assert request(behind, X).entered is None
    assert behind.queue == [(Y, [(2, 1)]), (X, [(0, 2)])]


# -- section IV: the process that is asked ------------------------------------------------------------------


def test_an_idle_holder_transfers_the_token_immediately() -> None:
    node = DrsGme(0, 4)
    assert receive(node, 2, Request(1, (X,))).sent == [(2, token((X, ((2, 1),))))]
    assert not node.holding
    assert node.phase == IDLE  # not requesting, as the appendix has it
    assert request_set(node) == {2}


def test_a_process_that_is_not_requesting_adds_the_sender_to_its_request_set() -> None:
    node = DrsGme(0, 4)
    receive(node, 2, Request(1, (X,)))
    assert receive(node, 3, Request(1, (X,))).sent == []
    assert request_set(node) == {2, 3}


def test_a_process_that_is_requesting_also_sends_its_request_unless_it_has() -> None:
    node = DrsGme(0, 4)
    receive(node, 2, Request(1, (X,)))
    request(node, Y)  # to 2
    assert receive(node, 3, Request(1, (X,))).sent == [(3, Request(1, (Y,)))]
    assert receive(node, 3, Request(1, (X,))).sent == []
    assert receive(node, 2, Request(2, (X,))).sent == []


def test_a_captain_inside_starts_requests_of_its_type_and_queues_conflicting_ones() -> None:
    """ "smooth admission": also with a conflicting request in the queue."""
    node = captain()
    assert receive(node, 1, Request(1, (Y,))).sent == []
    assert receive(node, 2, Request(1, (X,))).sent == [(2, Start(1, 1, X))]
    assert node.followers == {2: 1}
    assert node.queue == [(Y, [(1, 1)])]


def test_a_captain_outside_starts_them_only_if_no_conflicting_request_is_pending() -> None:
    node = captain_outside()
    assert receive(node, 2, Request(1, (X,))).sent == [(2, Start(1, 1, X))]
    receive(node, 3, Request(1, (Y,)))
    receive(node, 1, Complete(1))
    assert receive(node, 1, Request(2, (X,))).sent == []
    assert node.queue == [(Y, [(3, 1)]), (X, [(1, 2)])]


def test_old_delayed_requests_are_told_from_new_ones() -> None:
    """By what the token knows, not only by what has arrived here; the sender learns of the holder."""
    node = DrsGme(0, 4)
    receive(node, 1, Request(1, (X,)))
    request(node, Y)  # to 1
    receive(node, 1, Token(2, (1, 1, 5, 0), ((Y, ((0, 1),)),)))
    release(node)
    assert receive(node, 2, Request(5, (X,))).sent == [(2, Request(1, (Y,)))]
    assert receive(node, 2, Request(4, (X,))).sent == []  # once is enough
    assert receive(node, 1, Request(1, (X,))).sent == []  # it has that request
    assert node.holding


# -- section IV: sessions ----------------------------------------------------------------------------------


def test_a_follower_enters_and_tells_its_captain_when_it_has_left() -> None:
    node = DrsGme(2, 4)
    request(node, X)
    assert receive(node, 3, Start(1, 5, X)).entered == (X, 5)
    assert release(node).sent == [(3, Complete(1))]


def test_a_captain_waits_till_all_its_followers_have_come_out() -> None:
    node = captain()
    for process, group in ((1, X), (2, X), (3, Y)):
        receive(node, process, Request(1, (group,)))
    assert receive(node, 1, Complete(1)).sent == []
    assert release(node).sent == []
    assert receive(node, 2, Complete(1)).sent == [(3, Token(2, (1, 1, 1, 1), ((Y, ((3, 1),)),)))]


def test_if_nobody_waits_it_holds_the_token() -> None:
    node = captain_outside()
    assert receive(node, 1, Complete(1)).sent == []
    assert node.could_enter()


def test_a_captain_whose_own_request_is_first_goes_on_itself() -> None:
    node = captain_outside()
    request(node, Y)
    receive(node, 2, Request(1, (Y,)))
    out = receive(node, 1, Complete(1))
    assert out.entered == (Y, 2)
    assert out.sent == [(2, Start(1, 2, Y))]


def test_the_next_captain_empties_its_request_set_and_starts_its_followers() -> None:
    node = DrsGme(2, 4)
    request(node, X)
    out = receive(node, 0, token((X, ((2, 1), (3, 1))), (Y, ((1, 1),)), session=4))
    assert out.entered == (X, 4)
    assert out.sent == [(3, Start(1, 4, X))]
    assert node.queue == [(Y, [(1, 1)])]
    assert request_set(node) == set()


def test_requests_that_came_before_the_token_are_not_forgotten() -> None:
    node = DrsGme(2, 4)
    request(node, X)
    for process, group in ((1, Y), (3, X), (0, Z)):
        receive(node, process, Request(1, (group,)))
    late = Token(4, (1, 0, 1, 0), ((X, ((2, 1),)),))  # 0's was served before
    assert receive(node, 0, late).sent == [(3, Start(1, 4, X))]
    assert node.queue == [(Y, [(1, 1)])]


def test_a_request_that_overtakes_a_complete_is_counted_once() -> None:
    node = captain()
    receive(node, 1, Request(1, (X,)))
    assert receive(node, 1, Request(2, (X,))).sent == [(1, Start(2, 1, X))]
    receive(node, 1, Complete(1))
    release(node)
    assert node.group == X
    receive(node, 1, Complete(2))
    assert node.group == NONE


def test_table_i() -> None:
    """The example of section IV: queue and request sets after each event, with P_1 to P_4 as 0 to 3."""
    nodes = [DrsGme(me, 4) for me in range(4)]
    under_way: list[tuple[int, int, Message]] = []

    def ask(process: int, group: int) -> None:
        run(process, request(nodes[process], group))

    def run(process: int, out: Outbox) -> None:
        for to, message in out.sent:
            receivers = [other for other in range(4) if other != process] if to == EVERYONE else [to]
            under_way.extend([(process, receiver, message) for receiver in receivers])

    def deliver_all() -> None:
        while under_way:
            source, to, message = under_way.pop(0)
            run(to, receive(nodes[to], source, message))

    def sets() -> list[set[int]]:
        return [request_set(node) for node in nodes]

    ask(1, 2)
    deliver_all()
    assert nodes[1].phase == INSIDE
    assert sets() == [{1}, set(), {0, 1, 3}, {0, 1, 2}]
    ask(0, 3)
    deliver_all()
    assert nodes[1].queue == [(3, [(0, 1)])]
    ask(2, 1)
    deliver_all()
    assert nodes[1].queue == [(3, [(0, 1)]), (1, [(2, 1)])]
    assert sets() == [{1, 2}, set(), {0, 1, 3}, {0, 1, 2}]
    ask(3, 3)
    deliver_all()
    assert nodes[1].queue == [(3, [(0, 1), (3, 1)]), (1, [(2, 1)])]
    assert sets() == [{1, 2, 3}, set(), {0, 1, 3}, {0, 1, 2}]
    run(1, release(nodes[1]))
    deliver_all()
    assert nodes[0].queue == [(1, [(2, 1)])]
    assert sets() == [set(), {0, 2}, {0, 1, 3}, {0, 1, 2}]
    assert [node.phase for node in nodes] == [INSIDE, IDLE, WAITING, INSIDE]


# -- section IV: faults ------------------------------------------------------------------------------------


def faulty(me: int, n: int = 4) -> DrsGmeFaults:
    return DrsGmeFaults(me, n, 100.0, 50.0)


def test_a_requesting_process_starts_t1_and_closes_it_when_it_enters() -> None:
    node = faulty(2)
    out = request(node, X)
    assert out.timers_set == [(T1, 100.0)]
    assert out.saved
    assert T1 in receive(node, 0, Start(1, 1, X)).timers_cancelled


def test_when_t1_runs_out_it_sends_gen_token_to_all() -> None:
    node = faulty(2)
    request(node, X)
    out = timer(node, T1)
    assert out.sent == [(EVERYONE, GenToken(1, (X,), 0))]
    assert out.timers_set == [(T1, 100.0)]


def test_a_holder_treats_gen_token_as_a_request() -> None:
    assert receive(faulty(0), 2, GenToken(1, (X,), 0)).sent == [(2, token((X, ((2, 1),))))]
    node = faulty(0)
    request(node, X)
    assert receive(node, 1, GenToken(1, (Y,), 0)).sent == []
    assert receive(node, 1, GenToken(1, (Y,), 0)).sent == []
    assert node.queue == [(Y, [(1, 1)])]
    assert receive(node, 2, GenToken(1, (X,), 0)).sent == [(2, Start(1, 1, X))]
    assert receive(node, 2, GenToken(1, (X,), 0)).sent == [(2, Start(1, 1, X))]
    assert node.followers == {2: 1}


def test_a_process_that_passed_the_token_on_since_sends_it_again() -> None:
    """ "if P_j [...] has executed in its CS as captain at least once after P_i has" """
    node = faulty(0)
    lost = receive(node, 2, Request(1, (X,))).sent
    assert receive(node, 3, GenToken(1, (Y,), 0)).sent == lost
    assert receive(node, 3, GenToken(1, (Y,), 1)).sent == []
    assert receive(faulty(1), 3, GenToken(1, (Y,), 0)).sent == []


def test_including_itself() -> None:
    node = faulty(0)
    lost = receive(node, 2, Request(1, (X,))).sent
    request(node, Y)
    assert timer(node, T1).sent == [(EVERYONE, GenToken(1, (Y,), 0)), *lost]


def test_a_token_whose_number_is_not_greater_is_deleted() -> None:
    node = faulty(2)
    request(node, X)
    valid = token((X, ((2, 1),)), session=4)
    assert receive(node, 0, valid).entered == (X, 4)
    receive(node, 1, Request(1, (X,)))
    before = state_of(node)
    assert receive(node, 0, valid).sent == []
    assert state_of(node) == before
    receive(node, 1, Complete(1))
    release(node)
    assert receive(node, 0, valid).entered is None
    assert node.could_enter()


def test_t2_asks_the_followers_that_have_not_completed() -> None:
    node = faulty(0)
    request(node, X)
    receive(node, 1, Request(1, (X,)))
    assert receive(node, 2, Request(3, (X,))).timers_set == [(T2, 50.0)]
    receive(node, 1, Complete(1))
    out = timer(node, T2)
    assert out.sent == [(2, IsComplete(3, 1, X))]
    assert out.timers_set == [(T2, 50.0)]
    assert T2 in receive(node, 2, Complete(3)).timers_cancelled


def test_three_possibilities_on_is_complete() -> None:
    node = faulty(2)
    request(node, X)
    assert receive(node, 0, IsComplete(1, 1, X)).entered == (X, 1)  # (b) it is requesting: the start was lost
    assert receive(node, 0, IsComplete(1, 1, X)).sent == []  # (a) it is inside
    release(node)
    assert receive(node, 0, IsComplete(1, 1, X)).sent == [(0, Complete(1))]  # (c) otherwise
    request(node, X)
    assert receive(node, 0, IsComplete(1, 1, X)).sent == [(0, Complete(1))]  # it waits with another request


def test_a_process_that_recovers_hands_on_the_token() -> None:
    node = faulty(0)
    request(node, X)
    receive(node, 2, Request(1, (Y,)))
    node.phase = IDLE  # what a crash does to a stay
    out = Outbox()
    node.on_recover(out)
    assert out.sent == [(2, Token(2, (1, 0, 1, 0), ((Y, ((2, 1),)),)))]
    assert out.saved


def test_a_token_for_a_request_from_before_a_crash_serves_the_others() -> None:
    node = faulty(2)
    node.number = 1
    out = receive(node, 0, token((X, ((2, 1), (3, 1))), (Y, ((1, 1),))))
    assert out.entered is None
    assert out.sent == [(3, Start(1, 1, X))]
    assert receive(node, 3, Complete(1)).sent == [(1, Token(2, (0, 1, 1, 1), ((Y, ((1, 1),)),)))]


@pytest.mark.parametrize("step", ["request", "start", "token", "pass", "queue"])
def test_everything_is_saved_before_messages_leave(step: str) -> None:
    node = faulty(0 if step in ("start", "pass", "queue") else 2)
    if step in ("start", "queue"):
        request(node, X)
    out = {
        "request": lambda: request(node, X),
        "start": lambda: receive(node, 1, Request(1, (X,))),
        "token": lambda: receive(node, 0, token((X, ((2, 1), (3, 1))))),
        "pass": lambda: receive(node, 1, Request(1, (X,))),
        "queue": lambda: receive(node, 1, Request(1, (Y,))),
    }[step]()
    assert out.saved


# -- section VII: several groups ---------------------------------------------------------------------------


def test_a_request_names_a_set_and_is_queued_for_each_member() -> None:
    node = DrsGmeExtended(0, 4)
    request(node, X)
    assert receive(node, 1, Request(1, (Y, Z))).sent == []
    assert receive(node, 2, Request(1, (Z,))).sent == []
    assert node.queue == [(Y, [(1, 1)]), (Z, [(1, 1), (2, 1)])]


def test_the_current_session_will_do_if_the_queue_is_empty() -> None:
    node = DrsGmeExtended(0, 4)
    request(node, Y, X)
    assert node.group == Y
    assert receive(node, 1, Request(1, (X, Y))).sent == [(1, Start(1, 1, Y))]
    receive(node, 2, Request(1, (Z,)))
    assert receive(node, 3, Request(1, (X, Y))).sent == []
    assert node.queue == [(Z, [(2, 1)]), (X, [(3, 1)]), (Y, [(3, 1)])]


def test_a_process_that_is_served_is_deleted_from_all_entries() -> None:
    node = DrsGmeExtended(1, 4)
    request(node, Y, Z)
    queue = ((Y, ((1, 1), (2, 1))), (Z, ((1, 1), (3, 1))), (X, ((2, 1),)))
    out = receive(node, 0, Token(2, (1, 1, 1, 1), queue))
    assert out.entered == (Y, 2)
    assert out.sent == [(2, Start(1, 2, Y))]
    assert node.queue == [(Z, [(3, 1)])]


@pytest.mark.parametrize("wants", ["0|1;1|2;0|2", "0|1;0|1;1", "0|1;0;1"])
def test_all_runs_with_sets(wants: str) -> None:
    result = check("drs-gme-extended", nodes=3, requests=1, wants=wants)
    assert result.ok, result.verdict()
    assert result.complete


# -- messages that cannot be -------------------------------------------------------------------------------


def waiting() -> DrsGme:
    node = DrsGme(2, 4)
    request(node, X)
    return node


IMPOSSIBLE: dict[str, tuple[Any, Message]] = {
    "a start for a process that has not asked": (lambda: DrsGme(2, 4), Start(1, 1, X)),
    "a start for another request": (waiting, Start(2, 1, X)),
    "a start for another group": (waiting, Start(1, 1, Y)),
    "a start for a captain": (captain, Start(1, 1, X)),
    "a token for a process that has not asked": (lambda: DrsGme(2, 4), token((X, ((2, 1),)))),
    "a token for another request": (waiting, token((X, ((2, 2),)))),
    "a token for somebody else": (waiting, token((X, ((3, 1),)))),
    "a token for nobody": (waiting, token()),
    "a second token": (captain, token((X, ((0, 1),)))),
    "a complete of a process that was not admitted": (captain, Complete(1)),
    "what is no message of it": (captain, GenToken(1, (X,), 0)),
    "with faults: a start for a later request": (lambda: faulty(2), Start(1, 1, X)),
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_a_message_that_cannot_be_is_refused_and_changes_nothing(what: str) -> None:
    make, message = IMPOSSIBLE[what]
    node = make()
    before = state_of(node)
    with pytest.raises(UnexpectedMessage):
        receive(node, 1, message)
    assert state_of(node) == before
