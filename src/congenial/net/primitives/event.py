"""An event of the cluster: tasks wait until it is set, anywhere."""

from __future__ import annotations

import msgspec

from congenial.net.checked import checked_timeout
from congenial.net.primitives.shared import Shared, within


class EventState(msgspec.Struct, array_like=True):
    is_set: bool = False
    times: int = 0  # it was set


class ClusterEvent(Shared[EventState]):
    """As `asyncio.Event`, for all members of the cluster that name it.

    >>> import asyncio, congenial
    >>> async def start() -> None:
    ...     async with congenial.join("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...         go = cluster.event("go")
    ...         waiting = asyncio.create_task(go.wait())
    ...         await go.set()
    ...         print(await waiting, go.is_set())
    >>> asyncio.run(start())
    True True
    """

    kind = "event"
    state_class = EventState

    def is_set(self) -> bool:
        """As far as this process knows; nobody is asked."""
        return self._local().is_set

    async def set(self) -> None:
        """Set it: all tasks that wait go on, also if it is cleared immediately."""
        await self._change(_set)

    async def clear(self) -> None:
        await self._change(_clear)

    async def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set. False if that takes longer than `timeout`."""
        if checked_timeout(timeout) == 0:
            return self.is_set()
        return await within(timeout, self._wait)

    async def _wait(self) -> None:
        before = await self._fresh()
        if not before.is_set:
            await self._until(lambda state: state.is_set or state.times > before.times)

    def __repr__(self) -> str:
        return f"<event {self.name!r}: {'set' if self.is_set() else 'unset'}>"


def _set(state: EventState) -> None:
    if not state.is_set:
        state.is_set = True
        state.times += 1


def _clear(state: EventState) -> None:
    state.is_set = False
