"""A semaphore of a cluster whose members change.

Its seats are made when they are needed: one for each task that is inside or has asked, and at the home one that knows
the requests and the holders. The fence of a semaphore is the number of the view. A task that is inside when the view
changes gets the new one: it holds the semaphore in the new view as well.

All members must name the same k. In a view that k counts which the home hears first; what members hold from earlier
views comes before all that is asked. A member that has asked with another k is refused (`congenial.net.viewed`): its
tasks get an error, and it forgets the semaphore. So it takes nothing along to a view in which it may be the home.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from congenial.kernel.errors import ConfigError, CongenialError
from congenial.kernel.message import Message
from congenial.kernel.node import IDLE, INSIDE
from congenial.kernel.out import Out
from congenial.kernel.problem import NO_GROUP
from congenial.net.call import Call
from congenial.net.entrance import Entrance, Want
from congenial.net.hall import ALL_SEATS, Hall
from congenial.net.held import Held
from congenial.net.names import MOST_PROCESSES
from congenial.net.numbering import Numbering
from congenial.net.seat import Seat
from congenial.net.view_door import Followed
from congenial.parts.homed import Floor
from congenial.parts.views import View
from congenial.problems.epochs import EPOCH_BITS, InEpochs
from congenial.problems.kmutex import KMutex
from congenial.transform.lock_in_views import SeatedLock

MOST_SEATS: Final = 100_000
HOME_SEAT: Final = 0  # of a member, if it is the home
NO_SEAT: Final = -2

Action = Callable[[SeatedLock, Out], object]


class ViewHall(Hall):
    """`settle` begins the lock of a new seat in the present view."""

    __slots__ = (
        "above",
        "disputed",
        "kept",
        "listed",
        "problem",
        "said_by",
        "seat_class",
        "settle_in",
        "swept_at",
        "tried",
        "tries",
        "trying",
    )

    def __init__(
        self,
        above: Followed,
        key: str,
        name: str,
        k: int,
        seat_class: type[SeatedLock],
        settle: Callable[[str, SeatedLock], None],
    ) -> None:
        self.above = above
        self.seat_class = seat_class
        self.settle_in = settle
        self.swept_at = 0
        self.listed = False  # among the entrances that are in use
        self.kept: dict[Seat, None] = {}  # seats that were left with a permit, and may have it still
        self.said_by = ""  # the member from which this one knows how many it lets in, if it has not said so itself
        self.disputed = -1  # the last view in which it refused, as the home, a member that named another number
        super().__init__(above.membership, above.vocabulary, above.tally, key, name, k)
        self.lease = above.agreement.lease
        self.tries = above.tries
        self.era = above.era

    def _numbering(self, key: str, n: int, k: int) -> Numbering:
        return Numbering(MOST_PROCESSES, 0, k)

    def _furnish(self) -> None:
        if self.k > MOST_SEATS:
            raise ConfigError(f"semaphore {self.name!r} lets in {self.k} at a time, too many: at most {MOST_SEATS}")
        self.problem = InEpochs(KMutex(self.k))

    # -- seats -----------------------------------------------------------------------------------------

    def seat(self, number: int) -> Seat:
        """The seat with this number; it and those before it are made if need be."""
        membership = self.membership
        while len(self.seats) <= number:
            at = len(self.seats)
            lock = self.seat_class(membership.me, MOST_PROCESSES, at, self.k, (("k", str(self.k)),))
            self.settle_in(self.key, lock)
            seat = Seat(self, membership, lock, self.problem, "", at)
            self.seats.append(seat)
            self.free.insert(0, seat)
        return self.seats[number]

    def present(self) -> Entrance:
        return self.above.again(self) if self.forgotten or self.era.over else self

    def on_use(self) -> None:
        self.above.on_use(self)

    def _ask(self) -> None:
        self.on_use()
        super()._ask()

    def _leave(self, seat: Seat) -> None:
        super()._leave(seat)
        if seat.node.could_enter():
            self.kept[seat] = None

    def _quick_seat(self) -> Seat | None:
        """There may be very many free seats. Those that do not have to wait have kept a permit, or are at the home."""
        while self.kept:
            seat = self.kept.popitem()[0]
            if seat.node.phase == IDLE and seat.node.could_enter():
                self.kept[seat] = None
                return seat
        if self.seats and self.seats[HOME_SEAT].node.phase == IDLE and self.seats[HOME_SEAT].node.could_enter():
            return self.seats[HOME_SEAT]
        return None

    def _make_room(self) -> None:
        """Not while the other seats are still in an earlier view."""
        if not self.free and len(self.seats) < self.k and not self.era.over:
            self.seat(len(self.seats))

    def enter_now(self, want: Want) -> Held | None:
        self._make_room()
        return super().enter_now(want)

    def pump(self) -> None:
        self._make_room()
        while self.error is None:
            asking = self.asking
            super().pump()
            self._make_room()
            if self.asking == asking:
                return

    def receive(self, peer: int, src: int, dst: int, message: Message) -> None:
        """For a seat that is there, or for the home. Other seats have nothing that could be asked back."""
        if dst == HOME_SEAT:
            self.seat(dst)
        if dst < len(self.seats):
            super().receive(peer, src, dst if dst != ALL_SEATS else NO_SEAT, message)

    # -- tries -----------------------------------------------------------------------------------------

    def may_try(self, want: Want) -> bool:
        return len(self.inside) + len(self.queue) < self.k

    def on_try(self, future: asyncio.Future[Held]) -> None:
        self.tries.add(self, future)

    def home(self) -> int:
        return self.numbering.member(self.lock_of(self.seat(HOME_SEAT)).process(0))

    def holders(self, asker: int) -> set[int]:
        return {self.numbering.member(process) for process in self.lock_of(self.seat(HOME_SEAT)).holders()}

    def most(self) -> int:
        return self.k

    def occupied(self) -> int:
        return len([seat for seat in self.seats if seat.node.phase == INSIDE])

    def suspect(self, peer: int, away: bool) -> None:
        """That is for the agreement."""

    def fail(self, error: CongenialError) -> None:
        """The home refuses each member that has asked with another number. The others do not have to know."""
        Entrance.fail(self, error)

    def on_failure(self, error: CongenialError) -> None:
        self.above.failures.add(self, error)

    def is_concerned(self) -> bool:
        return len(self.queue) > 0 or not self.is_at_rest()

    def on_unheard(self, peer: int) -> None:
        self.above.failures.tell(peer, self.key)

    # -- views -----------------------------------------------------------------------------------------

    def lock_of(self, seat: Seat) -> SeatedLock:
        assert isinstance(seat.node, SeatedLock)
        return seat.node

    def move(self, view: View, home: int, since: int) -> list[tuple[str, int, int, int]]:
        """There is a new view; what this member holds in it."""
        held: list[tuple[str, int, int, int]] = []
        self.era = self.above.era
        self.lease = self.above.agreement.lease
        for seat in self.seats:
            self._call(seat, lambda lock, out: lock.move(view.number, view.processes, home, since, out))
        if self.error is not None:
            return held
        for seat in self.seats:
            group, fence = self.lock_of(seat).holding()
            if group != NO_GROUP:
                held.append((self.key, seat.number, self.k, fence))
        if self.inside or self.granted:
            fence = self._fence(view.number << EPOCH_BITS)
            self.granted = [(seat, fence) for seat, _ in self.granted]
            for task in self.inside:
                task._renumber(fence)
        return held

    def take_over(self, peer: int, number: int, group: int, fence: int) -> None:
        """At the home: a task of a member is inside."""
        process = self.numbering.process(peer, number)
        self._call(self.seat(0), lambda lock, out: lock.take_over(process, 0, fence))

    def is_home(self) -> bool:
        return bool(self.seats) and self.lock_of(self.seats[0]).is_home()

    def serve(self) -> None:
        """At the home: all members have told."""
        self._call(self.seats[0], lambda lock, out: lock.serve(out))
        self.pump()

    # -- a semaphore that nobody uses ------------------------------------------------------------------

    def relax(self) -> None:
        for seat in self.seats:
            self._call(seat, lambda lock, out: lock.relax(out))
        self._deliver_local()

    def is_at_rest(self) -> bool:
        return all([self.lock_of(seat).is_at_rest() for seat in self.seats])

    def floor(self) -> Floor:
        return self.lock_of(self.seats[0]).floor() if self.seats else (0, 0)

    def _call(self, seat: Seat, action: Action) -> None:
        self._happen(seat, Call(action))

    def status(self) -> dict[str, object]:
        return {**super().status(), "seats": len([seat for seat in self.seats if seat.node.phase == INSIDE])}
