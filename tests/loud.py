"""Tests that need a program which is not everywhere: they never pass silently where it is missing."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

MARK = "NOT RUN: "


def not_run(reason: str) -> NoReturn:
    """End a test that cannot run here: with a failure in continuous integration, and else with a line that
    `tests/conftest.py` repeats in red after everything else."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(f"{MARK}{reason}")
