"""A latch of the cluster: tasks wait until something has been counted down to zero."""

from __future__ import annotations

import msgspec

from congenial.kernel.errors import ConfigError
from congenial.net.checked import Count, checked
from congenial.net.primitives.shared import Desk, Shared, within


class LatchState(msgspec.Struct, array_like=True):
    count: int = 0  # it began with
    left: int = 0


class Latch(Shared[LatchState]):
    """Opens when it has been counted down `count` times, by any tasks, and stays open. All must give the same count.

    >>> import asyncio, congenial
    >>> async def load() -> None:
    ...     async with congenial.join("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...         loaded = cluster.latch("loaded", 2)
    ...         await loaded.count_down()
    ...         print(await loaded.wait(timeout=0.01), loaded.left)
    ...         await loaded.count_down()
    ...         print(await loaded.wait(), loaded.left)
    >>> asyncio.run(load())
    False 1
    True 0
    """

    kind = "latch"
    state_class = LatchState

    def __init__(self, desk: Desk, name: str | bytes, count: int) -> None:
        self.count: int = checked("count", count, Count)
        super().__init__(desk, name)

    def _initial(self) -> LatchState:
        return LatchState(self.count, self.count)

    @property
    def left(self) -> int:
        """How often it has to be counted down, as far as this process knows."""
        return self._local().left

    async def count_down(self, n: int = 1) -> None:
        n = checked("n", n, Count)

        def step(state: LatchState) -> None:
            if state.count != self.count:
                raise ConfigError(
                    f"latch {self.name!r} began with {state.count}, not {self.count}: give the same count"
                )
            state.left = max(0, state.left - n)

        await self._change(step)

    async def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is open. False if that takes longer than `timeout`."""
        return await within(timeout, lambda: self._until(lambda state: not state.left))

    def __repr__(self) -> str:
        return f"<latch {self.name!r}: {self.left} of {self.count} left>"
