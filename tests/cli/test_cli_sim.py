"""`congenial sim` and `congenial compare`: what they print, and that every option reaches the scenario."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from shell import Run

from congenial.cli import sim
from congenial.sim.scenario import Scenario
from congenial.sim.simulate import simulate
from congenial.trace_files import read_trace

PROMISED = (
    "algorithm", "nodes", "requests", "entries", "messages", "messages_per_entry", "messages_by_kind",
    "integers_per_entry", "waiting_time_mean", "waiting_time_p99", "sync_delay_mean", "throughput", "concurrency_mean",
    "concurrency_max", "sessions", "simulated_time", "deliveries", "deliveries_per_second", "violations", "seed",
)  # fmt: skip
VOLATILE = "deliveries_per_second"  # the only measure of this machine, not of the algorithm


def test_json_is_one_object_with_all_promised_keys(run: Run) -> None:
    ended = run("sim", "ricart-agrawala", "--nodes", "4", "--requests", "5", "--json")
    assert (ended.code, ended.err, ended.out.count("\n")) == (0, "", 1)
    data = json.loads(ended.out)
    assert set(PROMISED) <= set(data)
    assert (data["entries"], data["messages_per_entry"], data["violations"]) == (20, 6.0, 0)


def test_the_command_line_and_python_give_the_same_result(run: Run) -> None:
    data = json.loads(run("sim", "maekawa", "-n", "9", "-r", "10", "--quorums", "grid", "--seed", "5", "--json").out)
    same = simulate("maekawa", nodes=9, requests=10, options={"quorums": "grid"}, seed=5).as_dict()
    assert {**data, VOLATILE: 0} == {**json.loads(json.dumps(same)), VOLATILE: 0}


def test_the_table_shows_the_measures_and_ends_with_the_verdict(run: Run) -> None:
    ended = run("sim", "suzuki-kasami", "--nodes", "3", "--requests", "4")
    assert ended.code == 0
    assert "12 of 12 requests" in ended.out
    assert "Privilege" in ended.out
    assert ended.out.splitlines()[-1] == "all 12 requests served, no violation"


def test_every_option_reaches_the_scenario(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Any, ...]] = []
    result = simulate("ricart-agrawala", nodes=2, requests=1)

    def spy(scenario: Scenario, *rest: Any) -> Any:
        seen.append((scenario, *rest[:4]))
        return result

    monkeypatch.setattr("congenial.sim.simulate.run", spy)
    monkeypatch.setattr("congenial.cli.sim.check_effects", lambda given: None)  # some have none together
    monkeypatch.setattr("congenial.cli.output.notice_if_long", lambda scenario, repeat: None)  # this cannot be run
    run(
        "sim", "maekawa", "--nodes", "7", "--groups", "5", "--requests", "3", "--think", "1", "--hold", "constant:2",
        "--delay", "uniform:1,2", "--bandwidth", "9", "--skew", "20/80", "--unordered", "--quorums", "plane",
        "--tree", "star", "--set", "round=3", "--load", "burst", "--seed", "4", "--repeat", "2", "--precision", "0.5",
        "--warmup", "6", "--until", "99", "--loss", "0.1", "--loss", "0.2@5-6", "--duplicate", "0.3",
        "--reorder", "0.4", "--crash", "1@2-3", "--pause", "0.1/5", "--partition", "0,1|2@3-4", "--detection", "8",
        "--trace", "t.ndjson",
    )  # fmt: skip
    expected = Scenario(
        "maekawa", nodes=7, groups=5, requests=3, think="1", hold="constant:2", delay="uniform:1,2", bandwidth=9.0,
        skew="20/80", fifo=False, load="burst", warmup=6.0, until=99.0, loss=("0.1", "0.2@5-6"), duplicate=("0.3",),
        reorder=("0.4",), crash=("1@2-3",), pause=("0.1/5",), partition=("0,1|2@3-4",), detection=8.0,
        options={"quorums": "plane", "tree": "star", "round": "3"},
    )  # fmt: skip
    assert seen == [(expected, 4, 2, 0.5, "t.ndjson")]


def test_without_options_the_scenario_is_the_default_one(run: Run) -> None:
    data = json.loads(run("sim", "raymond-tree", "--json").out)
    same = simulate("raymond-tree").as_dict()
    assert {**data, VOLATILE: 0} == {**json.loads(json.dumps(same)), VOLATILE: 0}


def test_a_deadlock_shows_the_last_events_and_the_waiting_processes(run: Run) -> None:
    ended = run("sim", "suzuki-kasami", "--nodes", "3", "--loss", "1", "--requests", "1")
    assert ended.code == 1
    assert "the last events:" in ended.out
    assert "never receives Request(number=1)" in ended.out
    assert ended.out.splitlines()[-1].startswith("DEADLOCK")
    data = run("sim", "suzuki-kasami", "--nodes", "3", "--loss", "1", "--requests", "1", "--json")
    assert data.code == 1
    assert json.loads(data.out)["waiting"] == [1, 2]


def test_a_trace_file_holds_every_event(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.ndjson"
    data = json.loads(run("sim", "maekawa", "-n", "3", "-r", "2", "--trace", str(path), "--json").out)
    events = read_trace(path)
    assert len([e for e in events if e.event == "enter"]) == data["entries"] == 6
    assert len([e for e in events if e.event == "deliver"]) == data["deliveries"]


def test_repeated_runs_have_intervals(run: Run) -> None:
    data = json.loads(run("sim", "maekawa", "-n", "4", "-r", "5", "--repeat", "3", "--json").out)
    assert data["runs"] == 3
    assert data["intervals"]["waiting_time_mean"] > 0
    assert "±" in run("sim", "maekawa", "-n", "4", "-r", "5", "--repeat", "3").out


def test_a_users_own_algorithm_runs(run: Run, central_lock: str) -> None:
    data = json.loads(run("sim", central_lock, "--nodes", "5", "--requests", "10", "--json").out)
    assert (data["algorithm"], data["entries"]) == ("central-lock", 50)
    assert data["messages"] == 3 * 40  # process 0 asks itself


def test_hops(run: Run, central_lock: str) -> None:
    data = json.loads(run("sim", "ricart-agrawala", "--nodes", "6", "--hops", "--json").out)
    assert data["waiting_hops"] == {"least": 2, "mean": 2, "most": 2, "law": "2", "law_kept": True}
    assert data["sync_delay_hops"]["mean"] == 1
    assert "0 .. 2" in run("sim", central_lock, "--hops").out


def test_hops_refuses_a_load_of_its_own(run: Run) -> None:
    assert "--hops has its own load" in run("sim", "ricart-agrawala", "--hops", "--think", "3").refused()


def test_compare_prints_one_row_each_under_the_same_load(run: Run, central_lock: str) -> None:
    words = ("compare", "maekawa", "raymond-tree", central_lock, "-n", "7", "-r", "5", "--tree", "star")
    rows = json.loads(run(*words, "--json").out)
    assert [row["algorithm"] for row in rows] == ["maekawa", "raymond-tree", "central-lock"]
    star = simulate("raymond-tree", nodes=7, requests=5, options={"tree": "star"})
    assert rows[1]["messages"] == star.messages
    table = run(*words, "--markdown").out.splitlines()
    assert len(table) == 2 + 3
    assert all(line.startswith("|") and line.endswith("|") for line in table)


def test_compare_says_what_went_wrong(run: Run) -> None:
    ended = run("compare", "suzuki-kasami", "raymond-tree", "-n", "3", "--loss", "1")
    assert ended.code == 1
    assert "suzuki-kasami: DEADLOCK" in ended.out
    assert "raymond-tree: DEADLOCK" in ended.out


def test_the_examples_in_the_help_are_shown(run: Run) -> None:
    ended = run("sim", "--help")
    assert ended.code == 0
    shown = " ".join(ended.out.split())
    for line in sim.EXAMPLES.strip().splitlines():
        assert line in shown


def test_progress_is_a_bar_on_a_terminal_only(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in run("sim", "maekawa", "-n", "3", "-r", "2").err
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    ended = run("sim", "maekawa", "-n", "3", "-r", "2", "--json")
    assert "maekawa" in ended.err
    assert json.loads(ended.out)["entries"] == 6
