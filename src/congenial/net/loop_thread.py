"""An event loop in a thread of its own, for programs without asyncio: other threads call into it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from congenial.kernel.errors import ConfigError

T = TypeVar("T")


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
        """Nobody waits for it now. Runs in the loop's thread, so the call is either done or can be cancelled."""
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


class LoopThread:
    """What blocking clusters and clients have in common."""

    def __init__(self, name: str, how: str) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._title = name
        self._how = how  # it is begun, in words

    @property
    def _forked(self) -> ConfigError | None:
        """In a forked child: the error that it gets."""
        return None

    def _start_thread(self) -> None:
        self._loop = new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"congenial {self._title}", daemon=True)
        self._thread.start()

    def _begin(self, work: Coroutine[Any, Any, object]) -> None:
        """Start the thread, and run this there first."""
        self._start_thread()
        try:
            self._run(work)
        except BaseException:
            self._stop()
            raise

    def _end(self, work: Coroutine[Any, Any, object]) -> None:
        """Run this as the last thing, and end the thread."""
        if self._forked is not None:
            self._loop = None  # it is for the parent to do
        if self._loop is None:
            work.close()
            return
        try:
            self._run(work)
        finally:
            self._stop()

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
        call = self._call_there(work, undo)
        try:
            return call.outcome.result()
        except BaseException as error:
            if not (call.outcome.done() and call.outcome.exception() is error):
                call.loop.call_soon_threadsafe(call.abandon)
            raise

    def _call_there(self, work: Coroutine[Any, Any, T], undo: Callable[[T], None] | None) -> LoopCall[T]:
        """Begin to run a coroutine in the loop's thread."""
        loop = self._loop
        if self._forked is not None:
            work.close()
            raise self._forked
        if loop is None or threading.current_thread() is self._thread:
            work.close()
            raise ConfigError(
                f"{self._title!r} is not in use: {self._how}"
                if loop is None
                else "a blocking lock was used in its own event loop: use the asynchronous form there"
            )
        call = LoopCall(loop, work, undo)
        loop.call_soon_threadsafe(call.begin)
        return call
