"""Pages that people write keep their words when the laboratory makes its parts again; runs of other papers are used."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from congenial.cli import main
from congenial.kernel.errors import ConfigError
from congenial.lab import papers
from congenial.lab.claims import Claim
from congenial.lab.criteria import At
from congenial.lab.exhibits import Figure
from congenial.lab.papers.paper import Paper
from congenial.lab.sweep import Sweep
from congenial.lab.written import made_by, marked, not_older, older_in, parts_of, with_parts

PAGE = f"# Mine\n\nWords.\n\n{marked('a', 'old')}\n\nMore words.\n\n{marked('b', '')}\n\nThe end.\n"


def test_parts_are_replaced_and_words_are_kept() -> None:
    assert parts_of(PAGE) == {"a": "old", "b": ""}
    page = with_parts(PAGE, {"a": "| new |\n\\1 is no group", "b": "## B"}, "page.md")
    assert parts_of(page) == {"a": "| new |\n\\1 is no group", "b": "## B"}
    for words in ("# Mine\n\nWords.\n\n<!--", "-->\n\nMore words.\n\n<!--", "-->\n\nThe end.\n"):
        assert words in page
    assert with_parts(page, {"b": ""}, "page.md") == page.replace("## B", ""), "what is not made again stays"
    assert parts_of("# A page that is made as a whole\n") == {}


def test_a_part_without_a_place_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"page.md has no place for the part 'c', which begins with <!-- made: c -->"):
        with_parts(PAGE, {"a": "", "b": "", "c": ""}, "page.md")


ABOUT_ALL = """# All

Words.

## Older than the code

These are older:

- [first](../first.md): a reason that goes on
  in a second line.
- [second](../second.md): the same.
"""


def test_a_page_that_was_made_again_is_not_called_older() -> None:
    assert older_in(ABOUT_ALL) == ["first", "second"]
    one = not_older(ABOUT_ALL, "first")
    assert older_in(one) == ["second"]
    assert "second line" not in one
    assert one.endswith("These are older:\n\n- [second](../second.md): the same.\n")
    assert not_older(one, "first") == one
    assert not_older(one, "second") == "# All\n\nWords.\n"
    assert not_older(one + "\n## The end\n\nWords.\n", "second") == "# All\n\nWords.\n\n## The end\n\nWords.\n"
    assert older_in("# All\n") == []


SWEEP = Sweep(("suzuki-kasami", "ricart-agrawala"), {"nodes": (3,)}, {"requests": 5}, least=2, most=2)


def little(name: str, *, shares: tuple[str, ...] = ()) -> Paper:
    exhibits = (Figure("1", "One", SWEEP, (3,), {}), Figure("2", "Two", SWEEP, (3,), {}))
    claim = Claim("half the messages", "", "0.5", At(("1",), "messages_per_entry", 3, 0.0, 1.0))
    return Paper(name, f"About {name}", "Ours", exhibits, (claim,), ("Quickly.",), ours=True, shares=shares)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setitem(papers.PAPERS, "first", little("first"))
    monkeypatch.setitem(papers.PAPERS, "second", little("second", shares=("first",)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        main([*words, "--jobs", "1"])
    return int(end.value.code or 0)


def test_a_written_page_is_made_again(place: Path) -> None:
    page = place / "docs" / "first.md"
    assert run("reproduce", "first", "--docs", "docs") == 0
    assert parts_of(page.read_text()) == {}, "nobody has written it"
    names = ("about", "findings", "1", "2")
    page.write_text("# Mine\n\n" + "\n\nWords.\n\n".join([marked(name, "?") for name in names]) + "\n")
    about_all = place / "docs" / "reproductions" / "README.md"
    about_all.parent.mkdir()
    about_all.write_text(ABOUT_ALL)
    assert run("reproduce", "first/2", "--docs", "docs") == 0
    assert about_all.read_text() == ABOUT_ALL, "a part of it is older still"
    made = parts_of(page.read_text())
    assert (made["about"], made["findings"], made["1"]) == ("?", "?", "?"), "they rest on all figures"
    assert made["2"].startswith("## Figure 2: Two\n")
    assert run("reproduce", "first", "--docs", "docs") == 0
    made = parts_of(page.read_text())
    assert made["about"].startswith("Ours. Made by congenial ")
    assert "    congenial reproduce first --docs docs\n" in made["about"]
    assert "| half the messages | " in made["findings"]
    assert page.read_text().count("Words.") == 3
    assert older_in(about_all.read_text()) == ["second"]


def test_a_page_names_the_commit_that_its_code_was_first_run_at(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        author = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
        ended = subprocess.run(["git", *author, *words], cwd=tmp_path, capture_output=True, text=True, check=True)
        return ended.stdout.strip()

    def commit(text: str) -> str:
        module.write_text(text)
        git("add", ".")
        git("commit", "-m", "why")
        return git("rev-parse", "--short", "HEAD")

    module = tmp_path / "src" / "congenial" / "a.py"
    module.parent.mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    codes = ("0" * 12, "1" * 12)
    git("init")
    first = commit("1")
    page = f"Made by congenial 1.0 ({made_by(codes[0], '', tmp_path / 'docs')}) with"
    assert f"code {codes[0]}, commit {first})" in page
    second = commit("2")
    assert made_by(codes[0], page, tmp_path / "docs") == f"code {codes[0]}, commit {first}", "the numbers are the same"
    assert made_by(codes[1], page, tmp_path / "docs") == f"code {codes[1]}, commit {second}"
    module.write_text("3")
    changed = made_by(codes[1], page, tmp_path / "docs")
    assert changed == f"code {codes[1]}, commit {second}+"
    third = commit("3")
    assert made_by(codes[1], f"({changed})", tmp_path / "docs") == f"code {codes[1]}, commit {third}"


def test_runs_of_another_paper_are_not_run_again(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("reproduce", "second", "--claims") == 0
    assert "second: 4 runs to do" in capsys.readouterr().out
    assert run("reproduce", "first") == 0
    capsys.readouterr()
    assert run("reproduce", "second", "--claims") == 0
    out = capsys.readouterr().out
    assert "1 reproduced" in out
    assert "runs to do" not in out
    assert run("reproduce", "second") == 0
    assert not (place / "runs" / "second" / "replications.ndjson").exists(), "they stay where they are"
    assert (place / "runs" / "second" / "1" / "results.csv").exists()
    capsys.readouterr()
    assert run("reproduce", "second", "--claims", "--quick") == 0
    assert "runs to do" in capsys.readouterr().out, "quick runs are others"
