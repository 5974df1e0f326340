"""Something that is done once in the life of a cluster, by the first process that comes."""

from __future__ import annotations

from types import TracebackType

import msgspec

from congenial.net.held import Losable, WithBody, current_task
from congenial.net.primitives.shared import Shared


class OnceState(msgspec.Struct, array_like=True):
    done: bool = False


class Once(Shared[OnceState]):
    """A block that is told whether it is the first. The others wait until the first has ended, and go on then.

    >>> import asyncio, congenial
    >>> async def start() -> None:
    ...     async with congenial.join("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...         for _ in range(2):
    ...             async with cluster.once("create tables") as first:
    ...                 print("create them" if first else "they are there")
    >>> asyncio.run(start())
    create them
    they are there

    It counts as done when the block has ended without an error. If the first process crashes, or loses its lock, the
    next one is the first. So it must be safe to begin the work twice; pass `fence` to what it changes.
    """

    kind = "once"
    state_class = OnceState
    fence = 0  # of the first, while it is inside
    _held: Losable | None = None
    _body: WithBody[Losable] | None = None

    async def __aenter__(self) -> bool:
        if await self._enter(current_task()):
            assert self._held is not None
            self._body = WithBody(self._held)
            return True
        return False

    async def _enter(self, owner: object) -> bool:
        held = await self._lock._acquire(owner, None, True)
        assert held is not None
        try:
            done = await self._change_holding(held.fence, lambda state: state.done)
        except BaseException:
            held._finish()
            raise
        if done:
            held._finish()
            return False
        self._held = held
        self.fence = held.fence
        return True

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        body, self._body = self._body, None
        if body is not None:
            try:
                await self._finish(error)
            except BaseException as failure:
                body.end(failure)
                raise
            body.end(error)

    async def _finish(self, error: BaseException | None) -> None:
        """Note that it is done, unless there was an error."""
        held, self._held = self._held, None
        if held is not None and error is None and held.held:
            await self._change_holding(held.fence, _done)

    async def _leave(self, error: BaseException | None) -> None:
        held = self._held
        if held is not None:
            try:
                await self._finish(error)
            finally:
                held._finish()
            if held.lost and error is None:
                raise held._not_held()

    async def done(self) -> bool:
        """True if it has been done."""
        return (await self._fresh()).done

    def __repr__(self) -> str:
        return f"<once {self.name!r}: {'done' if self._local().done else 'not done'}>"


def _done(state: OnceState) -> None:
    state.done = True
