"""Atreya, Mittal & Peri 2007, sections IV and VIII, sentence by sentence."""

from __future__ import annotations

from typing import Any

import pytest
import steps
from steps import node, step, untimed

from congenial.algorithms.group import surrogate, surrogate_a, surrogate_b, surrogate_concurrent, surrogate_solitary
from congenial.algorithms.group.surrogate import Surrogate
from congenial.algorithms.group.surrogate_a import Leave, SurrogateA
from congenial.algorithms.group.surrogate_b import Released, SurrogateB
from congenial.algorithms.group.surrogate_concurrent import Forward, StepDown, SurrogateConcurrent
from congenial.algorithms.group.surrogate_information import SurrogateInformation
from congenial.algorithms.group.surrogate_quorum import Cancel, Failed, Inquire, Invite, Locked, Relinquish, Request
from congenial.algorithms.group.surrogate_solitary import SurrogateSolitary
from congenial.algorithms.group.surrogate_types import SurrogateTypes
from congenial.kernel.errors import ConfigError, UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.state import state_of

N = 7  # a plane of order 2: quorums {i, i+1, i+3} mod 7
RED, BLUE, GREEN = 0, 1, 2
HALF, QUARTER = (1, 1), (1, 2)


def process(algorithm: type[Node], me: int) -> Any:
    made: Any = node(algorithm, me, N)
    assert made.quorum == tuple(sorted([me, (me + 1) % N, (me + 3) % N]))
    return made


def ask(asker: Any, *groups: int) -> list[str]:
    return untimed(step(lambda out: asker.request(groups, out)))


def receive(asker: Any, source: int, message: Message) -> list[str]:
    return untimed(steps.receive(asker, source, message))


def release(asker: Any) -> list[str]:
    return untimed(steps.release(asker))


def waiting(algorithm: type[Node], me: int, *groups: int) -> Any:
    asker = process(algorithm, me)
    ask(asker, *groups)
    return asker


def refuses(asker: Any, source: int, message: Message) -> bool:
    before = state_of(asker)
    with pytest.raises(UnexpectedMessage):
        receive(asker, source, message)
    return state_of(asker) == before


# -- IV-A: the main idea -----------------------------------------------------------------------------------


def leader_a() -> Any:
    """Process 0, inside as a leader, with 6 and 4 as followers."""
    asker = waiting(SurrogateA, 0, RED)
    receive(asker, 1, Locked(0, 1, 0, ((1, 4, (RED,)), (2, 6, (RED,)))))
    receive(asker, 3, Locked(0, 1, 0, ((2, 6, (RED,)),)))
    return asker


def test_a_lock_brings_the_compatible_requests_in_the_queue() -> None:
    """ "A node, when sending a LOCKED message to a process, piggybacks all requests currently in its queue that are
    compatible with the request by the locking process." """
    member = process(SurrogateA, 1)
    receive(member, 0, Request(1, (RED,)))
    receive(member, 5, Request(2, (BLUE,)))
    receive(member, 2, Request(3, (RED,)))
    receive(member, 4, Request(4, (BLUE,)))
    told = receive(member, 0, surrogate_a.Released(0, 1, 1))
    assert told == ["Locked(number=2, fence=1, compatible=((4, 4, (1,)),)) to 5"]


def test_a_leader_invites_each_once_and_the_oldest_first() -> None:
    """ "Once it has successfully locked all its quorum members, it sends an INVITE message to processes who made these
    requests." """
    asker = waiting(SurrogateA, 0, RED)
    assert receive(asker, 1, Locked(0, 1, 0, ((1, 4, (RED,)), (2, 6, (RED,))))) == []
    assert receive(asker, 3, Locked(0, 1, 4, ((2, 6, (RED,)),))) == [
        "Invite(number=1, group=0, fence=5) to 4",
        "Invite(number=2, group=0, fence=5) to 6",
        "enters",
    ]


def test_a_process_that_is_invited_cancels_its_request_and_enters() -> None:
    """ "A process, on receiving an INVITE message for its current request, unlocks all its quorum members by sending a
    CANCEL message. It then enters the forum." """
    asker = waiting(SurrogateA, 4, RED)
    assert receive(asker, 0, Invite(0, 1, RED, 1)) == ["Cancel(number=1) to 0", "Cancel(number=1) to 5", "enters"]
    assert asker.locked_for is None  # its own lock, too


def test_a_cancel_takes_a_request_out_of_the_queue_or_frees_the_lock() -> None:
    """ "A node, on receiving a CANCEL message from a process, removes its request from the queue, if it exists." """
    member = process(SurrogateA, 1)
    receive(member, 0, Request(1, (RED,)))
    receive(member, 5, Request(2, (BLUE,)))
    receive(member, 2, Request(3, (BLUE,)))
    assert receive(member, 5, Cancel(0, 2)) == []
    assert member.queue == [(3, 2, (BLUE,))]
    assert receive(member, 5, Cancel(0, 2)) == []
    assert receive(member, 0, Cancel(0, 1)) == ["Locked(number=3, fence=0, compatible=()) to 2"]


def test_a_follower_that_leaves_tells_its_leader() -> None:
    """ "Once a follower exits the forum, it sends a LEAVE message to its leader." """
    follower = waiting(SurrogateA, 4, RED)
    receive(follower, 0, Invite(0, 1, RED, 1))
    assert release(follower) == ["Leave() to 0"]


def test_the_quorum_is_released_when_all_have_left() -> None:
    """ "A leader maintains the lock on its quorum members until it has received a LEAVE message from all its followers
    and has itself left the forum. It then sends a RELEASED message to its quorum members." """
    leader = leader_a()
    assert receive(leader, 6, Leave(0)) == []
    assert release(leader) == []
    assert receive(leader, 4, Leave(0)) == ["Released(number=1, fence=1) to 1", "Released(number=1, fence=1) to 3"]
    other = leader_a()
    receive(other, 6, Leave(0))
    receive(other, 4, Leave(0))
    assert release(other) == ["Released(number=1, fence=1) to 1", "Released(number=1, fence=1) to 3"]


def test_a_surrogate_leader_goes_its_way() -> None:
    """ "a process in the surrogate-leader mode can execute its underlying program unimpeded": it may even ask again."""
    leader = leader_a()
    release(leader)
    assert ask(leader, BLUE) == ["Request(time=2, groups=(1,)) to 1", "Request(time=2, groups=(1,)) to 3"]
    receive(leader, 6, Leave(0))
    assert receive(leader, 4, Leave(0))[0] == "Released(number=1, fence=1) to 1"
    assert leader.locked_for == (2, 0, (BLUE,))


def test_a_release_takes_those_out_of_the_queue_that_went_with_the_lock() -> None:
    """ "A node, on receiving a RELEASED message from a process, removes all those requests from its queue that it
    piggybacked on the last LOCKED message it sent." """
    member = process(SurrogateA, 1)
    receive(member, 0, Request(1, (BLUE,)))
    receive(member, 5, Request(2, (RED,)))
    receive(member, 2, Request(3, (RED,)))
    assert receive(member, 0, surrogate_a.Released(0, 1, 1))[0].endswith("((3, 2, (0,)),)) to 5")
    assert receive(member, 5, surrogate_a.Released(0, 2, 2)) == []
    assert member.queue == []


def test_stale_messages_are_told_by_their_number() -> None:
    """ "A process needs to send a LEAVE message to the leader that sent a stale INVITE message to it. Stale LOCKED and
    FAILED messages should be ignored." """
    follower = waiting(SurrogateA, 4, RED)
    receive(follower, 0, Invite(0, 1, RED, 1))
    assert receive(follower, 6, Invite(0, 1, RED, 1)) == ["Leave() to 6"]
    release(follower)
    ask(follower, BLUE)
    assert receive(follower, 6, Invite(0, 1, RED, 1)) == ["Leave() to 6"]
    for stale in (Locked(0, 1, 0, ()), Failed(0, 1), Inquire(0, 1)):
        assert receive(follower, 0, stale) == []
    assert (follower.locks.keys(), follower.lost, follower.inquiries) == ({4}, [], [])


def test_with_a_lock_given_back_goes_what_came_with_it() -> None:
    """Ours: it will be told again; else a leader could invite by lists that are long out of date."""
    asker = waiting(SurrogateA, 0, RED)
    receive(asker, 1, Locked(0, 1, 0, ((1, 4, (RED,)),)))
    receive(asker, 3, Failed(0, 1))
    assert receive(asker, 1, Inquire(0, 1)) == ["Relinquish(number=1) to 1"]
    receive(asker, 1, Locked(0, 1, 0, ()))
    assert receive(asker, 3, Locked(0, 1, 0, ())) == ["enters"]


def test_stage_a_refuses_what_cannot_be() -> None:
    idle, asker, leader = process(SurrogateA, 0), waiting(SurrogateA, 0, RED), leader_a()
    assert refuses(idle, 1, Locked(0, 1, 0, ()))
    assert refuses(asker, 2, Locked(0, 1, 0, ()))  # no member
    assert refuses(asker, 0, Locked(0, 1, 0, ()))  # it has that lock
    assert refuses(asker, 1, Failed(0, 2))
    assert refuses(asker, 1, Invite(0, 2, RED, 1))
    assert refuses(asker, 1, Leave(0))
    assert refuses(idle, 1, Relinquish(0, 1))
    assert refuses(idle, 1, surrogate_a.Released(0, 1, 1))
    release(leader)
    receive(leader, 4, Leave(0))
    receive(leader, 6, Leave(0))
    assert refuses(leader, 6, Leave(0))


# -- IV-B: reducing synchronisation delay ------------------------------------------------------------------


def leader_b() -> Any:
    asker = waiting(SurrogateB, 0, RED)
    receive(asker, 1, Locked(0, 1, 0, ((1, 4, (RED,)),)))
    receive(asker, 3, Locked(0, 1, 0, ((2, 6, (RED,)),)))
    return asker


def test_every_invitation_takes_half_of_the_leader_s_weight() -> None:
    """ "A leader upon entering a forum sets its weight to one. 2) Upon sending an INVITE message a leader reduces its
    current weight by half and piggybacks the other half" """
    asker = waiting(SurrogateB, 0, RED)
    receive(asker, 1, Locked(0, 1, 0, ((1, 4, (RED,)),)))
    assert receive(asker, 3, Locked(0, 1, 0, ((2, 6, (RED,)),))) == [
        "Invite(number=1, group=0, fence=1, weight=(1, 1)) to 4",
        "Invite(number=2, group=0, fence=1, weight=(1, 2)) to 6",
        "enters",
    ]


def test_a_leader_that_leaves_releases_what_it_has_left() -> None:
    """ "A leader upon exiting its forum, instead of waiting for LEAVE messages, sends a RELEASED message along with its
    remaining weight to its quorum members." """
    leader = leader_b()
    assert release(leader) == [
        "Released(number=1, leader=0, weight=(1, 2), fence=1) to 1",
        "Released(number=1, leader=0, weight=(1, 2), fence=1) to 3",
    ]
    assert leader.gathered == QUARTER  # its own lock


def test_a_follower_that_leaves_releases_its_share_of_the_leader_s_quorum() -> None:
    """ "A follower upon exiting its forum [...] sends a RELEASED message along with the weight it received over the
    INVITE message to all quorum members of its leader." """
    follower = waiting(SurrogateB, 4, RED)
    receive(follower, 0, surrogate_b.Invite(0, 1, RED, 3, HALF))
    told = "Released(number=1, leader=0, weight=(1, 1), fence=3)"
    assert release(follower) == [f"{told} to 0", f"{told} to 1", f"{told} to 3"]


def test_a_member_keeps_its_lock_until_the_weights_are_one() -> None:
    """ "A node accumulates all the weights it received over RELEASED messages and maintains its lock until its
    cumulative weight becomes one." """
    member = process(SurrogateB, 1)
    receive(member, 0, Request(1, (RED,)))
    receive(member, 5, Request(2, (BLUE,)))
    assert receive(member, 6, Released(0, 2, 0, QUARTER, 1)) == []
    assert receive(member, 0, Released(0, 1, 0, QUARTER, 1)) == []
    assert receive(member, 4, Released(0, 1, 0, HALF, 1)) == ["Locked(number=2, fence=1, compatible=()) to 5"]


def test_a_stale_invitation_costs_a_release_of_every_member() -> None:
    """ "for each stale INVITE message a node sends q RELEASED messages" """
    asker = waiting(SurrogateB, 4, RED)
    receive(asker, 0, surrogate_b.Invite(0, 1, RED, 1, HALF))
    told = "Released(number=1, leader=6, weight=(1, 2), fence=1)"
    assert receive(asker, 6, surrogate_b.Invite(0, 1, RED, 1, QUARTER)) == [
        f"{told} to 0",
        f"{told} to 2",
        f"{told} to 6",
    ]


def test_stage_b_refuses_what_cannot_be() -> None:
    member = process(SurrogateB, 1)
    assert refuses(member, 0, Released(0, 1, 0, HALF, 1))
    receive(member, 0, Request(1, (RED,)))
    assert refuses(member, 5, Released(0, 1, 5, HALF, 1))  # it is not locked for 5
    receive(member, 6, Released(0, 1, 0, HALF, 1))
    assert refuses(member, 0, Released(0, 1, 0, (3, 2), 1))  # more than one in all


# -- IV-C: avoiding stale INVITE messages ------------------------------------------------------------------


def test_what_is_over_goes_with_the_next_lock_and_not_again() -> None:
    """ "Upon sending a LOCKED message to a process, a node in addition to piggybacking compatible requests, also
    piggybacks those timestamps from its list that have not been previously sent to the process." """
    member = process(Surrogate, 1)
    receive(member, 0, Request(1, (RED,)))
    receive(member, 5, Request(2, (BLUE,)))
    receive(member, 4, Released(0, 1, 0, HALF, 1))
    assert receive(member, 0, Released(0, 1, 0, HALF, 1)) == [
        "Locked(number=2, fence=1, compatible=(), over=((0, 1), (4, 1))) to 5"
    ]
    receive(member, 5, Released(0, 2, 5, (1, 0), 2))
    assert receive(member, 5, Request(3, (BLUE,))) == ["Locked(number=3, fence=2, compatible=(), over=()) to 5"]
    receive(member, 5, Released(0, 3, 5, (1, 0), 3))
    assert receive(member, 0, Request(4, (RED,)))[0].endswith("over=((4, 1), (5, 3))) to 0")


def test_a_stale_lock_brings_news_as_well() -> None:
    """ "Note that the list needs to be updated even if the LOCKED message is stale." """
    asker = waiting(Surrogate, 0, RED)
    receive(asker, 6, surrogate_b.Invite(0, 1, RED, 1, HALF))
    assert receive(asker, 1, surrogate.Locked(0, 1, 0, (), ((4, 1),))) == []
    assert asker.over[4:6] == [1, 0]


def test_of_two_numbers_the_later_is_kept() -> None:
    """ "if the list already contains a timestamp from the same process, then the latest timestamp is retained." """
    asker = waiting(Surrogate, 0, RED)
    receive(asker, 1, surrogate.Locked(0, 1, 0, (), ((4, 2), (5, 1))))
    receive(asker, 3, surrogate.Locked(0, 1, 0, (), ((4, 1), (5, 3))))
    assert asker.over[4:6] == [2, 3]


def test_a_leader_invites_nobody_whose_request_is_over() -> None:
    """ "a leader desists from sending INVITE message to a process y whose request has a timestamp that is less than or
    equal to the corresponding entry in its vector." """
    asker = waiting(Surrogate, 0, RED)
    receive(asker, 1, surrogate.Locked(0, 1, 0, ((1, 4, (RED,)), (2, 6, (RED,))), ()))
    assert receive(asker, 3, surrogate.Locked(0, 1, 0, (), ((4, 1), (6, 1)))) == [
        "Invite(number=2, group=0, fence=1, weight=(1, 1)) to 6",
        "enters",
    ]


def test_figure_2_a_cancel_is_news_too_and_frees_the_lock_of_its_sender() -> None:
    """ "if (y is not the current lock holder) then update staleList and remove y's request from the queue; else treat
    it like a RELEASED message carrying a weight of 1" """
    member = process(Surrogate, 1)
    for source, number in ((0, 1), (5, 2), (2, 3)):
        receive(member, source, Request(number, (RED,)))
    assert receive(member, 2, Cancel(0, 3)) == []
    assert receive(member, 0, Cancel(0, 1)) == ["Locked(number=2, fence=0, compatible=(), over=((0, 1), (2, 3))) to 5"]


def test_lemma_3_a_stale_invitation_cannot_be() -> None:
    asker = waiting(Surrogate, 4, RED)
    receive(asker, 0, surrogate_b.Invite(0, 1, RED, 1, HALF))
    assert refuses(asker, 6, surrogate_b.Invite(0, 1, RED, 1, HALF))


# -- VIII-A: achieving concurrent entry --------------------------------------------------------------------


def locked(number: int, *compatible: Any, rivals: Any = ()) -> surrogate_concurrent.Locked:
    return surrogate_concurrent.Locked(0, number, 0, compatible, (), rivals)


def leading() -> Any:
    """Process 0, inside as a leader, alone."""
    leader = waiting(SurrogateConcurrent, 0, RED)
    receive(leader, 1, locked(1))
    receive(leader, 3, locked(1))
    return leader


def test_a_locked_member_forwards_a_compatible_request() -> None:
    """ "Whenever a locked (quorum) node receives a request that is compatible with its locking request, it simply
    forwards that request to the locking process (via a FORWARD message)" """
    member = process(SurrogateConcurrent, 1)
    receive(member, 0, Request(1, (RED,)))
    assert receive(member, 5, Request(2, (RED,)))[-1] == "Forward(number=1, request=(2, 5, (0,))) to 0"


def test_but_not_if_it_knows_of_a_conflict() -> None:
    """ "unless it is aware of a conflicting request that has not yet been fulfilled" """
    member = process(SurrogateConcurrent, 1)
    receive(member, 0, Request(1, (RED,)))
    assert receive(member, 2, Request(2, (BLUE,)))[-1] == "StepDown(number=1, process=2, rival=2) to 0"
    assert receive(member, 5, Request(3, (RED,))) == ["Failed(number=3) to 5"]


def test_when_the_conflict_is_gone_it_forwards_what_it_held_back() -> None:
    """Ours: the paper forwards only new requests, which can end in a deadlock (docs/errata.md)."""
    member = process(SurrogateConcurrent, 1)
    receive(member, 0, Request(1, (RED,)))
    receive(member, 2, Request(2, (BLUE,)))
    receive(member, 5, Request(3, (RED,)))
    assert receive(member, 2, Cancel(0, 2)) == ["Forward(number=1, request=(3, 5, (0,))) to 0"]


def test_a_leader_invites_a_process_that_it_is_told_of_once() -> None:
    """ "A leader, on receiving a forwarded request, sends an INVITE message to the requesting process." """
    leader = leading()
    assert receive(leader, 1, Forward(0, 1, (2, 5, (RED,)))) == [
        "Invite(number=2, group=0, fence=1, weight=(1, 1)) to 5"
    ]
    assert receive(leader, 3, Forward(0, 1, (2, 5, (RED,)))) == []


def test_a_request_forwarded_early_is_kept() -> None:
    """ "In case a process receives a forwarded request before it has successfully locked all its quorum members, the
    request is stored" """
    asker = waiting(SurrogateConcurrent, 0, RED)
    assert receive(asker, 1, Forward(0, 1, (2, 5, (RED,)))) == []
    receive(asker, 1, locked(1))
    assert receive(asker, 3, locked(1))[0] == "Invite(number=2, group=0, fence=1, weight=(1, 1)) to 5"


def test_known_conflicts_go_with_the_lock() -> None:
    """ "If, at the time of sending a LOCKED message to a request, the node is aware of a conflicing request, then the
    STEPDOWN message is piggybacked on the LOCKED message itself." """
    member = process(SurrogateConcurrent, 1)
    for source, number, group in ((0, 1, RED), (5, 2, RED), (2, 3, BLUE)):
        receive(member, source, Request(number, (group,)))
    assert receive(member, 0, Released(0, 1, 0, (1, 0), 1))[0].endswith("rivals=((2, 3),)) to 5")


@pytest.mark.parametrize("early", [True, False])
def test_a_leader_that_has_to_step_down_invites_no_more(early: bool) -> None:
    """ "A leader stops inviting followers into the forum after [...] receiving a STEPDOWN message [...] sent on behalf
    of a conflicting request that has not yet been fulfilled" """
    leader = waiting(SurrogateConcurrent, 0, RED)
    receive(leader, 1, locked(1, (2, 6, (RED,)), rivals=((2, 2),) if early else ()))
    assert receive(leader, 3, locked(1))[0].startswith("Invite(number=2")  # those it knew of before are admitted
    if not early:
        assert receive(leader, 1, StepDown(0, 1, 2, 2)) == []
    assert receive(leader, 3, Forward(0, 1, (3, 5, (RED,)))) == []
    assert release(leader) == [f"Released(number=1, leader=0, weight=(1, 1), fence=1) to {member}" for member in (1, 3)]


def test_a_conflict_that_is_over_is_none() -> None:
    leader = waiting(SurrogateConcurrent, 0, RED)
    receive(leader, 1, surrogate_concurrent.Locked(0, 1, 0, (), ((2, 2),), ((2, 2),)))
    receive(leader, 3, locked(1))
    receive(leader, 3, StepDown(0, 1, 2, 1))
    assert receive(leader, 3, Forward(0, 1, (3, 5, (RED,)))) == [
        "Invite(number=3, group=0, fence=1, weight=(1, 1)) to 5"
    ]


def test_a_leader_without_followers_releases_its_quorum_when_it_leaves() -> None:
    """ "or (2) leaving the critical section without inviting any follower (that is, its weight is one)." """
    leader = leading()
    assert release(leader)[0] == "Released(number=1, leader=0, weight=(1, 0), fence=1) to 1"
    assert receive(leader, 1, Forward(0, 1, (2, 5, (RED,)))) == []


def test_a_leader_with_followers_goes_on_inviting_until_it_has_to_step_down() -> None:
    leader = leading()
    receive(leader, 1, Forward(0, 1, (2, 5, (RED,))))
    assert release(leader) == []
    assert receive(leader, 1, Forward(0, 1, (2, 6, (RED,)))) == [
        "Invite(number=2, group=0, fence=1, weight=(1, 2)) to 6"
    ]
    assert receive(leader, 1, StepDown(0, 1, 2, 3))[0] == "Released(number=1, leader=0, weight=(1, 2), fence=1) to 1"


def test_a_leader_that_recovers_invites_itself() -> None:
    """Its own member is locked for its first request and forwards the second to it."""
    leader = leading()
    receive(leader, 1, Forward(0, 1, (2, 5, (RED,))))
    release(leader)
    assert ask(leader, RED) == [
        "Request(time=2, groups=(0,)) to 1",
        "Request(time=2, groups=(0,)) to 3",
        "Cancel(number=2) to 1",
        "Cancel(number=2) to 3",
        "enters",
    ]
    assert receive(leader, 1, StepDown(0, 1, 2, 3))[0] == "Released(number=1, leader=0, weight=(1, 2), fence=1) to 1"
    assert release(leader)[0] == "Released(number=2, leader=0, weight=(1, 2), fence=1) to 1"


def test_concurrent_entry_refuses_what_cannot_be() -> None:
    asker = waiting(SurrogateConcurrent, 0, RED)
    assert refuses(asker, 2, Forward(0, 1, (2, 5, (RED,))))
    assert refuses(asker, 1, Forward(0, 2, (2, 5, (RED,))))
    assert refuses(asker, 2, StepDown(0, 1, 2, 2))


# -- VIII-B: achieving unnecessary blocking freedom --------------------------------------------------------


def test_requests_with_a_type_in_common_go_with_a_lock() -> None:
    """ "A quorum member, on sending a LOCKED message to a request alpha, piggybacks all requests beta on the LOCKED
    message for which type-set(alpha) and type-set(beta)" have a member in common."""
    member = process(SurrogateTypes, 1)
    receive(member, 0, Request(1, (RED,)))
    for source, number, groups in ((5, 2, (RED, BLUE)), (2, 3, (BLUE, GREEN)), (4, 4, (GREEN,))):
        receive(member, source, Request(number, groups))
    assert "compatible=((3, 2, (1, 2)),)" in receive(member, 0, Released(0, 1, 0, (1, 0), 1))[0]


def test_the_type_that_most_are_content_with_is_chosen() -> None:
    """ "To maximize concurrency, alpha chooses a type t [...] for which the number of requests in
    intersecting-set(alpha) that are 'compatible' with t is maximized." """
    asker = waiting(SurrogateTypes, 0, RED, BLUE, GREEN)
    receive(asker, 1, surrogate.Locked(0, 1, 0, ((1, 4, (RED,)), (2, 6, (BLUE,))), ()))
    assert receive(asker, 3, surrogate.Locked(0, 1, 0, ((2, 2, (BLUE, GREEN)),), ())) == [
        "Invite(number=2, group=1, fence=1, weight=(1, 1)) to 2",
        "Invite(number=2, group=1, fence=1, weight=(1, 2)) to 6",
        "enters",
    ]


def test_the_others_wait_on() -> None:
    member = process(SurrogateTypes, 1)
    receive(member, 0, Request(1, (RED, BLUE)))
    receive(member, 5, Request(2, (RED,)))
    receive(member, 4, Released(0, 1, 0, HALF, 1))
    assert receive(member, 0, Released(0, 1, 0, HALF, 1))[0].startswith("Locked(number=2")


# -- VIII-C: information structures ------------------------------------------------------------------------


def general(me: int, structure: str) -> Any:
    return node(SurrogateInformation, me, 4, structure=structure)


def test_the_request_set_is_asked_and_the_inform_set_released() -> None:
    """ "A process sends its request to all processes in its request set. [...] However, on leaving the critical
    section, it sends a RELEASED message to nodes in its inform set only." Here: two clusters, {0, 1} and {2, 3}."""
    asker = general(1, "clusters:2")
    assert ask(asker, RED) == [f"Request(time=1, groups=(0,)) to {process}" for process in (0, 2, 3)]
    for process_asked in (0, 2):
        assert receive(asker, process_asked, surrogate.Locked(0, 1, 0, (), ())) == []
    assert receive(asker, 3, surrogate.Locked(0, 1, 0, (), ())) == ["enters"]
    assert release(asker) == ["Released(number=1, leader=1, weight=(1, 0), fence=1) to 0"]


def test_a_process_that_is_not_informed_agrees_without_being_locked() -> None:
    """ "Other nodes in its request set, which are not in its inform set, simply send a GRANT message to it without
    maintaining any state information about the process." """
    member = general(2, "clusters:2")
    assert receive(member, 0, Request(1, (RED,))) == ["Locked(number=1, fence=0, compatible=(), over=()) to 0"]
    assert member.locked_for is None
    receive(member, 3, Request(2, (RED,)))
    assert member.locked_for == (2, 3, (RED,))


def test_a_free_node_agrees_up_to_the_first_that_locks_it() -> None:
    """ "a node can continue to send a GRANT message until it sends a GRANT message to a process such that it belongs to
    the inform set of that process." """
    member = general(2, "clusters:2")
    for source, number in ((3, 1), (0, 2), (2, 4), (1, 5)):
        if source == 2:
            ask(member, BLUE)
        else:
            receive(member, source, Request(number, (RED,)))
    told = receive(member, 3, Released(0, 1, 3, (1, 0), 1))
    assert told == ["Locked(number=2, fence=1, compatible=((5, 1, (0,)),), over=((3, 1),)) to 0"]
    assert member.locked_for == (4, 2, (BLUE,))


# -- VIII-C.1: modification when inform sets are singleton -------------------------------------------------


def solitary(me: int) -> Any:
    return node(SurrogateSolitary, me, 4)


def granted(number: int, *compatible: Any, over: Any = (), followers: Any = ()) -> surrogate_solitary.Locked:
    return surrogate_solitary.Locked(0, number, 0, compatible, over, followers)


def test_a_leader_agrees_to_others_as_soon_as_it_has_left_itself() -> None:
    """ "A node does not need to wait to receive RELEASED messages from followers; it resumes sending GRANT messages as
    soon as it has received a RELEASED message from itself." """
    leader = solitary(0)
    ask(leader, RED)
    receive(leader, 2, Request(2, (BLUE,)))
    receive(leader, 1, granted(1, (2, 1, (RED,))))
    receive(leader, 2, granted(1))
    assert receive(leader, 3, granted(1))[0].startswith("Invite(number=2, group=0, fence=1")
    assert release(leader) == ["Locked(number=2, fence=1, compatible=(), over=(), followers=((1, 2),)) to 2"]


def test_a_process_that_is_agreed_to_waits_for_the_followers() -> None:
    """ "A process receiving the GRANT message still has to wait until it has received RELEASED messages from all
    processes that entered the current forum as followers before starting the next forum." """
    asker = solitary(2)
    ask(asker, BLUE)
    receive(asker, 1, granted(1, over=((1, 1),)))
    receive(asker, 3, granted(1))
    assert receive(asker, 0, granted(1, followers=((1, 1),))) == []
    assert receive(asker, 1, Released(0, 1, 0, HALF, 1)) == ["enters"]


def test_it_does_not_wait_for_one_that_has_left() -> None:
    asker = solitary(2)
    ask(asker, BLUE)
    receive(asker, 1, Released(0, 1, 0, HALF, 1))
    receive(asker, 0, granted(1, followers=((1, 1),)))
    receive(asker, 1, granted(1))
    assert receive(asker, 3, granted(1)) == ["enters"]


def test_a_follower_that_leaves_tells_everybody() -> None:
    """ "A follower, on leaving the forum, sends a RELEASED message directly to all processes to whose REQUEST set its
    leader belongs." """
    follower = solitary(1)
    ask(follower, RED)
    receive(follower, 0, surrogate_b.Invite(0, 1, RED, 1, HALF))
    assert release(follower) == ["Released(number=1, leader=0, weight=(1, 1), fence=1) to all"]


def test_other_structures_are_refused_there() -> None:
    with pytest.raises(ConfigError, match="not every process informs itself alone"):
        node(SurrogateSolitary, 0, 4, structure="clusters:2")
