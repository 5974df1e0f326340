"""A barrier of the cluster: tasks wait until as many have come as were agreed on, and go on together."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from types import TracebackType

import msgspec

from congenial.kernel.errors import ConfigError, CongenialError
from congenial.net.checked import Count, checked, checked_timeout, wrong
from congenial.net.primitives.shared import LOOK_AGAIN, Desk, Shared


class BarrierBroken(CongenialError, threading.BrokenBarrierError, asyncio.BrokenBarrierError):
    """The barrier is broken: a task waited for too long, a member that waited has crashed, or the barrier was aborted
    or reset.

    >>> issubclass(BarrierBroken, RuntimeError)
    True
    """


class BarrierState(msgspec.Struct, array_like=True):
    parties: int = 0
    passed: int = 0  # how often all have come
    resets: int = 0
    broken: bool = False
    waiting: list[str] = []  # for each task, the life of its member


class Ticket:
    """A task's place at a barrier."""

    def __init__(self, state: BarrierState) -> None:
        self.place = len(state.waiting)
        self.passed = state.passed
        self.resets = state.resets
        self.failure: Exception | None = None  # of the action

    def is_over(self, state: BarrierState) -> bool:
        return state.passed != self.passed or state.resets != self.resets or state.broken

    def is_good(self, state: BarrierState) -> bool:
        """All have come, whatever happened after that."""
        return state.passed != self.passed


class ClusterBarrier(Shared[BarrierState]):
    """As `asyncio.Barrier`, for tasks of all members. All must give the same number of parties.

    >>> import asyncio, congenial
    >>> async def meet() -> None:
    ...     async with congenial.join("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...         barrier = cluster.barrier("phase 1", 3)
    ...         print(sorted(await asyncio.gather(*[barrier.wait() for _ in range(3)])))
    >>> asyncio.run(meet())
    [0, 1, 2]

    If a member crashes while its task waits, the barrier breaks for the others. A task that is cancelled leaves, and
    another may come in its place.
    """

    kind = "barrier"
    state_class = BarrierState

    def __init__(
        self,
        desk: Desk,
        name: str | bytes,
        parties: int,
        action: Callable[[], object] | None = None,
        timeout: float | None = None,
    ) -> None:
        self.parties: int = checked("parties", parties, Count)
        if action is not None and not callable(action):
            raise wrong("action", action, "a function, or None")
        self._action = action
        self._timeout = checked_timeout(timeout)
        super().__init__(desk, name)

    def _initial(self) -> BarrierState:
        return BarrierState(self.parties)

    # -- waiting ---------------------------------------------------------------------------------------

    async def wait(self, timeout: float | None = None) -> int:
        """Wait until all have come, at most for `timeout` seconds, or as the barrier says. Returns 0, 1, ... to one
        task each, or raises `BarrierBroken`."""
        limit = self._timeout if timeout is None else checked_timeout(timeout)
        ticket: Ticket | None = None
        try:
            async with asyncio.timeout(limit):
                ticket = await self._change(self._come)
                state = await self._watch(ticket)
        except asyncio.CancelledError:
            if ticket is not None:
                me = self._desk._board.me
                await asyncio.shield(self._change(lambda state: _leave(state, ticket, me)))
            raise
        except TimeoutError:
            if ticket is None or await self._change(lambda state: _break(state, ticket)):
                raise BarrierBroken(f"barrier {self.name!r}: not all tasks have come in time") from None
            return ticket.place
        if not ticket.is_good(state):
            raise BarrierBroken(f"barrier {self.name!r} is broken, or was reset")
        return ticket.place

    def _come(self, state: BarrierState) -> Ticket:
        if state.parties != self.parties:
            raise ConfigError(
                f"barrier {self.name!r} is for {state.parties}, not {self.parties}: everyone must give the same number"
            )
        if state.broken:
            raise BarrierBroken(f"barrier {self.name!r} is broken")
        ticket = Ticket(state)
        state.waiting.append(self._desk._board.me)
        if len(state.waiting) == self.parties:
            state.waiting = []
            try:
                if self._action is not None:
                    self._action()  # the last one to come acts for all
                state.passed += 1
            except Exception as error:
                ticket.failure = error
                state.broken = True
        return ticket

    async def _watch(self, ticket: Ticket) -> BarrierState:
        if ticket.failure is not None:
            raise ticket.failure
        missed: set[str] = set()
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(2 * LOOK_AGAIN):
                    return await self._until(ticket.is_over)
            missing = {member for member in self._local().waiting if not self._desk._board.is_there(member)}
            if missing & missed:  # twice in a row: it was not only silent for a moment
                await self._change(lambda state: _break(state, ticket))
            missed = missing

    # -- for all ---------------------------------------------------------------------------------------

    async def abort(self) -> None:
        """Break the barrier: all that wait, and all that come, get `BarrierBroken`, until it is reset."""

        def step(state: BarrierState) -> None:
            state.broken = True
            state.waiting = []

        await self._change(step)

    async def reset(self) -> None:
        """Start again from the beginning. Tasks that wait get `BarrierBroken`."""

        def step(state: BarrierState) -> None:
            if state.waiting or state.broken:
                state.resets += 1
            state.broken = False
            state.waiting = []

        await self._change(step)

    @property
    def n_waiting(self) -> int:
        """How many wait, as far as this process knows."""
        return len(self._local().waiting)

    @property
    def broken(self) -> bool:
        """As far as this process knows."""
        return self._local().broken

    async def __aenter__(self) -> int:
        return await self.wait()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def __repr__(self) -> str:
        state = self._local()
        return (
            f"<barrier {self.name!r}: {'broken' if state.broken else f'{len(state.waiting)} of {self.parties} wait'}>"
        )


def _break(state: BarrierState, ticket: Ticket) -> bool:
    """A task stops waiting for the others. True if that breaks the barrier for it: not if all have come meanwhile."""
    if not ticket.is_over(state):
        state.broken = True
        state.waiting = []
    return not ticket.is_good(state)


def _leave(state: BarrierState, ticket: Ticket, me: str) -> None:
    """A task was cancelled: another one may come in its place."""
    if not ticket.is_over(state):
        state.waiting.remove(me)
