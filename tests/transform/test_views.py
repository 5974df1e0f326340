"""Locks in views: what members see when the cluster changes, step by step and in many runs."""

from __future__ import annotations

from typing import Any

import pytest
from cluster import Cluster

from congenial.checker.bounds import Bounds
from congenial.checker.check import check
from congenial.checker.fuzz import fuzz, run_once
from congenial.checker.stepper import Stepper
from congenial.kernel.errors import ConfigError
from congenial.kernel.node import IDLE, INSIDE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.trace import Trace
from congenial.parts.views import GONE, MEMBER, REJOIN, VOTER, Report, View
from congenial.problems.epochs import EPOCH_BITS, LAST_FENCE
from congenial.sim.scenario import Scenario
from congenial.sim.simulate import simulate
from congenial.systems.catalogue import find_algorithm
from congenial.systems.system import System
from congenial.transform.views import FORGET

IN_VIEWS = "home-gme+views"
VIEW_1 = 1 << EPOCH_BITS


def views_of(cluster: Cluster) -> list[tuple[int, tuple[int, ...]]]:
    return [(node.views.view.number, node.views.view.processes) for node in cluster.nodes]


# -- holders and newcomers -------------------------------------------------------------------------------------------


def test_without_faults_it_does_what_the_algorithm_does() -> None:
    plain = simulate("home-gme", nodes=7, groups=3, requests=20, seed=4, fifo=True)
    wrapped = simulate(IN_VIEWS, nodes=7, groups=3, requests=20, seed=4)
    assert wrapped.messages == plain.messages
    assert wrapped.waiting_time_mean == plain.waiting_time_mean


def test_a_holder_stays_and_compatible_newcomers_join_it_at_once() -> None:
    cluster = Cluster(IN_VIEWS, 4)
    cluster.do(1, "request", (5,))
    cluster.settle()
    fence = cluster.fences[1]
    cluster.lose(3)
    assert cluster.nodes[1].phase == INSIDE
    cluster.do(2, "request", (5,))
    cluster.settle()
    assert cluster.fences == {1: fence, 2: fence}, "they share one session, as a resource that checks fences sees it"


def test_an_incompatible_newcomer_waits_for_the_holder_from_before() -> None:
    cluster = Cluster(IN_VIEWS, 4)
    cluster.do(1, "request", (5,))
    cluster.settle()
    cluster.lose(3)
    cluster.do(2, "request", (6,))
    cluster.settle()
    assert cluster.nodes[2].phase == WAITING
    cluster.do(1, "release")
    cluster.settle()
    assert cluster.fences == {2: VIEW_1 + 1}


def test_newcomers_do_not_overtake_a_process_that_waits_for_another_group() -> None:
    cluster = Cluster(IN_VIEWS, 4)
    cluster.do(1, "request", (5,))
    cluster.settle()
    cluster.lose(3)
    cluster.do(2, "request", (6,))
    cluster.settle()
    cluster.do(0, "request", (5,))
    cluster.settle()
    assert set(cluster.fences) == {1}
    cluster.do(1, "release")
    cluster.settle()
    assert set(cluster.fences) == {2}


def test_what_a_crashed_process_held_can_be_acquired_again() -> None:
    cluster = Cluster(IN_VIEWS, 3)
    cluster.do(0, "request", (0,))
    cluster.do(1, "request", (1,))
    cluster.settle()
    assert set(cluster.fences) == {0}
    cluster.lose(0)
    assert views_of(cluster)[1:] == [(1, (1, 2)), (1, (1, 2))]
    assert cluster.fences == {0: 1, 1: VIEW_1 + 1}, "exclusion is weak, but the fences tell"


def test_a_process_that_was_taken_for_dead_is_ejected_when_it_learns_of_it_and_rejoins() -> None:
    cluster = Cluster(IN_VIEWS, 3)
    cluster.do(0, "request", (0,))
    cluster.settle()
    cluster.lose(0)
    cluster.find(0)
    assert cluster.nodes[0].phase == IDLE
    cluster.do(0, "on_timer", REJOIN)
    cluster.settle()
    assert views_of(cluster) == [(2, (0, 1, 2))] * 3


def test_a_holder_that_missed_a_view_has_lost_though_it_is_a_member_again() -> None:
    cluster = Cluster(IN_VIEWS, 3)
    cluster.do(0, "request", (0,))
    cluster.settle()
    out = cluster.do(
        0, "receive", 1, View(2, ((0, 0, 0, 2, ""), (1, 0, 0, 0, ""), (2, 0, 0, 0, "")), ((1, 0), (2, 0), (0, 0)))
    )
    assert out.ejected


def test_a_view_whose_fences_run_out_is_followed_by_another() -> None:
    cluster = Cluster(IN_VIEWS, 3)
    cluster.nodes[0].lock.inner.begin_above((LAST_FENCE // 2, 0))
    for expected in (LAST_FENCE // 2 + 1, VIEW_1 + 1):
        cluster.do(2, "request", (0,))
        cluster.settle()
        assert cluster.fences == {2: expected}
        cluster.do(2, "release")
        cluster.settle()
    home = cluster.nodes[1].lock.inner
    home.begin_above((LAST_FENCE, home.floor()[1]))
    cluster.do(0, "request", (1,))
    cluster.settle()
    assert cluster.fences == {}, "better no entry than one with the fence of another view"


# -- members come and go ---------------------------------------------------------------------------------------------


def visitors(n: int, visiting: int) -> Cluster:
    cluster = Cluster(IN_VIEWS, n)
    cluster.system = System(find_algorithm(IN_VIEWS), n, {"visitors": str(visiting)})
    cluster.nodes = cluster.system.nodes()
    return cluster


def test_a_visitor_joins_for_one_entry_and_leaves() -> None:
    cluster = visitors(4, 1)
    assert views_of(cluster) == [(0, (0, 1, 2))] * 4
    cluster.do(3, "request", (0,))
    cluster.settle()
    assert views_of(cluster) == [(1, (0, 1, 2, 3))] * 4
    assert set(cluster.fences) == {3}
    cluster.do(3, "release")
    cluster.settle()
    assert views_of(cluster) == [(2, (0, 1, 2))] * 4


def test_a_join_does_not_disturb_a_holder() -> None:
    cluster = visitors(4, 1)
    cluster.do(1, "request", (0,))
    cluster.settle()
    cluster.do(3, "request", (0,))
    cluster.settle()
    assert cluster.fences == {1: 1, 3: 1}


def leave(cluster: Cluster, process: int, keeps_vote: bool) -> None:
    views = cluster.nodes[process].views
    cluster.do(process, lambda out: views.leave(out, keeps_vote))
    cluster.settle()


@pytest.mark.parametrize("process", [0, 2])
def test_the_view_says_who_has_left_and_holds_nothing(process: int) -> None:
    """0 is the leader."""
    cluster = Cluster(IN_VIEWS, 3)
    leave(cluster, process, True)
    view = cluster.nodes[1].views.view
    assert (view.number, view.left, process in view.processes) == (1, (process,), False)
    assert (process, 0) in view.voters


def test_a_leader_that_pauses_proposes_the_next_view_when_it_goes_on() -> None:
    cluster = Cluster(IN_VIEWS, 3)
    views = cluster.nodes[0].views
    views.paused = True
    cluster.lose(2)
    assert views_of(cluster)[:2] == [(0, (0, 1, 2))] * 2
    cluster.do(0, views.go_on)
    cluster.settle()
    assert views_of(cluster)[:2] == [(1, (0, 1))] * 2


def test_a_voter_that_cannot_be_let_go_keeps_nobody_from_joining_and_leaving() -> None:
    """It wants to keep its vote, but too few voters would be members without it. Once there was no new view at all."""
    cluster = visitors(3, 2)
    leave(cluster, 0, True)
    cluster.do(1, "request", (0,))
    cluster.settle()
    assert views_of(cluster)[1] == (1, (0, 1))
    assert cluster.nodes[1].phase == INSIDE
    cluster.do(1, "release")
    cluster.settle()
    assert views_of(cluster)[0] == (2, (0,))


def test_a_voter_that_leaves_for_good_loses_its_vote_first() -> None:
    cluster = Cluster(IN_VIEWS, 4)
    leave(cluster, 2, False)
    view = cluster.nodes[1].views.view
    assert (view.number, view.left, view.processes) == (2, (2,), (0, 1, 3))
    assert (2, 0) not in view.voters


def test_a_process_that_hears_of_the_view_while_it_tries_to_have_one_tells_all() -> None:
    """Others have promised to wait for it. Once it forgot its ballot, and one of them waited forever."""
    cluster = Cluster(IN_VIEWS, 3)
    view = cluster.nodes[1].views.view
    cluster.do(1, "on_suspect", 0)
    assert "Prepare" in cluster.told
    cluster.do(1, "on_trust", 0)
    out = cluster.do(1, "receive", 2, View(1, view.members, view.voters))
    assert [dst for dst, message in out.sent if isinstance(message, View)] == [0, 2]


def test_two_that_both_want_to_leave_do_not_pass_on_the_vote_for_ever() -> None:
    """Each heard too late that the other one wanted to leave as well: there was one view after the other."""
    cluster = visitors(3, 1)
    for process in (0, 1):
        views = cluster.nodes[process].views
        cluster.do(process, lambda out, views=views: views.leave(out))
    for _ in range(100):
        if cluster.under_way:
            src, dst, message = cluster.under_way.pop(0)
            cluster.do(dst, "receive", src, message)
    assert cluster.under_way == []
    cluster.do(2, "request", (0,))
    cluster.settle()
    assert set(cluster.fences) == {2}
    assert views_of(cluster)[2][1] == (2,), "now they can"


def test_a_member_that_is_given_up_has_not_left_by_itself() -> None:
    cluster = Cluster(IN_VIEWS, 4)
    assign(cluster, 1, 3, GONE)
    view = cluster.nodes[1].views.view
    assert (view.number, view.left, view.processes) == (1, (), (0, 1, 2))


def test_what_a_process_says_does_not_go_for_an_earlier_life_of_it() -> None:
    """The earlier one may have been another process, which has lost its memory since, and may still hold something."""
    cluster = visitors(4, 1)
    cluster.do(3, "request", (0,))
    cluster.settle()
    cluster.nodes[3] = cluster.system.node(3)
    cluster.do(3, "on_amnesia")
    cluster.settle()
    view = cluster.nodes[0].views.view
    assert (view.number, view.left, view.processes) == (2, (), (0, 1, 2))


def test_a_process_that_was_to_leave_and_was_restarted_stays() -> None:
    """Voters that have heard that it leaves hear too late that it is back."""
    cluster = Cluster(IN_VIEWS, 4)
    leavers = cluster.nodes[1].views.leavers
    leavers[3] = True
    cluster.do(3, "on_recover")
    cluster.settle()
    assert views_of(cluster) == [(1, (0, 1, 2, 3))] * 4
    assert cluster.nodes[1].views.leavers == {}


def test_a_cluster_of_one_grows_and_its_voters_with_it() -> None:
    cluster = visitors(5, 4)
    voters = [len(cluster.nodes[0].views.view.voters)]
    for process in (1, 2, 3, 4):
        cluster.do(process, "request", (0,))
        cluster.settle()
        voters.append(len(cluster.nodes[0].views.view.voters))
    assert voters == [1, 1, 3, 3, 5], "an even number of voters survives no more crashes than the odd one below"
    for process in (4, 3, 2, 1):
        cluster.do(process, "release")
        cluster.settle()
    assert views_of(cluster)[0] == (10, (0,))  # two of them were voters, which takes one more view each


def test_a_crashed_voter_is_replaced_by_another_member() -> None:
    cluster = Cluster(IN_VIEWS, 6)
    assert cluster.nodes[0].views.view.voters == ((0, 0), (1, 0), (2, 0), (3, 0), (4, 0))
    cluster.lose(1)
    assert cluster.nodes[0].views.view.voters == ((0, 0), (2, 0), (3, 0), (4, 0), (5, 0))


def test_a_crashed_voter_stays_one_where_nobody_can_replace_it() -> None:
    """It may come back with its memory, and then counts."""
    cluster = Cluster(IN_VIEWS, 3)
    cluster.lose(0)
    assert cluster.nodes[1].views.view.voters == ((1, 0), (2, 0), (0, 0))


def test_a_founder_that_has_crashed_keeps_its_vote_from_others() -> None:
    cluster = visitors(5, 2)
    for process in (3, 4):
        cluster.do(process, "request", (0,))
        cluster.settle()
    assert [process for process, _ in cluster.nodes[0].views.view.voters] == [0, 1, 2, 3, 4]
    cluster.lose(2)
    assert {process for process, _ in cluster.nodes[0].views.view.voters} == {0, 1, 2, 3, 4}


def test_votes_of_others_end_when_they_crash_where_there_are_three_founders() -> None:
    """Once they stayed voters, and few crashes later there was no majority any more."""
    cluster = visitors(5, 2)
    for process in (3, 4):
        cluster.do(process, "request", (0,))
        cluster.settle()
    cluster.lose(3)
    assert [process for process, _ in cluster.nodes[0].views.view.voters] == [0, 1, 2]
    cluster.lose(4)
    assert views_of(cluster)[0] == (4, (0, 1, 2))
    cluster.lose(2)
    assert [process for process, _ in cluster.nodes[0].views.view.voters] == [0, 1, 2]
    assert views_of(cluster)[0] == (5, (0, 1)), "two of the three are enough"


def test_where_two_have_founded_the_cluster_others_are_not_the_majority() -> None:
    """Once three others were voters beside the two founders, and when they were gone for good, nobody was served."""
    cluster = visitors(7, 5)
    for process in (2, 3, 4, 5, 6):
        cluster.do(process, "request", (0,))
        cluster.settle()
    assert voters_of(cluster) == [0, 1, 2]
    for process in (2, 3, 4, 5, 6):
        cluster.lose(process)
    assert views_of(cluster)[0][1] == (0, 1)


def test_votes_do_not_go_to_founders_that_have_stopped() -> None:
    """Once they got the votes of two others that left for good in one view, and nobody could join until they came
    back."""
    cluster = visitors(6, 3)
    for process in (3, 4):
        cluster.do(process, "request", (0,))
        cluster.settle()
    for process in (1, 2):
        leave(cluster, process, True)
        cluster.lose(process)
    assert voters_of(cluster) == [0, 3, 4, 2, 1]
    cluster.do(0, cluster.nodes[0].views.renew)  # so both leave while a view is being agreed on
    for process in (3, 4):
        cluster.do(process, "release")
    cluster.settle()
    assert voters_of(cluster) == [0]
    cluster.do(5, "request", (0,))
    cluster.settle()
    assert cluster.nodes[5].phase == INSIDE


def test_a_process_that_has_lost_its_memory_is_another_voter() -> None:
    cluster = Cluster(IN_VIEWS, 3)
    cluster.nodes[0] = cluster.system.node(0)
    cluster.do(0, "on_amnesia")
    cluster.settle()
    birth = cluster.nodes[0].views.birth
    assert views_of(cluster) == [(1, (0, 1, 2))] * 3
    assert birth != 0
    assert set(cluster.nodes[0].views.view.voters) == {(0, birth), (1, 0), (2, 0)}


# -- roles -----------------------------------------------------------------------------------------------------------


def voters_of(cluster: Cluster, process: int = 0) -> list[int]:
    return [voter for voter, _ in cluster.nodes[process].views.view.voters]


def assign(cluster: Cluster, by: int, process: int, role: int) -> None:
    node = cluster.nodes[by]

    def act(out: Out) -> None:
        node.views.assign(process, role, out)
        node._follow(out)

    cluster.do(by, act)
    cluster.settle()


def test_a_vote_is_given_to_a_member_and_taken_from_another() -> None:
    cluster = Cluster(IN_VIEWS, 7)
    cluster.do(6, "request", (0,))
    cluster.settle()
    assign(cluster, 3, 6, VOTER)
    assert voters_of(cluster) == [0, 1, 2, 3, 6]
    assign(cluster, 6, 0, MEMBER)
    assert voters_of(cluster) == [1, 2, 3, 6, 4]
    assert views_of(cluster) == [(2, (0, 1, 2, 3, 4, 5, 6))] * 7
    assert cluster.nodes[6].phase == INSIDE


def test_a_voter_stays_one_where_nobody_can_take_its_place() -> None:
    cluster = Cluster(IN_VIEWS, 3)
    assign(cluster, 1, 0, MEMBER)
    assert set(voters_of(cluster)) == {0, 1, 2}


def test_a_voter_that_has_crashed_is_given_up() -> None:
    cluster = Cluster(IN_VIEWS, 3)
    cluster.lose(2)
    assert voters_of(cluster) == [0, 1, 2]
    assign(cluster, 1, 2, GONE)
    assert voters_of(cluster) == [0]


def test_those_that_come_back_do_not_wait_for_one_that_nobody_hears() -> None:
    """All have crashed. The view has only the last lives of all, and one of them stays away."""
    cluster = Cluster(IN_VIEWS, 3)
    for process in (0, 1):
        node = cluster.nodes[process]
        node.views.suspects.add(2)
        cluster.do(process, "on_recover")
    cluster.settle()
    wait(cluster)
    assert [views for views in views_of(cluster)[:2] if views[1] != (0, 1)] == []


class Reassigning(find_algorithm(IN_VIEWS)):  # type: ignore[misc]
    """Gives out roles at random."""

    def release(self, out: Out) -> None:
        super().release(out)
        self.views.assign(out.choose(self.n), MEMBER + out.choose(2), out)
        self._follow(out)


def test_random_schedules_in_which_roles_change() -> None:
    result = fuzz(
        Reassigning,
        nodes=5,
        groups=2,
        runs=60,
        requests=2,
        crashes=1,
        suspicions=2,
        timers="patient",
        options={"voters": "3", "visitors": "1"},
    )
    assert result.ok, result.verdict()
    for seed in range(40):
        assert superseded_members(Reassigning, seed, crashes=1, suspicions=2, visiting="1") == []


# -- cuts ------------------------------------------------------------------------------------------------------------


def cut(cluster: Cluster, *pairs: tuple[int, int]) -> None:
    """In each pair the first process no longer hears the second."""
    for deaf, unheard in pairs:
        cluster.do(deaf, "on_suspect", unheard)
        cluster.settle()


def wait(cluster: Cluster, rounds: int = 5) -> None:
    """Let the timers of those that are out run out, several times."""
    for _ in range(rounds):
        for process, node in enumerate(cluster.nodes):
            if node.views.asking:
                cluster.do(process, "on_timer", REJOIN)
        cluster.settle()


@pytest.mark.parametrize("pairs", [[(0, 1), (1, 0)], [(1, 0), (0, 1)], [(0, 1)], [(1, 0)], [(2, 1), (1, 2)]])
def test_a_cut_between_two_of_three_costs_one_change(pairs: list[tuple[int, int]]) -> None:
    cluster = Cluster(IN_VIEWS, 3)
    cut(cluster, *pairs)
    wait(cluster)
    view = cluster.nodes[2].views.view
    assert (view.number, len(view.members)) == (1, 2), "and it is the last one, however long the cut lasts"
    assert not set(pairs[0]) <= set(view.processes)
    for deaf, unheard in pairs:
        cluster.do(deaf, "on_trust", unheard)
    cluster.settle()
    wait(cluster, 1)
    assert views_of(cluster) == [(2, (0, 1, 2))] * 3


def test_a_process_that_hears_nobody_goes_alone() -> None:
    cluster = Cluster(IN_VIEWS, 5)
    cluster.lose(2)
    assert views_of(cluster)[0] == (1, (0, 1, 3, 4))


def test_the_first_to_notice_a_crash_does_not_go_in_its_place() -> None:
    """The leader, 0, still believes that 1 is alive when 2 suspects it. Once it excluded 2, which was well."""
    cluster = Cluster(IN_VIEWS, 3)
    cluster.away.add(1)
    cut(cluster, (2, 1))
    assert views_of(cluster)[0][0] == 0, "1 has not answered"
    cut(cluster, (0, 1))
    assert views_of(cluster)[0] == views_of(cluster)[2] == (1, (0, 2))


def test_a_process_that_hears_nobody_any_more_goes_in_whatever_order_it_suspects_the_others() -> None:
    cluster = Cluster(IN_VIEWS, 3)
    hears = cluster.nodes[2].receive
    cluster.nodes[2].receive = lambda src, msg, out: None
    cut(cluster, (2, 1))
    assert views_of(cluster)[0][0] == 0, "2 has not answered"
    cut(cluster, (2, 0))
    cluster.nodes[2].receive = hears
    assert views_of(cluster)[:2] == [(1, (0, 1))] * 2


def test_what_a_process_says_it_hears_counts_although_it_does_not_know_the_view_yet() -> None:
    """Once a report from an earlier view was ignored. The leader believed forever that nobody heard it, and let nobody
    join."""
    cluster = visitors(4, 1)
    voters, members = cluster.nodes[0].views.view.voters, cluster.nodes[0].views.view.members
    for process in (1, 2):
        cluster.nodes[process].views.suspects.add(0)
        cluster.nodes[0].views.reports[process] = (0,)
    cluster.do(0, "receive", 2, View(1, members, voters))
    for process in (1, 2):
        cluster.do(process, "on_trust", 0)
    cluster.settle()
    assert not any(cluster.nodes[0].views.reports.values())
    cluster.do(3, "request", (0,))
    cluster.settle()
    assert cluster.nodes[3].phase == INSIDE


def test_a_voter_that_was_told_that_it_is_not_heard_is_told_when_it_is() -> None:
    """Once only the leader was told. Later the other voter led, and believed forever that it was not heard."""
    cluster = Cluster(IN_VIEWS, 3)
    told = []
    for event, process in (("on_suspect", 0), ("on_suspect", 1), ("on_trust", 0), ("on_trust", 1)):
        sent = cluster.do(2, event, process).sent
        told.append([(dst, message.silent) for dst, message in sent if isinstance(message, Report)])
    assert told == [[(0, (0,)), (1, (0,))], [(0, (0, 1)), (1, (0, 1))], [(0, (1,))], [(1, ()), (0, ())]]


def test_a_suspicion_that_is_taken_back_changes_nothing() -> None:
    cluster = Cluster(IN_VIEWS, 3)
    cluster.away.add(1)
    cut(cluster, (2, 1))
    cluster.do(2, "on_trust", 1)
    cluster.away.discard(1)
    cluster.settle()
    assert cluster.nodes[0].views.asked == {}
    assert views_of(cluster) == [(0, (0, 1, 2))] * 3


def test_a_restarted_process_need_not_answer_what_its_earlier_life_was_asked() -> None:
    cluster = Cluster(IN_VIEWS, 4)
    cluster.away.add(1)
    cut(cluster, (2, 1))
    cluster.under_way = [packet for packet in cluster.under_way if packet[1] != 1]
    cluster.away.discard(1)
    cluster.do(1, "on_recover")
    cluster.settle()
    assert views_of(cluster)[0] == (1, (0, 2, 3)), "and it stays out as long as 2 does not hear it"
    cluster.do(2, "on_trust", 1)
    cluster.settle()
    assert views_of(cluster) == [(2, (0, 1, 2, 3))] * 4


def test_a_restarted_process_that_leaves_need_not_answer_either() -> None:
    """Once nothing changed any more: the leader waited for the answer of a life that was over."""
    cluster = Cluster(IN_VIEWS, 4)
    cluster.away.add(3)
    cut(cluster, (2, 3))
    cluster.under_way = [packet for packet in cluster.under_way if packet[1] != 3]
    cluster.away.discard(3)
    cluster.nodes[0].views.reports[3] = (1,)
    cluster.nodes[3].views.takes_part = False
    cluster.do(3, "on_recover")
    cluster.settle()
    assert views_of(cluster)[0] == (1, (0, 1, 2))


def test_locks_are_served_while_a_cut_lasts() -> None:
    cluster = Cluster(IN_VIEWS, 3)
    cut(cluster, (0, 1), (1, 0))
    members = cluster.nodes[2].views.view.processes
    for process in members:
        cluster.do(process, "request", (0,))
        cluster.settle()
    assert set(cluster.fences) == set(members)


# -- forgetting ------------------------------------------------------------------------------------------------------


def test_a_lock_that_nobody_uses_is_forgotten_and_its_fences_go_on() -> None:
    cluster = Cluster(IN_VIEWS, 3)
    last = 0
    for _ in range(3):
        cluster.do(1, "request", (0,))
        cluster.settle()
        assert cluster.fences[1] > last
        last = cluster.fences[1]
        cluster.do(1, "release")
        cluster.settle()
        for process in (1, 0):
            cluster.do(process, "on_timer", FORGET)
            cluster.settle()
        assert cluster.nodes[0].lock.is_at_rest()
        assert not cluster.nodes[0].lock.inner.plan.sessions[0].tokens


# -- many runs -------------------------------------------------------------------------------------------------------

FAULTS: dict[str, dict[str, Any]] = {
    "a crash for good": {"crash": ("1@300",)},
    "a crash and a recovery": {"crash": ("1@300-600",)},
    "a crash too short to be noticed": {"crash": ("0@200-205", "1@400-401")},
    "false suspicions": {"suspect": ("0.001/40",)},
    "crashes and false suspicions": {"suspect": ("0.0005/40",), "crash": ("2@200-300", "4@600")},
    "random crashes": {"crash": ("0.0004/60",)},
}


@pytest.mark.parametrize("faults", FAULTS)
@pytest.mark.parametrize("options", [{}, {"voters": "3"}, {"visitors": "2"}, {"forget": "yes"}])
def test_all_that_are_alive_are_served(options: dict[str, str], faults: str) -> None:
    for seed in range(3):
        result = simulate(
            IN_VIEWS, nodes=6, groups=2, requests=15, detection=20.0, seed=seed, options=options, **FAULTS[faults]
        )
        assert result.ok, result.verdict()


def test_a_thousand_members_go_on_without_one_of_them() -> None:
    result = simulate(IN_VIEWS, nodes=1000, groups=5, requests=1, detection=20.0, crash=("1@300",), seed=1)
    assert result.ok, result.verdict()


@pytest.mark.deep
def test_processes_join_two_thousand_members_and_leave_them() -> None:
    """What a process does for a change grows with the members, not with their square."""
    parameters: dict[str, Any] = {"groups": 5, "requests": 1, "detection": 20.0, "crash": ("1@300-400",)}
    result = simulate(IN_VIEWS, nodes=2000, options={"visitors": "3"}, seed=1, **parameters)
    assert result.ok, result.verdict()


def test_fences_grow_from_entry_to_entry_where_nobody_is_superseded() -> None:
    trace = Trace()
    parameters: dict[str, Any] = {"nodes": 5, "groups": 2, "requests": 20, "crash": ("1@300-500",), "detection": 20.0}
    Scenario(IN_VIEWS, **parameters).engine(3, trace).run()
    fences = [event.fence for event in trace.events if event.event == "enter"]
    assert len(fences) >= 95
    assert fences == sorted(fences)
    assert fences[-1] >> EPOCH_BITS >= 2


@pytest.mark.parametrize("faults", [{"crashes": 1}, {"suspicions": 1}, {"crashes": 1, "recovery": False}])
@pytest.mark.parametrize("nodes", [3, 4])
def test_small_systems_are_explored(nodes: int, faults: dict[str, Any]) -> None:
    options = {"visitors": str(nodes - 3)}
    result = check(IN_VIEWS, nodes=nodes, requests=1, timers="patient", limit=8_000, options=options, **faults)
    assert result.ok, result.verdict()


@pytest.mark.parametrize("nodes", [3, 5])
def test_random_schedules_with_crashes_and_false_suspicions(nodes: int) -> None:
    result = fuzz(
        IN_VIEWS, nodes=nodes, groups=2, runs=60, crashes=nodes // 2 + 1, suspicions=3, timers="patient", requests=2
    )
    assert result.ok, result.verdict()


def test_all_restart_and_miss_what_was_proposed() -> None:
    """Process 0 proposes a view while the others are down, and is not told that they were."""
    system = System(find_algorithm(IN_VIEWS), 3)
    rules = Bounds(requests=3, crashes=3, suspicions=2, timers="patient").rules(system)
    assert run_once(system, rules, 2528).fault == ""


@pytest.mark.parametrize("forget", ["yes", "no"])
def test_random_schedules_with_everything(forget: str) -> None:
    result = fuzz(
        IN_VIEWS,
        nodes=5,
        groups=2,
        runs=60,
        requests=2,
        crashes=1,
        suspicions=2,
        timers="patient",
        options={"visitors": "2", "forget": forget},
    )
    assert result.ok, result.verdict()


def superseded_members(
    algorithm: str | type[Node], seed: int, crashes: int = 0, suspicions: int = 0, visiting: str = "0"
) -> list[str]:
    """Run a random schedule, and look after every step for a process that was superseded although it has been a member
    all the time. The judge of runs cannot see the members."""
    system = System(find_algorithm(algorithm), 4, {"visitors": visiting})
    rules = Bounds(requests=2, groups=2, crashes=crashes, suspicions=suspicions, timers="patient").rules(system)
    stepper = Stepper(system, True)
    found = []
    for action in run_once(system, rules, seed).actions:
        stepper.take(action)
        inside: list[Any] = [stepper.nodes[process] for process in stepper.holders()]
        for late in inside:
            since = {process: first for process, _, _, first, _ in late.views.view.members}
            for early in inside:
                member = 0 <= since.get(early.me, -1) <= early.lock.entered
                if member and early.lock.fence < late.lock.fence and late.lock.entered == late.lock.view:
                    found.append(f"{early.me} is inside with {early.lock.fence}, {late.me} with {late.lock.fence}")
    return found


def test_a_member_is_never_superseded() -> None:
    for seed in range(60):
        assert superseded_members(IN_VIEWS, seed, suspicions=3) == []
        assert superseded_members(IN_VIEWS, seed, crashes=1, suspicions=2, visiting="1") == []


class Forgetful(find_algorithm(IN_VIEWS)):  # type: ignore[misc]
    """Has no stable storage."""

    durable = ()

    def on_recover(self, out: Out) -> None:
        self.on_amnesia(out)


def test_random_schedules_with_loss_of_memory() -> None:
    result = fuzz(Forgetful, nodes=5, requests=2, runs=60, crashes=2, suspicions=2, timers="patient")
    assert result.ok, result.verdict()


class Hasty(find_algorithm(IN_VIEWS)):  # type: ignore[misc]
    """The home begins before all members have told it."""

    def _on_told(self, src: int, msg: Any, out: Out) -> None:
        super()._on_told(src, msg, out)
        if self.lock.is_home() and not self.lock.serving:
            self.lock.serve(self.inner_out(out))


class Returning(find_algorithm(IN_VIEWS)):  # type: ignore[misc]
    """Goes on after a crash, as if it had not crashed."""

    def on_recover(self, out: Out) -> None:
        pass


class Lonely(find_algorithm(IN_VIEWS)):  # type: ignore[misc]
    """Decides on views alone."""

    def on_suspect(self, peer: int, out: Out) -> None:
        super().on_suspect(peer, out)
        view = self.views.view
        members = tuple([member for member in view.members if member[0] != peer])
        self.views._install(View(view.number + 1, members, view.voters), self.me, True, out)
        self._follow(out)


@pytest.mark.parametrize(
    ("mutant", "faults"), [(Hasty, {"suspicions": 3}), (Returning, {"crashes": 3}), (Lonely, {"suspicions": 3})]
)
def test_mutants_are_found(mutant: type[Node], faults: dict[str, int]) -> None:
    more: dict[str, Any] = faults
    assert not fuzz(mutant, nodes=3, requests=3, groups=2, runs=300, timers="patient", **more).ok


# -- names -----------------------------------------------------------------------------------------------------------


def test_options_are_those_of_the_algorithm_and_of_views() -> None:
    system = System(find_algorithm(IN_VIEWS), 7, {"selection": "fifo", "voters": "3"})
    node: Any = system.node(0)
    assert ("selection", "fifo") in node.lock.settings
    assert len(node.views.view.voters) == 3


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"voters": "0"}, "voters must be a number of at least 1, not '0'"),
        ({"visitors": "3"}, "visitors must be fewer than the 3 processes, not 3"),
        ({"visitors": "-1"}, "visitors must be a number of at least 0, not '-1'"),
        ({"forget": "maybe"}, "forget must be yes or no, not 'maybe'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        System(find_algorithm(IN_VIEWS), 3, options)


def test_an_algorithm_without_a_home_cannot_run_in_views() -> None:
    with pytest.raises(ConfigError, match="maekawa cannot run in views: it has no home"):
        find_algorithm("maekawa+views")
