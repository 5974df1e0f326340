"""The laboratory's functions, as a program calls them: `compare`, `sweep`, `reproduce`."""

from __future__ import annotations

import doctest
import json
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from standin import TINY

from congenial.algorithms.token.suzuki_kasami import SuzukiKasami
from congenial.kernel.errors import ConfigError
from congenial.lab.api import Status, Sweep, compare, reproduce, sweep
from congenial.sim.chance import Uniform
from congenial.sim.faults import Outage
from congenial.sim.result import Result
from congenial.sim.simulate import simulate

SMALL = Sweep(["suzuki-kasami", "ricart-agrawala"], {"nodes": [3, 5]}, {"requests": 10}, least=2, most=2)


@pytest.mark.parametrize("module", ["api", "sweep", "steps"])
@pytest.mark.deep
def test_the_examples_in_docstrings(module: str) -> None:
    done = doctest.testmod(import_module(f"congenial.lab.{module}"))
    assert done.attempted > 0
    assert done.failed == 0


# -- compare -------------------------------------------------------------------------------------------------


def measured(result: Result) -> Result:
    return replace(result, deliveries_per_second=0.0)  # how fast it ran


def test_a_comparison_is_what_the_simulations_are_one_by_one() -> None:
    made = compare(["suzuki-kasami", SuzukiKasami], nodes=4, requests=5, repeat=3, seed=7)
    alone = simulate("suzuki-kasami", nodes=4, requests=5, repeat=3, seed=7)
    assert [measured(result) for result in made.results] == [measured(alone)] * 2
    assert made.ok
    assert json.loads(json.dumps(made.as_dict()))["results"][0]["messages"] == alone.messages
    assert [row["waiting_time_mean"] for row in made.records()] == [alone.waiting_time_mean] * 2


def test_a_comparison_on_several_processes_is_the_same() -> None:
    reports: list[Status] = []
    kwargs: dict[str, Any] = {"nodes": 4, "requests": 5, "options": {"tree": "star"}, "loss": ("0.5",)}
    names = ["suzuki-kasami", "raymond-tree"]
    here = compare(names, **kwargs)
    there = compare(names, jobs=2, progress=reports.append, **kwargs)
    assert [measured(result) for result in there.results] == [measured(result) for result in here.results]
    assert not here.ok, "both lose messages"
    assert there.results[0].trace, "the last events of a run that went wrong come along"
    assert (len(reports), reports[-1].total) == (2, 2 * 4 * 5)


def test_faults_and_delays_as_values_or_as_texts() -> None:
    values: dict[str, Any] = {"delay": Uniform(5, 15), "pause": [Outage(1, 100, 200), Outage(2, 300, 400)]}
    texts: dict[str, Any] = {"delay": "uniform:5,15", "pause": ["1@100-200", "2@300-400"]}
    names = ["suzuki-kasami", "ricart-agrawala"]
    made = [compare(names, nodes=4, requests=5, jobs=2, **given).records() for given in (values, texts)]
    for rows in made:
        for row in rows:
            row["deliveries_per_second"] = 0
    assert made[0] == made[1]
    first, second = (Sweep(names, {"nodes": [4]}, given) for given in (values, texts))
    assert first == second
    assert first.fixed == {"delay": "uniform:5,15", "pause": "1@100-200 2@300-400"}


def test_a_comparison_prints_as_a_table() -> None:
    lines = str(compare(["ricart-agrawala", "maekawa"], nodes=4, requests=5)).splitlines()
    assert lines[0].split()[:3] == ["algorithm", "messages", "/"]
    assert [line.split()[0] for line in lines[2:]] == ["ricart-agrawala", "maekawa"]
    assert lines[2].split()[1] == "6"
    assert "DEADLOCK" in str(compare(["ricart-agrawala"], nodes=3, loss=("1",)))


def test_a_comparison_tells_its_progress() -> None:
    reports: list[Status] = []
    compare(["ricart-agrawala", "maekawa"], nodes=4, requests=2000, progress=reports.append)
    assert {report.total for report in reports} == {16_000}
    assert [report.done for report in reports] == sorted([report.done for report in reports])
    assert reports[-1].done > 8000


@pytest.mark.parametrize(
    ("algorithms", "kwargs", "reason"),
    [
        ("maekawa", {}, "algorithms should be a list"),
        ([], {}, "algorithms should be a list"),
        (["mekawa"], {}, "did you mean 'maekawa'"),
        (["maekawa"], {"nodez": 3}, r"compare\(\) got an unexpected keyword argument 'nodez'"),
        (["maekawa"], {"nodes": 0}, "nodes must be at least 1"),
        (["maekawa"], {"options": {"tree": "star"}}, "none of maekawa has an option tree"),
        (["maekawa"], {"repeat": 0}, "repeat must be at least 1"),
        (["maekawa"], {"jobs": -1}, "jobs must not be negative, and is -1"),
    ],
)
def test_what_cannot_be_compared(algorithms: Any, kwargs: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        compare(algorithms, **kwargs)


# -- sweep ---------------------------------------------------------------------------------------------------


def test_a_sweep_has_means_ratios_and_records(tmp_path: Path) -> None:
    reports: list[Status] = []
    result = sweep(SMALL, progress=reports.append)
    assert [row["messages_per_entry"] for row in result.means()][1::2] == [4.0, 8.0]
    assert [(row["algorithm"], row["against"]) for row in result.ratios()] == [("suzuki-kasami", "ricart-agrawala")] * 2
    assert [row["seed"] for row in result.records()] == [1, 2] * 4
    assert set(result.as_dict()) == {"results", "ratios"}
    result.to_csv(tmp_path / "means.csv")
    assert (tmp_path / "means.csv").read_text().count("\n") == 5
    assert result.to_frame().height == 4
    assert (reports[-1].done, reports[-1].total) == (8, 8)
    text = str(result)
    assert text.startswith("means")
    assert "ratios to ricart-agrawala" in text


def test_a_sweep_says_where_it_is_less_precise_than_asked() -> None:
    assert str(sweep(replace(SMALL, precision=1e-9))).endswith("2 of 2 points are less precise than 0% after 2 runs")
    assert not sweep(replace(SMALL, precision=100.0)).imprecise()


@pytest.mark.deep
def test_a_sweep_from_a_file_leaves_its_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(SMALL.to_toml())
    first = sweep(tmp_path / "mine.toml", folder=tmp_path / "run")
    assert first.sweep.algorithms == SMALL.algorithms
    assert (tmp_path / "run" / "comparison.html").exists()
    reports: list[Status] = []
    again = sweep(str(tmp_path / "mine.toml"), folder=str(tmp_path / "run"), progress=reports.append)
    assert again.means() == first.means()
    assert reports == [Status(0, 0)], "everything was there already"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"algorithms": "maekawa"}, "algorithms should be a list, not 'maekawa'"),
        ({"vary": [3]}, "vary should be a table"),
        ({"vary": {"nodes": 3}}, "nodes should vary over a list of values"),
        ({"fixed": {"nodez": 3}}, "fixed: there is no parameter 'nodez'"),
        ({"seed": "one"}, "seed should be a whole number, not 'one'"),
        ({"name": 3}, "name should be a text, not 3"),
        ({"metrics": ["speed"]}, "metrics: there is no metric 'speed'"),
    ],
)
def test_a_sweep_that_is_wrong_names_the_parameter(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        replace(TINY, **changed)


# -- reproduce -----------------------------------------------------------------------------------------------


@pytest.mark.deep
def test_a_paper_without_a_folder_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = reproduce("wme", figures=["table1"])
    assert {item.verdict for item in made.claims} == {"reproduced"}
    assert str(made).endswith("16 reproduced")
    assert made.as_dict()["figures"] == ["table1"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.deep
def test_a_paper_with_a_folder_and_a_page(tmp_path: Path) -> None:
    reproduce("wme/table1", folder=tmp_path / "run", docs=tmp_path / "docs")
    assert (tmp_path / "run" / "table1" / "verdict.md").exists()
    assert "## Claims: 16 reproduced" in (tmp_path / "docs" / "reproductions" / "wme.md").read_text()


@pytest.mark.parametrize(
    ("paper", "kwargs", "reason"),
    [
        ("wmd", {}, "there is no paper 'wmd'"),
        ("all", {}, "paper should name one paper, not 'all'"),
        ("wme", {"figures": ["6a"]}, "wme has no figure '6a'"),
        ("wme", {"docs": "x"}, "docs needs a folder"),
        ("wme", {"jobs": -2}, "jobs must not be negative"),
    ],
)
def test_what_cannot_be_reproduced(paper: str, kwargs: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        reproduce(paper, **kwargs)


# -- extras --------------------------------------------------------------------------------------------------


@pytest.mark.deep
def test_extras_are_needed_only_for_folders_frames_and_clusters(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("congenial.lab.extras.find_spec", lambda name: None)
    result = sweep(SMALL)
    assert reproduce("wme").claims
    for needs_an_extra in (
        lambda: sweep(SMALL, folder=tmp_path / "run"),
        lambda: reproduce("wme", folder=tmp_path / "run"),
        result.to_frame,
    ):
        with pytest.raises(ConfigError, match=r"this needs (matplotlib|polars): pip install 'congenial\[lab\]'"):
            needs_an_extra()
    with pytest.raises(ConfigError, match=r"this needs distributed: pip install 'congenial\[cluster\]'"):
        sweep(SMALL, cluster="tcp://nowhere")
    assert not (tmp_path / "run").exists()


def test_importing_the_functions_does_not_load_the_extras() -> None:
    heavy = ("matplotlib", "polars", "distributed", "numpy", "rich", "typer")
    check = f"import sys, congenial.lab.api; print([m for m in sys.modules if m.startswith({heavy})])"
    ended = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"


@pytest.mark.parametrize("what", [{"algorithms": ["lamport"]}, None, 3])
def test_a_sweep_is_a_sweep_or_a_file(what: Any) -> None:
    with pytest.raises(ConfigError, match="what must be a Sweep or the path of a TOML file, not "):
        sweep(what)
