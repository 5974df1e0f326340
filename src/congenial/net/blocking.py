"""The same locks for programs without asyncio: `with congenial.join_blocking(...) as cluster`.

The cluster runs on an event loop of its own, in a thread of its own. All methods may be called from any thread.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine, Mapping
from copy import deepcopy
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar, Unpack, cast

from congenial.kernel.errors import ConfigError
from congenial.net.config import ClusterConfig, ClusterFields, config_of
from congenial.net.errors import LockTimeout
from congenial.net.guarded import Guarded, Section
from congenial.net.held import Held
from congenial.net.locks import Cluster, Lock, LockForms
from congenial.net.replica import Machine

T = TypeVar("T")
H = TypeVar("H", bound="BlockingHeld")


def new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop's where it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


class LoopCall(Generic[T]):
    """A call from one thread into the event loop of another."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T], undo: Callable[[T], None] | None
    ) -> None:
        self.loop = loop
        self.work = work
        self.undo = undo
        self.outcome: concurrent.futures.Future[T] = concurrent.futures.Future()
        self.task: asyncio.Task[T] | None = None

    def begin(self) -> None:
        self.task = self.loop.create_task(self.work)
        self.task.add_done_callback(self._settle)

    def abandon(self) -> None:
        """Nobody waits for it any more. Runs in the loop's thread, so the call is either done or can be cancelled."""
        assert self.task is not None
        if not self.task.done():
            self.task.cancel()
        elif self.undo is not None and not self.task.cancelled() and self.task.exception() is None:
            self.undo(self.task.result())

    def _settle(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            self.outcome.set_exception(concurrent.futures.CancelledError())
        elif error := task.exception():
            self.outcome.set_exception(error)
        else:
            self.outcome.set_result(task.result())


class BlockingHeld:
    """A lock held by a thread: its `name`, `group` and `fence` as those of `Held`.

    >>> with join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...     held = cluster.mutex("invoices").acquire()
    ...     held.check()
    ...     held.release()
    ...     print(held.name, held.held)
    invoices False
    """

    def __init__(self, cluster: BlockingCluster, held: Held) -> None:
        self._cluster = cluster
        self._held = held
        self.name = held.name
        self.group = held.group
        self.fence = held.fence

    @property
    def held(self) -> bool:
        """True while the lock is neither released nor lost."""
        self._settle()
        return self._held in self._held._door.inside

    @property
    def lost(self) -> bool:
        self._settle()
        return bool(self._held._why)

    def check(self) -> None:
        """Raise `LockLost` if the lock is lost, `NotHeld` if it has been released; do nothing if it is held."""
        if not self.held:
            raise self._held._not_held()

    def _settle(self) -> None:
        """Find out by the clock whether the lock is lost. The cluster's thread may not get to it before the lease is
        renewed; that does not matter any more."""
        held = self._held
        if held._door.has_run_out(held):
            if threading.current_thread() is self._cluster._thread:  # in a callback
                held._door.expire(held)
            else:
                self._cluster._call(lambda: held._door.expire(held))

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
        if self._held in self._held._door.inside:
            self._cluster._call(self._held._finish)
        if self._held._why and error is None:
            raise self._held._not_held()


class BlockingSection(BlockingHeld):
    """The right to issue operations on a guarded object.

    >>> from congenial.problems.weak import Counter
    >>> with join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...     with cluster.guarded("total", Counter()) as section:
    ...         print(section.issue(5), section.issue(7))
    5 12
    """

    def issue(self, operation: Any) -> Any:
        """Have all replicas execute an operation; its result, or `LockLost`, and then it is never executed."""
        return self._cluster._run(cast(Section, self._held).issue(operation))

    def _finish(self, error: BaseException | None) -> None:
        if self.held:  # if it is lost, the last `issue` has said so
            self.release()


class Acquirable(Generic[H]):
    """What a thread can acquire: with `with`, or with `acquire` and `release`. Threads may share it."""

    def __init__(self) -> None:
        self._entered = threading.local()

    def acquire(self) -> H:
        raise NotImplementedError

    def __enter__(self) -> H:
        held = self.acquire()
        if not hasattr(self._entered, "stack"):
            self._entered.stack = []
        self._entered.stack.append(held)
        return held

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        held: H = self._entered.stack.pop()
        held._finish(error)


class BlockingLock(Acquirable[BlockingHeld]):
    """A lock that can be acquired, again and again, like `Lock`.

    >>> with join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...     lock = cluster.mutex("invoices", timeout=2.5)
    ...     with lock as held:
    ...         print(held.name, held.held)
    invoices True
    """

    def __init__(self, cluster: BlockingCluster, name: str, lock: Callable[[], Lock]) -> None:
        super().__init__()
        self.name = name
        self._cluster = cluster
        self._lock = lock  # to be made in the loop's thread

    def acquire(self) -> BlockingHeld:
        """Acquire the lock, or raise `LockTimeout` when its timeout is over."""
        return BlockingHeld(self._cluster, self._cluster._run(self._acquire(), undo=Held.release))

    async def _acquire(self) -> Held:
        return await self._lock().acquire()

    def try_acquire(self) -> BlockingHeld | None:
        """Acquire the lock; None if that takes longer than its timeout."""
        try:
            return self.acquire()
        except LockTimeout:
            return None


class BlockingGuarded(Acquirable[BlockingSection]):
    """A replicated object that threads can work on, like `Guarded`.

    >>> from congenial.problems.weak import Counter
    >>> with join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...     total = cluster.guarded("total", Counter())
    ...     with total as section:
    ...         _ = section.issue(5)
    ...     print(total.replica.total)
    5
    """

    def __init__(self, cluster: BlockingCluster, guarded: Guarded) -> None:
        super().__init__()
        self.name = guarded.name
        self._cluster = cluster
        self._guarded = guarded

    @property
    def replica(self) -> Any:
        """A copy of the object as it is here. It may be behind."""
        return self._cluster._call(lambda: deepcopy(self._guarded.replica))

    def acquire(self) -> BlockingSection:
        return BlockingSection(self._cluster, self._cluster._run(self._guarded.acquire(), undo=Held.release))


class BlockingCluster(LockForms[BlockingLock, "BlockingHeld | None"]):
    """This process as a member of a cluster, for programs without asyncio; made by `join_blocking`.

    >>> with join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...     with cluster.group("jukebox", "disc-7", timeout=2.5) as held:
    ...         print(held.name, held.group)
    jukebox disc-7
    """

    def __init__(self, cluster: Cluster) -> None:
        self.name = cluster.name
        self.config = cluster.config
        self._cluster = cluster
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> BlockingCluster:
        """Begin to listen and to call the others; returns immediately. Locks wait until all members are there."""
        self._loop = new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"congenial {self.name}", daemon=True)
        self._thread.start()
        try:
            self._run(self._cluster.start())
        except BaseException:
            self._stop()
            raise
        return self

    def close(self) -> None:
        """Leave the cluster. What this process holds is released."""
        if self._forked is not None:
            self._loop = None  # it is for the parent to leave
        if self._loop is not None:
            try:
                self._run(self._cluster.close())
            finally:
                self._stop()

    def __enter__(self) -> BlockingCluster:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ready(self, timeout: float | None = None) -> None:
        """Wait until all members have come together; raise `ClusterDegraded` if that takes too long."""
        self._run(self._cluster.ready(timeout))

    def wait_ended(self) -> str:
        """Wait until this process takes part no more, for good, and return why; as `Cluster.wait_ended`."""
        return self._run(self._cluster.wait_ended())

    def guarded(self, name: str, machine: Machine, *, timeout: float | None = None) -> BlockingGuarded:
        """A replicated object, whose operations are issued under a lock; as `Cluster.guarded`."""
        return BlockingGuarded(self, self._call(lambda: self._cluster.guarded(name, machine, timeout=timeout)))

    def status(self, *, lock: str | None = None, top: int = 1000) -> dict[str, Any]:
        """This process's links, locks, holders and queues, as plain data; as `Cluster.status`."""
        return self._run(self._status(lock, top))

    async def _status(self, lock: str | None, top: int) -> dict[str, Any]:
        return await self._cluster._host.reports.in_pieces(lock, top)

    def status_of_all(self, *, lock: str | None = None, top: int = 1000) -> dict[str, dict[str, Any] | None]:
        """Every member's status, by name; None for those that do not answer; as `Cluster.status_of_all`."""
        return self._run(self._cluster.status_of_all(lock=lock, top=top))

    def _lock(self, mode: str, name: str, group: str, k: int, timeout: float | None) -> BlockingLock:
        return BlockingLock(self, name, lambda: self._cluster._lock(mode, name, group, k, timeout))

    def _try(self, lock: BlockingLock) -> BlockingHeld | None:
        return lock.try_acquire()

    @property
    def _forked(self) -> ConfigError | None:
        return self._cluster._forked

    # -- the loop's thread -----------------------------------------------------------------------------

    def _stop(self) -> None:
        loop, self._loop = self._loop, None
        if loop is not None and self._thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()
            loop.close()

    def _call(self, function: Callable[[], T]) -> T:
        """Call a function in the loop's thread."""

        async def call() -> T:
            return function()

        return self._run(call())

    def _run(self, work: Coroutine[Any, Any, T], undo: Callable[[T], None] | None = None) -> T:
        """Run a coroutine in the loop's thread, and wait for it. If this thread is interrupted (Ctrl-C), the coroutine
        is cancelled, or undone if it was done already."""
        loop = self._loop
        if self._forked is not None:
            work.close()
            raise self._forked
        if loop is None or threading.current_thread() is self._thread:
            work.close()
            raise ConfigError(
                f"{self.name!r} is not in the cluster: use `with congenial.join_blocking(...) as cluster`"
                if loop is None
                else "a blocking lock was used in its own event loop: use congenial.join there"
            )
        call = LoopCall(loop, work, undo)
        loop.call_soon_threadsafe(call.begin)
        try:
            return call.outcome.result()
        except BaseException as error:
            if not (call.outcome.done() and call.outcome.exception() is error):
                loop.call_soon_threadsafe(call.abandon)
            raise


def join_blocking(
    name: str,
    peers: Mapping[str, str] | None = None,
    *,
    config: str | Path | ClusterConfig | None = None,
    metrics_port: int = 0,
    **settings: Unpack[ClusterFields],
) -> BlockingCluster:
    """As `join`, for programs without asyncio.

    >>> with join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster, cluster.mutex("invoices", timeout=2) as held:
    ...     print(held.name, held.fence > 0)
    invoices True
    """
    return BlockingCluster(Cluster(name, config_of(peers, config, settings), metrics_port))
