"""Tables in a terminal of 80 columns: no line is longer, and no word is broken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from shell import Run

from congenial.view.table import as_text, new_table

COMMANDS = {
    "list": "list",
    "sim": "sim suzuki-kasami --nodes 3 --requests 2 --repeat 2",
    "hops": "sim helary-plouzeau-raynal --nodes 3 --hops",
    "compare": "compare helary-plouzeau-raynal suzuki-kasami-bounded --nodes 3 --requests 2",
    "check": "check suzuki-kasami --nodes 2 --requests 1",
    "detector": "detector heartbeat:10.125,25.375 heartbeat:10,60 --runs 2",
    "sweep": "sweep -a suzuki-kasami-bounded -a lamport --vary nodes=2,3 --fixed requests=2 --most 3 --jobs 1",
    "claims": "reproduce token-gme --claims",
    "findings": "reproduce wme --jobs 1",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=list(COMMANDS))
def test_words_stay_whole(run: Run, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    narrow = run(*command.split())
    monkeypatch.setenv("COLUMNS", "99")
    wide = run(*command.split())
    assert (narrow.code, wide.code) == (0, 0)
    lines = [line for line in narrow.out.splitlines() if not line.startswith("everything is in")]
    assert max([len(line) for line in lines]) <= 80
    assert words(wide.out) == words(narrow.out)


def words(text: str) -> set[str]:
    """All but numbers: some of them are measures of this machine."""
    return {word for word in text.split() if re.search(r"[a-zA-Z]", word)}


def test_a_table_whose_words_do_not_fit_is_wider() -> None:
    table = new_table("name", ">number")
    table.add_row("x" * 60, "y" * 40)
    assert as_text(table, 80).splitlines()[-1].split() == ["x" * 60, "y" * 40]


def test_a_long_text_in_the_first_column_leaves_room_for_the_others() -> None:
    table = new_table("claim", "verdict")
    table.add_row("word " * 40, "reproduced")
    assert max([len(line) for line in as_text(table, 80).splitlines()]) <= 80
    assert "reproduced" in as_text(table, 80)
