"""CPython's own tests of locks, `test.lock_tests`, from the standard library of this interpreter or of another one.

Some systems ship Python without its test package. Then another interpreter of the same version that is found here lends
its copy; or the package has to be installed (on Debian `libpython3-testsuite`).
"""

from __future__ import annotations

import glob
import importlib
import os
import shutil
import subprocess
import sys
import unittest
from typing import Any

import test

VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
PLACES = ("~/.pyenv/versions/*/bin/", "~/.local/share/uv/python/*/bin/", "/opt/*/bin/", "/usr/local/bin/", "/usr/bin/")


def suite(module: str) -> Any:
    """A module of CPython's test package."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        for interpreter in interpreters():
            asked = [interpreter, "-c", "import sys, test.support; print(test.__path__[0])"]
            answer = subprocess.run(asked, capture_output=True, text=True)
            if answer.returncode == 0:
                test.__path__.append(answer.stdout.strip())
                importlib.invalidate_caches()
                return importlib.import_module(module)
        raise AssertionError(
            f"this Python has no {module}, nor has another Python {VERSION} here: install its test package "
            "(libpython3-testsuite on Debian, python3-test on Fedora)"
        ) from missing


def interpreters() -> list[str]:
    found = [shutil.which(f"python{VERSION}")]
    for place in PLACES:
        found += glob.glob(os.path.expanduser(f"{place}python{VERSION}"))
    return [path for path in found if path and os.path.realpath(path) != os.path.realpath(sys.executable)]


def tests_of(case: type[unittest.TestCase]) -> list[str]:
    return unittest.TestLoader().getTestCaseNames(case)


def judge(case: type[unittest.TestCase], name: str, why: str | None) -> None:
    """A test passes, or it is known why it cannot, and it fails."""
    problem = problem_of(case, name)
    if why is None:
        assert not problem, problem
    else:
        assert problem, f"it passes now: take it from the list, where it says: {why}"


def problem_of(case: type[unittest.TestCase], name: str) -> str:
    """Why a single test fails; empty if it passes."""
    outcome = unittest.TestResult()
    case(name).run(outcome)
    found = [text for _, text in outcome.failures + outcome.errors]
    assert outcome.testsRun == 1
    assert not outcome.skipped, outcome.skipped
    return "\n".join(found)
