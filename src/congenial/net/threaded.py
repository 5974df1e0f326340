"""A member whose node runs in a thread of its own: `congenial.join(..., own_thread=True)`.

The tasks of the program stay on their own event loop. They may block it for as long as they like: the node goes on
answering the other members, so the process keeps what it holds, and does not keep others waiting. In exchange, every
call goes to the node's event loop and back.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from types import TracebackType
from typing import Any, TypeVar, cast

from congenial.kernel.errors import ConfigError
from congenial.net.acquiring import SEMAPHORE_MODE, Acquirable
from congenial.net.blocking_locks import GuardedThere
from congenial.net.entrance import RAN_OUT
from congenial.net.guarded import Guarded, Section, latest
from congenial.net.held import Held, Losable, current_task
from congenial.net.locks import Cluster, Lock, LockForms
from congenial.net.loop_thread import LoopThread
from congenial.net.members import Member
from congenial.net.names import readable
from congenial.net.notes import Note
from congenial.net.primitives.forms import Primitives
from congenial.net.primitives.shared import NoteBoard
from congenial.net.replica import Machine

T = TypeVar("T")
H = TypeVar("H", bound="ThreadedHeld")


class ThreadedHeld(Losable):
    """A lock held by a task, like `Held`, whose node is in a thread of its own.

    >>> import asyncio, congenial
    >>> async def pay() -> None:
    ...     async with congenial.join("a", {"a": "127.0.0.1:7101"}, own_thread=True) as cluster:
    ...         held = await cluster.mutex("invoices").acquire()
    ...         held.check()
    ...         held.release()
    ...         print(held.name, held.held)
    >>> asyncio.run(pay())
    invoices False
    """

    __slots__ = ("_cluster", "_held")

    def __init__(self, cluster: ThreadedCluster, held: Held) -> None:
        super().__init__(held.name, held.group, 0)
        self._cluster = cluster
        self._held = held  # of the node's thread

    @property
    def fence(self) -> int:
        """As `Held.fence`: the node's thread knows it."""
        return self._held.fence

    @property
    def _inside(self) -> bool:
        return self in self._cluster._held

    def _lease_left(self) -> float:
        return self._held._lease_left()

    def release(self) -> None:
        """Release the lock. Does not wait for anything. `LockLost` if it was lost before."""
        self._settle()
        if not self._inside:
            raise self._not_held()
        if self._again:
            self._again -= 1
        else:
            self._cluster._held.discard(self)
            self._cluster._tell(self._held._finish)

    def _settle(self) -> None:
        """The node's thread may know already that it is lost; or nobody but the clock does."""
        if self._inside and (self._held._why or self._held._has_run_out()):
            self._cluster._tell(self._held._expire)
            self._lose(self._held._why or RAN_OUT)

    def _become(self, other: Any) -> None:
        self._held = other._held
        self._cluster._held.discard(other)
        self._cluster._held.add(self)
        self._listen()

    def _listen(self) -> None:
        """Have the node's thread say if it is lost."""
        told = partial(tell, asyncio.get_running_loop(), self._settle)
        self._cluster._tell(partial(self._held.on_lost, told))

    def _lose(self, why: str) -> None:
        self._cluster._held.discard(self)
        super()._lose(why)


class ThreadedLock(Acquirable[ThreadedHeld]):
    """A lock that can be acquired, again and again, like `Lock`, whose node is in a thread of its own.

    >>> import asyncio, congenial
    >>> async def pay() -> None:
    ...     async with congenial.join("a", {"a": "127.0.0.1:7101"}, own_thread=True) as cluster:
    ...         lock = cluster.mutex("invoices", timeout=2.5)
    ...         async with lock as held:
    ...             print(held.name, held.held, lock.locked())
    >>> asyncio.run(pay())
    invoices True True
    """

    __slots__ = ("_cluster", "_made", "_make")

    def __init__(
        self,
        cluster: ThreadedCluster,
        mode: str,
        name: str,
        group: str | None,
        k: int,
        timeout: float | None,
        reentrant: bool,
        make: Callable[[], Lock],
    ) -> None:
        super().__init__(mode, name, group, k, timeout, reentrant)
        self._cluster = cluster
        self._make = make  # the lock, in the node's thread
        self._made: Lock | None = None

    def _inside(self) -> list[ThreadedHeld]:
        seats = self.mode == SEMAPHORE_MODE
        return [
            held for held in self._cluster._held if held.name == self.name and (held.mode == SEMAPHORE_MODE) == seats
        ]

    def _joins_now(self) -> bool:
        return True  # the node finds out whether it does not

    async def _enter(self, limit: float | None, owner: object) -> ThreadedHeld:
        return await self._cluster._take(ThreadedHeld, self._enter_there(limit, owner))

    async def _enter_there(self, limit: float | None, owner: object) -> Held:
        if self._made is None:
            self._made = self._make()
        held = await self._made._acquire(owner, limit, True)
        assert held is not None
        return held

    def _place(self) -> str:
        return repr(self._cluster.name)


class ThreadedSection(ThreadedHeld):
    """The right to issue operations on a guarded object, like `Section`.

    >>> import asyncio, congenial
    >>> from congenial.problems.weak import Counter
    >>> async def add() -> None:
    ...     async with congenial.join("a", {"a": "127.0.0.1:7101"}, own_thread=True) as cluster:
    ...         async with cluster.guarded("total", Counter()) as section:
    ...             print(await section.issue(5), await section.issue(7))
    >>> asyncio.run(add())
    5 12
    """

    __slots__ = ()

    async def issue(self, operation: Any) -> Any:
        """Have all replicas execute an operation, and return its result. After `LockLost` it is never executed."""
        return await self._cluster._run_there(cast(Section, self._held).issue(operation))


class ThreadedGuarded(GuardedThere):
    """A replicated object that tasks can work on, like `Guarded`.

    >>> import asyncio, congenial
    >>> from congenial.problems.weak import Counter
    >>> async def add() -> None:
    ...     async with congenial.join("a", {"a": "127.0.0.1:7101"}, own_thread=True) as cluster:
    ...         total = cluster.guarded("total", Counter())
    ...         async with total as section:
    ...             await section.issue(5)
    ...         print(total.replica.total)
    >>> asyncio.run(add())
    5
    """

    def __init__(self, cluster: ThreadedCluster, guarded: Guarded) -> None:
        super().__init__(cluster, guarded)
        self._member = cluster
        self._sections: list[tuple[asyncio.Task[Any] | None, ThreadedSection]] = []

    async def acquire(self) -> ThreadedSection:
        """Enter, or raise `LockTimeout` when the timeout is over."""
        return await self._member._take(ThreadedSection, self._guarded.acquire())

    async def __aenter__(self) -> ThreadedSection:
        section = await self.acquire()
        self._sections.append((current_task(), section))
        return section

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        latest(self._sections)._finish()  # if it is lost, the last `issue` has said so


class ThreadedBoard:
    """The notes of the node's thread."""

    def __init__(self, cluster: ThreadedCluster) -> None:
        self._cluster = cluster

    @property
    def _board(self) -> NoteBoard:
        return self._cluster._cluster._board

    @property
    def me(self) -> str:
        return self._board.me

    def local(self, key: str) -> Note:
        return self._board.local(key)

    def is_there(self, member: str) -> bool:
        return self._cluster._call(lambda: self._board.is_there(member))

    async def read(self, key: str, fence: int) -> Note:
        return await self._cluster._run_there(self._board.read(key, fence))

    async def write(self, key: str, fence: int, value: bytes) -> None:
        await self._cluster._run_there(self._board.write(key, fence, value))

    async def fresh(self, key: str) -> Note:
        return await self._cluster._run_there(self._board.fresh(key))

    async def confirm(self, key: str, note: Note) -> bool:
        return await self._cluster._run_there(self._board.confirm(key, note))

    async def changed(self, key: str, note: Note, limit: float) -> None:
        await self._cluster._run_there(self._board.changed(key, note, limit))


class ThreadedCluster(LockForms[ThreadedLock, Awaitable[ThreadedHeld | None]], Primitives, LoopThread):
    """This process as a member of a cluster, with its node in a thread of its own; made by `join`. It has all that a
    `Cluster` has.

    >>> import asyncio, congenial, time
    >>> async def work() -> None:
    ...     async with congenial.join("a", {"a": "127.0.0.1:7101"}, own_thread=True) as cluster:
    ...         async with cluster.mutex("invoices") as held:
    ...             time.sleep(0.1)  # the node does not mind
    ...             held.check()
    ...             print("alone")
    >>> asyncio.run(work())
    alone
    """

    def __init__(self, cluster: Cluster) -> None:
        LoopThread.__init__(self, cluster.name, "use `async with congenial.join(..., own_thread=True) as cluster`")
        self.name = cluster.name
        self.config = cluster.config
        self._cluster = cluster
        self._held: set[ThreadedHeld] = set()
        self._notes = ThreadedBoard(self)

    async def start(self) -> ThreadedCluster:
        """As `Cluster.start`."""
        self._start_thread()
        try:
            await self._run_there(self._cluster.start())
        except BaseException:
            self._stop()
            raise
        return self

    async def close(self) -> None:
        """As `Cluster.close`."""
        await self._end_there(self._cluster.close())

    async def leave(self) -> None:
        """As `Cluster.leave`."""
        await self._end_there(self._cluster.leave())

    async def _end_there(self, work: Coroutine[Any, Any, None]) -> None:
        if self._forked is not None or self._loop is None:
            work.close()
            return
        try:
            await self._run_there(work)
        finally:
            for held in list(self._held):
                held._settle()
            self._held.clear()
            self._stop()

    async def __aenter__(self) -> ThreadedCluster:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def ready(self, timeout: float | None = None) -> None:
        """As `Cluster.ready`."""
        await self._run_there(self._cluster.ready(timeout))

    async def wait_ended(self) -> str:
        """As `Cluster.wait_ended`."""
        return await self._run_there(self._cluster.wait_ended())

    def members(self) -> list[Member]:
        """As `Cluster.members`."""
        return self._call(self._cluster.members)

    async def assign(self, name: str, role: str) -> None:
        """As `Cluster.assign`."""
        await self._run_there(self._cluster.assign(name, role))

    def guarded(self, name: str | bytes, machine: Machine, *, timeout: float | None = None) -> ThreadedGuarded:
        """A replicated object, whose operations are issued under a lock; as `Cluster.guarded`."""
        return ThreadedGuarded(self, self._call(lambda: self._cluster.guarded(name, machine, timeout=timeout)))

    def status(self, *, lock: str | None = None, top: int = 1000, find: str | None = None) -> dict[str, Any]:
        """As `Cluster.status`."""
        return self._call(lambda: self._cluster.status(lock=lock, top=top, find=find))

    async def status_of_all(
        self, *, lock: str | None = None, top: int = 1000, find: str | None = None
    ) -> dict[str, dict[str, Any] | None]:
        """As `Cluster.status_of_all`."""
        return await self._run_there(self._cluster.status_of_all(lock=lock, top=top, find=find))

    # -- below -----------------------------------------------------------------------------------------

    def _lock(
        self, mode: str, name: str, group: str, k: int, timeout: float | None, reentrant: bool = False
    ) -> ThreadedLock:
        make = partial(self._cluster._lock, mode, name, group, k, None)
        return ThreadedLock(self, mode, readable(name), readable(group) or None, k, timeout, reentrant, make)

    def _try(self, lock: ThreadedLock, here: bool) -> Awaitable[ThreadedHeld | None]:
        return lock.try_acquire(here=here)

    @property
    def _board(self) -> ThreadedBoard:
        return self._notes

    @property
    def _forked(self) -> ConfigError | None:
        return self._cluster._forked

    async def _take(self, kind: type[H], work: Coroutine[Any, Any, Held]) -> H:
        """What was acquired in the node's thread; this one learns if it is lost."""
        taken = kind(self, await self._run_there(work, Held._finish))
        self._held.add(taken)
        taken._listen()
        return taken

    def _tell(self, what: Callable[[], object]) -> None:
        """Have something done in the node's thread."""
        if self._loop is not None and self._forked is None:
            tell(self._loop, what)

    async def _run_there(self, work: Coroutine[Any, Any, T], undo: Callable[[T], None] | None = None) -> T:
        """Run a coroutine in the node's thread, and await it. If this task is cancelled, so is the coroutine; if that
        was done already, it is undone."""
        call = self._call_there(work, undo)
        outcome: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        call.outcome.add_done_callback(partial(pass_on, outcome))
        try:
            return await outcome
        except asyncio.CancelledError:
            self._tell(call.abandon)
            raise


def tell(loop: asyncio.AbstractEventLoop, what: Callable[[], object]) -> None:
    """Have something done in the thread of an event loop, unless that has ended."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(what)


def pass_on(outcome: asyncio.Future[T], result: concurrent.futures.Future[T]) -> None:
    """Give what a call in the node's thread resulted in to the task that awaits it."""

    def settle() -> None:
        if outcome.done():
            return
        error = result.exception()
        if error is None:
            outcome.set_result(result.result())
        elif isinstance(error, concurrent.futures.CancelledError):
            outcome.cancel()
        else:
            outcome.set_exception(error)

    tell(outcome.get_loop(), settle)
