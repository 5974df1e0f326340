"""Several locks together. All acquire them in one order, so that no two tasks wait for each other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from types import TracebackType
from typing import Any, Protocol, TypeVar

from congenial.kernel.errors import ConfigError
from congenial.net.acquiring import SEMAPHORE_MODE, Acquirable
from congenial.net.checked import checked_timeout, wrong
from congenial.net.errors import LockTimeout
from congenial.net.held import Losable, WithBody, current_task


class Named(Protocol):
    name: str
    mode: str


N = TypeVar("N", bound=Named)


class Clock:
    """How much is left of a timeout for several locks."""

    def __init__(self, timeout: float | None) -> None:
        self.deadline = None if timeout is None else time.monotonic() + timeout

    def left(self) -> float | None:
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())


def in_order(locks: Sequence[N]) -> list[N]:
    """The order in which locks are acquired, the same for everybody."""
    if not locks:
        raise ConfigError("all() needs the locks that are to be acquired together")
    ordered = sorted(locks, key=_place)
    for one, other in pairwise(ordered):
        if _place(one) == _place(other):
            raise ConfigError(f"{one.name!r} is named twice among the locks that are to be acquired together")
    return ordered


def _place(lock: Named) -> tuple[bool, str]:
    return lock.mode == SEMAPHORE_MODE, lock.name


def check_each(locks: Sequence[Any], kind: type) -> None:
    for lock in locks:
        if not isinstance(lock, kind):
            raise wrong("locks", lock, "locks of this cluster, or names of mutexes")


def too_late(locks: Sequence[Named], lock: Named) -> LockTimeout:
    names = ", ".join([repr(one.name) for one in locks])
    return LockTimeout(f"{names} could not be acquired together in time: {lock.name!r} was missing")


class AllOf:
    """Several locks that are held together, or not at all.

    >>> import asyncio, congenial
    >>> async def move() -> None:
    ...     async with congenial.join("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...         async with cluster.all("ann", "bob", cluster.shared("rates"), timeout=2.5) as held:
    ...             print([one.name for one in held])
    >>> asyncio.run(move())
    ['ann', 'bob', 'rates']
    """

    def __init__(self, locks: Sequence[Acquirable[Any]], timeout: float | None) -> None:
        check_each(locks, Acquirable)
        self.locks = tuple(locks)
        self._ordered = in_order(locks)
        self._timeout = checked_timeout(timeout)
        self._entered: list[list[WithBody[Losable]]] = []

    async def acquire(self) -> list[Any]:
        """Acquire all locks; what is held, in the order in which the locks were given. `LockTimeout` if that takes too
        long, and then none is held."""
        clock = Clock(self._timeout)
        held: dict[int, Any] = {}
        try:
            for lock in self._ordered:
                got = await (lock.acquire() if self._timeout is None else lock.acquire(timeout=clock.left()))
                if got is None:
                    raise too_late(self._ordered, lock)
                held[id(lock)] = got
        except BaseException:
            for one in reversed(held.values()):
                one._finish()
            raise
        return [held[id(lock)] for lock in self.locks]

    def release(self) -> None:
        """Release what `acquire` has acquired."""
        for lock in reversed(self._ordered):
            lock.release()

    async def __aenter__(self) -> list[Any]:
        held = await self.acquire()
        self._entered.append([WithBody(one) for one in held])
        return held

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task = current_task()
        place = max([at for at, bodies in enumerate(self._entered) if bodies[0].task is task], default=-1)
        failure: BaseException | None = error
        for body in reversed(self._entered.pop(place)):
            try:
                body.end(failure)
            except Exception as lost:
                failure = lost
        if failure is not None and failure is not error:
            raise failure
