"""Raymond's recovery procedure, step by step. Quotations: Velazquez 1993, section 4, and Raymond 1989, abstract.

Four processes in a line, 0 - 1 - 2 - 3; process 0 has the token first.
"""

from __future__ import annotations

from typing import Any

import pytest
from steps import node, receive, request, step

from congenial.algorithms.token.raymond_recovery import Advise, RaymondRecovery, Restart
from congenial.algorithms.token.raymond_tree import Privilege, Request
from congenial.checker.check import check
from congenial.checker.fuzz import fuzz
from congenial.sim.simulate import simulate


def process(me: int) -> Any:
    return node(RaymondRecovery, me, 4, tree="line")


def recovering(me: int) -> Any:
    made = process(me)
    step(made.on_recover)
    return made


def test_a_failed_node_asks_its_neighbours() -> None:
    """ "failed nodes can recover necessary information from their neighbors" """
    assert step(process(1).on_recover) == ["Restart(recovery=1) to 0", "Restart(recovery=1) to 2"]


def test_a_neighbour_tells_where_the_token_is_and_who_has_asked() -> None:
    holder = process(0)
    assert receive(holder, 1, Restart(1)) == ["Advise(recovery=1, here=True, asked=False, entries=0) to 1"]
    request(holder)
    receive(holder, 1, Request())
    assert receive(holder, 1, Restart(2)) == ["Advise(recovery=2, here=True, asked=True, entries=1) to 1"]
    asker = process(2)
    assert receive(asker, 1, Restart(1)) == ["Advise(recovery=1, here=False, asked=False, entries=0) to 1"]
    request(asker)
    assert receive(asker, 1, Restart(2)) == ["Advise(recovery=2, here=False, asked=True, entries=0) to 1"]


def test_the_state_is_made_again_from_what_the_neighbours_tell() -> None:
    failed = recovering(1)
    assert receive(failed, 2, Advise(1, False, True, 0)) == []
    assert receive(failed, 0, Advise(1, True, False, 3)) == ["Request() to 0"]  # on behalf of 2
    assert (failed.holder, failed.queue, failed.asked, failed.entries) == (0, [2], True, 3)


def test_a_token_that_is_nowhere_else_is_here() -> None:
    """It was here, or was lost on its way."""
    failed = recovering(1)
    receive(failed, 2, Advise(1, False, True, 4))
    assert receive(failed, 0, Advise(1, False, False, 3)) == ["Privilege(entries=4) to 2"]


def test_what_was_sent_before_the_advice_is_told_by_it() -> None:
    failed = recovering(1)
    assert receive(failed, 2, Request()) == []
    assert receive(failed, 0, Privilege(3)) == []
    receive(failed, 2, Advise(1, False, True, 0))
    assert receive(failed, 0, Advise(1, False, False, 3)) == ["Privilege(entries=3) to 2"]
    assert failed.queue == []


def test_what_is_sent_after_it_counts_but_nothing_is_passed_on_yet() -> None:
    failed = recovering(1)
    receive(failed, 0, Advise(1, True, True, 0))
    assert receive(failed, 0, Privilege(5)) == []
    assert request(failed) == []
    assert receive(failed, 2, Advise(1, False, False, 0)) == ["enters"]


def test_advice_to_an_earlier_recovery_is_not_taken() -> None:
    failed = recovering(1)
    step(failed.on_recover)
    assert receive(failed, 0, Advise(1, False, False, 0)) == []
    assert failed.advice == {}


def test_a_neighbour_that_recovers_itself_advises_when_it_knows() -> None:
    """ "The system can recover from a failed node, providing that not all of its neighbors also fail." """
    failed = recovering(2)
    assert receive(failed, 1, Restart(1)) == ["Restart(recovery=1) to 1"]  # which was down at the first
    assert receive(failed, 1, Restart(1)) == []
    assert receive(failed, 3, Advise(1, True, False, 0)) == [
        "Advise(recovery=1, here=True, asked=False, entries=0) to 1"
    ]


def test_of_two_that_know_nothing_the_one_with_the_smaller_number_has_the_token() -> None:
    """The survey: it "cannot recover from the failure of the node holding the token and all of its neighbors". Here it
    can, when they are up again."""
    first, second = recovering(1), recovering(2)
    told = "Advise(recovery=1, here=False, asked=False, entries=0)"
    receive(first, 0, Advise(1, False, False, 0))
    assert receive(first, 2, Restart(1)) == ["Restart(recovery=1) to 2", f"{told} to 2"]
    receive(second, 3, Advise(1, False, False, 0))
    assert receive(second, 1, Restart(1)) == ["Restart(recovery=1) to 1", f"{told} to 1"]
    receive(first, 2, Advise(1, False, False, 0))
    receive(second, 1, Advise(1, False, False, 0))
    assert (first.holder, second.holder) == (1, 1)
    assert not first.recovering
    assert not second.recovering


@pytest.mark.parametrize("tree", ["line", "star"])
@pytest.mark.parametrize("crashes", [1, 2])
def test_every_run_of_three_processes_with_crashes(tree: str, crashes: int) -> None:
    """At any time, also while a process recovers; with two crashes a process and all its neighbours can be down."""
    result = check("raymond-recovery", nodes=3, requests=1, crashes=crashes, options={"tree": tree}, reduce=False)
    assert result.ok, result.verdict()
    assert result.complete


def test_everybody_may_fail() -> None:
    result = fuzz("raymond-recovery", nodes=6, requests=2, crashes=12, runs=60)
    assert result.ok, result.verdict()


@pytest.mark.parametrize("tree", ["line", "star", "balanced"])
def test_random_crashes(tree: str) -> None:
    result = simulate(
        "raymond-recovery", nodes=7, requests=40, seed=3, options={"tree": tree}, crash=("0.002/100",), until=1e5
    )
    assert result.violation == ""
    assert result.waiting == ()
    assert result.entries > 100


def test_without_it_a_failure_is_the_end() -> None:
    """ "it could be incorporated to the algorithm": raymond-tree is the algorithm without."""
    result = simulate("raymond-tree", nodes=7, requests=40, seed=3, crash=("0@200-300",))
    assert not result.ok
