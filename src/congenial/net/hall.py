"""A semaphore as one process sees it: k seats, and the local tasks before them.

At most k tasks are inside, of all processes together, and k of one process may be. A node of an algorithm lets its
process in once, not k times; so every member of the cluster has k seats, and each seat is a process of the algorithm:
it runs for k times as many processes as there are members. A task that wants to enter takes a free seat, which asks
for it. Seats of one member talk without the network, and what a seat tells everyone goes once to each member.

Processes are numbered so that the first k of them, where Srimani and Reddy's tokens are at first, are spread over the
members. A seat where a token rests is taken first: then nobody has to be asked.

All members must name the same k. Each tells the others, and what comes from a seat says how many there are; who hears
of another k than its own lets nobody in any more, and its tasks are told.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Final

from congenial.kernel.effects import EVERYONE
from congenial.kernel.errors import ConfigError, CongenialError, ContractError
from congenial.kernel.message import Message
from congenial.kernel.node import IDLE, INSIDE, WAITING
from congenial.kernel.out import Outbox
from congenial.kernel.state import durable_state
from congenial.net.codec import Seats
from congenial.net.door import OUTVOTED, TURN_BITS, Waiter, Want
from congenial.net.errors import ProtocolError
from congenial.net.held import Held
from congenial.net.names import first_holder
from congenial.problems.epochs import EPOCH_BITS

if TYPE_CHECKING:
    from congenial.net.host import Host

ALL_SEATS: Final = -1
MOST_SEATS: Final = 1024  # of all members together: each has a place in every token, and every seat keeps count of all
MOST_IN_EPOCHS: Final = 256  # when a member is lost every seat tells every other one, which takes a second for so many


class Hall:
    def __init__(self, host: Host, key: str, name: str, k: int) -> None:
        most = MOST_IN_EPOCHS if host.config.semaphore_system(1).algorithm.rejoins else MOST_SEATS
        if k * host.n > most:
            raise ConfigError(
                f"semaphore {name!r} lets in {k} at a time, too many for {host.config.semaphores} in a cluster of "
                f"{host.n}: at most {most // host.n}"
            )
        self.host = host
        self.key = key
        self.name = name
        self.k = k
        system = host.config.semaphore_system(k)
        self.offset = first_holder(key, host.n)  # the peer with the seats 0, n, 2n, ...
        self.place = (host.me - self.offset) % host.n
        self.in_epochs = system.algorithm.rejoins
        self.nodes = [system.node(seat * host.n + self.place) for seat in range(k)]
        self.free = list(range(k - 1, -1, -1))  # seats; the one that was left last is last
        self.asking = 0  # seats that have asked and are not in yet
        self.queue: OrderedDict[Waiter, None] = OrderedDict()  # longest waiting first
        self.inside: dict[Held, int] = {}  # the seat of each
        self.granted: list[tuple[int, int]] = []  # seats that have just been let in, and their fences
        self.errands: deque[tuple[int, int, Message]] = deque()  # between seats here: from a process, to a seat
        self.error: CongenialError | None = None  # why nobody gets in any more
        self.timers: dict[tuple[int, int], asyncio.TimerHandle] = {}
        self.entries = 0
        self.sessions = 0

    # -- what tasks do ---------------------------------------------------------------------------------

    def enter_now(self, want: Want) -> Held | None:
        """Enter, if that takes no waiting. If it does, a seat may have asked by now: queue, or `give_up`."""
        if self.queue or self.asking or not self.free or not self.host.serving or self.error is not None:
            return None
        self._ask()
        return self._admit(want, *self.granted.pop()) if self.granted else None

    def could_enter_now(self, want: Want) -> bool:
        """Whether `enter_now` would, without asking anybody."""
        if self.queue or self.asking or not self.host.serving or self.error is not None:
            return False
        return any([self.nodes[seat].could_enter() for seat in self.free])

    def enqueue(self, waiter: Waiter) -> None:
        if self.error is not None:
            raise self.error
        self.queue[waiter] = None
        self.pump()

    def give_up(self, waiter: Waiter) -> None:
        self.queue.pop(waiter, None)

    def release(self, held: Held) -> None:
        seat = self.inside.pop(held, None)
        if seat is None:
            raise held.not_held()
        self._leave(seat)
        self.pump()
        self.host.flush()

    def _admit(self, want: Want, seat: int, fence: int) -> Held:
        held = Held(self, want, fence)
        self.inside[held] = seat
        self.entries += 1
        return held

    # -- what seats do ---------------------------------------------------------------------------------

    def pump(self) -> None:
        """Let seats ask for those who wait, and those enter whose seats have been let in."""
        while True:
            self._seat_waiters()
            if self.asking >= len(self.queue) or not self.free or not self.host.serving or self.error is not None:
                return
            self._ask()

    def _seat_waiters(self) -> None:
        while self.granted:
            seat, fence = self.granted.pop(0)
            waiter = self._first_waiter()
            if waiter is None:  # all have given up
                self._leave(seat)
            else:
                self.host.waited(self.host.now() - waiter.since)
                waiter.future.set_result(self._admit(waiter.want, seat, fence))

    def _first_waiter(self) -> Waiter | None:
        while self.queue:
            waiter, _ = self.queue.popitem(last=False)
            if not waiter.future.done():
                return waiter
        return None

    def _ask(self) -> None:
        """Let a free seat ask, one that need not wait if there is one; `granted` tells if it is in."""
        place = len(self.free) - 1
        for at in range(len(self.free)):
            if self.nodes[self.free[at]].could_enter():
                place = at
        seat = self.free.pop(place)
        self.asking += 1
        out = Outbox()
        self.nodes[seat].request((0,), out)
        self._carry(seat, out)
        self._run_errands()

    def _leave(self, seat: int) -> None:
        self.free.append(seat)
        out = Outbox()
        self.nodes[seat].release(out)
        self._carry(seat, out)
        self._run_errands()

    def receive(self, peer: int, src: int, dst: int, message: Message) -> None:
        """A message from a seat of a peer has arrived, for one seat here or for all."""
        if not (0 <= src < self.k and ALL_SEATS <= dst < self.k):
            raise ProtocolError(f"a message from seat {src} to seat {dst}, where there are {self.k}")
        if self.error is not None:
            return
        process = src * self.host.n + (peer - self.offset) % self.host.n
        seats = range(self.k) if dst == ALL_SEATS else (dst,)
        for seat in seats:
            self._hand_over(process, seat, message, first=seat == seats[0])
        self._run_errands()
        self.pump()

    def _run_errands(self) -> None:
        while self.errands and self.error is None:
            process, seat, message = self.errands.popleft()
            self._hand_over(process, seat, message, first=False)

    def _hand_over(self, process: int, seat: int, message: Message, first: bool) -> None:
        out = Outbox()
        try:
            self.nodes[seat].receive(process, message, out)
        except ContractError as error:
            if first:  # nothing has happened yet
                raise ProtocolError(str(error)) from None
            self.fail(ProtocolError(f"semaphore {self.name!r}: {error}"))
            return
        self._carry(seat, out)

    def _carry(self, seat: int, out: Outbox) -> None:
        """Make what a step of a seat did happen."""
        host = self.host
        me = seat * host.n + self.place
        if out.saved:
            host.storage.save(self._storage_key(seat), durable_state(self.nodes[seat]))
        for dst, message in out.sent:
            if dst == EVERYONE:
                host.send_from_seat(self, seat, None, ALL_SEATS, message)
                for other in range(self.k):
                    if other != seat:
                        self.errands.append((me, other, message))
            elif dst % host.n == self.place:
                self.errands.append((me, dst // host.n, message))
            else:
                host.send_from_seat(self, seat, (dst + self.offset) % host.n, dst // host.n, message)
        for timer in out.timers_cancelled:
            if (seat, timer) in self.timers:
                self.timers.pop((seat, timer)).cancel()
        for timer, delay in out.timers_set:
            if (seat, timer) in self.timers:
                self.timers.pop((seat, timer)).cancel()
            seconds = delay * host.config.timing.timer_unit
            self.timers[seat, timer] = host.loop.call_later(seconds, self._on_timer, seat, timer)
        if out.ejected and self.nodes[seat].phase == IDLE:
            self._lose(seat)
        if out.entered is not None and self.nodes[seat].phase == INSIDE:
            self.asking -= 1
            self.sessions += 1
            self.granted.append((seat, self._fence(out.entered[1])))

    def _fence(self, session: int) -> int:
        """The epoch is all that the holders of a semaphore can be told apart by."""
        return self.host.fence_base + (session >> EPOCH_BITS << EPOCH_BITS + TURN_BITS) if self.in_epochs else 0

    def _lose(self, seat: int) -> None:
        self.free.append(seat)
        self.granted = [grant for grant in self.granted if grant[0] != seat]
        for held in [held for held in self.inside if self.inside[held] == seat]:
            del self.inside[held]
            held._lose(OUTVOTED)

    def _storage_key(self, seat: int) -> str:
        return f"seat {seat} of {self.k} {self.key}"

    def recover(self) -> None:
        """Tell the seats what they were in an earlier life."""
        for seat in range(self.k):
            out = Outbox()
            self.host.recover(self.nodes[seat], self._storage_key(seat), out)
            self._finish(seat, out)

    def _on_timer(self, seat: int, timer: int) -> None:
        del self.timers[seat, timer]
        out = Outbox()
        self.nodes[seat].on_timer(timer, out)
        self._finish(seat, out)
        self.host.flush()

    def suspect(self, peer: int, away: bool) -> None:
        """A peer is believed to be away, or back: that concerns all its seats."""
        if self.error is not None:
            return
        first = (peer - self.offset) % self.host.n
        for seat in range(self.k):
            for other in range(self.k):
                out = Outbox()
                if away:
                    self.nodes[seat].on_suspect(other * self.host.n + first, out)
                else:
                    self.nodes[seat].on_trust(other * self.host.n + first, out)
                self._finish(seat, out)

    def _finish(self, seat: int, out: Outbox) -> None:
        self._carry(seat, out)
        self._run_errands()
        self.pump()

    # -- how many seats --------------------------------------------------------------------------------

    def hear_k(self, who: str, k: int) -> None:
        """A member says how many it lets in."""
        if k != self.k:
            self.fail(disagreement(self.name, self.k, who, k))

    def stop_timers(self) -> None:
        for timer in self.timers.values():
            timer.cancel()
        self.timers.clear()

    def fail(self, error: CongenialError) -> None:
        """Nobody gets in any more, and those inside have lost it."""
        if self.error is not None:
            return
        self.error = error
        for waiter in self.queue:
            if not waiter.future.done():
                waiter.future.set_exception(error)
        self.queue.clear()
        inside, self.inside = self.inside, {}
        for held in inside:
            held._lose(str(error))
        if isinstance(error, ConfigError):  # the others should know
            for link in self.host.links:
                link.post(Seats(self.key, self.k))

    # -- being looked at -------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        return f"{self.name} (semaphore)"

    @property
    def idle(self) -> bool:
        """Nobody is inside, waits, or has a request under way."""
        return not self.inside and not self.queue and all([node.phase == IDLE for node in self.nodes])

    def status(self) -> dict[str, object]:
        phases = [node.phase for node in self.nodes]
        phase = "inside" if INSIDE in phases else "waiting" if WAITING in phases else "idle"
        return {
            "phase": phase,
            "group": None,
            "holders": len(self.inside),
            "queue": len(self.queue),
            "fence": None,
            "k": self.k,
            "entries": self.entries,
            "sessions": self.sessions,
        }


def disagreement(name: str, k: int, who: str, other: int) -> ConfigError:
    return ConfigError(
        f"semaphore {name!r} lets in {k} at a time here, and {other} at {who!r}: everyone must give the same number"
    )
