"""How long a page of 100,000 events takes: to make, to open in Chromium until the first picture, and to draw.

python benchmarks/studio.py [EVENTS]
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from congenial.sim.scenario import Scenario
from congenial.studio.document import run_document
from congenial.studio.pages import write_page
from congenial.studio.recording import simulated
from congenial.studio.states import states_document

FRAMES = 120
DRAW = """async ([frames, zooms]) => {
  const scrub = document.getElementById('scrub');
  for (let turn = 0; turn < zooms; turn++) document.getElementById('zoom-out').click();
  const times = [], between = [];
  let last = await new Promise(requestAnimationFrame);
  for (let turn = 1; turn <= frames; turn++) {
    scrub.value = Number(scrub.max) * turn / frames;
    const began = performance.now();
    scrub.dispatchEvent(new Event('input'));
    times.push(performance.now() - began);
    const now = await new Promise(requestAnimationFrame);
    between.push(now - last);
    last = now;
  }
  const inOrder = (all) => all.sort((a, b) => a - b);
  return [inOrder(times), inOrder(between)];
}"""


def main(events: int) -> None:
    scenario = Scenario("token-gme", nodes=20, groups=8, requests=events)
    recording = timed(f"record {events} events", lambda: simulated(scenario, most=events))
    timed("their columns", lambda: run_document(recording))
    timed("the states of 20 processes", lambda: states_document(recording))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.html"
        write_page(str(path), recording)
        print(f"the page has {path.stat().st_size / 1e6:.1f} MB")
        browse(path)


def timed(what: str, work: Any) -> Any:
    began = perf_counter()
    result = work()
    print(f"{what}: {perf_counter() - began:.2f} s", flush=True)
    return result


def browse(path: Path) -> None:
    program = shutil.which("chromium")
    if program is None:
        print("no chromium here: nothing to open the page with")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        began = perf_counter()
        page.goto(f"file://{path}")
        page.wait_for_selector("html[data-ready=yes]")
        print(f"open until the first picture: {perf_counter() - began:.2f} s")
        page.wait_for_selector("#process-panel table")
        print(f"open until the states are there: {perf_counter() - began:.2f} s")
        meter = page.context.new_cdp_session(page)
        meter.send("Performance.enable")
        for view, zooms in (("near", 0), ("with all in view", 20)):
            before = busy(meter)
            times, between = page.evaluate(DRAW, [FRAMES, zooms])
            whole = 1000 * (busy(meter) - before) / FRAMES
            print(
                f"scrub to {FRAMES} places, {view}: script median {times[FRAMES // 2]:.1f} ms, worst {times[-1]:.1f}; "
                f"all work of the page {whole:.1f} for each picture; a picture every {between[FRAMES // 2]:.1f} ms"
            )
        browser.close()


def busy(meter: Any) -> float:
    """The seconds that the page's own thread has worked."""
    metrics = meter.send("Performance.getMetrics")["metrics"]
    return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
