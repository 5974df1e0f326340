"""`congenial sweep` and `congenial reproduce`, on a paper that takes a moment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from congenial.cli import main
from congenial.kernel.errors import ConfigError
from congenial.lab import papers, reproduction
from congenial.lab.claims import Claim
from congenial.lab.criteria import At, Trend
from congenial.lab.exhibits import Figure
from congenial.lab.papers.paper import Paper
from congenial.lab.replication import Value
from congenial.lab.reproduction import find_targets
from congenial.lab.sweep import Sweep

MESSAGES = "messages_per_entry"
SWEEP = Sweep(
    ("suzuki-kasami", "ricart-agrawala"), {"nodes": (3, 5, 7)}, {"requests": 10}, (MESSAGES,), precision=0.5, most=3
)
WINDOW: dict[str, Value] = {"warmup": 200, "until": 2000}
PAPER = Paper(
    name="little",
    title="A little paper",
    reference="Nobody 1999, section 4",
    exhibits=(Figure("1a", "Messages", SWEEP, (3, 7), WINDOW), Figure("1b", "Messages again", SWEEP, (3, 7), WINDOW)),
    claims=(
        Claim("a token halves the messages", "4.1", "0.58", At(("1a",), MESSAGES, 7, 0.5, 0.65)),
        Claim("pigs fly", "4.2", "1.5", At(("1a",), MESSAGES, 7, 1.4, 1.6), reason="no wings"),
        Claim("more processes, larger share", "4.3", "falls", Trend(("1b",), MESSAGES)),
    ),
    assumptions=("Nothing.",),
)


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setitem(papers.PAPERS, "little", PAPER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(words)
    return int(end.value.code or 0)


def test_a_figure_leaves_results_pictures_and_a_verdict(little: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("reproduce", "little/1a", "--jobs", "1") == 0
    folder = little / "runs" / "little" / "1a"
    for name in ("results.csv", "results.parquet", "ratios.csv", "ratio.png", "ratio.svg", "comparison.html"):
        assert (folder / name).stat().st_size > 0, name
    verdict = (folder / "verdict.md").read_text()
    assert "| pigs fly (messages per entry) | 4.2 | 1.5 |" in verdict
    assert "**not reproduced**: no wings" in verdict
    assert "congenial reproduce little/1a" in (folder / "sweep.toml").read_text()
    out = capsys.readouterr().out
    assert "1 reproduced, 1 not reproduced" in out
    assert "more processes" not in out, "its figure was not run"
    assert not (little / "runs" / "little" / "1b").exists()


def test_claims_as_json(little: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("reproduce", "little", "--json", "--quick", "--jobs", "1") == 0
    (data,) = json.loads(capsys.readouterr().out)
    assert data["figures"] == ["1a", "1b"]
    assert [claim["verdict"] for claim in data["claims"]][:2] == ["reproduced", "not reproduced"]
    assert set(data["claims"][0]) == {
        "claim", "where", "figures", "metric", "paper", "ours", "value", "half_width", "verdict", "reason",
    }  # fmt: skip
    assert (little / "runs" / "little-quick" / "claims.json").exists()


def test_the_claims_alone_run_nothing(little: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is there is judged, and it is said how long the rest will take."""
    assert run("reproduce", "little", "--claims", "--jobs", "1") == 0
    out = capsys.readouterr().out
    assert "pigs fly" in out
    assert "3 not run" in out
    assert "little: 18 runs to do, about 1 s or more: congenial reproduce little" in out
    assert not list(little.iterdir()), "nothing is written either"
    assert run("reproduce", "little/1a", "--jobs", "1") == 0
    written = sorted((little / "runs").rglob("*"))
    capsys.readouterr()
    assert run("reproduce", "little", "--claims", "--jobs", "1") == 0
    out = capsys.readouterr().out
    assert "1 reproduced, 2 not reproduced" in out
    assert "runs to do" not in out, "1b has the same runs as 1a"
    assert sorted((little / "runs").rglob("*")) == written
    assert run("reproduce", "little", "--claims", "--docs", "docs") == 2


def test_the_page_for_people(little: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("reproduce", "little", "--docs", "docs", "--jobs", "1") == 0
    docs = little / "docs" / "reproductions"
    page = (docs / "little.md").read_text()
    assert "congenial reproduce little --docs docs" in page
    assert "Varied: processes: 3, 5, 7. Fixed: requests 10." in page
    for link in ("little/1a-ratio.svg", "little/1b-ratios.csv", "little/1a-absolute.svg"):
        assert f"({link})" in page
        assert (docs / link).exists()
    assert "the page is docs/reproductions/little.md" in capsys.readouterr().out.replace("\\", "/")


def test_targets() -> None:
    names = [figure.name for figure in find_targets(["token-gme/7b", "token-gme/6a"])[0].exhibits]
    assert names == ["6a", "7b"]
    assert find_targets(["all"])[0] == find_targets(["token-gme"])[0] == find_targets(["token-gme/all"])[0]
    for text, reason in (("tokengme", "there is no paper 'tokengme'"), ("token-gme/8", "token-gme has no figure '8'")):
        with pytest.raises(ConfigError, match=reason):
            find_targets([text])


def test_a_sweep_from_a_file_and_its_folder_repeat_it(little: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (little / "mine.toml").write_text(SWEEP.to_toml().replace('name = "sweep"', 'name = "mine"'))
    assert run("sweep", "mine.toml", "--jobs", "1") == 0
    assert "everything is in runs/mine" in capsys.readouterr().out
    first = (little / "runs" / "mine" / "results.csv").read_bytes()
    assert run("sweep", "runs/mine/sweep.toml", "--jobs", "1", "--out", "again", "--json") == 0
    assert (little / "again" / "results.csv").read_bytes() == first
    data = json.loads(capsys.readouterr().out)
    assert [row["nodes"] for row in data["ratios"]] == [3, 5, 7]


def test_what_cannot_be_run_is_said_in_one_line(little: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (little / "bad.toml").write_text("algorithms = [")
    (little / "file").write_text("")
    for words, reason in (
        ("sweep", "give a file, or at least one --algorithm and one --vary"),
        ("sweep bad.toml", "bad.toml is not TOML"),
        ("sweep absent.toml", "cannot read the sweep in absent.toml: No such file"),
        ("sweep bad.toml -a maekawa", "as a file or by --algorithm"),
        ("sweep -a maekawa --vary nodes=3 --vary nodes=4", "--vary names a parameter twice"),
        ("compare maekawa --jobs -1", "jobs must not be negative, and is -1"),
        ("compare maekawa mekawa", "did you mean 'maekawa'"),
        ("sweep -a maekawa --vary nodes=3 --cluster nowhere://x", "no Dask scheduler answers at nowhere"),
        ("sweep -a maekawa --vary nodes=3 --jobs -1", "jobs must not be negative, and is -1"),
        ("sweep -a maekawa --vary nodes=3 --out file/x", "cannot write the results to file/x: file is no folder"),
        ("reproduce little/9", "little has no figure '9'; it has: 1a, 1b, all"),
    ):
        assert run(*words.split()) == 2, words
        out, err = capsys.readouterr()
        assert reason in err
        assert err.startswith("congenial: ")
        assert (out, err.count("\n")) == ("", 1)


def test_without_the_extra_nothing_is_run(
    little: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("congenial.lab.extras.find_spec", lambda name: None)
    assert run("reproduce", "little") == 2
    assert capsys.readouterr().err == "congenial: this needs matplotlib: pip install 'congenial[lab]'\n"
    assert not (little / "runs").exists()
    assert reproduction.PAPERS is papers.PAPERS
