"""What all tests share: the switch that rewrites golden files, hypothesis settings that do not depend on load, a place
for the secret of members on this machine, and the end of every process that a test has started."""

from __future__ import annotations

import gc
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from loud import MARK
from processes import Watched, end_all, fork, guarded

settings.register_profile("congenial", deadline=None, max_examples=60)
settings.load_profile("congenial")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write the golden files again instead of comparing")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What there is now, ten thousand tests and all modules, is there to stay: garbage need not be looked for in it.
    A collection then takes milliseconds instead of a third of a second."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What did not run for want of a program is said loudly, not as one of many lines."""
    reasons = {str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", ()) if report.longrepr}
    for reason in sorted(reasons):
        if MARK in reason:
            terminalreporter.section("TESTS THAT DID NOT RUN", red=True, bold=True)
            terminalreporter.line(reason.partition(MARK)[2], red=True, bold=True)


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--rewrite"))


@pytest.fixture(autouse=True, scope="session")
def _secret_is_not_the_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True, scope="session")
def _guard() -> Iterator[None]:
    with guarded():
        yield


@pytest.fixture(autouse=True)
def _no_process_outlives_its_test() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", Watched)
        patch.setattr(os, "fork", fork)
        yield
    end_all()
