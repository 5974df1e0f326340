"""The page that the demo leaves: what listeners did, as a witness outside the cluster has seen it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from congenial.cli.demo import Demo
from congenial.studio.pages import write_page


def played() -> Demo:
    demo = Demo()
    for who, disc in (("a1", "disc-2"), ("b3", "disc-2"), ("e2", "disc-4")):
        demo.on_report({"do": "wait", "who": who, "group": disc})
    for who, disc in (("a1", "disc-2"), ("b3", "disc-2")):
        demo.on_report({"do": "enter", "who": who, "group": disc, "waited": 0.1})
    demo.on_report({"do": "leave", "who": "a1"})
    demo.on_report({"do": "done", "node": "a", "messages": 4, "entries": 1})
    return demo


def test_the_page_of_the_demo_names_listeners_and_discs(visit: Any, tmp_path: Path) -> None:
    write_page(f"{tmp_path}/jukebox.html", played().recording("ra2"))
    page = visit(tmp_path / "jukebox.html", offline=True)
    assert page.inner_text("#title") == "The jukebox"
    assert page.title() == "The jukebox - Congenial"
    assert "algorithm ra2" in page.inner_text("#about")
    assert page.inner_text("#verdict") == "2 entries, no violation, as seen by the witness"
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    assert "b3 enters group disc-2" in page.inner_text(".steps .present")
    assert page.get_attribute("#ring [data-process='0']", "aria-label") == "Process a1: inside group disc-2"
    assert page.get_attribute("#ring [data-process='11']", "aria-label") == "Process e2: waits for group disc-4"
    page.keyboard.press("ArrowRight")
    assert "a1 leaves" in page.inner_text(".steps .present")
    assert "seen from outside" in page.inner_text("#process-panel")


def test_a_demo_in_which_nothing_happened_leaves_a_page_too(visit: Any, tmp_path: Path) -> None:
    write_page(f"{tmp_path}/jukebox.html", Demo().recording("token-gme"))
    assert "Nothing happens" in visit(tmp_path / "jukebox.html").inner_text("#steps-panel")
