"""The same locks for programs without asyncio: `with congenial.join_blocking(...) as cluster`.

The cluster lives on an event loop of its own, in a thread of its own; all methods may be called from any thread.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar

from congenial.kernel.errors import ConfigError
from congenial.net.config import DEFAULT_ALGORITHM, SEMAPHORE_ALGORITHM, ClusterConfig, Timing, Tls
from congenial.net.errors import LockTimeout
from congenial.net.held import Held
from congenial.net.locks import Cluster, Lock, LockForms, make_config

T = TypeVar("T")


def new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop's where it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


class Errand(Generic[T]):
    """Something that one thread has the event loop of another do."""

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
        """Nobody waits for it any more. In the loop's thread, so it is either done by now or can be cancelled."""
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
    """A lock held by a thread."""

    def __init__(self, cluster: BlockingCluster, held: Held) -> None:
        self._cluster = cluster
        self._held = held
        self.name = held.name
        self.group = held.group
        self.fence = held.fence

    @property
    def held(self) -> bool:
        return self._held.held

    @property
    def lost(self) -> bool:
        return bool(self._held.lost)

    def check(self) -> None:
        """`LockLost` if it is lost, `NotHeld` if it has been released; nothing if it is held."""
        self._held.check()

    def on_lost(self, callback: Callable[[], object]) -> None:
        """Have something called when the lock is lost, in the cluster's thread: let it be quick."""

        async def register() -> None:
            self._held.on_lost(callback)

        self._cluster._run(register())

    def release(self) -> None:
        self._cluster._run(self._release())

    async def _release(self) -> None:
        self._held.release()

    def __enter__(self) -> BlockingHeld:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.held:
            self.release()


class BlockingLock:
    """A lock, ready to be entered: `with`, or `acquire` and `release`."""

    def __init__(self, cluster: BlockingCluster, lock: Callable[[], Lock]) -> None:
        self._cluster = cluster
        self._lock = lock  # made in the loop's thread
        self._entered = threading.local()

    def acquire(self) -> BlockingHeld:
        return BlockingHeld(self._cluster, self._cluster._run(self._acquire(), undo=Held.release))

    async def _acquire(self) -> Held:
        return await self._lock().acquire()

    def try_acquire(self) -> BlockingHeld | None:
        try:
            return self.acquire()
        except LockTimeout:
            return None

    def __enter__(self) -> BlockingHeld:
        held = self.acquire()
        if not hasattr(self._entered, "stack"):
            self._entered.stack = []
        self._entered.stack.append(held)
        return held

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        held: BlockingHeld = self._entered.stack.pop()
        if held.held or (held.lost and error is None):
            held.release()


class BlockingCluster(LockForms[BlockingLock, "BlockingHeld | None"]):
    """This process's membership of a cluster; made by `join_blocking`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def name(self) -> str:
        return self._cluster.name

    def __enter__(self) -> BlockingCluster:
        self._loop = new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"congenial {self.name}", daemon=True)
        self._thread.start()
        try:
            self._run(self._cluster.start())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave the cluster."""
        if self._loop is not None:
            try:
                self._run(self._cluster.close())
            finally:
                self._stop()

    def ready(self, timeout: float | None = None) -> None:
        """Returns when all members have come together."""
        self._run(self._cluster.ready(timeout))

    def status(self) -> dict[str, Any]:
        async def status() -> dict[str, Any]:
            return self._cluster.status()

        return self._run(status())

    def _stop(self) -> None:
        loop, self._loop = self._loop, None
        if loop is not None and self._thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()
            loop.close()

    def _run(self, work: Coroutine[Any, Any, T], undo: Callable[[T], None] | None = None) -> T:
        """Have the loop do something, and wait for it. If we are interrupted (Ctrl-C) it is cancelled, or undone."""
        loop = self._loop
        if loop is None or threading.current_thread() is self._thread:
            work.close()
            raise ConfigError(
                f"{self.name!r} is not in the cluster: use `with congenial.join_blocking(...) as cluster`"
                if loop is None
                else "a blocking lock was used in its own event loop: use congenial.join there"
            )
        errand = Errand(loop, work, undo)
        loop.call_soon_threadsafe(errand.begin)
        try:
            return errand.outcome.result()
        except BaseException as error:
            if not (errand.outcome.done() and errand.outcome.exception() is error):
                loop.call_soon_threadsafe(errand.abandon)
            raise

    def _lock(self, mode: str, name: str, group: str, k: int, timeout: float | None) -> BlockingLock:
        return BlockingLock(self, lambda: self._cluster._lock(mode, name, group, k, timeout))

    def _try(self, lock: BlockingLock) -> BlockingHeld | None:
        return lock.try_acquire()


def join_blocking(
    name: str,
    peers: Mapping[str, str] | None = None,
    *,
    config: str | Path | ClusterConfig | None = None,
    cluster: str = "congenial",
    algorithm: str = DEFAULT_ALGORITHM,
    options: Mapping[str, str] | None = None,
    tls: Tls | None = None,
    insecure: bool = False,
    timing: Timing | None = None,
    state: str = "",
    semaphores: str = SEMAPHORE_ALGORITHM,
    metrics_port: int = 0,
) -> BlockingCluster:
    """As `join`, for programs without asyncio: `with join_blocking(...) as cluster`."""
    made = make_config(peers, config, cluster, algorithm, options, tls, insecure, timing, state, semaphores)
    return BlockingCluster(Cluster(name, made, metrics_port))
