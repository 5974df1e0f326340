"""Crashes, losses, duplicates, suspicions, timers and choices in the explorer, on algorithms with known answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from faulty import (
    Accurate,
    Careless,
    Gambler,
    Hasty,
    HastyTogether,
    Haunted,
    Impatient,
    Ledger,
    OnceAgain,
    OneOfTwo,
    Overstayed,
    Persistent,
    PingPong,
    Polite,
    Ruined,
    Suspicious,
    Tolerant,
    Unlucky,
)

from congenial.checker.check import check
from congenial.checker.events import ARGUMENT, EVENT_MASK, LOSE, PROCESS_SHIFT
from congenial.checker.explore import Explorer
from congenial.checker.fuzz import fuzz
from congenial.checker.replay import replay, write_trace
from congenial.checker.result import CheckResult
from congenial.checker.rules import Rules
from congenial.checker.world import World
from congenial.kernel.errors import ConfigError
from congenial.kernel.node import Node
from congenial.systems.system import System


def verdict(algorithm: type[Node], **system: Any) -> str:
    result = check(algorithm, **{"nodes": 2, "requests": 1, **system})
    return result.counterexample.kind if result.counterexample is not None else "ok" if result.complete else "limit"


def count(result: CheckResult, event: str) -> int:
    assert result.counterexample is not None
    return len([action for action in result.counterexample.actions if action.event == event])


@pytest.mark.parametrize("reduce", [True, False])
def test_without_faults_nothing_is_wrong(reduce: bool) -> None:
    for algorithm in (Polite, Tolerant, OnceAgain, Suspicious, Ledger, Careless, Gambler):
        nodes = 1 if issubclass(algorithm, Ledger) else 2
        assert verdict(algorithm, nodes=nodes, reduce=reduce) == "ok", algorithm


# -- losses ------------------------------------------------------------------------------------------------


def test_one_lost_message_is_enough_to_wait_for_ever() -> None:
    result = check(Polite, nodes=2, requests=1, losses=3)
    assert result.deadlocks == 1
    assert count(result, "drop") == 1


def test_a_process_that_asks_once_more_survives_one_loss_and_not_two() -> None:
    assert verdict(OnceAgain, losses=1) == "ok"
    result = check(OnceAgain, nodes=2, requests=1, losses=2)
    assert result.deadlocks == 1
    assert count(result, "drop") == 2


def test_a_process_that_asks_again_and_again_survives_losses() -> None:
    assert verdict(Persistent, losses=2, timers="patient") == "ok"


# -- duplicates --------------------------------------------------------------------------------------------


def test_a_message_delivered_twice() -> None:
    result = check(Polite, nodes=2, requests=1, duplicates=1)
    assert result.counterexample is not None
    assert result.counterexample.kind == "illegal step"
    assert [action.again for action in result.counterexample.actions].count(True) == 1
    assert verdict(Tolerant, duplicates=2) == "ok"


# -- crashes -----------------------------------------------------------------------------------------------


def test_a_crash_loses_what_is_under_way_to_the_process() -> None:
    result = check(Tolerant, nodes=2, requests=1, crashes=2)
    assert result.deadlocks == 1
    assert count(result, "crash") == 1


def test_a_crash_is_suspected_by_algorithms_with_a_detector() -> None:
    assert verdict(Suspicious, crashes=1) == "ok"


def test_what_was_saved_is_there_after_the_crash_and_what_was_not_is_not() -> None:
    assert verdict(Ledger, nodes=1, requests=2, crashes=1) == "ok"
    result = check(Careless, nodes=1, requests=2, crashes=1)
    assert result.violations == 1
    assert [action.event for action in result.counterexample.actions] == [  # type: ignore[union-attr]
        "request",
        "crash",
        "recover",
        "request",
    ]


def test_a_crashed_process_recovers_in_the_end_or_never() -> None:
    assert verdict(Persistent, crashes=1, timers="patient") == "ok"
    assert verdict(Persistent, crashes=1, timers="patient", recovery=False) == "starvation"
    assert verdict(Polite, crashes=1, recovery=False) == "deadlock"


def test_a_process_may_be_down_for_longer_than_any_timer() -> None:
    result = check(Impatient, nodes=2, requests=1, crashes=1, timers="patient")
    assert result.violations == 1
    assert (count(result, "timer"), count(result, "recover")) == (3, 0)


# -- suspicions, timers, choices ---------------------------------------------------------------------------


def test_false_suspicions_are_counted() -> None:
    """A process that suspects nobody enters once answered, one that does earlier: more states, with each suspicion."""
    states = [check(Suspicious, nodes=2, requests=1, suspicions=budget, reduce=False).states for budget in range(3)]
    assert states[0] < states[1] < states[2]


def test_timers_run_out_at_any_time_or_when_nothing_else_can_happen() -> None:
    assert verdict(Hasty, timers="free") == "illegal step"
    assert verdict(Hasty, timers="patient") == "ok"
    with pytest.raises(ConfigError):
        check(Hasty, timers="never")


def test_timers_run_out_when_no_message_is_under_way() -> None:
    assert verdict(Overstayed, timers="patient") == "ok"
    assert verdict(Overstayed, timers="quiet") == "illegal step"
    assert verdict(Hasty, timers="quiet") == "ok"


@pytest.mark.parametrize("timers", ["quiet", "patient"])
def test_timers_wait_where_all_enter_together_too(timers: str) -> None:
    """That case is explored by itself, after the rest."""
    assert verdict(HastyTogether, timers=timers) == "ok"


@pytest.mark.parametrize("timers", ["quiet", "patient"])
def test_a_timer_that_is_set_runs_out_in_the_end(timers: str) -> None:
    """Though it cannot while messages are under way, and another timer has some sent again and again."""
    assert verdict(OneOfTwo, timers=timers) == "ok"


def test_timers_are_as_the_algorithm_needs_them() -> None:
    assert verdict(Accurate) == "ok"
    assert verdict(Accurate, timers="free") == "illegal step"


def test_random_schedules_treat_timers_and_recoveries_alike() -> None:
    def found(algorithm: type[Node], **system: Any) -> str:
        result = fuzz(algorithm, nodes=2, requests=1, runs=3000, **system)
        return result.counterexample.kind if result.counterexample is not None else "ok"

    assert found(Accurate) == "ok"
    assert found(Accurate, timers="free") == "illegal step"
    assert found(Overstayed, timers="patient") == "ok"
    assert found(Overstayed, timers="quiet") == "illegal step"
    assert found(Impatient, crashes=1, timers="patient") == "illegal step"
    assert found(Polite, crashes=1, recovery=False) == "deadlock"


@pytest.mark.parametrize("reduce", [True, False])
def test_every_choice_is_tried(reduce: bool) -> None:
    result = check(Gambler, nodes=1, requests=1, reduce=reduce)
    assert result.ok
    assert result.states == 1 + 6 + 6  # idle; inside and out again, with each of six throws
    stuck = check(Unlucky, nodes=1, requests=1, reduce=reduce)
    assert stuck.deadlocks == 1
    assert stuck.counterexample is not None
    assert stuck.counterexample.actions[0].choices == (1, 2)


@pytest.mark.parametrize(("algorithm", "crashes", "choices"), [(Ruined, 0, (1, 2)), (Haunted, 1, (1,))])
def test_a_step_that_fails_can_be_replayed_with_its_choices(
    algorithm: type[Node], crashes: int, choices: tuple[int, ...], tmp_path: Path
) -> None:
    found = check(algorithm, nodes=1, requests=1, crashes=crashes).counterexample
    assert found is not None
    assert found.kind == "illegal step"
    assert found.actions[-1].choices == found.events[-1].choices == choices
    path = tmp_path / "failed.ndjson"
    write_trace(path, f"{Path(__file__).with_name('faulty.py')}:{algorithm.__name__}", 1, {}, False, found.events)
    assert replay(path).verdict() == found.verdict()


# -- going on forever --------------------------------------------------------------------------------------


@pytest.mark.parametrize("reduce", [True, False])
def test_messages_that_never_come_to_rest_while_somebody_waits(reduce: bool) -> None:
    assert verdict(PingPong, reduce=reduce) == "starvation"


def test_a_limit_is_kept_and_told() -> None:
    for limit in range(1, 30):
        result = check(PingPong, nodes=2, requests=1, limit=limit)
        assert result.complete or result.counterexample is not None or "not all were seen" in result.verdict()
        assert result.states <= limit + 5


@pytest.mark.parametrize("vanishing", [True, False])
def test_what_was_sent_last_may_get_lost_with_the_sender(vanishing: bool) -> None:
    rules = Rules(requests=1, crashes=1, victim=1, recovery=False, vanishing=vanishing)
    explorer = Explorer(World(System(Tolerant, 2), rules), 10_000)
    explorer.run(stop_at_first=False)
    assert explorer.complete
    losses = [int(label) for label in explorer.edges.labels if int(label) & EVENT_MASK & ~ARGUMENT == LOSE]
    assert {label >> PROCESS_SHIFT & 255 for label in losses} == ({0, 1} if vanishing else {1})
