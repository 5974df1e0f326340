"""`congenial lock` is killed: its lock must not be free while its command runs."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import congenial
from congenial.net.locks import Cluster
from congenial.net.service import Service, serve
from places import alone

STUBBORN = "import os, signal, time; signal.signal(15, signal.SIG_IGN); print(os.getpid(), flush=True); time.sleep(600)"
LEAVES_A_CHILD = "sleep 600 & echo $!; wait"
QUIET_EXIT = "echo $$; exec sleep 600"
LONG = 60.0


def lives(process: int) -> bool:
    """Whether it runs; one that has ended may still be known, if nobody has asked for its exit code."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LONG):
        while not condition():
            await asyncio.sleep(0.01)


async def with_node(folder: Path, play: Callable[[Cluster, Service], Awaitable[None]]) -> None:
    async with congenial.join("a", alone()) as cluster:
        node = await serve(cluster, folder / "a.sock")
        try:
            await asyncio.wait_for(play(cluster, node), 2 * LONG)
        finally:
            node.close()


async def start(node: Service, *words: str) -> tuple[subprocess.Popen[str], int]:
    """Run a command under a lock; it prints the number of the process that is to be watched."""
    command = [sys.executable, "-m", "congenial", "lock", "x", "--socket", str(node.listener.path), "--", *words]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, int(await asyncio.to_thread(process.stdout.readline))


@pytest.mark.deep
@pytest.mark.parametrize(
    "words", [(sys.executable, "-c", STUBBORN), ("sh", "-c", LEAVES_A_CHILD)], ids=["stubborn", "leaves a child"]
)
def test_the_lock_is_kept_as_long_as_the_command_lives(words: tuple[str, ...], tmp_path: Path) -> None:
    async def play(cluster: Cluster, node: Service) -> None:
        holder, watched = await start(node, *words)
        holder.kill()
        await asyncio.to_thread(holder.wait)
        for _ in range(10):
            assert await cluster.try_mutex("x", timeout=0.05) is None
        assert lives(watched)
        os.kill(watched, signal.SIGKILL)
        async with cluster.mutex("x", timeout=LONG):
            await until(lambda: not lives(watched))  # its files are closed, then it is known to have ended

    asyncio.run(with_node(tmp_path, play))


def test_the_command_ends_soon_after(tmp_path: Path) -> None:
    async def play(cluster: Cluster, node: Service) -> None:
        holder, watched = await start(node, "sh", "-c", QUIET_EXIT)
        assert await cluster.try_mutex("x", timeout=0.05) is None
        holder.kill()
        async with cluster.mutex("x", timeout=LONG):
            await until(lambda: not lives(watched))
        await asyncio.to_thread(holder.wait)

    asyncio.run(with_node(tmp_path, play))


def test_what_a_command_leaves_behind_does_not_keep_the_lock_if_all_went_well(tmp_path: Path) -> None:
    async def play(cluster: Cluster, node: Service) -> None:
        holder, left_behind = await start(node, "sh", "-c", "sleep 600 </dev/null >/dev/null 2>&1 & echo $!")
        assert await asyncio.to_thread(holder.wait) == 0
        async with cluster.mutex("x", timeout=LONG):
            assert lives(left_behind)
        os.kill(left_behind, signal.SIGKILL)

    asyncio.run(with_node(tmp_path, play))


def test_the_command_is_ended_when_the_node_is_gone(tmp_path: Path) -> None:
    async def play(cluster: Cluster, node: Service) -> None:
        holder, watched = await start(node, "sh", "-c", QUIET_EXIT)
        node.close()
        assert await asyncio.to_thread(holder.wait) == 75
        await until(lambda: not lives(watched))

    asyncio.run(with_node(tmp_path, play))
