"""Makes the pictures of docs/studio.md, with Chromium: python docs/studio/screenshots.py [NAME...]"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from live_cluster import living
from playwright.sync_api import sync_playwright

from congenial.checker.check import check
from congenial.checker.replay import write_trace
from congenial.sim.scenario import Scenario
from congenial.studio.pages import write_page
from congenial.studio.recording import simulated

HERE = Path(__file__).parent
FAULTS: dict[str, Any] = {
    "partition": "0,1|2,3,4,5,6@105-125",
    "crash": "4@60-150",
    "suspect": "2@70-140",
    "until": 700,
}
SCENARIOS = {
    "run": Scenario("token-gme", nodes=7, groups=3, requests=10, think=30, hold=40),
    "tree": Scenario("raymond-tree", nodes=12, requests=6),
    "faults": Scenario("home-gme+epochs", nodes=7, groups=4, requests=8, **FAULTS),
}
PICTURES: dict[str, tuple[str, list[str]]] = {  # light or dark, and keys to press; @TIME goes there
    "run": ("light", ["n"] * 15),
    "tree": ("light", ["n"] * 5 + ["w"] * 3),
    "faults": ("dark", ["@112", "ArrowRight"]),
}
GO = "(time) => { const s = document.getElementById('scrub'); s.value = time; s.dispatchEvent(new Event('input')); }"


def main(wanted: set[str]) -> None:
    """All pictures, or those that are named."""
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        for name in PICTURES:
            if not wanted or name in wanted:
                run(browser, folder, name)
        for name, take in (("explore", explore), ("compare", compare), ("cluster", cluster)):
            if not wanted or name in wanted:
                take(browser, folder)
        browser.close()


def run(browser: Any, folder: str, name: str) -> None:
    """A page of a run."""
    scheme, keys = PICTURES[name]
    write_page(f"{folder}/{name}.html", simulated(SCENARIOS[name]))
    page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme, reduced_motion="reduce")
    page.goto(f"file://{folder}/{name}.html")
    page.wait_for_selector("#process-panel table")
    for key in keys:
        if key.startswith("@"):
            page.evaluate(GO, key[1:])
        else:
            page.keyboard.press(key)
    page.screenshot(path=HERE / f"{name}.png")


@contextmanager
def studio(browser: Any, *words: str, scheme: str = "light") -> Iterator[Any]:
    """A page of a studio."""
    with subprocess.Popen(
        [sys.executable, "-m", "congenial", "studio", *words], stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme, reduced_motion="reduce")
        page.goto(run.stdout.readline().split()[1])
        page.wait_for_selector("html[data-ready=yes]")
        yield page
        run.terminate()


def explore(browser: Any, folder: str) -> None:
    """The counterexample of a check, opened in the studio, one step before it goes wrong."""
    trace = f"{folder}/broken.ndjson"
    found = check("maekawa", nodes=3, order="any").counterexample
    assert found is not None
    write_trace(trace, "maekawa", 3, {}, False, found.events)
    with studio(browser, trace) as page:
        page.wait_for_selector("#moves-panel .wrong")
        page.keyboard.press("Backspace")
        page.wait_for_selector("#moves-panel .next")
        page.screenshot(path=HERE / "explore.png")


def compare(browser: Any, folder: str) -> None:
    """Published results as curves, with the values at one place, and as a frontier."""
    for name, table, scheme, pressed in (
        ("compare", "docs/comparison/nodes", "light", ["log-x", "log-y"]),
        ("frontier", "docs/frontier/loads", "dark", ["frontier", "log-x", "log-y"]),
    ):
        with studio(browser, "--runs", str(HERE.parent), scheme=scheme) as page:
            page.select_option("#compare-table", table)
            page.wait_for_selector(f"#compare-about:has-text('{table.split('/')[1]}')")
            for button in pressed:
                page.click(f"#compare-{button}")
            shown = "drs-gme" if name == "compare" else "home-gme"
            mark = page.locator(f"#chart [data-series={shown}] path[transform]").nth(2 if name == "compare" else 0)
            place = mark.bounding_box()
            page.mouse.move(place["x"] + 4, place["y"] + 4)
            page.screenshot(path=HERE / f"{name}.png")


def cluster(browser: Any, folder: str) -> None:
    """A real cluster, shortly after one of its nodes was killed."""
    with living(folder) as nodes, studio(browser, "--config", f"{folder}/cluster.toml", "--node", "athens") as page:
        page.wait_for_selector("[data-lock=jukebox]")
        page.click("[data-lock=jukebox]")
        page.wait_for_timeout(45_000)
        nodes["dublin"].kill()
        page.wait_for_selector("#cluster-wrong li:has-text('dublin has been away')")
        page.wait_for_timeout(8_000)
        page.screenshot(path=HERE / "cluster.png")


if __name__ == "__main__":
    main(set(sys.argv[1:]))
