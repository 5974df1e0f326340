"""The same for threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Generic, TypeVar

from congenial.net.acquiring import AS_THE_LOCK_SAYS
from congenial.net.blocking_locks import BlockingHeld, BlockingLock, Entered
from congenial.net.checked import Count, checked, checked_timeout
from congenial.net.loop_thread import LoopThread
from congenial.net.primitives.barrier import ClusterBarrier
from congenial.net.primitives.condition import ClusterCondition
from congenial.net.primitives.event import ClusterEvent
from congenial.net.primitives.latch import Latch
from congenial.net.primitives.leading import Lead
from congenial.net.primitives.once import Once
from congenial.net.primitives.shared import Shared
from congenial.net.primitives.together import Clock, check_each, in_order, too_late

S = TypeVar("S", bound=Shared[Any])
T = TypeVar("T")


class BlockingShared(Generic[S]):
    def __init__(self, cluster: LoopThread, make: Callable[[], S]) -> None:
        self._cluster = cluster
        self._shared = cluster._call(make)
        self.name = self._shared.name

    def __repr__(self) -> str:
        return self._cluster._call(lambda: repr(self._shared))


class BlockingEvent(BlockingShared[ClusterEvent]):
    """As `threading.Event`, for all members of the cluster that name it; as `ClusterEvent`.

    >>> from congenial import join_blocking
    >>> with join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...     go = cluster.event("go")
    ...     print(go.wait(timeout=0.01))
    ...     go.set()
    ...     print(go.wait())
    False
    True
    """

    def is_set(self) -> bool:
        return self._cluster._call(self._shared.is_set)

    def set(self) -> None:
        self._cluster._run(self._shared.set())

    def clear(self) -> None:
        self._cluster._run(self._shared.clear())

    def wait(self, timeout: float | None = None) -> bool:
        return self._cluster._run(self._shared.wait(timeout))


class BlockingLatch(BlockingShared[Latch]):
    """Opens when it has been counted down `count` times, and stays open; as `Latch`.

    >>> from congenial import join_blocking
    >>> with join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...     loaded = cluster.latch("loaded", 1)
    ...     loaded.count_down()
    ...     print(loaded.wait(), loaded.left)
    True 0
    """

    @property
    def count(self) -> int:
        return self._shared.count

    @property
    def left(self) -> int:
        return self._cluster._call(lambda: self._shared.left)

    def count_down(self, n: int = 1) -> None:
        self._cluster._run(self._shared.count_down(n))

    def wait(self, timeout: float | None = None) -> bool:
        return self._cluster._run(self._shared.wait(timeout))


class BlockingBarrier(BlockingShared[ClusterBarrier]):
    """As `threading.Barrier`, for threads of all members; as `ClusterBarrier`. Its action is called in the cluster's
    thread.

    >>> from congenial import join_blocking
    >>> with join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...     print(cluster.barrier("alone", 1).wait())
    0
    """

    @property
    def parties(self) -> int:
        return self._shared.parties

    @property
    def n_waiting(self) -> int:
        return self._cluster._call(lambda: self._shared.n_waiting)

    @property
    def broken(self) -> bool:
        return self._cluster._call(lambda: self._shared.broken)

    def wait(self, timeout: float | None = None) -> int:
        return self._cluster._run(self._shared.wait(timeout))

    def abort(self) -> None:
        self._cluster._run(self._shared.abort())

    def reset(self) -> None:
        self._cluster._run(self._shared.reset())

    def __enter__(self) -> int:
        return self.wait()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class BlockingCondition(BlockingShared[ClusterCondition]):
    """As `threading.Condition`, for threads of all members; as `ClusterCondition`.

    >>> from congenial import join_blocking
    >>> with join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...     added = cluster.condition("jobs")
    ...     with added:
    ...         print(added.wait(timeout=0.01))
    ...         added.notify_all()
    False
    """

    def __init__(
        self, cluster: LoopThread, make: Callable[[], ClusterCondition], lock: BlockingLock | None = None
    ) -> None:
        super().__init__(cluster, make)
        inner = self._shared._lock
        self._lock = lock or BlockingLock(
            cluster, inner.mode, inner.name, None, inner.k, inner.reentrant, lambda: inner
        )

    def acquire(self, blocking: bool = True, timeout: float | None = AS_THE_LOCK_SAYS) -> BlockingHeld | None:
        return self._lock.acquire(blocking, timeout)

    def release(self) -> None:
        self._lock.release()

    def locked(self) -> bool:
        return self._lock.locked()

    def __enter__(self) -> BlockingHeld:
        return self._lock.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.__exit__(kind, error, trace)

    def wait(self, timeout: float | None = None) -> bool:
        return self._cluster._run(self._shared._wait(threading.get_ident(), checked_timeout(timeout)))

    def wait_for(self, predicate: Callable[[], T], timeout: float | None = None) -> T:
        limit = checked_timeout(timeout)
        deadline = None if limit is None else time.monotonic() + limit
        result = predicate()
        while not result:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                break
            self.wait(left)
            result = predicate()
        return result

    def notify(self, n: int = 1) -> None:
        self._cluster._run(self._shared._notify(threading.get_ident(), checked("n", n, Count)))

    def notify_all(self) -> None:
        self._cluster._run(self._shared._notify(threading.get_ident(), None))


class BlockingOnce(BlockingShared[Once]):
    """A block that is told whether it is the first; as `Once`.

    >>> from congenial import join_blocking
    >>> with join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...     for _ in range(2):
    ...         with cluster.once("create tables") as first:
    ...             print("create them" if first else "they are there")
    create them
    they are there
    """

    @property
    def fence(self) -> int:
        return self._shared.fence

    def done(self) -> bool:
        return self._cluster._run(self._shared.done())

    def __enter__(self) -> bool:
        return self._cluster._run(self._shared._enter(threading.get_ident()))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cluster._run(self._shared._leave(error))


class BlockingLead(BlockingShared[Lead]):
    """A block that only the leader is in; as `Lead`.

    >>> from congenial import join_blocking
    >>> with join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...     with cluster.lead("scheduler") as held:
    ...         print(cluster.lead("scheduler").leader(), held.held)
    a True

    No thread is interrupted: `held.check()`, `held.lost` and `held.on_lost` tell whether this process still leads.
    """

    def leader(self) -> str | None:
        return self._cluster._run(self._shared.leader())

    def __enter__(self) -> BlockingHeld:
        held = self._cluster._run(self._shared._enter(threading.get_ident()), undo=lambda held: held.release())
        self._entered = BlockingHeld(self._cluster, held)
        return self._entered

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered._finish(error)


class BlockingAllOf:
    """Several locks that are held together, or not at all; as `AllOf`.

    >>> from congenial import join_blocking
    >>> with join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...     with cluster.all("ann", "bob", timeout=2.5) as held:
    ...         print([one.name for one in held])
    ['ann', 'bob']
    """

    def __init__(self, locks: Sequence[BlockingLock], timeout: float | None) -> None:
        check_each(locks, BlockingLock)
        self.locks = tuple(locks)
        self._ordered = in_order(locks)
        self._timeout = checked_timeout(timeout)
        self._entered = Entered()

    def acquire(self) -> list[BlockingHeld]:
        clock = Clock(self._timeout)
        held: dict[int, BlockingHeld] = {}
        try:
            for lock in self._ordered:
                got = lock.acquire() if self._timeout is None else lock.acquire(timeout=clock.left())
                if got is None:
                    raise too_late(self._ordered, lock)
                held[id(lock)] = got
        except BaseException as error:
            for one in reversed(held.values()):
                one._finish(error)
            raise
        return [held[id(lock)] for lock in self.locks]

    def release(self) -> None:
        for lock in reversed(self._ordered):
            lock.release()

    def __enter__(self) -> list[BlockingHeld]:
        held = self.acquire()
        self._entered.stack.append(held)
        return held

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        failure = error
        for held in reversed(self._entered.stack.pop()):
            try:
                held._finish(failure)
            except Exception as lost:
                failure = lost
        if failure is not None and failure is not error:
            raise failure
