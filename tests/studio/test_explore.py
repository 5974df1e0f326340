"""Exploring by hand: which steps are possible, where they lead, and what a search from there finds."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from congenial.checker.check import check
from congenial.checker.replay import replay, write_trace
from congenial.checker.stepper import Action
from congenial.kernel.errors import ConfigError
from congenial.studio.explore import ExploredSystem, Place, as_json, from_json, is_fault, look_for_fault, told, traced
from congenial.systems.catalogue import SOUND, find_algorithm
from congenial.systems.system import System


def explored_system(
    name: str, n: int = 3, requests: int = 2, groups: int = 1, fifo: bool | None = None
) -> ExploredSystem:
    return ExploredSystem.of(name, System(find_algorithm(name), n), requests, groups, fifo)


def words(place: Place, faults: bool = False) -> list[str]:
    return [told(step, place) for step in place.possible if is_fault(step, place) == faults]


def test_at_first_everybody_may_ask() -> None:
    place = Place(explored_system("ra1", groups=2), [])
    assert words(place) == [f"{p} asks to enter group {group}" for p in range(3) for group in range(2)]
    assert "1 crashes" in words(place, faults=True)
    assert "0 suspects 2" in words(place, faults=True)
    assert not place.kind


def test_a_step_leads_to_others() -> None:
    explored = explored_system("suzuki-kasami")
    place = Place(explored, [Action("request", 1, groups=(0,))])
    assert words(place)[:2] == ["0 receives Request(number=1) from 1", "2 receives Request(number=1) from 1"]
    assert "Request(number=1) from 1 to 0 is lost" in words(place, faults=True)
    assert "0 receives Request(number=1) from 1, which stays under way" in words(place, faults=True)
    place = Place(explored, [*place.path, place.possible[0]])
    assert "1 receives Privilege(" in " ".join(words(place))


def test_crashed_processes_recover_are_suspected_and_lose_their_messages() -> None:
    explored = explored_system("suzuki-kasami")
    place = Place(explored, [Action("request", 1, groups=(0,)), Action("crash", 0)])
    said = words(place)
    assert "0 recovers" in said
    assert "2 suspects 0" in said
    assert not any([text.startswith("0 receives") for text in said])
    lost = next(step for step in place.possible if step.event == "drop" and step.node == 0)
    assert not is_fault(lost, place)  # it must be lost in the end: nobody is there to receive it


def test_a_process_asks_as_often_as_it_may() -> None:
    explored = explored_system("suzuki-kasami", n=1, requests=2)
    stay = [Action("request", 0, groups=(0,)), Action("exit", 0)]
    assert words(Place(explored, stay)) == ["0 asks to enter"]
    place = Place(explored, [*stay, *stay])
    assert words(place) == []
    assert not place.kind


@pytest.mark.parametrize("name", list(SOUND))
def test_whatever_is_offered_can_be_taken(name: str) -> None:
    """A random walk, without faults: nothing goes wrong, and everything that was said to be possible is."""
    problem = find_algorithm(name).spec.problem
    assert problem is not None
    explored = explored_system(name, requests=1, groups=2 if problem.groups else 1)
    rng = random.Random(1)
    path: list[Action] = []
    for _ in range(25):
        place = Place(explored, path)
        assert not place.kind, place.fault
        ordinary = [step for step in place.possible if not is_fault(step, place)]
        if not ordinary:
            break
        assert len({told(step, place) for step in ordinary}) >= 1
        path.append(rng.choice(ordinary))
        assert from_json([as_json(step) for step in path], 3) == path


def test_what_is_wrong_is_said_and_nothing_follows() -> None:
    found = check("maekawa", nodes=3, order="any").counterexample
    assert found is not None
    place = Place(explored_system("maekawa", fifo=False), [*found.actions, Action("exit", 2)])
    assert place.kind == found.kind
    assert place.fault == found.text
    assert place.possible == []
    assert len(place.path) == len(found.actions)


def test_a_deadlock_is_seen() -> None:
    explored = explored_system("suzuki-kasami", n=2, requests=1)
    place = Place(explored, [Action("request", 1, groups=(0,)), Action("drop", 0, 1, 1)])
    assert not place.kind  # process 0 has not asked yet
    path = [Action("request", 0, groups=(0,)), Action("exit", 0), Action("request", 1, groups=(0,))]
    place = Place(explored, [*path, Action("drop", 0, 1, 1)])
    assert (place.kind, place.fault) == ("deadlock", "nothing more can happen, and these wait: 1")


def test_a_search_from_here_finds_what_is_wrong_and_goes_on_from_here() -> None:
    explored = explored_system("maekawa", fifo=False)
    begun = [Action("request", 1, groups=(0,))]
    found = look_for_fault(explored, begun, 0)
    assert found is not None
    assert found[:1] == begun
    assert Place(explored, found).kind


def test_a_search_in_a_sound_algorithm_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("congenial.studio.explore.SEARCH_RUNS", 20)
    assert look_for_fault(explored_system("ricart-agrawala"), [], 0) is None


def test_a_path_is_saved_as_a_trace_that_replay_takes(tmp_path: Path) -> None:
    explored = explored_system("token-gme", groups=2)
    path = [Action("request", 1, groups=(1,)), Action("deliver", 0, 1, 1), Action("deliver", 1, 0, 2)]
    place = Place(explored, path)
    (tmp_path / "path.ndjson").write_text(place.trace())
    again = replay(tmp_path / "path.ndjson")
    assert again.ok
    assert list(again.actions) == path
    opened, steps = traced(f"{tmp_path}/path.ndjson")
    assert steps == path
    assert Place(opened, steps).recording().events == place.recording().events


def test_a_counterexample_is_opened_with_its_requests_and_groups(tmp_path: Path) -> None:
    found = check("suzuki-kasami", nodes=2, requests=1, losses=1).counterexample
    assert found is not None
    write_trace(f"{tmp_path}/lost.ndjson", "suzuki-kasami", 2, {}, False, found.events)
    explored, steps = traced(f"{tmp_path}/lost.ndjson")
    assert (explored.rules.requests, explored.system.n) == (2, 2)
    assert steps == list(found.actions)


@pytest.mark.parametrize(
    "path",
    ["x", [1], [{}], [{"event": "exit"}], [{"event": "exit", "node": 9}], [{"event": "exit", "node": "0"}],
     [{"event": "request", "node": 0, "groups": ["x"]}], [{"event": "suspect", "node": 0, "peer": 7}]],
    ids=str,
)  # fmt: skip
def test_what_is_no_path_is_refused(path: Any) -> None:
    with pytest.raises(ConfigError):
        from_json(path, 3)


@pytest.mark.parametrize(
    "step",
    [Action("exit", 0), Action("deliver", 0, 1, 5), Action("timer", 0, timer=3), Action("nonsense", 0),
     Action("request", 0), Action("recover", 0), Action("suspect", 0)],
    ids=str,
)  # fmt: skip
def test_a_step_that_cannot_be_taken_is_refused(step: Action) -> None:
    with pytest.raises(ConfigError, match="step 1 cannot be taken"):
        Place(explored_system("lamport"), [step])
