"""A lock that is held, and how its holder learns that it has lost it.

A holder can lose a lock: the others believed that its process had crashed, and went on without it; or another task of
its program has closed the cluster. It learns that in three ways. `held.lost` is true from then on, and can be awaited;
`held.on_lost(callback)` calls back; and the body of an `async with` is interrupted at its next await, as
`asyncio.timeout` does it, and left with `LockLost`.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Callable, Collection, Generator
from typing import Any, Final, Generic, Self, TypeVar

from mypy_extensions import mypyc_attr

from congenial.net.checked import wrong
from congenial.net.errors import LockLost, NotHeld
from congenial.net.lease import Lease
from congenial.net.logs import log_exception

_running_loop: Final[Callable[[], Any]] = asyncio._get_running_loop
_current_tasks: Final[dict[Any, asyncio.Task[Any]]] = getattr(asyncio.tasks, "_current_tasks", {})
ONLY_HERE: Final = -1.0  # a timeout: do not even ask other members


@mypyc_attr(allow_interpreted_subclasses=True)
class Losable:
    """A lock or a section that is held and can be lost. `owner` is the task or thread that acquired it."""

    __slots__ = ("_again", "_body", "_callbacks", "_fence", "_why", "group", "mode", "name", "owner")

    def __init__(self, name: str, group: str | None, fence: int) -> None:
        self.name = name
        self.group = group
        self._fence = fence
        self.mode = ""  # of the lock that acquired it
        self.owner: object = None
        self._again = 0  # how often its owner has acquired it once more, and not released it
        self._why = ""
        self._callbacks: list[Callable[[], object]] | None = None
        self._body: WithBody[Any] | None = None  # of the block that holds it, if it is the only one

    @property
    def fence(self) -> int:
        """The number to pass to whatever the lock protects. It may grow while the lock is held: for a semaphore when
        the members change, and for a block when it waits for a condition. So read it each time you use it."""
        return self._fence

    @property
    def held(self) -> bool:
        """True while the lock is neither released nor lost."""
        self._settle()
        return self._inside

    def release(self) -> None:
        raise NotImplementedError

    def _settle(self) -> None:
        """Find out by the clock whether it is lost."""

    @property
    def _inside(self) -> bool:
        """As `held`, but without a look at the clock."""
        raise NotImplementedError

    def _become(self, other: Any) -> None:
        """Take the place of another one: the lock was released, and is held again, by the same block."""
        raise NotImplementedError

    def _has_run_out(self) -> bool:
        """True if it is lost by the clock; for other threads."""
        return False

    def _expire(self) -> None:
        """Another thread has seen that it is lost by the clock."""

    def _lease_left(self) -> float:
        """For how many seconds it is surely not lost, whatever happens; for other threads, too."""
        raise NotImplementedError

    def _finish(self) -> None:
        """Release it if it is held."""
        if self.held:
            self.release()

    def valid_for(self) -> float:
        """For how many seconds no other process can hold the lock, even if this one were cut off now; 0 if it is not
        held.

        This holds whatever the network does, as long as clocks run at speeds that differ by at most `Timing.drift`, and
        until this program closes the cluster. Infinite where the others never go on without this process. In a cluster
        that does not follow views, others may acquire the lock earlier, and then only fences help.
        """
        return self._lease_left() if self.held else 0.0

    @property
    def lost(self) -> Loss:
        """True if the lock is lost. `await held.lost` waits until it is, and returns why."""
        return Loss(self)

    def on_lost(self, callback: Callable[[], object]) -> None:
        """Call `callback` when the lock is lost, immediately if it has been. It is not called after a release."""
        if not callable(callback):
            raise wrong("callback", callback, "a function")
        if self._why:
            callback()
        elif self._callbacks is None:
            self._callbacks = [callback]
        else:
            self._callbacks.append(callback)

    def _forget_callback(self, callback: Callable[[], object]) -> None:
        if self._callbacks is not None and callback in self._callbacks:
            self._callbacks.remove(callback)

    def check(self) -> None:
        """Raise `LockLost` if the lock is lost, `NotHeld` if it has been released; do nothing if it is held."""
        if not self.held:
            raise self._not_held()

    def _not_held(self) -> NotHeld:
        if self._why:
            return LockLost(f"{self.name!r} is no longer held: it was lost, {self._why}")
        return NotHeld(f"{self.name!r} is no longer held: it has been released")

    def _lose(self, why: str) -> None:
        if not self._why:
            self._why = why
            callbacks = self._callbacks or []
            if self._body is not None:
                callbacks = [self._body.interrupt, *callbacks]
            self._callbacks = self._body = None
            for callback in callbacks:
                try:
                    callback()
                except Exception:  # it must not keep others from learning of the loss
                    log_exception(logging.ERROR, "callback.failed", lock=self.name)

    def _abandon(self, why: str) -> None:
        """As if it were lost, but without calling anybody back."""
        self._why = self._why or why
        self._callbacks = None
        self._body = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._finish()
        if self._why and error is None:
            raise self._not_held()

    def __repr__(self) -> str:
        group = f" for {self.group!r}" if self.group else ""
        return f"<{'held' if self._inside else 'not held'}: {self.name!r}{group}, fence {self.fence}>"


class Loss:
    """True if a lock is lost, and False otherwise; it can be awaited. This is what `held.lost` returns.

    >>> import congenial
    >>> with congenial.join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...     with cluster.mutex("invoices") as held:
    ...         bool(held.lost)
    False
    """

    __slots__ = ("_of",)

    def __init__(self, of: Losable) -> None:
        self._of = of

    def __bool__(self) -> bool:
        self._of._settle()
        return bool(self._of._why)

    @property
    def why(self) -> str:
        return self._of._why

    async def wait(self) -> str:
        """Wait until the lock is lost, and return why. Never returns if the lock is released before."""
        if not self:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._of.on_lost(lambda: None if future.done() else future.set_result(None))
            await future
        return self.why

    def __await__(self) -> Generator[Any, None, str]:
        return self.wait().__await__()

    def __repr__(self) -> str:
        return f"<lost: {self.why}>" if self else "<not lost>"


@mypyc_attr(allow_interpreted_subclasses=True)
class Keeper:
    """Knows which locks are held; what a `Held` calls in the layer above. A class, so that it is called directly.
    But no `ABC`: all compiled classes below one share its memory of what is an instance of what."""

    __slots__ = ("lease", "name")

    name: str
    lease: Lease
    inside: Collection[Held]  # the tasks that hold it

    def release(self, held: Held) -> None:
        raise NotImplementedError

    def settle(self, held: Held) -> None:
        raise NotImplementedError

    def has_run_out(self, held: Held) -> bool:
        raise NotImplementedError

    def expire(self, held: Held) -> None:
        raise NotImplementedError

    def on_loss(self, held: Held, why: str) -> None:
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)
class Held(Losable):
    """A lock held by a task: its `name`, its `group` (None for an exclusive lock) and its `fence`.

    >>> import asyncio, congenial
    >>> async def pay() -> None:
    ...     async with congenial.join("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...         held = await cluster.mutex("invoices").acquire()
    ...         held.check()  # raises LockLost if the others have gone on without this process
    ...         print(held)
    ...         held.release()
    ...         print(held.name, held.held, bool(held.lost))
    >>> asyncio.run(pay())
    <held: 'invoices', fence ...>
    invoices False False

    The fence is a number that grows from session to session. A resource that remembers the largest fence it has seen
    can reject a holder that does not know that its session is over. (It is 0 with the few algorithms that give none.)
    """

    __slots__ = ("_door", "_on_fence", "_since")

    def __init__(self, door: Keeper, group: str | None, fence: int) -> None:
        self.name = door.name
        self.group = group
        self._fence = fence
        self.mode = ""
        self.owner = None
        self._again = 0
        self._why = ""
        self._callbacks = None
        self._body = None
        self._door = door
        self._on_fence: Callable[[], object] | None = None  # called when it has another fence
        self._since = time.monotonic()  # 0.0 when it has ended

    def _lease_left(self) -> float:
        return self._door.lease.left()

    def release(self) -> None:
        """Release the lock. Does not wait for anything. `LockLost` if it was lost before."""
        self._door.settle(self)
        if self._again and self in self._door.inside:
            self._again -= 1
        else:
            self._door.release(self)

    def _finish(self) -> None:
        door = self._door
        if self in door.inside:
            if self._again or door.lease.over():
                super()._finish()
            else:
                door.release(self)

    def _settle(self) -> None:
        self._door.settle(self)

    @property
    def _inside(self) -> bool:
        return self in self._door.inside

    def _become(self, other: Any) -> None:
        self._door = other._door
        inside: Any = self._door.inside
        if isinstance(inside, dict):  # of a semaphore: each with its seat
            inside[self] = inside.pop(other)
        else:
            inside.remove(other)
            inside.add(self)
        self._fence = other.fence

    def _renumber(self, fence: int) -> None:
        """The lock stays held, with another fence."""
        self._fence = fence
        if self._on_fence is not None:
            self._on_fence()

    def _has_run_out(self) -> bool:
        return self._door.has_run_out(self)

    def _expire(self) -> None:
        self._door.expire(self)

    def _lose(self, why: str) -> None:
        if not self._why:
            self._door.on_loss(self, why)
        super()._lose(why)


def current_task() -> asyncio.Task[Any] | None:
    """None in a forked child: there no loop is running, although the child may go on with the task's code."""
    if sys.version_info < (3, 12):  # where `asyncio.current_task` is not written in C: the same without it
        loop = _running_loop()
        return None if loop is None else _current_tasks.get(loop)
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


H = TypeVar("H", bound=Losable)


class WithBody(Generic[H]):
    """The body of an `async with`: interrupted when what it holds is lost."""

    __slots__ = ("_before", "_interrupted", "_over", "held", "task")

    def __init__(self, held: H) -> None:
        self.held = held
        owner = held.owner
        self.task = owner if isinstance(owner, asyncio.Task) else asyncio.current_task()
        self._before = self.task.cancelling() if self.task is not None else 0
        self._interrupted = False
        self._over = False
        if held._body is None and not held._why:
            held._body = self
        else:
            held.on_lost(self.interrupt)

    def interrupt(self) -> None:
        task = self.task
        if task is not None and not self._over and task is not asyncio.current_task():
            self._interrupted = True
            task.cancel()

    def end(self, error: BaseException | None) -> None:
        """Release the lock; raise `LockLost` if it is lost and no other error is on its way."""
        self._over = True
        ours = False
        if self._interrupted and self.task is not None:
            ours = self.task.uncancel() <= self._before and isinstance(error, asyncio.CancelledError)
        self.held._finish()
        if self.held._body is self:  # or they would keep each other in memory
            self.held._body = None
        else:
            self.held._forget_callback(self.interrupt)
        if self.held._why and (error is None or ours):
            raise self.held._not_held() from error


def innermost(bodies: list[WithBody[H]]) -> WithBody[H]:
    """Take the latest body of the current task from a list."""
    if len(bodies) == 1:
        return bodies.pop()  # quick: that is what most lists have
    task = current_task()
    place = max([at for at, body in enumerate(bodies) if body.task is task], default=len(bodies) - 1)
    return bodies.pop(place)


def drop(kept: list[H], held: H) -> None:
    """Take something that is held from a list, in which it may be several times, or not at all."""
    for at in range(len(kept) - 1, -1, -1):
        if kept[at] is held:
            del kept[at]
            return


def end_innermost(bodies: list[WithBody[H]], kept: list[H], error: BaseException | None) -> None:
    """End the latest body of the current task. What it held is not kept any more."""
    body = innermost(bodies)
    try:
        body.end(error)
    finally:
        drop(kept, body.held)
