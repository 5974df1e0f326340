"""The Cluster view, used as a person would use it: on a real cluster of three processes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsing import PHONE, start, until
from congenial.net.config import free_addresses

NAMES = ("a", "b", "c")


class Nodes:
    """Nodes of a cluster, and programs that use them. All of them end with the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = str(folder / "cluster.toml")
        places = zip(NAMES, free_addresses(len(NAMES)), strict=True)
        nodes = "".join([f'{name} = "{place}"\n' for name, place in places])
        timing = "[timing]\nheartbeat = 0.2\nsuspect_after = 3.0\n"
        Path(self.config).write_text(f'cluster = "shop"\n[nodes]\n{nodes}{timing}')
        self.up: dict[str, subprocess.Popen[str]] = {}

    def start(self, *names: str) -> None:
        for name in names or NAMES:
            self.up[name] = self.run("node", "--name", name)
        for name in names or NAMES:
            assert self.up[name].stdout is not None
            assert "listens on" in self.up[name].stdout.readline()

    def kill(self, *names: str) -> None:
        for name in names:
            process = self.up.pop(name)
            process.kill()
            process.wait()

    def hold(self, name: str, node: str, *options: str) -> subprocess.Popen[str]:
        return self.run("lock", name, "--node", node, *options, words=["--", "sleep", "1000"])

    def run(self, command: str, *words_before: str, words: list[str] | None = None) -> subprocess.Popen[str]:
        line = [sys.executable, "-m", "congenial", command, *words_before, "--config", self.config, *(words or [])]
        return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Nodes]:
    with tempfile.TemporaryDirectory() as folder:  # a short path, for there will be sockets
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        monkeypatch.delenv("CONGENIAL_SOCKET", raising=False)
        yield Nodes(Path(folder))


def opened(visit: Any, nodes: Nodes, *words: str, **options: Any) -> Any:
    page = visit(start("--config", nodes.config, "--slow", "900", *words)[0], **options)
    page.wait_for_selector("#cluster-nodes tbody tr")
    return page


def test_find_the_holder_of_a_lock_while_its_node_is_killed(visit: Any, nodes: Nodes) -> None:
    nodes.start()
    for number in range(3):
        nodes.hold(f"invoices/{number}", "a")
    nodes.hold("payroll", "b", "--group", "berlin")
    page = opened(visit, nodes, "--node", "b")
    until(page, lambda: "✓" in page.inner_text("#verdict"))
    assert "asked b" in page.inner_text("#about").replace("\n", " ")
    page.keyboard.press("/")
    page.keyboard.type("PAYR")
    page.wait_for_selector("#cluster-locks tbody tr:only-child [data-lock=payroll]")
    page.keyboard.press("Enter")
    page.wait_for_selector("#lock-holders li:has-text('berlin')")
    assert page.inner_text("#lock-holders li b") == "b"
    assert "process " in page.inner_text("#lock-holders")
    first = page.inner_text("#lock-holders .fence")
    nodes.hold("payroll", "c")
    page.wait_for_selector("#lock-queue li b:has-text('c')")
    page.wait_for_selector("#lock-timeline .stay.open")

    nodes.kill("b")  # the holder's node, and the one that the page asks
    page.wait_for_selector("#cluster-wrong li:has-text('b has been away since')")
    page.wait_for_selector("#lock-holders li b:has-text('c')")
    until(page, lambda: "wrong" in page.inner_text("#verdict"))
    assert int(page.inner_text("#lock-holders .fence").split()[1]) > int(first.split()[1])
    assert page.locator("#lock-timeline .stay").count() >= 2
    assert page.locator("#cluster-ring .cluster-node.away").count() == 1
    assert "asked b" not in page.inner_text("#about").replace("\n", " ")
    page.click("#cluster-wrong li button")
    page.wait_for_selector("#cluster-links h2:has-text('Links of b')")

    page.reload()  # the page still shows the lock, and what the studio has seen of it
    page.wait_for_selector("#lock-name:has-text('payroll')")
    page.wait_for_selector("#lock-holders li b:has-text('c')")
    assert page.locator("#lock-timeline .stay").count() >= 2

    nodes.start("b")
    until(page, lambda: page.is_visible("#verdict.good"))
    nodes.kill(*NAMES)
    page.wait_for_selector("#cluster-problem:has-text('No node answers')")
    assert page.locator("#cluster-parts.stale").count() == 1
    nodes.start()
    page.wait_for_selector("#cluster-parts:not(.stale)")
    assert not page.is_visible("#cluster-problem")


def test_the_studio_is_lost_and_found(visit: Any, nodes: Nodes) -> None:
    nodes.start("a")
    address, process = start("--config", nodes.config)
    page = visit(address)
    page.wait_for_selector("#cluster-wrong li:has-text('has not been heard of')")
    process.kill()
    process.wait()
    page.wait_for_selector("#connection:has-text('does not answer')")
    page.watched.complaints.clear()  # the browser's own lines about a server that is gone


def test_everything_in_the_cluster_view_has_a_key_and_fits(visit: Any, nodes: Nodes) -> None:
    nodes.start()
    nodes.hold("jukebox", "a", "--group", "jazz")
    nodes.hold("gpus", "b", "--semaphore", "2")
    page = opened(visit, nodes, color_scheme="dark")
    keys = page.keyboard
    until(page, lambda: page.locator("#cluster-locks tbody tr").count() == 2)
    page.wait_for_selector("#lock-holders li")
    assert page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]") == [1280, 800]
    before = page.inner_text("#lock-name")
    keys.press("ArrowDown")
    keys.press("ArrowUp")
    keys.press("ArrowDown")
    names = page.eval_on_selector_all("#cluster-locks [data-lock]", "all => all.map((one) => one.dataset.lock)")
    assert page.inner_text("#lock-name") in names
    assert before in names
    keys.press("s")
    assert page.input_value("#cluster-sort") == "holders"
    keys.press("t")
    assert page.input_value("#lock-span") == "300"
    keys.press("n")
    page.wait_for_selector("#cluster-links h2:has-text('Links of a')")
    assert page.locator("#cluster-links tbody tr").count() == 2
    for _ in NAMES:
        keys.press("n")
    assert not page.is_visible("#cluster-links")
    keys.press("/")
    keys.type("no such lock")
    page.wait_for_selector("#cluster-note:has-text('No node knows a lock')")
    keys.press("Escape")
    until(page, lambda: page.locator("#cluster-locks tbody tr").count() == 2)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('#cluster button, #cluster select, #cluster input')].filter((e) =>
          !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length)).map((e) => e.outerHTML)"""
    )
    assert nameless == []
    page.click("#view-compare")
    assert not page.is_visible("#cluster")
    page.click("#view-run")
    assert page.inner_text("#title") == "Congenial"
    page.click("#view-cluster")
    page.wait_for_selector("#cluster-locks tbody tr")
    phone = opened(visit, nodes, **PHONE)
    phone.wait_for_selector("#lock-holders li")
    assert phone.evaluate("document.documentElement.scrollWidth") == 390
    phone.tap("[data-lock=jukebox]")
    phone.wait_for_selector("#lock-name:has-text('jukebox')")


def test_without_a_cluster_the_page_says_what_to_do(visit: Any, studio: tuple[str, Any]) -> None:
    page = visit(studio[0])
    page.click("#view-cluster")
    assert "congenial studio --config cluster.toml" in page.inner_text("#cluster-empty")
    assert not page.is_visible("#cluster-parts")


def test_nobody_is_asked_while_nobody_looks(visit: Any, nodes: Nodes) -> None:
    nodes.start("a")
    page = opened(visit, nodes)
    page.click("#view-compare")
    page.wait_for_timeout(1500)
    asked = len([one for one in page.watched.asked if one.endswith("api/cluster")])
    page.wait_for_timeout(3000)
    assert len([one for one in page.watched.asked if one.endswith("api/cluster")]) == asked
