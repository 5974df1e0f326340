"""What a page is given: the events in columns, and the states of the processes as differences."""

from __future__ import annotations

from typing import Any

import pytest

from congenial.checker.check import check
from congenial.checker.replay import write_trace
from congenial.kernel.node import Node
from congenial.kernel.state import state_of
from congenial.kernel.trace import Trace
from congenial.sim.scenario import Scenario
from congenial.studio.document import run_document
from congenial.studio.recording import Recording, counterexample, replayed, simulated
from congenial.studio.states import GONE, MISSING, States, states_document
from congenial.systems.catalogue import ALGORITHMS, find_algorithm

NAMES = [*ALGORITHMS, "raymond-tree+restart", "token-gme+restart", "suzuki-kasami+epochs", "ra1+epochs"]
TREE = Scenario("raymond-tree", nodes=4, requests=3)


def scenario(name: str, **more: Any) -> Scenario:
    problem = find_algorithm(name).spec.problem
    assert problem is not None
    groups = 3 if problem.groups else 1
    return Scenario(name, nodes=5, requests=3, groups=groups, operations=2 if problem.operations else 0, **more)


def final(document: dict[str, Any], recording: Recording, process: int) -> dict[str, str]:
    """The variables of a process after the last step, put together as a page does it."""
    names = [variable["name"] for variable in document["variables"]]
    state: dict[int, int] = {}
    initial = document["initial"][process]
    state.update(zip(initial[::2], initial[1::2], strict=True))
    at = 0
    for event, count in zip(document["steps"], document["counts"], strict=True):
        changes = document["changes"][2 * at : 2 * (at + count)]
        at += count
        if recording.events[event].node == process:
            state.update(zip(changes[::2], changes[1::2], strict=True))
    return {names[variable]: document["values"][value] for variable, value in state.items() if value != GONE}


def expected(node: Node, recording: Recording) -> dict[str, str]:
    """The variables of a node, from the node itself."""
    table = States(recording)
    found: list[int] = []
    table._compare("", type(node), MISSING, state_of(node), found)
    names, values = list(table.variables), list(table.values)
    return {names[variable]: values[value] for variable, value in zip(found[::2], found[1::2], strict=True)}


@pytest.mark.parametrize("name", NAMES)
def test_the_states_are_those_of_the_simulated_nodes(name: str) -> None:
    run = scenario(name)
    recording = simulated(run, seed=3)
    document: dict[str, Any] = states_document(recording)
    assert document["note"] == ""
    assert document["end"] == len(recording.events)
    engine = run.engine(3, Trace())
    engine.run()
    for process, node in enumerate(engine.nodes):
        assert final(document, recording, process) == expected(node, recording)


def test_a_crashed_process_has_no_state_and_a_recovered_one_has() -> None:
    run = scenario("suzuki-kasami+epochs", crash="1@20-60", detection=5, until=2000)
    recording = simulated(run)
    document: dict[str, Any] = states_document(recording)
    crash = next(index for index, event in enumerate(recording.events) if event.event == "crash")
    place = document["steps"].index(crash)
    start = sum(document["counts"][:place])
    changes = document["changes"][2 * start : 2 * (start + document["counts"][place])]
    assert set(changes[1::2]) == {GONE}
    assert final(document, recording, 1)["phase"] in ("idle", "waiting", "inside")


def test_a_column_has_a_place_for_each_event() -> None:
    recording = simulated(TREE)
    document: dict[str, Any] = run_document(recording)
    assert {len(document[name]) for name in ("t", "kind", "node", "peer", "ref")} == {len(recording.events)}
    kinds = [document["kinds"][number] for number in document["kind"]]
    assert kinds == [event.event for event in recording.events]
    for kind, node, ref, event in zip(kinds, document["node"], document["ref"], recording.events, strict=True):
        assert node == event.node
        if kind == "send":
            assert document["messages"][ref] == [event.message, event.fields]
        elif kind == "deliver":
            assert recording.events[ref].id == event.id
        elif kind == "enter":
            assert document["values"][ref] == [event.group, event.fence]


def test_equal_messages_are_kept_once() -> None:
    document: dict[str, Any] = run_document(simulated(TREE))
    assert len(document["messages"]) < document["kind"].count(document["kinds"].index("send"))


def test_a_partition_names_its_sides() -> None:
    recording = simulated(Scenario("lamport", nodes=4, requests=2, partition="0,1|2,3@5-9", until=100))
    document: dict[str, Any] = run_document(recording)
    cut = document["kind"].index(document["kinds"].index("cut"))
    assert document["values"][document["ref"][cut]] == [[0, 1], [2, 3]]
    assert "the network splits: 0, 1 | 2, 3" in str(recording.events[cut])


def test_the_names_of_the_paper_and_the_comments_come_from_the_margin() -> None:
    document: dict[str, Any] = states_document(simulated(TREE))
    notes = {variable["name"]: variable for variable in document["variables"]}
    assert notes["queue"] == {"name": "queue", "comment": "neighbours that want it, or me", "paper": "REQUEST_Q"}
    assert notes["entries"]["paper"] == ""


def test_a_step_has_the_source_that_it_may_run() -> None:
    document: dict[str, Any] = states_document(simulated(TREE))
    first, second = [document["blocks"][number] for number in document["handlers"]["deliver Privilege"]]
    assert (first["name"], second["name"]) == ("RaymondTree.receive", "RaymondTree._serve")
    assert first["file"] == "algorithms/token/raymond_tree.py"
    lines = first["text"].splitlines()
    dim = [lines[number - first["line"]].strip() for number in first["dim"]]
    assert dim == ["if isinstance(msg, Request):", "self.queue.append(src)"]


def test_inherited_methods_are_found_and_wrapped_nodes_too() -> None:
    document: dict[str, Any] = states_document(simulated(scenario("token-gme-types", until=200)))
    names = [document["blocks"][number]["name"] for number in document["handlers"]["deliver Request"]]
    assert "TokenGME.receive" in names
    document = states_document(simulated(scenario("raymond-tree+restart")))
    names = [document["blocks"][number]["name"] for number in document["handlers"]["request"]]
    assert "RaymondTree.request" in names


def test_a_long_run_is_shown_as_far_as_a_page_can() -> None:
    recording = simulated(TREE, most=50)
    assert len(recording.events) == 50
    assert recording.cut_short
    assert recording.ok
    assert states_document(recording)["note"] == ""


def test_a_run_that_goes_wrong_is_recorded_until_it_does() -> None:
    recording = simulated(Scenario("suzuki-kasami", nodes=4, requests=5, loss="0.2"), seed=2)
    assert not recording.ok
    assert "DEADLOCK" in recording.verdict


def test_a_counterexample_is_a_recording() -> None:
    found = check("maekawa", nodes=3, order="any").counterexample
    assert found is not None
    recording = counterexample(found, "maekawa", 3, {}, "check")
    document: dict[str, Any] = run_document(recording)
    assert (document["ok"], document["timed"]) == (False, False)
    assert "cannot make sense" in document["verdict"]
    assert states_document(recording)["note"] == ""


def test_a_replayed_trace_keeps_its_times(tmp_path: Any) -> None:
    from congenial.sim.simulate import run

    path = f"{tmp_path}/run.ndjson"
    run(TREE, seed=5, trace=path)
    recording = replayed(path)
    assert recording.timed
    assert recording.ok
    simulation = simulated(TREE, seed=5)
    # a file keeps nine digits
    assert [round(event.t, 9) for event in simulation.events] == [event.t for event in recording.events]
    assert states_document(recording)["changes"] == states_document(simulation)["changes"]


def test_a_replayed_counterexample_counts_steps(tmp_path: Any) -> None:
    found = check("suzuki-kasami", nodes=2, requests=1, losses=1).counterexample
    assert found is not None
    write_trace(f"{tmp_path}/lost.ndjson", "suzuki-kasami", 2, {}, False, found.events)
    recording = replayed(f"{tmp_path}/lost.ndjson")
    assert not recording.timed
    assert not recording.ok
    assert [event.t for event in recording.events] == [event.t for event in found.events]


def test_events_that_are_no_run_of_the_system_say_so() -> None:
    recording = simulated(TREE)
    without = [event for event in recording.events if event.event != "send" or event.id != 2]
    other = Recording(recording.system, without, (), "", True, seed=1)
    assert states_document(other)["note"] == "message 2 arrives, but was never sent"
    star = Recording(
        Scenario("raymond-tree", nodes=4, options={"tree": "line"}).system(), recording.events, (), "", True
    )
    assert "this is not a run of raymond-tree" in str(states_document(star)["note"])
