"""Runs commands as a shell would, in this process (`run`) or in one of their own (`spawn`)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from shell import Ended, Run

from congenial.cli import main

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "160")

    def run_here(*words: str) -> Ended:
        with pytest.raises(SystemExit) as end:
            main(words)
        out, err = capsys.readouterr()
        return Ended(int(end.value.code or 0), out, err)

    return run_here


@pytest.fixture
def spawn() -> Run:
    def run_there(*words: str) -> Ended:
        command = [sys.executable, "-m", "congenial", *words]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    return run_there


@pytest.fixture
def central_lock() -> str:
    return f"{ROOT / 'examples' / 'central_lock.py'}:CentralLock"
