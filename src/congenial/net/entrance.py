"""Where tasks wait for a lock or a semaphore: what doors and halls have in common.

Tasks of this process queue here. An entrance has seats (`congenial.net.seat`), whose nodes ask the other members. What
a node does is carried out by its seat. If a node breaks, the entrance fails: no further task enters, waiting tasks get
the error, and holders lose what they hold.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Iterator, Sequence
from typing import Any, Final, Protocol

from mypy_extensions import mypyc_attr

from congenial.kernel.effects import Effect
from congenial.kernel.errors import CongenialError, IllegalStep
from congenial.kernel.message import Message
from congenial.kernel.node import IDLE
from congenial.kernel.shell import ProcessEvent, Received, TimedOut
from congenial.net.absence import cannot_serve, degraded, not_open
from congenial.net.errors import ClusterDegraded, LockTimeout, ProtocolError
from congenial.net.held import ONLY_HERE, Held, Keeper, current_task
from congenial.net.histogram import LONG_BUCKETS, Histogram
from congenial.net.lease import ENDLESS, Lease
from congenial.net.logs import log
from congenial.net.membership import Membership
from congenial.net.numbering import Numbering
from congenial.net.seat import Seat

OUTVOTED: Final = "the others have gone on without this process, or too few of them are left"
RAN_OUT: Final = "the others have gone on without this process, or may have: it has not reached a majority for too long"
YIELD_EVERY: Final = 64  # acquisitions, after which the event loop gets a turn and hears the network


class Want:
    """What a task asks for: a group, and whether it shares it with other tasks of its process."""

    __slots__ = ("group", "label", "shared")

    def __init__(self, group: int, shared: bool, label: str | None) -> None:
        self.group = group
        self.shared = shared
        self.label = label


class Waiter:
    """A task in the queue."""

    __slots__ = ("after", "before", "future", "queued", "since", "want")

    def __init__(self, want: Want, future: asyncio.Future[Held], since: float) -> None:
        self.want = want
        self.future = future
        self.since = since
        self.queued = False
        self.before: Waiter | None = None  # in the queue
        self.after: Waiter | None = None


class Waiters:
    """The queue, longest waiting first: a linked list. A waiter that has given up may still be in it: its future is
    done."""

    __slots__ = ("count", "head", "tail")

    def __init__(self) -> None:
        self.count = 0
        self.head: Waiter | None = None
        self.tail: Waiter | None = None

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Waiter]:
        return iter(self.all())

    def all(self) -> list[Waiter]:
        found: list[Waiter] = []
        waiter = self.head
        while waiter is not None:
            found.append(waiter)
            waiter = waiter.after
        return found

    def add(self, waiter: Waiter) -> None:
        """At the end."""
        last = self.tail
        waiter.queued = True
        waiter.before = last
        if last is None:
            self.head = waiter
        else:
            last.after = waiter
        self.tail = waiter
        self.count += 1

    def discard(self, waiter: Waiter) -> None:
        """Wherever it is, if it is there."""
        if waiter.queued:
            before, after = waiter.before, waiter.after
            if before is None:
                self.head = after
            else:
                before.after = after
            if after is None:
                self.tail = before
            else:
                after.before = before
            waiter.queued = False
            waiter.before = waiter.after = None
            self.count -= 1

    def first(self) -> Waiter | None:
        """The one that has waited longest and has not given up."""
        while self.head is not None:
            if not self.head.future.done():
                return self.head
            self.discard(self.head)
        return None

    def fail(self, error: CongenialError) -> None:
        """Give all tasks in the queue an error."""
        for waiter in self.all():
            self.discard(waiter)
            if not waiter.future.done():
                waiter.future.set_exception(error)


class Observer(Protocol):
    """Watches how locks are acquired and released (`congenial.net.spans`)."""

    def acquire(self, entrance: Entrance, want: Want, timeout: float | None) -> Coroutine[Any, Any, Held]:
        """In the place of `Entrance.acquire_now`, which it calls."""

    def end(self, held: Held, why: str) -> None:
        """It is released or, if there is a reason, lost."""


class Tally:
    """What all entrances of a process count together."""

    def __init__(self) -> None:
        self.acquisitions = 0  # asked for, granted or not
        self.entries = 0  # of tasks
        self.sessions = 0  # of the process
        self.timeouts = 0  # tasks that gave up
        self.losses = 0  # holders that lost what they held
        self.waits = Histogram()  # of the tasks that had to wait
        self.holds = Histogram(LONG_BUCKETS)
        self.observer: Observer | None = None
        self.waited: set[Entrance] = set()  # where tasks wait

    def add_hold(self, held: Held, why: str = "") -> None:
        """It is released or, if there is a reason, lost: count how long it was held, once."""
        if held._since:
            self.holds.add(time.monotonic() - held._since)
            held._since = 0.0
            if self.observer is not None:
                self.observer.end(held, why)


class Era:
    """A time in which entrances may be used. Once it is over, they are forgotten, all together."""

    __slots__ = ("over",)

    def __init__(self) -> None:
        self.over = False


ENDLESS_ERA: Final = Era()


@mypyc_attr(allow_interpreted_subclasses=True)
class Entrance(Keeper):
    __slots__ = (
        "entries", "era", "error", "forgotten", "inside", "key", "membership", "numbering", "queue", "sessions",
        "tally",
    )  # fmt: skip

    def __init__(self, membership: Membership, tally: Tally, key: str, name: str, numbering: Numbering) -> None:
        self.membership = membership
        self.tally = tally
        self.key = key  # on the wire
        self.name = name
        self.numbering = numbering
        self.lease: Lease = ENDLESS  # without which no task enters; for algorithms that go on without a silent process
        self.queue = Waiters()
        self.error: CongenialError | None = None  # why no task can enter now or later
        if membership.ended:
            self.error = ClusterDegraded(membership.ended)
        self.forgotten = False  # the table has another one for this lock, or will have
        self.era = ENDLESS_ERA  # the same, if it is over
        self.entries = 0  # of tasks
        self.sessions = 0  # of the process

    @property
    def seats(self) -> Sequence[Seat]:
        return ()

    # -- what tasks do ---------------------------------------------------------------------------------

    def acquire(self, want: Want, timeout: float | None) -> Coroutine[Any, Any, Held]:
        observer = self.tally.observer
        return self.acquire_now(want, timeout) if observer is None else observer.acquire(self, want, timeout)

    def enter_at_once(self, want: Want, mode: str) -> Held | None:
        """Enter for the current task if that takes no waiting and nobody is inside. Otherwise None: then `acquire`.
        None, too, if it is the event loop's turn, or if another entrance is now the `present` one."""
        tally = self.tally
        if self.forgotten or self.era.over or self.error is not None or self.inside or tally.observer is not None:
            return None
        if (tally.acquisitions + 1) % YIELD_EVERY == 0:
            return None
        turn = self.membership.turn
        turn.depth += 1
        try:
            held = self.enter_now(want)
        finally:
            turn.leave()
        if held is None or self.error is not None:
            return None
        tally.acquisitions += 1
        held.mode = mode
        held.owner = current_task()
        return held

    async def acquire_now(self, want: Want, timeout: float | None) -> Held:
        """The same, unobserved."""
        membership = self.membership
        self.tally.acquisitions += 1
        if self.tally.acquisitions % YIELD_EVERY == 0:
            await asyncio.sleep(0)
            present = self.present()
            if present is not self:
                return await present.acquire_now(want, timeout)
        if self.error is None and (timeout is None or timeout > 0 or self.could_enter_now(want)):
            with membership.turn:
                held = self.enter_now(want)
            if held is not None and self.error is None:
                return held
        deadline = None if timeout is None else membership.now() + timeout
        while True:
            if self.error is not None:
                raise self.error
            tries = timeout is not None and timeout <= 0
            if tries and (timeout == ONLY_HERE or cannot_serve(membership) or not self.may_try(want)):
                self.tally.timeouts += 1
                raise self._held_by_another()
            if membership.closing:
                raise ClusterDegraded(membership.ended or f"{membership.name!r} has left the cluster")
            if tries:
                deadline = membership.now() + membership.timing.suspect_after
            future: asyncio.Future[Held] = membership.loop.create_future()
            waiter = Waiter(want, future, membership.now())
            timer = None if deadline is None else membership.loop.call_at(deadline, self._expire, future, timeout)
            try:
                self._queue(waiter, tries)
                held = await future
            except asyncio.CancelledError:
                if not future.cancelled() and future.done() and future.exception() is None and future.result().held:
                    future.result().release()  # it was granted just before the task was cancelled
                raise
            finally:
                if timer is not None:
                    timer.cancel()
                self.queue.discard(waiter)
                if not self.queue:
                    self.tally.waited.discard(self)
            self.settle(held)
            if not held._why:  # it was not lost before this task was told that it had it
                return held
            present = self.present()
            if present is not self:
                left = None if deadline is None else max(deadline - membership.now(), 0.0)
                return await present.acquire_now(want, timeout if tries else left)

    def _queue(self, waiter: Waiter, tries: bool) -> None:
        with self.membership.turn:
            self.queue.add(waiter)
            self.tally.waited.add(self)
            self.on_use()
            self.pump()
            if tries and not waiter.future.done():
                self.on_try(waiter.future)

    def _expire(self, future: asyncio.Future[Held], timeout: float | None) -> None:
        if future.done():
            return
        self.tally.timeouts += 1
        membership = self.membership
        if timeout == 0:
            future.set_exception(self._held_by_another())
        elif membership.rejoins and membership.roster.open and cannot_serve(membership):
            future.set_exception(degraded(membership, self.name))
        else:
            why = f": {not_open(membership)}" if not membership.roster.open else ""
            future.set_exception(LockTimeout(f"lock {self.name!r} could not be acquired within {timeout:g} s{why}"))

    def present(self) -> Entrance:
        """This entrance, or the one that has taken its place. It must be asked for after every pause: a forgotten one
        knows nothing of what has happened since, and must not be entered."""
        return self

    def on_use(self) -> None:
        """A task waits here, or the process asks."""

    def may_try(self, want: Want) -> bool:
        """True if a task that does not want to wait should ask the other members first."""
        return False

    def on_try(self, future: asyncio.Future[Held]) -> None:
        """Ask the other members whether a task can enter that does not want to wait."""
        raise NotImplementedError

    def refuse(self, future: asyncio.Future[Held]) -> None:
        """A try has failed."""
        if not future.done():
            self.tally.timeouts += 1
            future.set_exception(self._held_by_another())

    def _held_by_another(self) -> LockTimeout:
        return LockTimeout(f"lock {self.name!r} cannot be acquired without waiting")

    def enter_now(self, want: Want) -> Held | None:
        """Enter if that takes no waiting; otherwise return None. The process may have asked for the lock then."""
        raise NotImplementedError

    def could_enter_now(self, want: Want) -> bool:
        """True if `enter_now` would succeed, without asking other members."""
        raise NotImplementedError

    def settle(self, held: Held) -> None:
        """If the lease is over, `held` is lost now: the task that asks must get the same answer from then on."""
        if held in self.inside and self.lease.over():
            self.expire(held)

    def has_run_out(self, held: Held) -> bool:
        """True if `settle` would change anything; for other threads."""
        return held in self.inside and self.lease.has_run_out()

    def expire(self, held: Held) -> None:
        """The lease was over, as another thread has seen. It may have been renewed since, but what was seen counts."""
        self._take_back(held, RAN_OUT)

    def _take_back(self, held: Held, why: str) -> None:
        """It is lost, and the process gives it up. If this is a turn, its holder is told before any other process."""
        if held in self.inside:
            self.tally.add_hold(held, why)
            self.release(held)
            held._lose(why)

    def on_loss(self, held: Held, why: str) -> None:
        self.tally.losses += 1
        self.tally.add_hold(held, why)

    def lapse(self) -> None:
        """The lease is over: tell the holders."""
        for held in list(self.inside):
            self.settle(held)

    def pump(self) -> None:
        """Go on as far as possible: let in tasks for which the process has entered, and ask for those that wait. Not
        once the era is over: what the node knows may be outdated, and it asks again when it moves to the next one."""
        raise NotImplementedError

    def _grant(self, waiter: Waiter, held: Held) -> None:
        self.queue.discard(waiter)
        self.tally.waits.add(self.membership.now() - waiter.since)
        waiter.future.set_result(held)
        self.membership.turn.admits = True

    # -- what nodes do ---------------------------------------------------------------------------------

    def send(self, seat: Seat, dst: int, message: Message) -> None:
        raise NotImplementedError

    def on_effect(self, seat: Seat, effect: Effect) -> None:
        raise NotImplementedError

    def on_timer(self, seat: Seat, event: TimedOut) -> None:
        self._happen(seat, event)
        self.pump()

    def _happen(self, seat: Seat, event: ProcessEvent) -> None:
        """Hand an event to a seat. If the node breaks, only this entrance fails."""
        if self.error is None:
            try:
                seat.step(event)
            except Exception as error:
                self._fail_by(
                    IllegalStep(f"lock {self.name!r}: {type(event).__name__} broke {_node_of(seat)}: {_cause(error)}"),
                    error,
                )

    def _hear(self, seat: Seat, src: int, message: Message) -> None:
        """A message arrives at a seat. `ProtocolError` if the node refuses it, and nothing has changed; or if the node
        breaks, and the entrance has failed."""
        try:
            seat.step(Received(src, message))
        except Exception as error:
            if isinstance(error, IllegalStep) and error.refused:
                raise ProtocolError(str(error.__cause__)) from None
            broken = ProtocolError(f"lock {self.name!r}: {message!r} broke {_node_of(seat)}: {_cause(error)}")
            self._fail_by(broken, error)
            raise broken from error

    def distrust(self, error: ProtocolError) -> None:
        """A peer has sent what makes no sense here: one of the two is wrong about this lock, and it is not known which
        one. The entrance fails, and nothing else: refused, the message would be sent again on every connection."""
        if self.error is None:
            self._fail_by(ProtocolError(f"lock {self.name!r}: {error}"), error)

    def _fail_by(self, broken: CongenialError, error: Exception) -> None:
        broken.__cause__ = error
        log(logging.ERROR, "lock.failed", node=self.membership.name, lock=self.label, reason=broken)
        self.fail(broken)
        self.on_failure(broken)

    def on_failure(self, error: CongenialError) -> None:
        """The entrance has failed, because of a node or of what it was sent."""

    def is_concerned(self) -> bool:
        """Whether it matters here that the entrance has failed elsewhere: it is held, or waited for, here or as far as
        its home knows."""
        return False

    def on_unheard(self, peer: int) -> None:
        """A peer has sent a message, but the entrance has failed."""

    def recover(self) -> None:
        """Let the nodes go on from where they were before this member was restarted."""
        for seat in self.seats:
            try:
                event = seat.recovery()
            except Exception as error:
                self._fail_by(IllegalStep(f"lock {self.name!r} cannot be recovered: {_cause(error)}"), error)
                return
            if event is not None:
                self._happen(seat, event)
        self.pump()

    def suspect(self, peer: int, away: bool) -> None:
        """A peer is suspected, or trusted again."""
        raise NotImplementedError

    # -- the end ---------------------------------------------------------------------------------------

    def fail(self, error: CongenialError) -> None:
        """Let no task enter from now on, and let holders lose what they hold."""
        if self.error is None:
            self.error = error
            self.stop()
            self.queue.fail(error)
            self._lose_all(str(error))

    def stop(self) -> None:
        """Cancel all timers."""
        for seat in self.seats:
            seat.stop()

    def close(self) -> None:
        """This process leaves the cluster: fail the tasks that wait, and take back what is held. A task that is inside
        may not know that another one ends the membership."""
        self.queue.fail(ClusterDegraded(f"{self.membership.name!r} is leaving the cluster"))
        for held in list(self.inside):
            self._take_back(held, f"{self.membership.name!r} has left the cluster")
        self.stop()

    def abandon(self, error: CongenialError) -> None:
        """This is a forked child, which has entered nothing. Nobody is called back: that is for the parent to do."""
        self.error = error
        for held in self.inside:
            held._abandon(str(error))
        self._forget_holders()

    def _lose_all(self, why: str) -> None:
        raise NotImplementedError

    def _forget_holders(self) -> None:
        raise NotImplementedError

    # -- status ----------------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        return self.name

    @property
    def idle(self) -> bool:
        """No task is inside or waits, and no request is under way."""
        return not self.inside and not self.queue and all([seat.node.phase == IDLE for seat in self.seats])

    def status(self) -> dict[str, object]:
        raise NotImplementedError


def _node_of(seat: Seat) -> str:
    return type(seat.node).__name__


def _cause(error: Exception) -> str:
    """What the node itself raised, or what the shell found."""
    return repr(error.__cause__) if isinstance(error, IllegalStep) and error.__cause__ is not None else str(error)
