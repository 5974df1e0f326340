"""The rules of leases in views, one by one: who grants one, what counts, what is remembered. `lease_schedules.py` has
random schedules of them."""

from __future__ import annotations

import math

import pytest

from congenial.net.view_lease import Grants, Record, ViewLease
from congenial.parts.views import View

LONGEST = 8.0
A, B, C = (0, 0, 0), (1, 0, 0), (2, 0, 0)


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def view(number: int, *members: tuple[int, int, int], voters: int = 3, since: int = 0) -> View:
    """Members are processes with birth and life; the voters are the first processes."""
    voting = tuple([(process, 0) for process in range(voters)])
    return View(number, tuple([(*life, since, "") for life in members]), voting)


ALL = view(4, A, B, C)


def leased(time: Time, me: int = 2, drift: float = 0.0, at: View = ALL, since: int = 0) -> ViewLease:
    lease = ViewLease(me, LONGEST, drift, 1.0, 1.0, time)
    lease.begin(at, 0, since)
    return lease


# -- the lease of a member ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("voters", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("votes", [True, False])
def test_it_needs_grants_of_a_majority_of_the_voters(voters: int, votes: bool) -> None:
    """A voter grants one to itself."""
    me = voters - 1 if votes else voters
    everyone = [(process, 0, 0) for process in range(voters + 1)]
    lease = leased(Time(), me, at=view(4, *everyone, voters=voters))
    needed = voters // 2 + 1 - votes
    for peer in range(needed):
        assert lease.over()
        lease.grant_in(4, peer, 100.0, 3.0)
    assert not lease.over()
    assert lease.left() == (3.0 if needed else lease.grace)
    assert lease.has_run_out() is False


def test_a_voter_that_is_alone_and_no_member_has_none() -> None:
    assert leased(Time(), 0, at=view(4, B, voters=1), since=-1).over()


def test_another_life_of_a_voter_is_none() -> None:
    lease = ViewLease(0, LONGEST, 0.0, 1.0, 1.0, Time())
    lease.begin(view(4, A, B, voters=1), 77, 4)
    assert lease.over()


def test_only_grants_of_voters_in_this_view_count() -> None:
    lease = leased(Time(), at=view(4, A, B, C, voters=2))
    lease.grant_in(3, 0, 100.0, 3.0)
    lease.grant_in(4, 1, 100.0, 3.0)
    lease.grant_in(4, 5, 100.0, 3.0)
    assert lease.over()
    lease.grant_in(4, 0, 100.0, 3.0)
    assert not lease.over()


def test_a_grant_may_come_before_its_view() -> None:
    lease = leased(Time())
    lease.grant_in(5, 0, 100.0, 3.0)
    assert lease.over()
    lease.begin(view(5, A, B, C), 0, 0)
    assert lease.left() == 3.0


def test_the_latest_grant_of_each_voter_counts() -> None:
    lease = leased(Time())
    lease.grant_in(4, 0, 100.0, 3.0)
    lease.grant_in(4, 0, 99.0, 3.0)
    assert lease.left() == 3.0
    lease.grant_in(4, 1, 100.0, 2.0)
    assert lease.left() == 3.0, "one is enough"


def test_no_grant_is_longer_than_the_longest_and_clocks_may_differ() -> None:
    lease = leased(Time(), drift=0.1)
    lease.grant_in(4, 0, 100.0, 3.0)
    assert lease.left() == pytest.approx(2.7)
    lease.grant_in(4, 0, 100.0, 30.0)
    assert lease.left() == pytest.approx(0.9 * LONGEST)


def test_a_lease_that_was_seen_to_be_over_may_go_on() -> None:
    time = Time()
    lease = leased(time)
    assert lease.over()
    assert lease.grant_in(4, 0, 100.0, 3.0), "tasks that wait may enter now"
    assert not lease.grant_in(4, 0, 101.0, 3.0), "it had not ended"
    time.now += 10.0
    assert lease.over()
    assert not lease.grant_in(4, 0, 102.0, 3.0), "too late"


def test_a_member_since_the_last_view_loses_nothing_in_the_next_one() -> None:
    lease = leased(Time(), since=4)
    lease.grant_in(4, 0, 100.0, 3.0)
    assert lease.begin(view(5, A, B, C), 0, 4) == 0.0
    assert lease.left() == 3.0


def test_what_was_promised_before_a_member_got_the_only_vote_still_holds_afterwards() -> None:
    time = Time()
    lease, alone = leased(time), View(5, ALL.members, ((2, 0),))
    lease.grant_in(4, 0, 100.0, 6.0)
    lease.begin(alone, 0, 0)
    time.now += 1.0
    assert lease.left() == 5.0
    lease.begin(View(6, ALL.members, alone.voters), 0, 0)
    assert Grants(2, LONGEST, time).record(alone, 1.0, lease).own == 5.0, "if it is restarted now"
    lease.begin(view(7, A, B, C), 0, 0)
    assert lease.left() == 5.0
    time.now += 5.0
    assert lease.over()


def test_a_member_that_was_restarted_has_lost_its_lease() -> None:
    lease = leased(Time())
    lease.grant_in(4, 0, 100.0, 3.0)
    assert lease.begin(view(5, A, B, C), 0, 5) == 3.0
    assert lease.over()


def test_which_voters_have_granted_one() -> None:
    time = Time()
    lease = leased(time, at=view(4, A, B, C, voters=2))
    assert [lease.granted_by(peer) for peer in (0, 1, 5)] == [False, False, True], "5 need not"
    lease.grant_in(4, 0, 100.0, 3.0)
    assert [lease.granted_by(peer) for peer in (0, 1)] == [True, False]
    time.now += 3.0
    assert not lease.granted_by(0)
    alone = leased(time, 0, at=view(4, A, voters=1))
    alone.voters = (1,)
    assert alone.granted_by(1), "nobody is needed"


# -- seconds of other clocks -------------------------------------------------------------------------------------


def test_the_lease_that_a_member_has_taken_along_may_last_longer_by_the_clock_here() -> None:
    """By the clock of that member it is as long as was told, and by a faster one it is longer."""
    time = Time()
    grants = Grants(1, LONGEST, time, drift=0.2)
    grants.on_view(ALL, view(5, A, B, C, voters=2), 0)
    grants.on_told(A, 4.0)
    grants.on_all_told(0.0)
    assert grants.on_view(view(5, A, B, C, voters=2), view(6, B, C, voters=2), 0) == pytest.approx(5.0)


def test_seconds_of_another_clock_are_no_more_than_the_longest_grant() -> None:
    """A lease is a little shorter than the grant, by any clock. So none that has begun lasts longer."""
    grants = Grants(1, LONGEST, Time(), drift=0.2)
    assert [grants.seconds_here(told) for told in (0.0, 4.0, 0.8 * LONGEST)] == pytest.approx([0.0, 5.0, LONGEST])
    assert grants.seconds_here(LONGEST) == grants.seconds_here(1e9) == LONGEST


# -- what a process has granted ----------------------------------------------------------------------------------


@pytest.mark.parametrize("me", [0, 1])
def test_voters_that_are_new_assume_that_others_have_granted_leases(me: int) -> None:
    """Not to themselves: they know their own."""
    other = B if me == 0 else A
    grants = Grants(me, LONGEST, Time())
    grants.on_view(ALL, view(5, A, B, C, voters=2), 0)
    assert set(grants.assumed) == {other, C}
    assert grants.on_view(view(5, A, B, C, voters=2), view(6, A, B, voters=2), 0) == LONGEST


def test_others_assume_nothing() -> None:
    """A process that is no member does not tell."""
    grants = Grants(1, LONGEST, Time())
    assert grants.on_view(ALL, view(5, A, C, voters=1), -1) == 0.0
    assert grants.on_view(view(5, A, C, voters=1), view(6, A, voters=1), -1) == 0.0


@pytest.mark.parametrize("me", [0, 1])
def test_what_a_member_has_told_replaces_what_was_assumed(me: int) -> None:
    grants = Grants(me, LONGEST, Time())
    grants.on_view(ALL, view(5, A, B, C, voters=2), 0)
    for life in (A, B, C):
        grants.on_told(life, 2.0)
    assert (me, 0, 0) not in grants.assumed
    assert grants.on_view(view(5, A, B, C, voters=2), view(6, A, B, voters=2), 0) == 2.0


@pytest.mark.parametrize(("told", "rest"), [(True, 0.0), (False, LONGEST)])
def test_where_voters_change_before_all_have_told_nobody_knows_what_was_granted(told: bool, rest: float) -> None:
    grants = Grants(1, LONGEST, Time())
    five, six, seven = view(5, A, B, C), view(6, A, B, C, voters=2), view(7, A, B, C, voters=2)
    grants.on_view(ALL, five, 0)
    if told:
        grants.on_all_told(0.0)
    grants.on_view(five, six, 0)
    assert grants.on_view(six, seven, 0) == rest


def test_where_voters_change_and_a_member_is_excluded_others_may_know_more() -> None:
    """They may have granted it a lease since all have told."""
    grants = Grants(1, LONGEST, Time())
    five, six, seven = view(5, A, B, C), view(6, A, B, voters=2), view(7, A, B, voters=2)
    grants.on_view(ALL, five, 0)
    grants.on_all_told(0.0)
    grants.on_view(five, six, 0)
    assert grants.on_view(six, seven, 0) == LONGEST


def test_a_member_that_was_away_for_some_views_assumes_leases_of_the_others() -> None:
    grants = Grants(1, LONGEST, Time())
    grants.on_view(ALL, view(6, A, B, C), 6)
    grants.on_all_told(0.0)
    assert grants.on_view(view(6, A, B, C), view(7, A, B), 6) == LONGEST


def test_what_is_not_known_is_over_some_day() -> None:
    """As soon as it counts as the leases of others, it is no longer unknown."""
    time = Time()
    grants = Grants(2, LONGEST, time)
    grants.on_view(view(0, A), view(5, A, B, C), 5)
    time.now += 5.0
    assert grants.on_view(view(5, A, B, C), view(6, A, B, C), 5) == LONGEST - 5.0
    time.now += 4.0
    assert grants.on_view(view(6, A, B, C), view(7, A, B, C), 5) == 0.0


def test_a_member_that_has_only_missed_a_view_assumes_no_leases_of_the_others() -> None:
    """They tell."""
    grants = Grants(1, LONGEST, Time())
    grants.on_view(ALL, view(6, A, B, C), 0)
    grants.on_all_told(0.0)
    assert grants.on_view(view(6, A, B, C), view(7, A, B), 0) == 0.0


# -- what is on disk ---------------------------------------------------------------------------------------------


def test_the_longest_lease_of_a_member_is_remembered() -> None:
    grants = Grants(1, LONGEST, Time())
    grants.grant(A, 3.0)
    grants.grant(C, 5.0)
    assert grants.record(ALL, 1.0, None).members == 5.0
    assert grants.record(ALL, 6.0, None).members == 6.0


def test_leases_of_others_are_remembered_as_far_as_they_are_known() -> None:
    grants = Grants(2, LONGEST, Time())
    grants.on_view(view(0, A), view(5, A, B, C), 5)
    assert grants.record(view(5, A, B, C), 1.0, None).others == LONGEST
    grants.on_all_told(1.0)
    assert grants.record(view(5, A, B, C), 1.0, None).others == 1.0


def test_the_own_lease_is_remembered() -> None:
    time = Time()
    grants, lease = Grants(2, LONGEST, time), leased(time)
    assert grants.record(ALL, 1.0, lease)[2:4] == (0.0, 1.0)
    lease.grant_in(4, 0, 100.0, 3.0)
    assert grants.record(ALL, 1.0, lease)[2:4] == (0.0, 3.0)
    assert grants.record(ALL, 1.0, None).own == 0.0, "it holds nothing"
    lease.begin(view(5, A, B), 0, -1)
    assert grants.record(view(5, A, B), 1.0, lease).others == 3.0, "programs may still rely on it"


@pytest.mark.parametrize("me", [0, 1])
def test_what_a_process_has_granted_and_what_it_was_granted_are_restored(me: int) -> None:
    time = Time()
    grants = Grants(me, LONGEST, time)
    grants.recover(ALL, Record(4, 3.0, 2.0, 5.0, False))
    ends = {life: end - time.now for life, end in grants.assumed.items()}
    assert ends == {life: 5.0 if life[0] == me else 3.0 for life in (A, B, C)}
    assert grants.outside - time.now == 2.0
    assert not grants.ignorant


def test_what_a_process_did_not_know_before_a_restart_it_does_not_know_in_the_next_view() -> None:
    grants = Grants(1, LONGEST, Time())
    grants.recover(ALL, Record(4, 1.0, 0.0, 1.0, True))
    restarted = (1, 0, 1)
    five, six = view(5, A, restarted, C), view(6, A, restarted, C)
    grants.on_view(ALL, five, 5)
    assert grants.on_view(five, six, 5) == LONGEST


def test_a_process_without_a_record_knows_nothing() -> None:
    grants = Grants(1, LONGEST, Time())
    grants.recover(ALL, Record())
    assert grants.ignorant
    assert grants.unsure == -math.inf
    assert grants.outside == 100.0 + LONGEST
