"""A cluster in one process, whose members can be killed and started again."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from netlab import NAMES, QUICK, crash

from congenial.net.config import ClusterConfig, free_addresses
from congenial.net.locks import Cluster


class Town:
    """Members that can be killed and started again, each with a state directory or without."""

    def __init__(self, n: int, folder: Path | None, **settings: Any) -> None:
        self.config = ClusterConfig(dict(zip(NAMES, free_addresses(n), strict=False)), timing=QUICK, **settings)
        self.folder = folder
        self.up: dict[str, Cluster] = {}

    async def start(self, *names: str, timeout: float = 10) -> list[Cluster]:
        for name in names or self.config.members:
            state = str(self.folder / name) if self.folder else ""
            self.up[name] = await Cluster(name, replace(self.config, state=state)).start()
        for name in names or self.config.members:
            await self.up[name].ready(timeout)
        return list(self.up.values())

    async def kill(self, *names: str) -> None:
        for name in names:
            await crash(self.up.pop(name))

    def is_whole(self, name: str) -> bool:
        """It has been reminded of everything, and has its vote again everywhere."""
        return self.past(name) == "recovered" and self.up[name].status()["abstains"] == 0

    def past(self, name: str) -> str:
        return str(self.up[name].status()["past"])

    def link(self, name: str, peer: str) -> dict[str, Any]:
        """The status of one member's link to another."""
        link: dict[str, Any] = self.up[name].status()["links"][peer]
        return link


@contextlib.asynccontextmanager
async def town(n: int, folder: Path | None = None, **settings: Any) -> AsyncIterator[Town]:
    made = Town(n, folder, **settings)
    await made.start()
    try:
        yield made
    finally:
        for member in made.up.values():
            await member.close()
