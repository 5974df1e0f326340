"""The commands of the errata are run, and say what the page says they do."""

from __future__ import annotations

import re

import pytest

from pages import DOCS, ROOT, Command, commands_of

PAGE = DOCS / "errata.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_every_entry_has_a_command_and_a_remedy() -> None:
    entries = TEXT.split("\n## ")[1:]
    assert len(entries) >= 6
    for entry in entries:
        assert "```console\n$ congenial " in entry
        assert "**Instead:**" in entry


@pytest.mark.parametrize("command", commands_of(PAGE), ids=lambda command: command.text)
@pytest.mark.deep
def test_the_command_says_what_the_page_says(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert command.expected, "the page should say what the command prints"
    monkeypatch.chdir(ROOT)
    command.run_here()


def test_the_table_leads_to_every_entry() -> None:
    titles = re.findall(r"^## (.*)$", TEXT, re.MULTILINE)
    anchors = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]
    assert re.findall(r"\]\(#([^)]*)\)", TEXT) == anchors


def test_every_counterexample_is_on_the_page() -> None:
    files = sorted([path.name for path in (ROOT / "docs" / "counterexamples").glob("*.py")])
    assert files == sorted(set(re.findall(r"counterexamples/(\w+\.py):", TEXT)))
