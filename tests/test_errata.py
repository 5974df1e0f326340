"""Every entry of the errata has the same form, and its commands are run and say what the page says they do."""

from __future__ import annotations

import json
import re
import runpy
from dataclasses import replace
from pathlib import Path

import pytest

from pages import DOCS, ROOT, VERDICT, Command, commands_of

PAGE = DOCS / "errata.md"
TEXT = PAGE.read_text(encoding="utf-8")
FIELDS = ("Where", "Claimed", "Happens", "How sure", "Severity", "Instead")
SURE = ("figure as printed", "prose", "our reading")
SEVERITIES = ("safety", "unasked", "liveness", "delay", "claim", "wording", "open")
PAPERS = ("Velazquez 1993", "Mittal & Mohan 2007", "Atreya, Mittal & Peri 2007", "Swaroop & Singh 2007",
          "Romano & Rodrigues 2009")  # fmt: skip
RUN = commands_of(PAGE)


def entries() -> dict[str, dict[str, str]]:
    """The fields of every entry, by title."""
    found = {}
    for entry in TEXT.split("\n## ")[1:]:
        title, _, body = entry.partition("\n")
        pieces = re.split(r"^\*\*([A-Z][a-z ]*):\*\* ", body, flags=re.MULTILINE)
        assert not pieces[0].strip(), f"{title}: {pieces[0]!r} belongs to no field"
        assert tuple(pieces[1::2]) == FIELDS, title
        found[title] = dict(zip(FIELDS, pieces[2::2], strict=True))
    return found


ENTRIES = entries()


def kind(text: str, kinds: tuple[str, ...]) -> str:
    """The one of `kinds` that the text begins with."""
    (found,) = [name for name in kinds if re.match(rf"{name}\b", text)]
    return found


def anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


@pytest.mark.parametrize("title", ENTRIES)
def test_every_entry_has_all_fields(title: str) -> None:
    fields = ENTRIES[title]
    assert all([text.strip() for text in fields.values()])
    assert kind(fields["How sure"], SURE)
    assert fields["Severity"].strip() == f"{kind(fields['Severity'], SEVERITIES)}."


@pytest.mark.parametrize("title", ENTRIES)
def test_every_entry_names_a_text_that_was_read_and_quotes_it(title: str) -> None:
    where = ENTRIES[title]["Where"]
    paper = kind(title, PAPERS)
    assert where.startswith(f"{paper}, "), "author, year, section"
    assert re.match(r"(section|appendix|figure|lemma|theorem)\b", where.removeprefix(f"{paper}, "))
    assert re.search(r'"[^"]{10,}"', where), "quoted to the word"


@pytest.mark.parametrize("title", ENTRIES)
def test_every_entry_shows_the_flaw_and_the_remedy_by_commands_that_are_run(title: str) -> None:
    for field in ("Happens", "Instead"):
        blocks = re.findall(r"```console\n(.*?)```", ENTRIES[title][field], re.DOTALL)
        commands = [command for block in blocks for command in Command.all_in(block)]
        assert commands
        assert all([command in RUN for command in commands])


@pytest.mark.parametrize("command", RUN, ids=lambda command: command.text)
@pytest.mark.deep
def test_the_command_says_what_the_page_says(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a counterexample can be opened in Explore, as the page says."""
    assert command.expected, "the page should say what the command prints"
    monkeypatch.chdir(ROOT)
    if not re.match(r"congenial (check|fuzz) ", command.text) or not VERDICT.search(command.expected[0]):
        command.run_here()
        return
    page = tmp_path / "page.html"
    replace(command, text=f"{command.text} --html {page}").run_here()
    found = re.search(r'id="explore-document">(.*?)</script>', page.read_text(encoding="utf-8"))
    assert found
    explored = json.loads(found[1])
    for step, moves in zip(explored["path"], explored["moves"], strict=False):
        chosen = {**step, "choices": None}
        assert chosen in [{**move["step"], "choices": None} for move in moves]
    assert len(explored["moves"]) == len(explored["path"]) + 1


def test_the_table_has_every_entry_with_its_certainty_and_severity() -> None:
    rows = re.findall(r"^\| \[(.*?)\]\(#(.*?)\) \| (.*?) \| (.*?) \| (.*?) \| \d+ processes \|$", TEXT, re.MULTILINE)
    assert rows == [
        (title, anchor(title), row[2], kind(fields["How sure"], SURE), kind(fields["Severity"], SEVERITIES))
        for row, (title, fields) in zip(rows, ENTRIES.items(), strict=True)
    ]


def test_links_lead_to_entries() -> None:
    assert set(re.findall(r"\]\(#([^)]*)\)", TEXT)) == {anchor(title) for title in ENTRIES}


def test_every_severity_is_explained() -> None:
    rows = re.findall(r"^\| (\w+) \| [^|]+ \|$", TEXT, re.MULTILINE)
    assert rows[1:] == list(SEVERITIES)


def test_an_entry_about_a_work_that_was_not_read_names_the_survey() -> None:
    """Only the five papers were read. What others wrote is known from the survey, and the title says so."""
    for title, fields in ENTRIES.items():
        if " on " in title.partition(":")[0]:
            assert title.startswith("Velazquez 1993 on ")
            assert fields["Where"].startswith("Velazquez 1993, ")


def test_every_counterexample_is_on_the_page() -> None:
    files = sorted([path.name for path in (ROOT / "docs" / "counterexamples").glob("*.py")])
    assert files == sorted(set(re.findall(r"counterexamples/(\w+\.py):", TEXT)))


def test_the_site_has_a_page_of_every_counterexample() -> None:
    made = runpy.run_path(str(ROOT / "site/counterexamples.py"))
    commands = [command.text for command in RUN if command.fails]
    finding = [text for text in commands if text.startswith(("congenial check", "congenial fuzz"))]
    assert sorted(made["addresses"]()) == sorted(set(finding))
    linked = made["with_links"](TEXT)
    for address in made["addresses"]().values():
        assert f"]({address})" in linked
    first = next(iter(made["addresses"]()))
    assert b"explore-document" in made["page"](first)
