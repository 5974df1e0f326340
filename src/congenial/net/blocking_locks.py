"""Locks for threads: what `Lock`, `Held` and `Guarded` are for tasks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from copy import deepcopy
from types import TracebackType
from typing import Any, cast, overload

from congenial.net.acquiring import AS_THE_LOCK_SAYS, Acquirable, limit_of
from congenial.net.checked import Flag, checked
from congenial.net.errors import LockTimeout
from congenial.net.guarded import Guarded, Section
from congenial.net.held import ONLY_HERE, Held, Losable
from congenial.net.loop_thread import LoopThread

Acquire = Callable[[Acquirable[Any]], Coroutine[Any, Any, Losable | None]]


class Entered(threading.local):
    """What the blocks of a thread hold, innermost last."""

    def __init__(self) -> None:
        self.stack: list[Any] = []


class BlockingHeld:
    """A lock held by a thread: its `name`, `group` and `fence` as those of `Held`.

    >>> from congenial import join_blocking
    >>> with join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...     held = cluster.mutex("invoices").acquire()
    ...     held.check()
    ...     held.release()
    ...     print(held.name, held.held)
    invoices False
    """

    def __init__(self, cluster: LoopThread, held: Losable) -> None:
        self._cluster = cluster
        self._held = held
        self.name = held.name
        self.group = held.group
        self.mode = held.mode
        self.owner = held.owner

    @property
    def fence(self) -> int:
        """As `Held.fence`: the cluster's thread knows it."""
        return self._held.fence

    @property
    def held(self) -> bool:
        """True while the lock is neither released nor lost."""
        self._settle()
        return self._held._inside

    @property
    def lost(self) -> bool:
        self._settle()
        return bool(self._held._why)

    def check(self) -> None:
        """Raise `LockLost` if the lock is lost, `NotHeld` if it has been released; do nothing if it is held."""
        if not self.held:
            raise self._held._not_held()

    def valid_for(self) -> float:
        """For how many seconds no other process can hold the lock, even if this one were cut off now; 0 if it is not
        held. As `Held.valid_for`."""
        return self._held._lease_left() if self.held else 0.0

    def _settle(self) -> None:
        """Find out by the clock whether the lock is lost. The cluster's thread may not get to it before the lease is
        renewed; that does not matter any more."""
        if self._held._has_run_out():
            if threading.current_thread() is self._cluster._thread:  # in a callback
                self._held._expire()
            else:
                self._cluster._call(self._held._expire)

    def on_lost(self, callback: Callable[[], object]) -> None:
        """Call `callback` when the lock is lost, in the cluster's thread: it should be quick."""
        self._cluster._call(lambda: self._held.on_lost(callback))

    def release(self) -> None:
        if self._cluster._forked is not None:
            self._held.check()  # raises: it is for the parent to release it
        self._cluster._call(self._held.release)

    def __enter__(self) -> BlockingHeld:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._finish(error)

    def _finish(self, error: BaseException | None) -> None:
        """Release the lock; raise `LockLost` if it is lost and no other error is on its way."""
        self._settle()
        if self._held._inside:
            self._cluster._call(self._held._finish)
        if self._held._why and error is None:
            raise self._held._not_held()

    def __repr__(self) -> str:
        return repr(self._held)


class BlockingSection(BlockingHeld):
    """The right to issue operations on a guarded object.

    >>> from congenial.problems.weak import Counter
    >>> from congenial import join_blocking
    >>> with join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...     with cluster.guarded("total", Counter()) as section:
    ...         print(section.issue(5), section.issue(7))
    5 12
    """

    def issue(self, operation: Any) -> Any:
        """Have all replicas execute an operation, and return its result. After `LockLost` it is never executed."""
        return self._cluster._run(cast(Section, self._held).issue(operation))

    def _finish(self, error: BaseException | None) -> None:
        if self.held:  # if it is lost, the last `issue` has said so
            self.release()


class BlockingLock:
    """A lock that can be acquired, again and again, like `Lock`: with `with`, or with `acquire` and `release`, as a
    `threading.Lock`. Threads may share it.

    >>> from congenial import join_blocking
    >>> with join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...     lock = cluster.mutex("invoices", timeout=2.5)
    ...     with lock as held:
    ...         print(held.name, held.held, lock.locked())
    ...     if lock.acquire(timeout=0.5):  # None if that takes longer
    ...         lock.release()
    invoices True True
    """

    def __init__(
        self,
        cluster: LoopThread,
        mode: str,
        name: str,
        group: str | None,
        k: int,
        reentrant: bool,
        make: Callable[[], Acquirable[Any]],
    ) -> None:
        self.mode = mode
        self.name = name
        self.group = group
        self.k = k
        self.reentrant = reentrant
        self._cluster = cluster
        self._make = make  # the lock, in the loop's thread
        self._made: Acquirable[Any] | None = None
        self._entered = Entered()

    def _lock(self) -> Acquirable[Any]:
        if self._made is None:
            self._made = self._make()
        return self._made

    @overload
    def acquire(self) -> BlockingHeld: ...

    @overload
    def acquire(self, blocking: bool = True, timeout: float | None = AS_THE_LOCK_SAYS) -> BlockingHeld | None: ...

    def acquire(self, blocking: bool = True, timeout: float | None = AS_THE_LOCK_SAYS) -> BlockingHeld | None:
        """Acquire the lock, and return what is held.

        Without arguments it waits as long as the lock's own timeout, and then raises `LockTimeout`. With `timeout`, in
        seconds, or None to wait forever, or with `blocking=False`, it returns None if the lock could not be acquired.
        """
        owner = threading.get_ident()
        return self._run(lambda lock: lock._acquire(owner, *limit_of(blocking, timeout, lock._timeout)))

    def _run(self, acquire: Acquire) -> BlockingHeld | None:
        work = self._acquire(acquire)
        held = self._cluster._run(work, undo=lambda held: None if held is None else held.release())
        return None if held is None else BlockingHeld(self._cluster, held)

    async def _acquire(self, acquire: Acquire) -> Losable | None:
        return await acquire(self._lock())

    def try_acquire(self, *, here: bool = False) -> BlockingHeld | None:
        """Acquire the lock; None if that takes longer than its timeout. With `here`: None if another member would have
        to be asked."""
        if here is not False and checked("here", here, Flag):
            owner = threading.get_ident()
            return self._run(lambda lock: lock._acquire(owner, ONLY_HERE, False))
        try:
            return self.acquire()
        except LockTimeout:
            return None

    def release(self, n: int = 1) -> None:
        """Release what this thread has acquired last, or else what another thread has with this lock object; as
        `Lock.release`."""
        owner = threading.get_ident()
        self._cluster._call(lambda: self._lock()._release(owner, n))

    def locked(self) -> bool:
        """Whether this process holds the lock, in any form; as `Lock.locked`."""
        return self._cluster._call(lambda: self._lock().locked())

    def __enter__(self) -> BlockingHeld:
        held = self.acquire()
        self._entered.stack.append(held)
        return held

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        held: BlockingHeld = self._entered.stack.pop()
        held._finish(error)

    def __repr__(self) -> str:
        return self._cluster._call(lambda: self._lock()._described("BlockingLock", id(self)))

    # -- what `threading.Condition` asks of its lock ---------------------------------------------------

    def _is_owned(self) -> bool:
        return self._recursion_count() > 0

    def _recursion_count(self) -> int:
        owner = threading.get_ident()
        return self._cluster._call(lambda: self._lock()._count(owner))

    def _release_save(self) -> list[tuple[Losable, int]]:
        owner = threading.get_ident()
        return self._cluster._call(lambda: self._lock()._release_save(owner))

    def _acquire_restore(self, saved: list[tuple[Losable, int]]) -> None:
        self._cluster._run(self._lock()._acquire_restore(threading.get_ident(), saved))


class GuardedThere:
    """A replicated object whose node is in another thread."""

    def __init__(self, cluster: LoopThread, guarded: Guarded) -> None:
        self.name = guarded.name
        self._cluster = cluster
        self._guarded = guarded

    @property
    def replica(self) -> Any:
        """A copy of the object as it is here. It may be behind."""
        return self._cluster._call(lambda: deepcopy(self._guarded.replica))

    @property
    def behind(self) -> int | None:
        """As `Guarded.behind`."""
        return self._cluster._call(lambda: self._guarded.behind)


class BlockingGuarded(GuardedThere):
    """A replicated object that threads can work on, like `Guarded`.

    >>> from congenial.problems.weak import Counter
    >>> from congenial import join_blocking
    >>> with join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...     total = cluster.guarded("total", Counter())
    ...     with total as section:
    ...         _ = section.issue(5)
    ...     print(total.replica.total)
    5
    """

    def __init__(self, cluster: LoopThread, guarded: Guarded) -> None:
        super().__init__(cluster, guarded)
        self._entered = Entered()

    def acquire(self) -> BlockingSection:
        return BlockingSection(self._cluster, self._cluster._run(self._guarded.acquire(), undo=Held.release))

    def __enter__(self) -> BlockingSection:
        section = self.acquire()
        self._entered.stack.append(section)
        return section

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        section: BlockingSection = self._entered.stack.pop()
        section._finish(error)
