"""One lock in views, call by call: what its owner asks, and what it keeps between views."""

from __future__ import annotations

from typing import Any

import pytest
from cluster import Cluster

from congenial.algorithms.group.home_gme import Ask
from congenial.kernel.effects import SetTimer
from congenial.kernel.errors import IllegalStep
from congenial.kernel.node import INSIDE, WAITING
from congenial.kernel.out import Outbox
from congenial.problems.epochs import EPOCH_BITS, LAST_FENCE
from congenial.systems.catalogue import find_algorithm
from congenial.systems.system import System
from congenial.systems.view_locks import HomeKSeat
from congenial.transform.lock_in_views import Inherited, InView
from congenial.transform.views import FORGET

VIEW_1 = 1 << EPOCH_BITS


def enter(cluster: Cluster, process: int, group: int) -> None:
    cluster.do(process, "request", (group,))
    cluster.settle()


def leave(cluster: Cluster, process: int) -> None:
    cluster.do(process, "release")
    cluster.settle()


def lock_of(process: int, members: int = 3, visitors: int = 0, system: str = "home-gme+views") -> Any:
    """The lock at one process of a new cluster."""
    nodes = members + visitors
    return System(find_algorithm(system), nodes, {"visitors": str(visitors)}).node(process).inner  # type: ignore[attr-defined]


def test_a_home_knows_who_is_inside_and_members_whether_others_wait() -> None:
    cluster = Cluster("home-gme+views", 4)
    enter(cluster, 2, 5)
    cluster.lose(3)
    home = cluster.nodes[1].lock
    assert home.is_home()
    assert home.holders() == [2]
    assert not cluster.nodes[2].lock.is_closed()
    enter(cluster, 0, 6)
    assert home.holders() == [2, 0]
    assert cluster.nodes[2].lock.is_closed()
    assert not cluster.nodes[0].lock.is_closed()


def test_a_process_that_is_no_member_has_no_place() -> None:
    visitor = lock_of(3, visitors=1)
    assert visitor.place(3) == -1
    assert [visitor.place(process) for process in range(3)] == [0, 1, 2]
    assert not visitor.is_home()
    assert not visitor.is_closed()
    assert visitor.holders() == []
    assert visitor.floor() == (0, 0)
    assert visitor.is_at_rest()
    visitor.request((0,), Outbox())
    assert not visitor.is_at_rest()


def test_a_message_to_a_place_that_no_member_has_is_an_illegal_step() -> None:
    """Once it went to another member instead."""
    lock = lock_of(2)
    lock.begin(1, (0, 1, 2), 1, True)
    assert [lock.process(place) for place in range(3)] == [1, 2, 0]
    for place in (-1, 3):
        with pytest.raises(IllegalStep, match=f"process 2 sends to place {place} of 3, which is no other process"):
            lock.process(place)


def test_a_home_is_at_rest_only_when_all_have_told() -> None:
    home, member = lock_of(1), lock_of(2)
    for lock in (home, member):
        lock.move(1, (0, 1, 2), 1, 0, Outbox())
    assert home.is_home()
    assert not home.is_at_rest()
    assert member.is_at_rest()
    home.serve(Outbox())
    assert home.is_at_rest()


def test_a_process_that_waits_is_not_at_rest() -> None:
    lock = lock_of(2, system="home-gme+replicas")
    lock.move(1, (0, 1, 2), 1, 0, Outbox())
    lock.request((0,), Outbox())
    assert not lock.is_at_rest(), "though it has not asked anybody yet: its replica must be prepared first"


def test_what_comes_before_all_have_told_is_handed_in_once() -> None:
    cluster = Cluster("home-gme+views", 4)
    enter(cluster, 2, 5)
    cluster.away.add(3)
    for process in (0, 1, 2):
        cluster.do(process, "on_suspect", 3)
    cluster.do(0, "request", (6,))
    cluster.settle()
    home = cluster.nodes[1].lock
    assert home.early == []
    assert cluster.nodes[0].phase == WAITING
    leave(cluster, 2)
    assert cluster.fences == {0: VIEW_1 + 1}


def test_a_token_that_is_kept_is_given_back_before_a_lock_is_forgotten() -> None:
    cluster = Cluster("home-gme+views", 3)
    for _ in range(2):  # the second time it may keep its token
        enter(cluster, 2, 0)
        leave(cluster, 2)
    assert not cluster.nodes[2].lock.is_at_rest()
    cluster.do(2, "on_timer", FORGET)
    cluster.settle()
    assert cluster.nodes[2].lock.is_at_rest()
    assert cluster.nodes[0].lock.is_at_rest()


def test_a_lock_that_is_forgotten_is_made_again_when_its_timer_runs_out() -> None:
    cluster = Cluster("home-gme+views", 3)
    cluster.system = System(find_algorithm("home-gme+views"), 3, {"forget": "yes"})
    cluster.nodes = cluster.system.nodes()
    enter(cluster, 2, 0)
    out = cluster.do(2, "release")
    cluster.settle()
    assert [effect.timer for effect in out.effects if isinstance(effect, SetTimer)] == [FORGET]
    before = cluster.nodes[2].lock.inner
    cluster.do(2, "on_timer", FORGET)
    assert cluster.nodes[2].lock.inner is not before


def test_the_last_fence_of_a_view_is_used() -> None:
    cluster = Cluster("home-gme+views", 3)
    cluster.nodes[0].lock.inner.begin_above((LAST_FENCE - 1, 0))
    enter(cluster, 2, 0)
    assert cluster.fences == {2: LAST_FENCE}


def test_those_that_join_a_stay_from_before_get_its_fence_each_time() -> None:
    cluster = Cluster("home-gme+views", 4)
    enter(cluster, 0, 5)
    enter(cluster, 2, 5)
    cluster.lose(3)
    leave(cluster, 2)
    enter(cluster, 2, 5)
    assert cluster.fences == {0: 1, 2: 1}
    assert cluster.nodes[2].phase == INSIDE


def test_early_messages_are_handed_in_in_their_order() -> None:
    home, out = lock_of(1), Outbox()
    home.move(1, (0, 1, 2), 1, 0, out)
    home.receive(2, InView(1, Ask((5,))), out)
    home.receive(0, InView(1, Ask((6,))), out)
    assert out.sent == []
    home.serve(out)
    assert [(dst, type(msg)) for dst, msg in out.sent[:1]] == [(2, InView)], (
        "the first to ask, with no stay from before"
    )


def test_only_a_home_tells_the_fence_of_a_stay_from_before() -> None:
    home, member, out = lock_of(1), lock_of(2), Outbox()
    for lock in (home, member):
        lock.request((5,), Outbox())
        lock.admit(5, 1, Outbox())
        lock.move(1, (0, 1, 2), 1, 0, Outbox())
    for process in (1, 2):
        home.take_over(process, 5, 1)
    home.serve(out)
    home.receive(0, InView(1, Ask((5,))), out)
    member.release(out)
    assert [(dst, type(msg)) for dst, msg in out.sent] == [(0, Inherited), (1, InView)]


@pytest.mark.parametrize("writer", [0, 1, 2, 3])
def test_readers_do_not_keep_a_writer_out_although_the_view_changes_during_each_stay(writer: int) -> None:
    """Each reader comes again at once. Once the writer 0 waited forever: before it asked the home of the next view,
    readers had asked, and joined those that were still inside."""
    cluster = Cluster("home-gme+views", 4)
    readers = [process for process in range(4) if process != writer]
    enter(cluster, readers[0], 5)
    enter(cluster, writer, 6)
    for process in readers[1:]:
        enter(cluster, process, 5)
    for _ in range(2):
        inside = [process for process in readers if cluster.nodes[process].phase == INSIDE]
        cluster.do(0, cluster.nodes[0].views.renew)
        cluster.settle()
        for process in inside:
            leave(cluster, process)
            if cluster.nodes[writer].phase == INSIDE:
                return
            enter(cluster, process, 5)
    raise AssertionError(f"{writer} waits")


def test_another_view_is_needed_when_half_of_the_fences_are_used() -> None:
    lock = lock_of(1)
    lock.move(1, (0, 1, 2), 1, 0, Outbox())
    lock.fence = VIEW_1 + LAST_FENCE // 2
    assert not lock.fences_low()
    lock.fence += 1
    assert lock.fences_low()


def test_each_seat_of_a_member_is_a_process_of_the_algorithm() -> None:
    """Four members with three seats each, numbered seat by seat; member 2 is away, and member 1 is the home."""
    lock = HomeKSeat(1, 4, 2, 3, (("k", "2"),))
    assert (lock.me, lock.n) == (9, 12)
    lock.begin(1, (0, 1, 3), 1, True)
    present = [0, 1, 3, 4, 5, 7, 8, 9, 11]
    assert [lock.place(process) for process in present] == [2, 0, 1, 5, 3, 4, 8, 6, 7]
    assert [lock.process(lock.place(process)) for process in present] == present
    assert [lock.place(process) for process in (2, 6, 10)] == [-1, -1, -1]
    inner: Any = lock.inner
    assert (inner.me, inner.n) == (6, 9)


def test_a_home_that_has_lost_its_memory_lets_nobody_in() -> None:
    """It begins as at the founding of the cluster, when nobody was inside."""
    cluster = Cluster("home-gme+views", 3)
    enter(cluster, 1, 5)
    cluster.nodes[0] = cluster.system.node(0)
    cluster.do(0, "on_amnesia")
    cluster.do(0, "request", (6,))
    assert cluster.nodes[0].phase == WAITING


def test_where_one_voter_decides_alone_its_lock_follows_at_once() -> None:
    cluster = Cluster("home-gme+views", 2)
    enter(cluster, 1, 5)
    enter(cluster, 0, 6)
    assert cluster.nodes[0].phase == WAITING
    cluster.lose(1)
    assert cluster.nodes[0].phase == INSIDE


def test_where_one_voter_decides_alone_its_lock_follows_when_it_leaves() -> None:
    cluster = Cluster("home-gme+views", 2)
    cluster.nodes[0].lock.inner.begin_above((LAST_FENCE // 2, 0))
    enter(cluster, 0, 5)
    leave(cluster, 0)
    enter(cluster, 1, 6)
    assert cluster.fences == {1: VIEW_1 + 1}
