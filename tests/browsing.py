"""What the tests in a browser have in common."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


def until(page: Any, condition: Callable[[], bool]) -> None:
    """Wait until something holds (the page's policy forbids the browser's own way of waiting for a condition)."""
    for _ in range(600):
        if condition():
            return
        page.wait_for_timeout(100)
    pytest.fail("it did not happen within a minute")


def start(*words: str) -> tuple[str, subprocess.Popen[str]]:
    """A studio: its address, and its process, which ends with the test."""
    process = subprocess.Popen([sys.executable, "-m", "congenial", "studio", *words], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process.stdout.readline().split()[1], process


def slow_algorithm(folder: Path) -> str:
    """An algorithm for one process, whose every request takes 5 ms: how it is named on the command line."""
    (folder / "slow.py").write_text(
        "import time\n"
        "from congenial import Node\n"
        "class Slow(Node):\n"
        "    def request(self, groups, out):\n        time.sleep(0.005)\n        self.wait()\n        self.enter(out)\n"
        "    def release(self, out):\n        self.leave()\n"
    )
    return f"{folder}/slow.py:Slow"
