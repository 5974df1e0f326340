"""Recovery by information propagation, step by step. Quotations: Velazquez 1993, section 4, on Nishio, Li & Manning."""

from __future__ import annotations

from typing import Any

import pytest
from steps import node, receive, request, step

from congenial.algorithms.token.aged_token import AgedPrivilege
from congenial.algorithms.token.nishio_li_manning import TokenMissing
from congenial.algorithms.token.nishio_propagation import Known, Lost, NishioPropagation
from congenial.algorithms.token.suzuki_kasami import Request
from congenial.checker.check import check
from congenial.sim.simulate import simulate

SHORT = {"patience": "200n", "reply": "200"}


def process(me: int) -> Any:
    return node(NishioPropagation, me, 3)


def forgetful(me: int) -> Any:
    made = process(me)
    step(made.on_recover)
    return made


def test_a_controller_that_has_lost_its_memory_asks_all_others() -> None:
    """ "a mechanism that uses information propagation is described for the recovery from these failures" """
    assert step(process(0).on_recover) == ["Lost() to 1", "Lost() to 2"]
    assert not forgetful(0).holding


def test_they_tell_what_it_must_know() -> None:
    other = process(1)
    receive(other, 0, Request(4))
    receive(other, 0, TokenMissing(6))
    assert receive(other, 2, Lost()) == ["Known(age=6, number=0, yours=0) to 2"]
    assert receive(other, 0, Lost()) == ["Known(age=6, number=0, yours=4) to 0"]


def test_until_all_have_told_it_promises_nothing_and_takes_no_token() -> None:
    failed = forgetful(2)
    receive(failed, 0, Known(0, 1, 3))
    assert receive(failed, 1, TokenMissing(7)) == []
    assert receive(failed, 1, AgedPrivilege((), (0, 0, 2), 5, 0)) == []
    assert request(failed) == []
    assert receive(failed, 1, Lost()) == []
    assert receive(failed, 1, Known(7, 0, 2)) == ["Request(number=4) to all"]
    assert (failed.age, failed.requested) == (7, [1, 0, 4])


def test_it_asks_again_who_has_not_told() -> None:
    failed = forgetful(2)
    receive(failed, 0, Known(0, 1, 3))
    assert step(lambda out: failed.on_timer(0, out)) == ["Lost() to 1"]


def test_a_token_for_a_request_that_nobody_remembered_is_kept() -> None:
    failed = forgetful(2)
    for other in (0, 1):
        receive(failed, other, Known(0, 0, 0))
    receive(failed, 0, AgedPrivilege((), (0, 0, 0), 1, 0))
    assert failed.holding


@pytest.mark.parametrize("faults", [{}, {"losses": 1}])
def test_every_run_of_two_processes_with_a_catastrophic_failure(faults: dict[str, int]) -> None:
    result = check("nishio-propagation", nodes=2, requests=2 - len(faults), crashes=1, reduce=False, **faults)
    assert result.ok, result.verdict()
    assert result.complete


@pytest.mark.parametrize("seed", range(4))
def test_one_failure_after_the_other(seed: int) -> None:
    crashes = tuple([f"{k % 5}@{3000 * k + 100}-{3000 * k + 1000}" for k in range(8)])
    result = simulate("nishio-propagation", nodes=5, requests=15, seed=seed, options=SHORT, crash=crashes)
    assert result.violation == ""
    assert result.waiting == ()
    assert result.entries >= 50


@pytest.mark.parametrize("seed", range(4))
def test_node_insertion_a_process_that_was_never_there_comes_in(seed: int) -> None:
    """ "The resiliency mechanism presented can be easily modified to include the recovery from a node insertion" """
    result = simulate("nishio-propagation", nodes=4, requests=15, seed=seed, options=SHORT, crash=("3@0-800",))
    assert result.ok, result.verdict()
    assert result.entries == 60


def test_two_that_have_forgotten_everything_wait_for_each_other() -> None:
    result = check("nishio-propagation", nodes=2, requests=1, crashes=2)
    assert result.counterexample is not None
    assert result.counterexample.kind == "starvation"
