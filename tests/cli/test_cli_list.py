"""`congenial list`, the help, the version and the shell's completion."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from shell import Run

from congenial import __version__
from congenial.cli import SUBCOMMANDS
from congenial.systems.catalogue import ALGORITHMS, TRANSFORMS


def test_every_algorithm_is_listed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "250")  # no row is broken
    ended = run("list")
    assert ended.code == 0
    for name, algorithm in ALGORITHMS.items():
        row = next(line for line in ended.out.splitlines() if line.startswith(f"{name} "))
        assert str(algorithm.spec.messages) in row
        assert ("needed" in row) == algorithm.spec.fifo


def test_what_can_be_made_of_them_is_listed_too(run: Run) -> None:
    rows = run("list").out.splitlines()
    for transform in TRANSFORMS:
        assert any([row.startswith(f"NAME+{transform} ") and "crashes" in row for row in rows])


def test_as_data(run: Run) -> None:
    rows = {row["name"]: row for row in json.loads(run("list", "--json").out)}
    assert set(rows) == set(ALGORITHMS)
    assert rows["maekawa"]["fifo"] is True
    assert rows["maekawa"]["options"]["quorums"]["default"] == "auto"
    assert rows["ricart-agrawala"]["messages"] == "2*(n-1)"


def test_help_names_every_subcommand(run: Run) -> None:
    assert run().out == run("--help").out
    for name in SUBCOMMANDS:
        assert f" {name} " in run("--help").out


def test_version(run: Run) -> None:
    assert run("--version").out.startswith(f"congenial {__version__} (")


def test_the_shell_completes_algorithm_names() -> None:
    asked = {"_CONGENIAL_COMPLETE": "complete_bash", "COMP_WORDS": "congenial sim ri", "COMP_CWORD": "2"}
    command = [sys.executable, "-m", "congenial"]
    ended = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **asked}, timeout=60)
    assert sorted(ended.stdout.split()) == ["ricart-agrawala", "ricart-agrawala-token"]
