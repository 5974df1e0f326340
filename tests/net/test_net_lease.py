"""Leases: a process knows by its own clock when the others may have gone on without it."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from netlab import QUICK, cabled_clusters, clusters, until

from congenial.net.door import Door
from congenial.net.errors import ClusterDegraded, LockLost
from congenial.net.lease import ENDLESS, Lease, clock
from congenial.net.link import Link
from congenial.net.locks import Cluster, Lock
from congenial.net.storage import Storage
from congenial.net.turn import Turn
from congenial.net.view_lease import Grants, ViewLease
from congenial.net.wire import Beat, Echo
from congenial.parts.views import View
from congenial.problems.weak import Counter

PATIENCE = QUICK.suspect_after
LONGER = PATIENCE + 0.2
FORMS: dict[str, Callable[[Cluster], Lock]] = {
    "mutex": lambda member: member.mutex("x", timeout=10),
    "exclusive": lambda member: member.exclusive("x", timeout=10),
    "shared": lambda member: member.shared("x", timeout=10),
    "group": lambda member: member.group("x", "g", timeout=10),
    "semaphore": lambda member: member.semaphore("x", 1, timeout=10),
}


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 60))


def lease_of(member: Cluster) -> Lease:
    return member._host.membership.lease


# -- the lease itself --------------------------------------------------------------------------------------------


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(("n", "needed"), [(2, 1), (3, 1), (4, 2), (5, 2), (6, 3), (7, 3)])
def test_a_lease_lasts_as_long_as_a_majority_does_not_suspect_this_process(n: int, needed: int) -> None:
    time = Time()
    lease = Lease(n, 1.0, 1.0, 0.001, time)
    assert lease.over()
    for peer in range(needed - 1):
        assert not lease.grant(peer, 100.0, 60.0)
        assert lease.over()
    assert lease.grant(needed, 99.0, 5.0), "tasks that wait may enter now"
    assert not lease.over()
    assert not lease.has_run_out()
    assert lease.granted_by(needed)
    time.now = 99.0 + 5.0 * (1 - 0.001)
    assert lease.has_run_out()
    assert not lease.lapsed
    assert lease.over()
    assert lease.lapsed
    assert not lease.granted_by(needed)
    assert not lease.grant(needed, 98.0, 5.0), "an old answer"
    assert lease.grant(needed, 104.0, 5.0)


def test_a_process_alone_needs_no_lease() -> None:
    for lease in (Lease(1, 1.0, 1.0), ENDLESS):
        assert not lease.over()
        assert not lease.has_run_out()
        assert not lease.look()
        assert lease.granted_by(3)


beats = st.tuples(st.integers(1, 4), st.floats(0, 10), st.floats(0, 5), st.floats(0.5, 4), st.booleans())


@given(st.lists(beats, max_size=30), st.floats(0, 20))
def test_while_the_lease_lasts_a_majority_does_not_suspect_this_process(
    events: list[tuple[int, float, float, float, bool]], now: float
) -> None:
    """Beats take some time on their way, and not every echo arrives."""
    lease = Lease(5, 1.0, 1.0, 0.0, lambda: now)
    suspected_from = [-math.inf] * 5
    for peer, sent, on_its_way, allowed, answered in events:
        suspected_from[peer] = max(suspected_from[peer], sent + on_its_way + allowed)
        if answered:
            lease.grant(peer, sent, allowed)
    if not lease.has_run_out():
        assert len([peer for peer in range(1, 5) if suspected_from[peer] > now]) >= 2


def test_holders_are_told_once_and_not_while_answers_may_be_on_their_way() -> None:
    time = Time()
    lease = Lease(3, 0.5, 2.0, 0.0, time)
    lease.grant(1, 100.0, 3.0)
    for _ in range(7):
        time.now += 0.4
        assert not lease.look()
    time.now += 0.4
    assert lease.look(), "nobody answers, and this process has watched it"
    time.now += 0.4
    assert not lease.look()
    assert lease.grant(1, 103.6, 3.0)
    time.now += 10.0
    assert not lease.look(), "this process was stopped"
    assert lease.over(), "but those that ask know"
    for _ in range(4):
        time.now += 0.4
        assert not lease.look()
    time.now += 0.4
    assert lease.look()


def test_a_peer_promises_no_more_patience_than_it_will_have() -> None:
    """Patience may shrink by a step before the promise is over."""
    link = Link(Receiver(), Turn(Storage()), 1, "b", clock, 3.0)
    assert link.patience_left == 3.0
    link.patience.was_wrong()
    assert link.patience_left == 3.0
    link.patience.was_wrong()
    assert link.patience_left == link.patience.allowed - link.patience.step == 4.5
    link.on_frame(Beat(7.0))  # without a connection nothing is answered


class Receiver:
    def on_frame(self, link: Link, frame: Any) -> None: ...

    def on_sign_of_life(self, link: Link) -> None: ...

    def on_acknowledged(self, link: Link) -> None: ...

    def on_beat(self, link: Link, beat: Beat) -> None: ...

    def on_echo(self, link: Link, echo: Echo) -> None: ...


# -- what a new view waits for -----------------------------------------------------------------------------------


def view(number: int, *members: tuple[int, int, int], left: tuple[int, ...] = (), voters: int = 3) -> View:
    """Members are processes with birth and life."""
    return View(number, tuple([(*life, 0, "") for life in members]), ((0, 0), (1, 0), (2, 0))[:voters], left)


A, B, C = (0, 0, 0), (1, 0, 0), (2, 0, 0)
RESTARTED, FORGETFUL = (2, 0, 1), (2, 77, 0)
ALL, ALL_AGAIN = view(4, A, B, C), view(6, A, B, C)


@pytest.mark.parametrize(
    ("after", "rest"),
    [
        (view(5, A, B), 3.0),
        (view(5, A, B, left=(2,)), 0.0),
        (view(5, A, B, C), 0.0),
        (view(5, A, B, RESTARTED), 3.0),  # programs that it has served may still rely on its lease
        (view(5, A, B, FORGETFUL), 3.0),
    ],
)
def test_a_new_view_waits_for_leases_of_processes_that_cannot_tell_themselves(after: View, rest: float) -> None:
    time = Time()
    grants = Grants(1, 8.0, time)
    for life in (A, C):
        grants.grant(life, 3.0)
    assert grants.on_view(ALL, after, 0) == rest


@pytest.mark.parametrize(("voters", "rest"), [(3, 3.0), (1, 8.0)])
def test_new_voters_do_not_know_what_others_have_granted_before_all_have_told(voters: int, rest: float) -> None:
    """A majority of the same voters tell in the next view, too."""
    grants = Grants(1, 8.0, Time())
    grants.grant(C, 3.0)
    grants.on_view(ALL, view(5, A, B, voters=voters), 0)
    assert grants.on_view(view(5, A, B, voters=voters), view(6, A, B, voters=voters), 0) == rest


def test_new_voters_are_told_which_leases_members_have_taken_along() -> None:
    time = Time()
    grants = Grants(1, 8.0, time)
    grants.on_view(ALL, view(5, A, B, C, voters=1), 0)
    grants.on_told(C, 2.0)
    time.now += 0.5
    assert grants.on_view(view(5, A, B, C, voters=1), view(6, A, B, voters=1), 0) == 1.5


def test_what_all_have_told_is_known() -> None:
    time = Time()
    grants = Grants(1, 8.0, time)
    grants.grant(C, 3.0)
    assert grants.on_view(ALL, view(5, A, B), 0) == 3.0
    grants.on_all_told(4.0)
    time.now += 3.0
    assert grants.on_view(view(5, A, B), view(6, A, B), 0) == 1.0
    grants.on_all_told(0.0)
    assert grants.on_view(view(6, A, B), view(7, A, B), 0) == 0.0


def test_a_member_that_has_just_joined_knows_nothing_of_the_views_before() -> None:
    grants = Grants(2, 8.0, Time())
    assert grants.on_view(view(0, A), view(5, A, B), -1) == 0.0
    assert grants.on_view(view(5, A, B), view(6, A, B, C), 6) == 0.0
    assert grants.on_view(view(6, A, B, C), view(7, B, C), 6) == 8.0, "0 may have a lease, and so may those before it"
    grants.on_all_told(0.0)
    assert grants.on_view(view(7, B, C), view(8, C), 6) == 8.0, "1 may have taken along a lease"


def restarted(grants: Grants, at: View, time: Time, down: float) -> Grants:
    """The same process, in its next life."""
    record = grants.record(at, 0.0, None)
    time.now += down
    again = Grants(grants.me, grants.longest, time)
    again.recover(at, record)
    again.on_view(at, at, -1)
    return again


def test_a_process_that_is_restarted_waits_for_what_it_has_granted() -> None:
    """For as long as when it knew of it last: it cannot know for how long it was away."""
    time = Time()
    grants = Grants(1, 8.0, time)
    for life in (A, C):
        grants.grant(life, 3.0)
    time.now += 1.0
    again = restarted(grants, ALL, time, 100.0)
    assert again.on_view(ALL, view(5, A, B), 5) == 2.0, "granted to a member of the view in which it was restarted"
    again = restarted(again, view(5, A, B), time, 100.0)
    assert again.on_view(view(5, A, B), view(6, A, B), 6) == 2.0, "and to one that was excluded before"
    again.on_all_told(0.0)
    again = restarted(again, view(6, A, B), time, 0.0)
    assert again.on_view(view(6, A, B), view(7, A, B), 7) == 0.0


def test_a_record_of_another_view_says_nothing() -> None:
    time = Time()
    grants = Grants(1, 8.0, time)
    grants.recover(view(5, A, B), Grants(1, 8.0, time).record(ALL, 3.0, None))
    assert grants.on_view(view(5, A, B), view(6, A, B), 6) == 8.0


def test_a_process_that_follows_all_views_knows_what_it_has_granted_even_if_it_is_no_member() -> None:
    """Once it assumed the longest leases when it joined, and everybody waited for them if a change followed
    immediately."""
    time = Time()
    grants = Grants(1, 8.0, time)
    grants.on_view(ALL, view(5, A, C), -1)
    assert grants.on_view(view(5, A, C), ALL_AGAIN, 6) == 0.0
    assert grants.on_view(ALL_AGAIN, view(7, B, C), 6) == 0.0
    assert not restarted(grants, view(7, B, C), time, 1.0).ignorant


@pytest.mark.parametrize("between", [view(5, A, C, voters=1), view(6, A, C)])
def test_a_process_that_was_no_member_while_others_voted_is_ignorant(between: View) -> None:
    """Or may have been: it does not know of all views."""
    time = Time()
    grants = Grants(1, 8.0, time)
    grants.on_view(ALL, between, -1)
    grants = restarted(grants, between, time, 1.0)
    number = between.number + 1
    grants.on_view(between, view(number, A, B, C), number)
    assert grants.on_view(view(number, A, B, C), view(number + 1, B, C), number) == 8.0


def test_a_member_that_was_excluded_and_is_back_tells_how_long_programs_may_rely_on_its_old_lease() -> None:
    time = Time()
    lease = ViewLease(2, 8.0, 0.0, 1.0, 1.0, time)
    assert lease.begin(ALL, 0, 0) == 0.0
    lease.grant_in(4, 0, time.now, 3.0)
    assert lease.left() == 3.0
    time.now += 1.0
    assert lease.begin(view(5, A, B), 0, -1) == 2.0
    assert lease.over()
    time.now += 0.5
    assert lease.begin(view(6, A, B, C), 0, 6) == 1.5
    time.now += 2.0
    assert lease.begin(view(7, A, B, C), 0, 6) == 0.0


def test_a_member_that_stays_keeps_its_lease() -> None:
    time = Time()
    lease = ViewLease(2, 8.0, 0.0, 1.0, 1.0, time)
    lease.begin(ALL, 0, 0)
    lease.grant_in(4, 0, time.now, 3.0)
    assert lease.begin(view(5, B, C), 0, 0) == 0.0
    assert lease.left() == 3.0


# -- a member that is cut off ------------------------------------------------------------------------------------


async def just_answered(member: Cluster) -> None:
    """Wait for a moment when both peers have answered the same beat, and the next one is not due."""
    links, granted = member._host.membership.links, lease_of(member).granted
    await until(lambda: all([granted[link.peer] > link.beaten_at + 0.9 * PATIENCE for link in links]))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", ["cut", "mute"])
def test_a_member_that_is_cut_off_stops_before_the_others_go_on(form: str, way: str) -> None:
    """Also if it still hears them, and if it has become patient with them."""

    async def story() -> None:
        async with cabled_clusters(3) as (members, cables):
            a, _, c = members
            dialer = c._host.membership.dialer
            may_call = dialer.may_call
            lock = FORMS[form]
            (await lock(c).acquire()).release()  # from now on c enters without asking anybody
            held = await lock(c).acquire()
            held.check()
            for link in c._host.membership.links:
                link.patience.allowed *= 4
            await just_answered(c)
            if way == "cut":
                cables[2].down = True
                cables[2].cut()
            else:
                cables[2].mute = True
                dialer.may_call = lambda link: False  # its own calls would not go through its cable
            waiting = asyncio.create_task(FORMS["exclusive"](a).acquire() if form != "semaphore" else lock(a).acquire())
            await until(lambda: held.lost if way == "cut" else waiting.done())
            assert not held.held
            with pytest.raises(LockLost, match="it was lost, the others have gone on without this process, or "):
                held.check()
            own = asyncio.create_task(lock(c).acquire())
            later = await waiting
            assert later.fence > held.fence
            assert not await c.try_mutex("fresh")
            assert not own.done()
            with pytest.raises(ClusterDegraded, match="'a' is away; 'b' is away") as error:
                await c.mutex("x", timeout=0.1).acquire()
            assert error.value.peers == ("a", "b")
            later.release()
            cables[2].down = cables[2].mute = False
            dialer.may_call = may_call
            async with asyncio.timeout(20):
                again = await own
            assert again.fence >= later.fence if form == "semaphore" else again.fence > later.fence
            again.release()

    run(story())


def test_a_member_that_is_cut_off_begins_no_section_of_a_guarded_object() -> None:
    async def story() -> None:
        async with cabled_clusters(3) as (members, cables):
            totals = [member.guarded("total", Counter(), timeout=10) for member in members]
            async with totals[2] as section:
                assert await section.issue(5) == 5
            cables[2].down = True
            cables[2].cut()
            await until(lambda: lease_of(members[2]).has_run_out())
            with pytest.raises(ClusterDegraded):
                await members[2].guarded("total", Counter(), timeout=0.1).acquire()
            cables[2].down = False
            total = 0
            while not total:  # the others may be about to tell it that they have gone on without it
                with contextlib.suppress(LockLost):
                    async with totals[2] as section:
                        section.check()
                        total = await section.issue(7)
            assert total == 12

    run(story())


def test_where_nobody_goes_on_without_a_silent_process_there_is_no_lease() -> None:
    async def story() -> None:
        async with cabled_clusters(3, algorithm="token-gme") as (members, cables):
            held = await members[2].mutex("x", timeout=10).acquire()
            cables[2].down = True
            cables[2].cut()
            await until(lambda: lease_of(members[2]).has_run_out())
            await asyncio.sleep(0.2)
            held.check()
            held.release()
            async with members[2].mutex("x", timeout=0) as held:
                held.check()

    run(story())


def test_the_crash_of_a_minority_costs_no_lease() -> None:
    async def story() -> None:
        async with cabled_clusters(3) as (members, cables):
            held = await members[0].mutex("x", timeout=10).acquire()
            cables[2].down = True
            cables[2].cut()
            await until(lambda: all([member.status()["links"]["c"]["state"] == "away" for member in members[:2]]))
            assert not lease_of(members[0]).granted_by(2)
            held.check()
            held.release()

    run(story())


def test_an_entry_waits_for_the_lease_although_the_node_is_inside() -> None:
    """What arrives after a pause may be a permission from before it."""

    async def story() -> None:
        async with clusters(3) as members:
            a, b, _ = members
            held = await b.mutex("x", timeout=10).acquire()
            waiting = asyncio.create_task(a.mutex("x", timeout=20).acquire())
            door: Door = next(iter(a._host.locks.doors.values()))
            await until(lambda: door.queue)
            lease = door.lease
            assert isinstance(lease, ViewLease)
            lease.by_view.clear()
            lease.until = -math.inf
            held.release()
            later = await waiting
            assert not lease.lapsed
            later.check()
            later.release()

    run(story())
