"""The exit codes of `congenial lock`: a script must be able to tell its own command's failures from ours."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import congenial
from congenial.net.locks import Cluster
from congenial.net.service import serve
from places import alone

LONG = 60.0


def lock(path: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "congenial", "lock", "x", "--socket", str(path), *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True)


def test_exit_codes_are_those_of_timeout_and_flock(tmp_path: Path) -> None:
    plain = tmp_path / "plain.txt"
    plain.write_text("no program")
    path = tmp_path / "a.sock"

    async def end_of(ended: subprocess.Popen[str]) -> tuple[int, str]:
        _, told = await asyncio.to_thread(ended.communicate, timeout=LONG)
        return ended.returncode, told

    async def run(*words: str) -> tuple[int, str]:
        return await end_of(lock(path, *words))

    async def signalled(cluster: Cluster, number: int) -> tuple[int, str]:
        """How it ends if it gets a signal while it waits for the lock."""
        waiting = lock(path, "--", "true")
        async with asyncio.timeout(LONG):
            while cluster.status()["locks"]["x"]["queue"] == 0:
                await asyncio.sleep(0.02)
        waiting.send_signal(number)
        return await end_of(waiting)

    async def play() -> None:
        async with congenial.join("a", alone()) as cluster:
            node = await serve(cluster, path)
            assert await run("--", "sh", "-c", "exit 130") == (130, "")  # the command's own, not a Ctrl-C of ours
            assert await run("--", "sh", "-c", "kill -TERM $$") == (143, "")
            assert (await run("--", str(tmp_path / "none")))[0] == 127
            assert await run("--", str(plain)) == (126, f"congenial: cannot run {plain}: Permission denied\n")
            async with cluster.mutex("x"):
                late = (124, "congenial: lock 'x' could not be acquired within 0.1 s\n")
                assert await run("--timeout", "0.1", "--", "true") == late
                assert (await run("-E", "9", "--timeout", "0", "--", "true"))[0] == 9
                assert await signalled(cluster, signal.SIGINT) == (130, "congenial: interrupted\n")
                assert await signalled(cluster, signal.SIGTERM) == (-signal.SIGTERM, "")
            node.close()
        assert (await run("--", "true"))[0] == 125  # the node is gone

    asyncio.run(play())
