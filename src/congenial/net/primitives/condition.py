"""A condition of the cluster: tasks that hold a lock wait until another task, anywhere, notifies them."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

import msgspec

from congenial.kernel.errors import ConfigError
from congenial.net.acquiring import AS_THE_LOCK_SAYS, EXCLUSIVE_MODE, Acquirable
from congenial.net.checked import Count, checked, checked_timeout, wrong
from congenial.net.errors import NotHeld
from congenial.net.held import Losable, current_task
from congenial.net.primitives.shared import Desk, Shared, within

T = TypeVar("T")

numbers = itertools.count()


class ConditionState(msgspec.Struct, array_like=True):
    waiting: list[str] = []  # tickets: the life of a member, and a number


class ClusterCondition(Shared[ConditionState]):
    """As `asyncio.Condition`, for tasks of all members; `notify` has to be awaited.

    >>> import asyncio, congenial
    >>> async def work() -> None:
    ...     async with congenial.join("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...         jobs, added = [], cluster.condition("jobs")
    ...         async def take() -> str:
    ...             async with added:
    ...                 await added.wait_for(lambda: jobs)
    ...                 return jobs.pop()
    ...         taking = asyncio.create_task(take())
    ...         async with added:
    ...             jobs.append("paint")
    ...             await added.notify()
    ...         print(await taking)
    >>> asyncio.run(work())
    paint

    Its lock is a reentrant mutex of its own, unless `lock` names another one; then all must name that one. If a member
    crashes while its task waits, notifications go to the others once that is noticed. One that was sent to it before is
    lost: where that matters, wait with a timeout and look, or use `notify_all`.
    """

    kind = "condition"
    state_class = ConditionState

    def __init__(self, desk: Desk, name: str | bytes, lock: Acquirable[Any] | None = None) -> None:
        super().__init__(desk, name, reentrant=True)
        if lock is not None:
            if not isinstance(lock, Acquirable):
                raise wrong("lock", lock, "a lock of the cluster, or None")
            if lock.mode != EXCLUSIVE_MODE:
                raise ConfigError(
                    f"condition {self.name!r} needs a lock that one task holds alone, not a {lock.mode} one"
                )
            self._lock = lock
            self._key = f"{self._key} of {lock.name}"

    # -- its lock --------------------------------------------------------------------------------------

    async def acquire(self, blocking: bool = True, timeout: float | None = AS_THE_LOCK_SAYS) -> Any:
        return await self._lock.acquire(blocking, timeout)

    def release(self) -> None:
        self._lock.release()

    def locked(self) -> bool:
        return self._lock.locked()

    async def __aenter__(self) -> Any:
        return await self._lock.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._lock.__aexit__(kind, error, trace)

    # -- waiting ---------------------------------------------------------------------------------------

    async def wait(self, timeout: float | None = None) -> bool:
        """Release the lock, wait until another task notifies this one, and acquire the lock again. False if that takes
        longer than `timeout`."""
        return await self._wait(current_task(), checked_timeout(timeout))

    async def wait_for(self, predicate: Callable[[], T], timeout: float | None = None) -> T:
        """Wait until the predicate is true; it is looked at whenever this task is notified. Returns its last value."""
        loop = asyncio.get_running_loop()
        limit = checked_timeout(timeout)
        deadline = None if limit is None else loop.time() + limit
        result = predicate()
        while not result:
            left = None if deadline is None else deadline - loop.time()
            if left is not None and left <= 0:
                break
            await self.wait(left)
            result = predicate()
        return result

    async def _wait(self, owner: object, limit: float | None) -> bool:
        held = self._own(owner)
        ticket = f"{self._desk._board.me}:{next(numbers)}"
        await self._change_holding(held.fence, lambda state: state.waiting.append(ticket))
        count = self._lock._release_all(owner)
        try:
            woken = await within(limit, lambda: self._until(lambda state: ticket not in state.waiting))
        except BaseException:
            await self._return(held, owner, count)
            await self._change_holding(held.fence, lambda state: _drop(state, ticket))
            raise
        await self._return(held, owner, count)
        return woken or not await self._change_holding(held.fence, lambda state: _drop(state, ticket))

    async def _return(self, held: Losable, owner: object, count: int) -> None:
        """Acquire the lock again, whatever happens: the block around holds it."""
        acquiring = asyncio.ensure_future(self._lock._acquire(owner, None, True))
        cancelled: asyncio.CancelledError | None = None
        while not acquiring.done():
            try:
                await asyncio.shield(acquiring)
            except asyncio.CancelledError as error:
                if acquiring.cancelled():
                    raise
                cancelled = error
        self._lock._hold_again(held, acquiring.result(), count - 1)
        if cancelled is not None:
            raise cancelled

    def _own(self, owner: object) -> Losable:
        for held in self._lock._inside():
            if held.owner == owner:
                found: Losable = held
                return found
        raise NotHeld(f"the lock of condition {self.name!r} is not held by this task: acquire it first")

    # -- notifying -------------------------------------------------------------------------------------

    async def notify(self, n: int = 1) -> None:
        """Let n tasks go on, those that have waited longest, as soon as they can have the lock."""
        await self._notify(current_task(), checked("n", n, Count))

    async def notify_all(self) -> None:
        await self._notify(current_task(), None)

    async def _notify(self, owner: object, n: int | None) -> None:
        board = self._desk._board

        def step(state: ConditionState) -> None:
            there = [ticket for ticket in state.waiting if board.is_there(ticket.rpartition(":")[0])]
            state.waiting = [] if n is None else there[n:]

        await self._change_holding(self._own(owner).fence, step)

    def __repr__(self) -> str:
        return f"<condition {self.name!r}: {len(self._local().waiting)} wait; {self._lock!r}>"


def _drop(state: ConditionState, ticket: str) -> bool:
    """Stop waiting; True if the ticket was still there, so that nobody had notified it."""
    if ticket in state.waiting:
        state.waiting.remove(ticket)
        return True
    return False
