"""Real cables, as far as one machine has them: nodes in network namespaces of their own, joined by a bridge.

Needs root and Linux network namespaces. Where the kernel refuses them these tests are skipped with a loud message, and
fail if the environment variable CI is set: there, not having tested would pass for having tested.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from namespaces import Namespaces
from netlab import answers

from congenial.net.client import Client
from congenial.net.errors import ClusterDegraded

NODES = "abc"


class Nodes(Namespaces):
    """Three nodes, each in a namespace of its own."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, NODES)
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        nodes = [f'{name} = "{address}"' for name, address in self.addresses().items()]
        timing = ["[timing]", "heartbeat = 0.1", "suspect_after = 0.7", "reconnect_most = 0.1"]
        (self.folder / "cluster.toml").write_text("\n".join(["insecure = true", "[nodes]", *nodes, *timing]))
        for name in NODES:
            command = [sys.executable, "-m", "congenial", "node", "--name", name, "--socket", str(self.socket(name))]
            with open(self.folder / f"{name}.log", "wb") as log:
                words = self.inside(name, command)
                self.processes.append(subprocess.Popen(words, cwd=self.folder, stdout=log, stderr=log))
        deadline = time.monotonic() + 30
        while not all(answers(self.socket(name)) for name in NODES):
            assert time.monotonic() < deadline, [path.read_text() for path in self.folder.glob("*.log")]
            time.sleep(0.05)

    def socket(self, name: str) -> Path:
        return self.folder / f"{name}.sock"

    def tear_down(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        super().tear_down()


def refused(what: str, error: Exception) -> None:
    told = f"NETWORK NAMESPACES NOT TESTED: {what} is refused here: {getattr(error, 'stderr', '') or error}"
    if os.environ.get("CI"):
        pytest.fail(told)
    warnings.warn(told, stacklevel=2)
    pytest.skip(told)


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    made = Nodes(tmp_path)
    try:
        try:
            made.build()
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            refused("a network namespace", error)
        yield made
    finally:
        made.tear_down()


@pytest.mark.deep
def test_a_cut_cable_is_noticed_and_mended(nodes: Nodes) -> None:
    async def story() -> None:
        async with Client(nodes.socket("a")) as a, Client(nodes.socket("b")) as b, Client(nodes.socket("c")) as c:
            held = await c.mutex("x", timeout=20).acquire()
            nodes.cable("c", "down")
            later = await a.mutex("x", timeout=20).acquire()  # c is done without
            assert later.fence > held.fence
            assert "gone on without" in await asyncio.wait_for(held.lost.wait(), 20)  # and has found out by itself
            told = await b.status_of_all()
            assert told["c"] is None
            deadline = time.monotonic() + 20
            while told["b"]["links"]["c"]["state"] != "away":  # type: ignore[index]  # a may be the first to notice
                assert time.monotonic() < deadline, "b does not notice"
                await asyncio.sleep(0.1)
                told = await b.status_of_all()
            with pytest.raises(ClusterDegraded, match="'a' is away; 'b' is away"):
                await c.mutex("x", timeout=0.2).acquire()
            nodes.cable("c", "up")
            later.release()
            again = await c.mutex("x", timeout=20).acquire()
            assert again.fence > later.fence or await asyncio.wait_for(again.lost.wait(), 20)
            deadline = time.monotonic() + 20
            while (await a.status_of_all())["c"] is None:
                assert time.monotonic() < deadline, "c does not come back"
                await asyncio.sleep(0.1)

    nodes.start()
    asyncio.run(asyncio.wait_for(story(), 90))


def test_a_slow_link_is_only_slow(nodes: Nodes) -> None:
    """By a delay of every packet, or where the kernel has no such thing by a narrow band."""
    least = 0.06

    async def story() -> None:
        async with Client(nodes.socket("a")) as a, Client(nodes.socket("c")) as c:
            for _ in range(3):
                async with c.mutex("x", timeout=20):
                    pass
                start = time.monotonic()
                async with a.mutex("x", timeout=20):
                    assert time.monotonic() - start > least
            assert all(status is not None for status in (await a.status_of_all()).values())

    try:
        for name in NODES:
            nodes.slow_down(name, "netem", "delay", "60ms")
    except subprocess.CalledProcessError:
        least = 0.0
    try:
        if not least:
            for name in NODES:
                nodes.slow_down(name, "tbf", "rate", "64kbit", "burst", "1600", "latency", "2s")
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
        refused("a slow link (tc)", error)
    nodes.start()
    asyncio.run(asyncio.wait_for(story(), 90))
