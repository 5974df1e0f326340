"""A small cluster of real nodes with programs that use its locks, for the picture of the Cluster view."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import congenial
from congenial.net.config import free_addresses

NAMES = ("athens", "berlin", "cairo", "dublin", "essen")
GROUPS = ("jazz", "rock", "bach")
LOCKS = 2_000


@contextmanager
def living(folder: str) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """Nodes, each with a program; by name. The configuration is `folder`/cluster.toml."""
    nodes = "".join([f'{name} = "{place}"\n' for name, place in zip(NAMES, free_addresses(len(NAMES)), strict=True)])
    Path(folder, "cluster.toml").write_text(f'cluster = "jukebox"\n[nodes]\n{nodes}')
    os.environ["XDG_RUNTIME_DIR"] = folder
    words = [sys.executable, "-m", "congenial", "node", "--config", f"{folder}/cluster.toml", "--name"]
    started = {
        name: subprocess.Popen([*words, name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for name in NAMES
    }
    for process in started.values():
        assert process.stdout is not None
        process.stdout.readline()  # it listens
    sockets = [f"{folder}/congenial-jukebox-{name}.sock" for name in NAMES]
    programs = [subprocess.Popen([sys.executable, __file__, socket]) for socket in sockets]
    try:
        yield started
    finally:
        for process in [*programs, *started.values()]:
            process.kill()
            process.wait()


async def program(socket: str) -> None:
    chance = random.Random(socket[-12:])
    async with congenial.connect(socket) as node:
        listeners, writers = [listen(node, chance) for _ in range(2)], [write(node, chance) for _ in range(6)]
        with contextlib.suppress(congenial.LockLost):  # its node was killed
            await asyncio.gather(*listeners, *writers)


async def listen(node: congenial.Client, chance: random.Random) -> None:
    while True:
        async with node.group("jukebox", chance.choice(GROUPS)):
            await asyncio.sleep(chance.uniform(2, 6))
        await asyncio.sleep(chance.uniform(1, 8))


async def write(node: congenial.Client, chance: random.Random) -> None:
    while True:
        number = int(LOCKS * chance.random() ** 3)
        async with node.mutex(f"accounts/{number:04}"):
            await asyncio.sleep(chance.uniform(0.02, 0.8))
        await asyncio.sleep(chance.uniform(0, 0.4))


if __name__ == "__main__":
    asyncio.run(program(sys.argv[1]))
