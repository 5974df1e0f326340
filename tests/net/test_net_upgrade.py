"""A cluster whose members are upgraded one after the other, under load, and while locks are held.

There is no earlier release yet. So the present code is the earlier release, and a copy of it, changed as a later
release may be changed (`congenial.net.wire`), is the later one: it has another version, speaks a later protocol, says
more in its greeting and in a frame, and sends frames of a new kind.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import congenial
from congenial.net.config import free_addresses

PACKAGE = Path(congenial.__file__).parent
LONG = 60.0
LATER = {
    "__init__.py": [('__version__ = "', '__version__ = "9.')],
    "net/wire.py": [
        ("SPEAKS = (1, 1)", "SPEAKS = (1, 2)"),
        ("    sent: float\n\n\nclass Echo", "    sent: float\n    mood: str = 'fine'\n\n\nclass Echo"),
        ("class Bye(Frame", "class Weather(Frame, tag=120):\n    degrees: int\n\n\nclass Bye(Frame"),
    ],
    "net/codec.py": [
        ("    View,\n", "    View,\n    Weather,\n"),
        ("frames |= Claimed |", "frames |= Weather | Claimed |"),
    ],
    "net/greeting.py": [("        hello.dropped =", '        hello.also = {"mood": "fine"}\n        hello.dropped =')],
    "net/membership.py": [
        ("        self.on_connected(link)\n", "        link.post(Weather(21))\n        self.on_connected(link)\n"),
        ("{View: self._on_view", "{Weather: lambda link, frame: None, View: self._on_view"),
        ("from congenial.net.wire import ", "from congenial.net.wire import Weather\nfrom congenial.net.wire import "),
    ],
}
STRANGE = {"net/wire.py": [("SPEAKS = (1, 1)", "SPEAKS = (7, 8)")], "__init__.py": LATER["__init__.py"]}


def build(folder: Path, changes: dict[str, list[tuple[str, str]]]) -> Path:
    """Another release, in a folder of its own."""
    leave = shutil.ignore_patterns("__pycache__", "*.so")
    shutil.copytree(PACKAGE, folder / "congenial", ignore=leave)
    for name, pairs in changes.items():
        path = folder / "congenial" / name
        text = path.read_text()
        for old, new in pairs:
            assert old in text, (name, old)
            text = text.replace(old, new, 1)
        path.write_text(text)
    return folder


class Nodes:
    """Three nodes with state directories, each of one release or the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: dict[str, subprocess.Popen[str]] = {}
        nodes = [f'{name} = "{where}"' for name, where in zip("abc", free_addresses(3), strict=True)]
        timing = ["[timing]", "heartbeat = 0.2", "suspect_after = 3.0"]
        lines = ['cluster = "test"', f'state = "{folder}/state-{{name}}"', "[nodes]", *nodes, *timing]
        (folder / "cluster.toml").write_text("\n".join(lines))

    def start(self, name: str, release: Path) -> None:
        words = [sys.executable, "-m", "congenial", "node", "--name", name, "--log-json"]
        words += ["--config", str(self.folder / "cluster.toml"), "--socket", str(self.socket(name))]
        log = open(self.folder / f"{name}.log", "a")
        env = {**os.environ, "PYTHONPATH": str(release)}
        self.running[name] = subprocess.Popen(words, cwd=self.folder, env=env, text=True, stdout=log, stderr=log)

    def socket(self, name: str) -> Path:
        return self.folder / f"{name}.sock"

    def stop(self, name: str) -> None:
        self.running[name].send_signal(signal.SIGTERM)
        assert self.running[name].wait(LONG) == 0, self.log(name)

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def wait(self, *names: str) -> None:
        """Until these are members like the others."""
        deadline = time.monotonic() + LONG
        for name in names:
            while not self.is_settled(name):
                assert time.monotonic() < deadline, "\n".join([self.log(one) for one in "abc"])
                assert self.running[name].poll() is None, self.log(name)
                time.sleep(0.05)

    def is_settled(self, name: str) -> bool:
        try:
            with congenial.connect_blocking(self.socket(name)) as node:
                status = node.status_of_all(top=0)
        except congenial.CongenialError:
            return False
        told = [about for about in status.values() if about is not None]
        return len(told) == 3 and all([about["settled"] and len(about["members"]) == 3 for about in told])

    def releases(self, name: str) -> set[str]:
        """Which releases the others run, as a node sees them."""
        with congenial.connect_blocking(self.socket(name)) as node:
            status = node.status_of_all(top=0)[name]
        assert status is not None
        return {link["release"] for link in status["links"].values()}


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    with tempfile.TemporaryDirectory() as folder:
        made = Nodes(Path(folder))
        try:
            yield made
        finally:
            for process in made.running.values():
                if process.poll() is None:
                    process.kill()
                process.wait()


class Load:
    """Programs that count, each at any of the nodes, under one lock. The counter knows fences: it refuses a program
    that has lost the lock, because its node was stopped. No other may be refused."""

    def __init__(self, nodes: Nodes) -> None:
        self.places = [nodes.socket(name) for name in "abc"]
        self.over = threading.Event()
        self.guard = threading.Lock()
        self.count = self.fence = 0
        self.counted = [0, 0, 0]
        self.troubles: list[str] = []
        self.threads = [threading.Thread(target=self._run, args=(at,)) for at in range(3)]

    def _run(self, at: int) -> None:
        try:
            with congenial.connect_blocking(self.places[at:] + self.places[:at]) as node:
                while not self.over.is_set():
                    with contextlib.suppress(congenial.LockLost):
                        with node.mutex("counter", timeout=LONG) as held:
                            counted = self._add_one(at, held.fence)
                        if not counted:
                            self.troubles.append(f"{held} was superseded, and did not know")
        except Exception as error:
            self.troubles.append(repr(error))

    def _add_one(self, at: int, fence: int) -> bool:
        with self.guard:
            if fence <= self.fence:
                return False
            self.fence, count = fence, self.count
        time.sleep(0.002)
        with self.guard:
            if fence < self.fence:
                return False
            self.count = count + 1
            self.counted[at] += 1
        return True

    def __enter__(self) -> Load:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join(2 * LONG)

    def wait_for_more(self) -> None:
        """Every program has counted again."""
        before, deadline = list(self.counted), time.monotonic() + LONG
        while not all([now > then for now, then in zip(self.counted, before, strict=True)]):
            assert time.monotonic() < deadline, (before, self.counted, self.troubles)
            time.sleep(0.01)


@pytest.mark.deep
@pytest.mark.parametrize("back", [False, True], ids=["upgrade", "downgrade"])
def test_members_are_upgraded_one_after_the_other_while_locks_are_held(nodes: Nodes, back: bool) -> None:
    now, later = PACKAGE.parent, build(nodes.folder / "later", LATER)
    first, second = (later, now) if back else (now, later)
    for name in "abc":
        nodes.start(name, first)
    nodes.wait("a", "b", "c")
    with congenial.connect_blocking(nodes.socket("c")) as node:
        node.event("set before the upgrade").set()
    with Load(nodes) as load:
        for name, elsewhere in zip("abc", "bca", strict=True):
            with congenial.connect_blocking(nodes.socket(elsewhere)) as node, node.mutex("held", timeout=LONG) as held:
                fence = held.fence
                nodes.stop(name)
                load.wait_for_more()
                nodes.start(name, second)
                nodes.wait("a", "b", "c")
                load.wait_for_more()
                assert held.held
                with congenial.connect_blocking(nodes.socket(name)) as other:
                    assert other.try_mutex("held") is None
                if name != "c":
                    assert len(nodes.releases("c")) == (2 if name == "a" else 1)
            with congenial.connect_blocking(nodes.socket(name)) as node, node.mutex("held", timeout=LONG) as held:
                assert held.fence > fence
    assert load.troubles == []
    assert load.count == sum(load.counted)
    with congenial.connect_blocking(nodes.socket("a")) as node:
        assert node.event("set before the upgrade").wait(LONG)
    for name in "abc":
        refused = [line for line in nodes.log(name).splitlines() if re.search("refused|failed|missed", line)]
        assert refused == []


@pytest.mark.deep
def test_a_release_with_another_protocol_is_refused_and_named_on_both_sides(nodes: Nodes) -> None:
    strange = build(nodes.folder / "strange", STRANGE)
    for name in "abc":
        nodes.start(name, PACKAGE.parent)
    nodes.wait("a", "b", "c")
    nodes.stop("c")
    nodes.start("c", strange)
    deadline = time.monotonic() + LONG
    mine = re.escape(congenial.__version__)
    text = rf"runs Congenial {mine}, which speaks versions 1 to 1 of the protocol; this is Congenial 9\.{mine}, which"
    while not all([re.search(text, reasons(nodes.log(name))) for name in "ac"]):
        assert time.monotonic() < deadline, nodes.log("a") + nodes.log("c")
        time.sleep(0.05)
    with congenial.connect_blocking(nodes.socket("a")) as node, node.mutex("x", timeout=LONG):
        pass  # the others go on


def reasons(log: str) -> str:
    found = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    return "\n".join([str(entry.get("reason", "")) for entry in found])
