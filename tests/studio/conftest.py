"""A real browser for the studio's tests. Where there is none they do not run, and say so."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsing import start
from loud import not_run

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """For one module: while it is open, asyncio cannot be used beside it."""
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        not_run("the studio was not tested: there is no browser here (Debian: apt-get install chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        not_run("the studio was not tested: pip install playwright (the browser itself need not come from it)")
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def studio() -> tuple[str, subprocess.Popen[str]]:
    return start()


class Watched:
    """A page, and what it has complained about."""

    def __init__(self, context: Any) -> None:
        self.page = context.new_page()
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._heard)
        self.asked: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def open(self, address: str | Path) -> Any:
        self.page.goto(f"file://{address}" if isinstance(address, Path) else address)
        self.page.wait_for_selector("html[data-ready=yes]")
        return self.page


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    """Opens pages: `visit(address, **options of the browser's context)`. At the end none may have complained."""
    contexts: list[Any] = []
    pages: list[Watched] = []

    def visit(address: str | Path, **options: Any) -> Any:
        given = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce", **options}
        context = browser.new_context(**given)
        context.set_default_timeout(60_000)  # on a busy machine
        contexts.append(context)
        pages.append(Watched(context))
        page = pages[-1].open(address)
        page.watched = pages[-1]
        return page

    yield visit
    complaints = [complaint for watched in pages for complaint in watched.complaints]
    for context in contexts:
        context.close()
    assert complaints == []
