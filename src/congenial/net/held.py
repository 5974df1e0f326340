"""A lock that is held, and the news that it is not held any more.

Who holds a lock can lose it: the others took its process for dead and went on without it. It is told in three ways.
`held.lost` is true from then on, and can be awaited; `held.on_lost(callback)` calls back; and the body of an
`async with` is interrupted at its next await, as `asyncio.timeout` does it, and left with `LockLost`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from congenial.net.errors import LockLost, NotHeld

if TYPE_CHECKING:
    from congenial.net.door import Door, Want
    from congenial.net.hall import Hall


class Losable:
    """What can be lost: with a `name`, and a reason once it has been."""

    __slots__ = ("_callbacks", "_why", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._why = ""
        self._callbacks: list[Callable[[], object]] | None = None

    @property
    def held(self) -> bool:
        """Still held: neither released nor lost."""
        raise NotImplementedError

    def release(self) -> None:
        raise NotImplementedError

    @property
    def lost(self) -> Loss:
        """True if it is lost. Awaited, it says why, as soon as it is."""
        return Loss(self)

    def on_lost(self, callback: Callable[[], object]) -> None:
        """Have something called when the lock is lost; at once if it has been. Not if it is released before."""
        if self._why:
            callback()
        elif self._callbacks is None:
            self._callbacks = [callback]
        else:
            self._callbacks.append(callback)

    def check(self) -> None:
        """`LockLost` if it is lost, `NotHeld` if it has been released; nothing if it is held."""
        if not self.held:
            raise self.not_held()

    def not_held(self) -> NotHeld:
        if self._why:
            return LockLost(f"{self.name!r} is not held any more: it was lost, {self._why}")
        return NotHeld(f"{self.name!r} is not held any more: it has been released")

    def _lose(self, why: str) -> None:
        if not self._why:
            self._why = why
            callbacks, self._callbacks = self._callbacks, None
            for callback in callbacks or ():
                callback()


class Loss:
    """Whether a lock is lost: true or false, and to be awaited."""

    __slots__ = ("_of",)

    def __init__(self, of: Losable) -> None:
        self._of = of

    def __bool__(self) -> bool:
        return bool(self._of._why)

    @property
    def why(self) -> str:
        return self._of._why

    async def wait(self) -> str:
        """Why the lock is lost, once it is; never, if it is released before."""
        if not self:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._of.on_lost(lambda: None if future.done() else future.set_result(None))
            await future
        return self.why

    def __await__(self) -> Generator[Any, None, str]:
        return self.wait().__await__()

    def __repr__(self) -> str:
        return f"<lost: {self.why}>" if self else "<not lost>"


class Held(Losable):
    """A lock held by a task: its `name`, its `group` (None for an exclusive lock) and its `fence`.

    The fence is a number that grows from session to session. A resource that remembers the largest it has seen can
    turn away a holder whose session is over without it knowing. (It is 0 with the few algorithms that give none.)
    """

    __slots__ = ("_door", "fence", "group")

    def __init__(self, door: Door | Hall, want: Want, fence: int) -> None:
        super().__init__(door.name)
        self._door = door
        self.group = want.label
        self.fence = fence

    @property
    def held(self) -> bool:
        return self in self._door.inside

    def release(self) -> None:
        """Give it back. Takes no time."""
        self._door.release(self)

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.held:
            self.release()

    def __repr__(self) -> str:
        group = f" for {self.group!r}" if self.group else ""
        return f"<{'held' if self.held else 'not held'}: {self.name!r}{group}, fence {self.fence}>"


class Visit:
    """The body of an `async with`: interrupted when what it holds is lost."""

    __slots__ = ("_before", "_interrupted", "_over", "held", "task")

    def __init__(self, held: Losable) -> None:
        self.held = held
        self.task = asyncio.current_task()
        self._before = self.task.cancelling() if self.task is not None else 0
        self._interrupted = False
        self._over = False
        held.on_lost(self._interrupt)

    def _interrupt(self) -> None:
        task = self.task
        if task is not None and not self._over and task is not asyncio.current_task():
            self._interrupted = True
            task.cancel()

    def end(self, error: BaseException | None) -> None:
        """Release the lock; `LockLost` if it is lost and nothing else is to be raised."""
        self._over = True
        ours = False
        if self._interrupted and self.task is not None:
            ours = self.task.uncancel() <= self._before and isinstance(error, asyncio.CancelledError)
        if self.held.lost and (error is None or ours):
            raise self.held.not_held() from error
        if self.held.held:
            self.held.release()


def last_visit(visits: list[Visit]) -> Visit:
    """The latest of the present task."""
    task = asyncio.current_task()
    place = max([at for at, visit in enumerate(visits) if visit.task is task], default=len(visits) - 1)
    return visits.pop(place)
