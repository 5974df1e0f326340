"""`congenial detector`."""

from __future__ import annotations

import json

from shell import Run

from congenial.sim.detection import measure_detector


def test_a_row_for_every_detector(run: Run) -> None:
    ended = run("detector", "heartbeat:10,25", "heartbeat:10,60", "--runs", "2", "--delay", "constant:3")
    assert (ended.code, ended.err) == (0, "")
    assert "detection time" in ended.out
    assert ended.out.count("heartbeat:10") == 2


def test_json_is_what_python_gives(run: Run) -> None:
    words = ["--runs", "3", "--nodes", "3", "--delay", "exponential:5", "--loss", "0.1", "--pause", "0@100-150"]
    ended = run("detector", "heartbeat:10,25", *words, "--seed", "7", "--json")
    same = measure_detector(
        "heartbeat:10,25", nodes=3, runs=3, seed=7, delay="exponential:5", loss=("0.1",), pause=("0@100-150",)
    )
    assert json.loads(ended.out) == [same.as_dict()]
    assert same.mistakes > 0


def test_what_is_no_detector_is_one_line(run: Run) -> None:
    ended = run("detector", "sonar")
    assert ended.code == 2
    assert ended.err == "congenial: a detector is written heartbeat:PERIOD,TIMEOUT, both above 0, not 'sonar'\n"


def test_the_simulator_has_detectors_and_false_suspicions(run: Run) -> None:
    words = ["sim", "suzuki-kasami", "-n", "3", "-r", "3", "--detector", "heartbeat:50,200", "--suspect", "1@10-20"]
    data = json.loads(run(*words, "--json").out)
    assert data["messages_by_kind"]["Heartbeat"] > 0
    assert data["entries"] == 9
