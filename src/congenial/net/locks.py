"""The locks that programs use.

    async with congenial.join("a", peers={"a": "127.0.0.1:7101", "b": "127.0.0.1:7102"}) as cluster:
        async with cluster.mutex("invoices") as held:
            ...

A lock needs no declaration: its name is enough, and all forms of one name exclude each other. `mutex` and `exclusive`
admit one task at a time; `shared` admits all tasks that share; `group` admits all tasks that name the same group.

`semaphore(name, k)` admits k tasks. It runs on an algorithm for k entries (`congenial.net.hall`), and has nothing to do
with a lock of the same name. It gives its holders one fence, which grows when the members change.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection
from types import TracebackType
from typing import Any, Generic, TypeVar

from congenial.kernel.errors import ConfigError
from congenial.net.absence import lagging, not_open, not_settled
from congenial.net.acquiring import EXCLUSIVE_MODE, GROUP_MODE, SEMAPHORE_MODE, SHARED_MODE, Acquirable
from congenial.net.agreement import Agreement
from congenial.net.board import Board
from congenial.net.checked import Count, Flag, Port, checked, checked_name, checked_timeout, wrong
from congenial.net.config import ClusterConfig
from congenial.net.connection import place_of
from congenial.net.door import ALONE_WANT
from congenial.net.entrance import Entrance, Want
from congenial.net.errors import ClusterDegraded
from congenial.net.guarded import Guarded
from congenial.net.held import Held
from congenial.net.host import Host
from congenial.net.members import Member, assign, members_of
from congenial.net.metrics import MetricsServer, check_metrics
from congenial.net.names import READERS, group_number, guarded_key, lock_key, readable, semaphore_key
from congenial.net.porter import listen_anywhere, listen_at, start_listening
from congenial.net.primitives.forms import Primitives
from congenial.net.replica import Machine
from congenial.net.reports import question_of
from congenial.net.viewed import ViewedLocks

L = TypeVar("L")
T = TypeVar("T")


class LockForms(ABC, Generic[L, T]):
    """The kinds of locks. L is a lock that can be acquired; T is what trying to acquire one gives.

    Names of locks and groups are text or bytes. With `reentrant` a task may acquire what it holds once more."""

    def mutex(self, name: str | bytes, *, timeout: float | None = None, reentrant: bool = False) -> L:
        """One task of one process at a time."""
        return self._form(EXCLUSIVE_MODE, name, "", 1, timeout, reentrant)

    def exclusive(self, name: str | bytes, *, timeout: float | None = None, reentrant: bool = False) -> L:
        """One task at a time, and none that shares: the writer to the readers of `shared`."""
        return self._form(EXCLUSIVE_MODE, name, "", 1, timeout, reentrant)

    def shared(self, name: str | bytes, *, timeout: float | None = None, reentrant: bool = False) -> L:
        """Together with all other tasks that share."""
        return self._form(SHARED_MODE, name, "", 0, timeout, reentrant)

    def group(
        self, name: str | bytes, group: str | bytes, *, timeout: float | None = None, reentrant: bool = False
    ) -> L:
        """Together with all other tasks of the same group."""
        return self._form(GROUP_MODE, name, checked_name("group", group), 0, timeout, reentrant)

    def semaphore(self, name: str | bytes, k: int, *, timeout: float | None = None) -> L:
        """At most k tasks at a time. All members must give the same k."""
        return self._form(SEMAPHORE_MODE, name, "", checked("k", k, Count), timeout, False)

    def try_mutex(self, name: str | bytes, *, timeout: float = 0.0, here: bool = False) -> T:
        """As `mutex`, but return None if the lock cannot be acquired within `timeout`. With 0 the members are asked
        once, and None means that the lock is held, or that members are away that would have to be asked. With `here` no
        other member is asked: the lock is acquired only if it is here, because this member has used it again and again
        or is its home, and no other member wants it."""
        return self._try(self.mutex(name, timeout=timeout), self._here(timeout, here))

    def try_exclusive(self, name: str | bytes, *, timeout: float = 0.0, here: bool = False) -> T:
        """The same as `try_mutex`."""
        return self._try(self.exclusive(name, timeout=timeout), self._here(timeout, here))

    def try_shared(self, name: str | bytes, *, timeout: float = 0.0, here: bool = False) -> T:
        """As `shared`, but return None as `try_mutex` does."""
        return self._try(self.shared(name, timeout=timeout), self._here(timeout, here))

    def try_group(self, name: str | bytes, group: str | bytes, *, timeout: float = 0.0, here: bool = False) -> T:
        """As `group`, but return None as `try_mutex` does."""
        return self._try(self.group(name, group, timeout=timeout), self._here(timeout, here))

    def try_semaphore(self, name: str | bytes, k: int, *, timeout: float = 0.0, here: bool = False) -> T:
        """As `semaphore`, but return None as `try_mutex` does."""
        return self._try(self.semaphore(name, k, timeout=timeout), self._here(timeout, here))

    def _here(self, timeout: float, here: bool) -> bool:
        if type(here) is not bool:
            here = checked("here", here, Flag)
        if here and timeout:
            raise wrong("timeout", timeout, "left out with here=True, which never waits")
        return here

    def _form(self, mode: str, name: str | bytes, group: str, k: int, timeout: float | None, reentrant: bool) -> L:
        name, timeout = checked_name("name", name), checked_timeout(timeout)
        if type(reentrant) is not bool:
            reentrant = checked("reentrant", reentrant, Flag)
        return self._lock(mode, name, group, k, timeout, reentrant)

    @abstractmethod
    def _lock(self, mode: str, name: str, group: str, k: int, timeout: float | None, reentrant: bool = False) -> L: ...

    @abstractmethod
    def _try(self, lock: L, here: bool) -> T: ...


class Lock(Acquirable[Held]):
    """A lock that can be acquired, again and again: with `async with`, or with `acquire` and `release`.

    >>> import asyncio, congenial
    >>> async def pay() -> None:
    ...     async with congenial.join("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...         lock = cluster.mutex("invoices", timeout=2.5)
    ...         async with lock as held:
    ...             print(held.name, held.held, lock.locked())
    ...         held = await lock.acquire(timeout=0.5)  # None if that takes longer
    ...         print(lock)
    ...         lock.release()  # or held.release()
    >>> asyncio.run(pay())
    invoices True True
    <locked exclusive Lock object 'invoices' of 'a', held by task ... with fence ... at 0x...>
    """

    __slots__ = ("_entrance", "_find", "_want")

    def __init__(
        self,
        entrance: Entrance,
        find: Callable[[Entrance], Entrance],
        want: Want,
        mode: str,
        k: int,
        timeout: float | None,
        reentrant: bool,
    ) -> None:
        super().__init__(mode, entrance.name, want.label, k, timeout, reentrant)
        self._entrance = entrance
        self._find = find  # what has taken the place of an entrance that was forgotten
        self._want = want

    def _door(self) -> Entrance:
        if self._entrance.forgotten or self._entrance.era.over:  # quick: `present`
            self._entrance = self._find(self._entrance)
        return self._entrance

    def _inside(self) -> Collection[Held]:
        return self._door().inside

    def _joins_now(self) -> bool:
        return self._want.shared and self._door().could_enter_now(self._want)

    def _enter(self, limit: float | None, owner: object) -> Awaitable[Held]:
        return self._door().acquire(self._want, limit)

    def _enter_at_once(self) -> Held | None:
        if self._timeout is not None and self._timeout <= 0:
            return None
        held = self._entrance.enter_at_once(self._want, self.mode)
        if held is not None:
            if self._acquired:
                self._note_acquired(held, held.owner)
            else:
                self._acquired.append(held)
        return held

    def _place(self) -> str:
        return repr(self._entrance.membership.name)


class Cluster(LockForms[Lock, Awaitable[Held | None]], Primitives):
    """This process as a member of a cluster; made by `join`.

    >>> import asyncio, congenial
    >>> async def work() -> None:
    ...     async with congenial.join("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...         async with cluster.mutex("invoices"):
    ...             print("alone")
    ...         async with cluster.group("jukebox", "disc-7"):
    ...             print("together with all others that play this disc")
    ...         async with cluster.semaphore("gpus", 4):
    ...             print("with at most three others")
    >>> asyncio.run(work())
    alone
    together with all others that play this disc
    with at most three others
    """

    def __init__(
        self, name: str, config: ClusterConfig, metrics_port: int = 0, listener: socket.socket | None = None
    ) -> None:
        if not isinstance(config, ClusterConfig):
            raise wrong("config", config, "a ClusterConfig; a file is read by join(..., config=...)")
        config.check_member(name)
        self.name = name
        self.config = config
        self._metrics_port: int = checked("metrics_port", metrics_port, Port)
        self._metrics_place = f"127.0.0.1:{self._metrics_port}" if self._metrics_port else config.metrics
        if self._metrics_place:
            check_metrics()
        self._listener = listener
        self._started: Host | None = None
        self._before_leaving: list[Callable[[], Awaitable[None]]] = []
        self._metrics: MetricsServer | None = None

    @property
    def _host(self) -> Host:
        if self._started is None:
            raise ConfigError("join the cluster first: async with congenial.join(...) as cluster")
        if self._started.forked is not None:
            raise self._started.forked
        return self._started

    @property
    def _board(self) -> Board:
        return self._host.board

    @property
    def _forked(self) -> ConfigError | None:
        """In a child that was forked after joining: the error that it gets."""
        return None if self._started is None else self._started.forked

    async def start(self) -> Cluster:
        """Begin to listen and to call the others; returns immediately. Locks wait until all members are there."""
        if self._forked is not None:
            raise self._forked
        if self._metrics_place:
            self._metrics = MetricsServer(self._metrics_place)  # before the others hear of this member
        try:
            host = await self._started_host()
        except BaseException:
            self._stop_metrics()
            raise
        self._started = host
        if self._metrics is not None:
            self._metrics.show(host)
        return self

    async def _started_host(self) -> Host:
        config = self.config
        listeners: list[socket.socket] = []
        place = config.called_at(self.name)
        if self._listener is not None:
            start_listening(self._listener)
            listeners.append(self._listener)
            place = place or place_of(self._listener.getsockname())
        elif not place:
            listeners, place = await listen_anywhere(self.name, config.listen, config.seeds[0])
        elif len(config.nodes) > 1 or config.elastic:
            listeners = await listen_at(self.name, config.listening(self.name))
        try:
            host = Host(self.name, config, place)
            if config.seeds:
                await host.find_members()
        except BaseException:
            for listener in listeners:
                listener.close()
            raise
        host.start(listeners)
        return host

    async def close(self) -> None:
        """Stop taking part. What tasks of this process still hold is lost, as `Held.lost` says: they are told, and then
        others may acquire it. A block that is still open ends with `LockLost`.

        A member that has founded the cluster is expected back, and keeps its vote. One that has entered by seeds leaves
        permanently, as with `leave`."""
        await self._end(bool(self.config.seeds))

    async def leave(self) -> None:
        """Leave the cluster permanently: the others agree to continue without this process and its vote. What is held
        is lost, as with `close`."""
        await self._end(True)

    async def _end(self, for_good: bool) -> None:
        if self._forked is not None:
            return  # it is for the parent to leave
        for prepare in self._before_leaving:
            await prepare()
        self._stop_metrics()
        if self._started is not None:
            await self._started.close(for_good)

    def _stop_metrics(self) -> None:
        metrics, self._metrics = self._metrics, None
        if metrics is not None:
            metrics.stop()

    async def __aenter__(self) -> Cluster:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def ready(self, timeout: float | None = None) -> None:
        """Wait until all members have come together, and the guarded objects that were named are up to date; raise
        `ClusterDegraded` if that takes too long."""
        limit = self.config.timing.gather if timeout is None else checked_timeout(timeout)
        membership = self._host.membership
        started = membership.now()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(membership.decided.wait(), limit)
        if membership.ended or not membership.opened.is_set():
            raise not_open(membership)
        deadline = None if limit is None else started + limit
        locks = self._host.locks
        if not await locks.settled(deadline):
            raise ClusterDegraded(lagging(locks.behind())) if locks.is_settled() else not_settled(membership)

    async def wait_ended(self) -> str:
        """Wait until this process has permanently stopped taking part, and return the reason: another process has taken
        its name, or its state cannot be saved. Nothing can be acquired then; join again, or end. Does not return while
        all is well."""
        membership = self._host.membership
        await membership.over.wait()
        return membership.ended

    def members(self) -> list[Member]:
        """The members of the cluster, as far as this process knows, and voters that are away."""
        return members_of(self._agreement)

    async def assign(self, name: str, role: str) -> None:
        """Make a member a "voter", or a "member" without a vote. A few voters, an odd number, agree on who the members
        are; if there are enough of them, the last one makes room. Or say that a voter which has crashed is "gone": then
        it is not expected back, and its vote is not needed."""
        await assign(self._agreement, name, role)

    @property
    def _agreement(self) -> Agreement:
        locks = self._host.locks
        if not isinstance(locks, ViewedLocks):
            raise ConfigError(f"the members of a cluster with {self.config.algorithm} are fixed")
        return locks.agreement

    def guarded(self, name: str | bytes, machine: Machine, *, timeout: float | None = None) -> Guarded:
        """A replicated object, whose operations are issued under a lock (`congenial.net.guarded`).

        Every member must name it, as soon as it has joined, with an object of the same class in the same state. Its
        replica begins as a copy of that. Naming it again gives the same replica. `timeout` is for entering.
        """
        if isinstance(machine, type) or not callable(getattr(machine, "apply", None)):
            raise wrong("machine", machine, "an object with a method apply(operation)")
        name, timeout = checked_name("name", name), checked_timeout(timeout)
        return Guarded(self._host.locks.guard(guarded_key(name), readable(name), machine), timeout)

    def status(self, *, lock: str | None = None, top: int = 1000, find: str | None = None) -> dict[str, Any]:
        """This process's links, locks, holders and queues, as plain data.

        `locks` has the `top` busiest ones (most tasks waiting, then most inside), and `more` says how many others there
        are. `find` leaves only those with this text in their name, in upper or lower case. Or `lock` names one,
        together with the semaphore and the guarded object of that name.
        """
        return self._host.reports.at_once(lock, top, find)

    async def status_of_all(
        self, *, lock: str | None = None, top: int = 1000, find: str | None = None
    ) -> dict[str, dict[str, Any] | None]:
        """Every member's status, by name; None for those that do not answer. `top` is for each member, and at most
        10,000. The event loop goes on meanwhile, however many locks there are."""
        return await self._host.reports.of_all(question_of(lock, top, find))

    def _lock(self, mode: str, name: str, group: str, k: int, timeout: float | None, reentrant: bool = False) -> Lock:
        host = self._host
        if mode == SEMAPHORE_MODE:
            hall = host.locks.hall(semaphore_key(name), readable(name), k)
            return Lock(hall, host.locks.again, ALONE_WANT, mode, k, timeout, reentrant)
        door = host.locks.door(lock_key(name), readable(name))
        if mode == EXCLUSIVE_MODE:
            want = ALONE_WANT
        elif not door.grouped:
            raise ConfigError(
                f"{self.config.algorithm} admits one process at a time: {mode} locks need an algorithm with groups"
            )
        elif mode == SHARED_MODE:
            want = Want(READERS, True, None)
        else:
            want = Want(group_number(group), True, readable(group))
        return Lock(door, host.locks.again, want, mode, k, timeout, reentrant)

    def _try(self, lock: Lock, here: bool) -> Awaitable[Held | None]:
        return lock.try_acquire(here=here)
