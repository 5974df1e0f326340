"""What a program can do with a lock: acquire it and release it, as `threading.Lock` and `asyncio.Lock` have it.

Each lock that is held has an owner: a task, or a thread. A task that would wait for a lock that it holds itself gets
`WouldDeadlock` instead, from any lock object of that name; with `reentrant=True` it acquires the lock once more. If the
task gave a timeout, it waits.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Collection, Coroutine
from types import TracebackType
from typing import Any, Final, Generic, TypeVar, overload

from congenial.net.checked import Flag, checked, checked_timeout, wrong
from congenial.net.errors import LockTimeout, NotHeld, WouldDeadlock
from congenial.net.held import ONLY_HERE, Losable, WithBody, current_task, drop, end_innermost

EXCLUSIVE, SHARED, GROUP, SEMAPHORE = ("exclusive", "shared", "group", "semaphore")
AS_THE_LOCK_SAYS: Final = -1.0
THIS_TASK: Final = object()  # the one that awaits, which may not be the one that calls

H = TypeVar("H", bound=Losable)


def limit_of(blocking: bool, timeout: float | None, own: float | None) -> tuple[float | None, bool]:
    """How long a call waits, and whether it says by an error, or by None, that this was not enough."""
    own_limit = type(timeout) in (int, float) and timeout == AS_THE_LOCK_SAYS
    if not isinstance(blocking, int):
        raise wrong("blocking", blocking, "true or false")
    if not blocking:
        if timeout is not None and not own_limit:
            raise wrong("timeout", timeout, "left out if blocking is false")
        return 0.0, False
    return (own, True) if own_limit else (checked_timeout(timeout), False)


class Acquirable(ABC, Generic[H]):
    """A lock in one form, that can be acquired again and again: a `Lock`, a `RemoteLock` or a `ThreadedLock`.

    >>> import asyncio, congenial
    >>> async def use(lock: congenial.Acquirable) -> None:
    ...     async with lock as held:
    ...         print(lock.name, lock.mode, held.held)
    >>> async def work() -> None:
    ...     async with congenial.join("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...         await use(cluster.mutex("invoices"))
    >>> asyncio.run(work())
    invoices exclusive True
    """

    __slots__ = ("__weakref__", "_acquired", "_bodies", "_timeout", "group", "k", "mode", "name", "reentrant")

    def __init__(
        self, mode: str, name: str, group: str | None, k: int, timeout: float | None, reentrant: bool = False
    ) -> None:
        self.mode = mode
        self.name = name
        self.group = group
        self.k = k
        self.reentrant = reentrant
        self._timeout = timeout
        self._acquired: list[H] = []  # acquired by this object, and not released as far as it knows
        self._bodies: list[WithBody[H]] = []

    # -- acquiring -------------------------------------------------------------------------------------

    @overload
    def acquire(self) -> Coroutine[Any, Any, H]: ...

    @overload
    def acquire(
        self, blocking: bool = True, timeout: float | None = AS_THE_LOCK_SAYS
    ) -> Coroutine[Any, Any, H | None]: ...

    def acquire(self, blocking: bool = True, timeout: float | None = AS_THE_LOCK_SAYS) -> Coroutine[Any, Any, H | None]:
        """Acquire the lock, and return what is held; to be awaited.

        Without arguments it waits as long as the lock's own timeout, and then raises `LockTimeout`. With `timeout`, in
        seconds, or None to wait forever, or with `blocking=False`, it returns None if the lock could not be acquired.
        """
        if blocking is True and timeout is AS_THE_LOCK_SAYS:  # quick: most calls
            return self._acquire(THIS_TASK, self._timeout, True)
        return self._acquire(THIS_TASK, *limit_of(blocking, timeout, self._timeout))

    async def try_acquire(self, *, here: bool = False) -> H | None:
        """Acquire the lock; None if that takes longer than its timeout. With `here`: None if another member would have
        to be asked."""
        if here is not False and checked("here", here, Flag):
            return await self._acquire(THIS_TASK, ONLY_HERE, False)
        try:
            return await self.acquire()
        except LockTimeout:
            return None

    async def _acquire(self, owner: object, limit: float | None, strict: bool) -> H | None:
        if owner is THIS_TASK:
            owner = current_task()
        inside = self._inside()
        if inside and (self.reentrant or (limit is None and not self._joins_now())):
            own = [held for held in inside if held.owner == owner]
            if self.reentrant and own and self._is_covered_by(own[0]):
                own[0]._again += 1
                self._acquired.append(own[0])
                return own[0]
            if limit is None and len(own) >= (self.k if self.mode == SEMAPHORE else 1):
                raise WouldDeadlock(
                    f"{shown_owner(owner)} holds {self.name!r} and would wait for itself: release it first, "
                    "give a timeout" + ("" if self.mode == SEMAPHORE else ", or make the lock with reentrant=True")
                )
        try:
            held = await self._enter(limit, owner)
        except LockTimeout:
            if strict:
                raise
            return None
        self._note_acquired(held, owner)
        return held

    def _note_acquired(self, held: H, owner: object) -> None:
        if self._acquired:
            self._acquired[:] = [kept for kept in self._acquired if kept._inside or (kept._why and kept.owner != owner)]
        held.mode = self.mode
        held.owner = owner
        self._acquired.append(held)

    def _is_covered_by(self, held: H) -> bool:
        """A task that holds a lock alone may share it with itself, but not the other way round."""
        return held.mode == EXCLUSIVE or self._is_alike(held)

    def _is_alike(self, held: H) -> bool:
        return held.mode == self.mode and held.group == self.group

    # -- releasing -------------------------------------------------------------------------------------

    def release(self, n: int = 1) -> None:
        """Release what this task has acquired last; or else what another task has with this lock object. Raises
        `NotHeld` if there is nothing to release, `LockLost` if it was lost. `n` is for semaphores: how many."""
        self._release(current_task(), n)

    def _release(self, owner: object, n: int) -> None:
        if type(n) is not int or n < 1 or (n > 1 and self.mode != SEMAPHORE):
            raise wrong("n", n, "1, or for a semaphore a whole number of at least 1")
        if n > 1 and n > len([held for held in self._acquired if held.held]):
            raise NotHeld(f"{self.name!r} is not held {n} times")
        for _ in range(n):
            self._take(owner).release()

    def _take(self, owner: object) -> H:
        """The latest of what this owner has acquired, or else of what others have with this object."""
        kept = self._acquired
        kept[:] = [held for held in kept if held.held or held.lost]
        mine = [held for held in kept if held.owner == owner]
        if not mine:
            mine = [held for held in self._inside() if held.owner == owner and self._is_alike(held)]
        found = mine or ([] if self.reentrant else kept)
        if not found:
            whose = f" by {shown_owner(owner)}" if kept else ""
            raise NotHeld(f"{self.name!r} is not held{whose}: there is nothing to release")
        latest = found[-1]
        drop(kept, latest)
        return latest

    def _count(self, owner: object) -> int:
        """How often this owner holds it."""
        return sum([1 + held._again for held in self._inside() if held.owner == owner])

    def _release_all(self, owner: object) -> int:
        count = self._count(owner)
        if not count:
            raise NotHeld(f"{self.name!r} is not held by {shown_owner(owner)}: there is nothing to release")
        for held in [held for held in self._inside() if held.owner == owner]:
            held._again = 0
            held.release()
        return count

    def _release_save(self, owner: object) -> list[tuple[H, int]]:
        """Release all that this owner holds, and return what it was, and how often it was acquired once more."""
        saved = [(held, held._again) for held in self._inside() if held.owner == owner]
        self._release_all(owner)
        return saved

    async def _acquire_restore(self, owner: object, saved: list[tuple[H, int]]) -> None:
        for held, again in saved:
            acquired = await self._acquire(owner, None, True)
            assert acquired is not None
            self._hold_again(held, acquired, again)

    def _hold_again(self, held: H, acquired: H, again: int) -> None:
        """What was held before takes the place of what was acquired now: it is what a block, or a program, knows."""
        held._become(acquired)
        held._again = again
        self._acquired[:] = [held if kept is acquired else kept for kept in self._acquired]

    def locked(self) -> bool:
        """Whether this process holds the lock, in any form. If not, another member may hold it: no member is asked. A
        semaphore is locked if this process has all its places."""
        return len(self._inside()) >= (self.k if self.mode == SEMAPHORE else 1)

    # -- as a block ------------------------------------------------------------------------------------

    async def __aenter__(self) -> H:
        held = self._enter_at_once()
        if held is None:
            held = await self._acquire(THIS_TASK, self._timeout, True)
            assert held is not None
        self._bodies.append(WithBody(held))
        return held

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end_innermost(self._bodies, self._acquired, error)

    # -- below -----------------------------------------------------------------------------------------

    @abstractmethod
    def _inside(self) -> Collection[H]:
        """All that this process holds of the lock, in any form."""

    @abstractmethod
    def _joins_now(self) -> bool:
        """Whether entering takes no waiting although others of this process are inside."""

    def _enter_at_once(self) -> H | None:
        """Acquire the lock for this task if that takes no waiting. None says nothing."""
        return None

    @abstractmethod
    def _enter(self, limit: float | None, owner: object) -> Awaitable[H]: ...

    @abstractmethod
    def _place(self) -> str:
        """Whose lock it is, in words."""

    def _described(self, kind: str, at: int) -> str:
        state = "locked" if self.locked() else "unlocked"
        what = {GROUP: f"group {self.group!r} of", SEMAPHORE: f"{self.k} places of"}.get(self.mode, self.mode)
        inside = list(self._inside())
        holder = ""
        if len(inside) == 1:
            holder = f", held by {shown_owner(inside[0].owner)} with fence {inside[0].fence}"
        elif inside:
            holder = f", held {len(inside)} times"
        return f"<{state} {what} {kind} object {self.name!r} of {self._place()}{holder} at {at:#x}>"

    def __repr__(self) -> str:
        return self._described(type(self).__name__, id(self))


def shown_owner(owner: object) -> str:
    if isinstance(owner, asyncio.Task):
        return f"task {owner.get_name()!r}"
    if isinstance(owner, int):
        names = [thread.name for thread in threading.enumerate() if thread.ident == owner]
        return f"thread {names[0]!r}" if names else f"thread {owner}"
    if isinstance(owner, tuple):  # a program and its task
        owner = owner[0]
    return "another program" if owner is None else str(owner)
