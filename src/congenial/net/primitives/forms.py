"""How programs make them: `cluster.event(name)` and so on, for tasks and for threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from congenial.net.acquiring import Acquirable
from congenial.net.blocking_locks import BlockingLock
from congenial.net.checked import wrong
from congenial.net.loop_thread import LoopThread
from congenial.net.primitives.barrier import ClusterBarrier
from congenial.net.primitives.blocking import (
    BlockingAllOf,
    BlockingBarrier,
    BlockingCondition,
    BlockingEvent,
    BlockingLatch,
    BlockingLead,
    BlockingOnce,
)
from congenial.net.primitives.condition import ClusterCondition
from congenial.net.primitives.event import ClusterEvent
from congenial.net.primitives.latch import Latch
from congenial.net.primitives.leading import Lead
from congenial.net.primitives.once import Once
from congenial.net.primitives.shared import Desk
from congenial.net.primitives.together import AllOf


class Primitives:
    """Synchronisation primitives, for everything that has locks and notes."""

    def all(self: Desk, *locks: Acquirable[Any] | str | bytes, timeout: float | None = None) -> AllOf:
        """Several locks together, without deadlock; a name stands for a mutex."""
        return AllOf([self.mutex(lock) if isinstance(lock, (str, bytes)) else lock for lock in locks], timeout)

    def event(self: Desk, name: str | bytes) -> ClusterEvent:
        """Tasks wait until it is set, anywhere."""
        return ClusterEvent(self, name)

    def condition(self: Desk, name: str | bytes, lock: Acquirable[Any] | None = None) -> ClusterCondition:
        """Tasks that hold its lock wait until they are notified. With `lock`, that is a mutex of the cluster."""
        return ClusterCondition(self, name, lock)

    def barrier(
        self: Desk,
        name: str | bytes,
        parties: int,
        action: Callable[[], object] | None = None,
        timeout: float | None = None,
    ) -> ClusterBarrier:
        """Tasks wait until so many have come, and go on together; the last one calls `action` first."""
        return ClusterBarrier(self, name, parties, action, timeout)

    def latch(self: Desk, name: str | bytes, count: int) -> Latch:
        """Tasks wait until it has been counted down so often."""
        return Latch(self, name, count)

    def once(self: Desk, name: str | bytes) -> Once:
        """A block that is told whether it is the first."""
        return Once(self, name)

    def lead(self: Desk, name: str | bytes) -> Lead:
        """A block that only the leader is in."""
        return Lead(self, name)


class Inner(Protocol):
    """What a blocking cluster has inside."""

    def event(self, name: str | bytes) -> ClusterEvent: ...

    def condition(self, name: str | bytes, lock: Acquirable[Any] | None = None) -> ClusterCondition: ...

    def barrier(
        self,
        name: str | bytes,
        parties: int,
        action: Callable[[], object] | None = None,
        timeout: float | None = None,
    ) -> ClusterBarrier: ...

    def latch(self, name: str | bytes, count: int) -> Latch: ...

    def once(self, name: str | bytes) -> Once: ...

    def lead(self, name: str | bytes) -> Lead: ...


class BlockingPrimitives(LoopThread):
    """The same for threads."""

    @property
    def _inner(self) -> Inner:
        raise NotImplementedError

    def mutex(self, name: str | bytes, *, timeout: float | None = None, reentrant: bool = False) -> BlockingLock:
        raise NotImplementedError

    def all(self, *locks: BlockingLock | str | bytes, timeout: float | None = None) -> BlockingAllOf:
        """Several locks together, without deadlock; a name stands for a mutex."""
        return BlockingAllOf([self.mutex(lock) if isinstance(lock, (str, bytes)) else lock for lock in locks], timeout)

    def event(self, name: str | bytes) -> BlockingEvent:
        """Threads wait until it is set, anywhere."""
        return BlockingEvent(self, lambda: self._inner.event(name))

    def condition(self, name: str | bytes, lock: BlockingLock | None = None) -> BlockingCondition:
        """Threads that hold its lock wait until they are notified. With `lock`, that is a mutex of the cluster."""
        if lock is not None and not isinstance(lock, BlockingLock):
            raise wrong("lock", lock, "a lock of the cluster, or None")
        return BlockingCondition(
            self, lambda: self._inner.condition(name, None if lock is None else lock._lock()), lock
        )

    def barrier(
        self,
        name: str | bytes,
        parties: int,
        action: Callable[[], object] | None = None,
        timeout: float | None = None,
    ) -> BlockingBarrier:
        """Threads wait until so many have come, and go on together; `action` is called first, in the cluster's
        thread."""
        return BlockingBarrier(self, lambda: self._inner.barrier(name, parties, action, timeout))

    def latch(self, name: str | bytes, count: int) -> BlockingLatch:
        """Threads wait until it has been counted down so often."""
        return BlockingLatch(self, lambda: self._inner.latch(name, count))

    def once(self, name: str | bytes) -> BlockingOnce:
        """A block that is told whether it is the first."""
        return BlockingOnce(self, lambda: self._inner.once(name))

    def lead(self, name: str | bytes) -> BlockingLead:
        """A block that only the leader is in."""
        return BlockingLead(self, lambda: self._inner.lead(name))
