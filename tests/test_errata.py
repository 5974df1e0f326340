"""The commands of the errata are run, and say what the page says they do."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import congenial as package

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "errata.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)
COMMANDS = [line.removeprefix("$ ") for block in BLOCKS for line in block.splitlines()]
VERDICTS = ("SAFETY", "DEADLOCK", "STARVATION", "CONCURRENT ENTRY", "BOUND", "ILLEGAL STEP")


def test_every_entry_has_a_command_and_a_remedy() -> None:
    entries = TEXT.split("\n## ")[1:]
    assert len(entries) >= 6
    for entry in entries:
        assert "```console\n$ congenial " in entry
        assert "**Instead:**" in entry


@pytest.mark.parametrize("line", COMMANDS)
def test_the_command_says_what_the_page_says(line: str) -> None:
    command, _, said = line.partition("  # ")
    program, *words = shlex.split(command)
    assert program == "congenial"
    env = {**os.environ, "PYTHONPATH": str(Path(package.__file__).parents[1])}
    ended = subprocess.run(
        [sys.executable, "-m", "congenial", *words], capture_output=True, text=True, cwd=ROOT, env=env, timeout=100
    )
    assert ended.returncode == (1 if said in VERDICTS else 0), ended.stdout + ended.stderr
    assert said, "the page should say what the command prints"
    assert said in ended.stdout


def test_the_table_leads_to_every_entry() -> None:
    titles = re.findall(r"^## (.*)$", TEXT, re.MULTILINE)
    anchors = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]
    assert re.findall(r"\]\(#([^)]*)\)", TEXT) == anchors


def test_every_counterexample_is_on_the_page() -> None:
    files = sorted([path.name for path in (ROOT / "docs" / "counterexamples").glob("*.py")])
    assert files == sorted(set(re.findall(r"counterexamples/(\w+\.py):", TEXT)))
