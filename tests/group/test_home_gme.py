"""HomeGME: what its plan does, what an entry costs, and that nobody waits forever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from schedules import Run

from congenial.algorithms.group.home_gme import HomeGME, build_leaders
from congenial.algorithms.group.home_plan import HOME, UNTIL_OVER, Joined, Next, Over, Plan, Token
from congenial.checker.fuzz import fuzz
from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message, integers
from congenial.kernel.state import freeze
from congenial.sim.simulate import simulate
from congenial.systems.system import System


def told(mail: list[tuple[int, Message]], kind: type[Message]) -> list[int]:
    return [dst for dst, msg in mail if isinstance(msg, kind)]


def tokens(mail: list[tuple[int, Message]]) -> dict[int, Any]:
    return {dst: msg for dst, msg in mail if isinstance(msg, Token)}


# -- the plan ----------------------------------------------------------------------------------------------


def test_the_first_request_begins_session_1() -> None:
    plan = Plan("priority", 2)
    assert plan.on_ask(3, (7,)) == [(3, Token(1, 1, 7, 0, False, ()))]


def test_while_nobody_waits_latecomers_join() -> None:
    plan = Plan("priority", 2)
    plan.on_ask(3, (7,))
    assert plan.on_ask(4, (5, 7)) == [(4, Token(1, 2, 7, 0, True, ()))]


def two_inside(leaders: int = 2) -> Plan:
    """Processes 1 and 2 are the first members of session 2, of group 7, which has begun."""
    plan = Plan("priority", leaders)
    plan.on_ask(5, (6,))
    plan.on_ask(6, (6,))
    plan.on_ask(HOME, (9,))
    plan.on_ask(1, (7,))
    plan.on_ask(2, (7,))
    plan.on_return(1, 1, False)
    plan.on_return(1, 2, False)
    plan.on_return(2, 3, False)
    assert [session.tokens for session in plan.sessions] == [{4: 1, 5: 2}]
    return plan


def test_the_next_session_is_planned_when_it_is_as_large_as_what_is_outstanding() -> None:
    plan = two_inside()
    assert plan.on_ask(3, (8,)) == []
    mail = plan.on_ask(4, (8,))
    assert mail == [
        (1, Next(3, 4, (3, 4))),
        (2, Next(3, 5, (3, 4))),
        (3, Token(4, 6, 8, 2, False, (4,))),
        (4, Token(4, 7, 8, 2, False, (3,))),
    ]


def test_members_beyond_the_leaders_wait_for_the_word() -> None:
    plan = two_inside(leaders=1)
    plan.on_ask(3, (8,))
    mail = tokens(plan.on_ask(4, (8,)))
    assert mail[3].awaited == 2
    assert mail[3].fellows == (4,)
    assert mail[4].awaited == UNTIL_OVER


def test_the_home_is_no_leader() -> None:
    plan = Plan("priority", 2)
    plan.on_ask(1, (7,))
    mail = plan.on_ask(HOME, (8,))
    assert mail == [(1, Next(1, 1, ())), (HOME, Token(2, 2, 8, UNTIL_OVER, False, ()))]


def test_leaders_hear_of_latecomers() -> None:
    plan = Plan("priority", 2)
    plan.on_ask(1, (7,))
    plan.on_ask(3, (8,))
    assert plan.on_ask(4, (8,)) == [(4, Token(2, 3, 8, UNTIL_OVER, False, ())), (3, Joined(2, 4))]


def test_the_end_of_a_session_is_told_to_all_that_hold_tokens_of_the_next() -> None:
    plan = Plan("priority", 2)
    plan.on_ask(1, (7,))
    plan.on_ask(3, (8,))
    plan.on_ask(4, (8,))
    assert plan.on_return(1, 1, False) == [(3, Over(1)), (4, Over(1))]


def inherited() -> Plan:
    """Processes 1 and 2 have been inside for group 7 since before this home began."""
    plan = Plan("priority", 2)
    for process in (1, 2):
        plan.inherit(process, 7, 9)
    return plan


def test_an_inherited_session_is_joined_while_nobody_waits_for_another() -> None:
    plan = inherited()
    assert told(plan.on_ask(3, (7,)), Token) == [3]
    assert told(plan.on_ask(4, (7,)), Token) == [4]


def test_an_inherited_session_is_closed_as_soon_as_anybody_waits_for_another() -> None:
    """Its members may have been inside for long. If they counted as first members in each view anew, and views changed
    faster than they leave, others would wait forever."""
    plan = inherited()
    assert told(plan.on_ask(4, (8,)), Next) == [1, 2]
    assert told(plan.on_ask(5, (7,)), Token) == []


def test_those_that_waited_before_a_home_began_are_all_heard_before_anybody_joins() -> None:
    """The order in which they ask is no matter of fairness: those that are near would always be first."""
    plan = inherited()
    plan.gather()
    assert plan.on_ask(3, (7,)) == plan.on_ask(4, (8,)) == []
    mail = plan.serve(0)
    assert told(mail, Next) == [1, 2]
    assert list(tokens(mail)) == [4]


@pytest.mark.parametrize(("lot", "group"), [(0, 8), (1, 9), (2, 8), (3, 8)])
def test_a_lot_decides_which_of_those_that_waited_is_next(lot: int, group: int) -> None:
    plan = inherited()
    plan.gather()
    for process, wanted in ((3, 8), (4, 9), (5, 8)):
        plan.on_ask(process, (wanted,))
    assert {token.group for token in tokens(plan.serve(lot)).values()} == {group}


def test_tokens_that_arrive_late_make_the_home_plan_sooner() -> None:
    plan = two_inside()
    plan.on_ask(3, (8,))
    plan.on_ask(4, (8,))
    plan.on_return(3, 4, True)
    assert plan.haste == 40
    plan.on_return(3, 5, False)
    assert plan.haste == 39
    plan.on_ask(1, (8,))
    plan.on_return(4, 8, True)  # a latecomer's says nothing
    assert plan.haste == 39
    for turn in range(10):
        plan.on_ask(1, (10 + turn,))
        for session in list(plan.sessions):
            for serial in list(session.tokens):
                plan.on_return(session.number, serial, True)
    assert plan.haste == 300
    hasty = two_inside()
    hasty.haste = plan.haste
    assert told(hasty.on_ask(3, (8,)), Token) == [3]  # one against two: too early without haste


# -- a kept token ------------------------------------------------------------------------------------------


def kept() -> Run:
    run = Run("home-gme", 3)
    for _ in range(2):
        run.ask(1, 7)
        run.settle()
        run.leave(1)
        run.settle()
    return run


def test_the_second_token_of_a_session_is_kept_and_reused_for_nothing() -> None:
    run = kept()
    cost = len(run.sent)
    for _ in range(5):
        run.ask(1, 7)
        run.leave(1)
    assert len(run.sent) == cost
    assert len(run.entries) == 7


def test_a_kept_token_is_recalled_and_goes_straight_to_the_next_session() -> None:
    run = kept()
    run.ask(2, 8)
    run.settle()
    assert run.inside() == [2]


def test_the_keeper_of_a_token_may_ask_for_another_group() -> None:
    run = kept()
    run.ask(1, 8)
    run.settle()
    assert run.inside() == [1]
    assert run.entries[-1] == (1, 8, 3)  # the second session is the one in which it was allowed to keep the token


# -- nobody is bothered, nobody waits forever --------------------------------------------------------------


def test_a_process_that_never_asks_receives_nothing_and_keeps_no_state() -> None:
    run = Run("home-gme", 6)
    untouched = freeze(System(HomeGME, 6, {}).node(5))
    for turn in range(20):
        for process in range(5):
            run.ask(process, (turn + process) % 2)
        while run.waiting():
            run.settle()
            for process in run.inside():
                run.leave(process)
        run.settle()
        for process in run.inside():
            run.leave(process)
    run.settle()
    assert len(run.entries) == 100
    assert freeze(run.nodes[5]) == untouched


OPEN = Path(__file__).parents[2] / "docs" / "frontier" / "home_gme_open.py"


def test_the_checker_sees_the_flaw_without_the_rule_and_the_cure_with_it() -> None:
    flaw = fuzz(f"{OPEN}:WatchedOpen", nodes=5, requests=4, groups=2, runs=400)
    assert "a session without its first members goes on" in flaw.verdict()
    assert fuzz(f"{OPEN}:Watched", nodes=5, requests=4, groups=2, runs=400).ok


def test_latecomers_could_keep_a_session_open_for_ever() -> None:
    """One of twenty requests is for the other group: how long does the unluckiest of them wait?"""
    longest = []
    for algorithm in (f"{OPEN}:StaysOpen", "home-gme"):
        result = simulate(
            algorithm, nodes=10, groups=2, skew="50/95", think=5.0, hold=20.0, delay=1.0, requests=200, seed=1
        )
        assert result.ok
        longest.append(result.waiting_time_max)
    assert longest[0] > 2 * longest[1]


# -- costs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaders", ["1", "2", "5"])
def test_no_message_grows_with_the_number_of_processes(leaders: str) -> None:
    """Only with the members of a session."""
    run = Run("home-gme", 50, leaders=leaders)
    for process in range(8):
        run.ask(process, process % 2)
    while run.waiting() or run.inside():
        run.settle()
        for process in run.inside():
            run.leave(process)
    assert max([integers(msg) for msg in run.sent]) <= 4 + 5


def test_how_many_leaders() -> None:
    assert [build_leaders("auto", n) for n in (1, 2, 5, 25, 100, 500)] == [2, 2, 2, 3, 4, 5]
    assert build_leaders("7", 3) == 7
    with pytest.raises(ConfigError, match="leaders must be auto or a number"):
        build_leaders("0", 3)
