"""Locks of a cluster whose members change: all of them follow one agreement (`congenial.net.agreement`).

When the view changes, a lock that is in use here moves to the new view, and one that is not is forgotten: its state is
where it is used, and at its home, which its key and the view give. This member tells every other one which of that
one's locks it holds. A home serves when all members have told it. See `congenial.transform.views`, which does the same
for one lock.

Many locks move some at a time, so that the event loop is not blocked. One that is needed earlier, for a task or a
message, moves then. Until a lock moves, this process has not heard of the new view as far as that lock is concerned. It
tells what it holds of a lock in the turn in which the lock moves, and says that this was all when all have moved. What
is held can be released before; but nothing is asked for, and no task is let in: the lease may be of the new view.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from congenial.kernel.message import Message
from congenial.kernel.out import PlainOut
from congenial.net.agreement import VIEWS_KEY, Agreement
from congenial.net.codec import Vocabulary
from congenial.net.dispatch import NO_VIEW, Dispatch
from congenial.net.door import Door
from congenial.net.entrance import Entrance, Era
from congenial.net.errors import ProtocolError
from congenial.net.failures import Failures
from congenial.net.hall import Hall, disagreement
from congenial.net.kept import KeptLocks
from congenial.net.lease import OVER, Lease
from congenial.net.link import Link
from congenial.net.logs import log
from congenial.net.membership import Membership
from congenial.net.names import MOST_PROCESSES, is_guarded, is_semaphore, shown
from congenial.net.replica import Machine
from congenial.net.table import LockTable, check_key
from congenial.net.tries import Triable, Tries
from congenial.net.view_door import FollowingDoor, Holding, LockDoor, StepTools
from congenial.net.view_guard import OBJECTS, ViewGuard
from congenial.net.view_hall import MOST_SEATS, ViewHall
from congenial.net.wire import Data, Echo, SeatData, Seats
from congenial.parts.bearing import Attendance
from congenial.parts.views import View
from congenial.systems.system import System
from congenial.systems.view_locks import LOCK_CLASSES
from congenial.transform.instances import Setting
from congenial.transform.lock_in_views import Inherited, InView
from congenial.transform.views import InViews, Told

HELD_AT_A_TIME: Final = 200  # locks, or seats of semaphores, in one message
MOVED_AT_A_TIME: Final = 200  # locks that move to a new view, before others get a turn
SERVED_AT_A_TIME: Final = 200  # locks that go on with what was told, before others get a turn
TOLD_AT_A_TIME: Final = 200  # locks that hear that the lease is over, or that it goes on, before others get a turn
LEAVING: Final = 2.0  # seconds for the others to agree that this process has left
LEAVING_VOTER: Final = 8  # times the patience, if it has a vote that they could need, and they can still agree
PAUSE: Final = 0.01  # seconds, before looking again whether objects are up to date


class Late:
    """A message that belongs to a view, and where it goes: to a lock, or to a seat of a semaphore that lets in k."""

    __slots__ = ("dst", "k", "key", "message", "src")

    def __init__(self, key: str, message: Told | InView | Inherited, k: int = 0, src: int = 0, dst: int = 0) -> None:
        self.key = key
        self.message = message
        self.k = k
        self.src = src
        self.dst = dst


class ViewedLocks(LockTable):
    agreement: Agreement

    def __init__(self, membership: Membership, vocabulary: Vocabulary, system: System) -> None:
        super().__init__(membership, vocabulary, system)
        semaphores = membership.config.semaphore_system(1).algorithm
        assert issubclass(system.algorithm, InViews)
        assert issubclass(semaphores, InViews)
        lock_class = system.algorithm.lock_class
        own = lock_class.algorithm in LOCK_CLASSES  # an algorithm of ours
        self.seat_class = semaphores.seat_class
        options = sorted(system.arguments.items())
        settings = tuple([(name, value.text) for name, value in options if isinstance(value, Setting)])
        voters: Any = system.arguments["voters"]
        self.agreement = Agreement(membership, vocabulary, voters, self)
        self.tries = Tries(membership, self)
        self.failures = Failures(membership, self)
        membership.electorate = self.agreement.voters
        membership.forgetful_voters = self.agreement.node.views.forgetful
        membership.resumes = True
        tools = StepTools(PlainOut(), membership.turn, membership.link_to, vocabulary.table)
        self.kept = KeptLocks(self, tools, lock_class, settings, system.problem, bare=own)
        self.doors, self.halls, self.objects = self.kept.doors, self.kept.halls, self.kept.objects
        self.served = self.kept.served
        self.dispatch = Dispatch(vocabulary.table, self.kept, self.on_other_lock_data)
        membership.deliver_to(self.dispatch)
        self.to_move: deque[LockDoor | ViewHall] = deque()  # to the present view, unless they have moved since
        self.last = -1  # the last view of which this process knows
        self.missed = False  # it was not a member all the time, and some locks have not moved since
        self.told: set[int] = set()  # the members that have told all that they hold
        self.rest = 0.0  # for how long leases of other processes last
        self.later: list[tuple[int, Late]] = []  # what has come for later views: peer and frame
        self.attendance = Attendance()  # of this process, for objects of which it has not heard yet

    @property
    def lease(self) -> Lease:
        """None counts before all that was lost is known to be lost."""
        return OVER if self.missed and self.to_move else self.agreement.lease

    def size(self) -> int:
        return len(self.agreement.view.members)

    def agreements(self) -> int:
        return self.agreement.view.number

    def about(self) -> dict[str, Any]:
        name_of, view = self.membership.name_of, self.agreement.view
        return {
            "view": view.number,
            "members": sorted([name_of(process) for process in view.processes]),
            "voters": [name_of(process) for process in self.agreement.voters()],
            "settled": self.is_settled(),
        }

    def behind(self) -> int:
        return len([guard for guard in self._guards() if not guard.is_up_to_date()])

    async def settled(self, deadline: float | None) -> bool:
        """When all other members have told this one what they hold, it is a member like them. A new view may begin
        while replicas catch up."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                await self.served.wait()
                while self.behind():
                    await asyncio.sleep(PAUSE)
                    await self.served.wait()
        return self.is_settled() and not self.behind()

    async def leave(self, for_good: bool) -> None:
        agreement = self.agreement
        with self.membership.turn:
            agreement.stop()
        if self.membership.opened.is_set() and len(agreement.view.members) > 1:
            if for_good:
                await self._hand_over()
            agreement.leave(for_good)
            if for_good:
                await self._wait_for_agreement()

    async def _wait_for_agreement(self) -> None:
        """Until the others go on without this process, or cannot be expected to agree on it."""
        agreement, now = self.agreement, self.membership.now
        begin = now()
        patient = begin + LEAVING_VOTER * self.membership.timing.suspect_after
        while not agreement.gone.is_set() and now() < (patient if agreement.is_needed() else begin + LEAVING):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PAUSE):
                    await agreement.gone.wait()
        if not agreement.gone.is_set():
            log(logging.WARNING, "leave.failed", node=self.membership.name, votes=agreement.node.views.votes())

    async def _hand_over(self) -> None:
        """Others that are sent the state of an object get all of it before this member goes."""
        end = self.membership.now() + LEAVING
        while any([guard.lock.is_sending() for guard in self._guards()]) and self.membership.now() < end:
            await asyncio.sleep(PAUSE)

    # -- locks in use ----------------------------------------------------------------------------------

    def in_use(self) -> list[Entrance]:
        """Others have no holders and nobody that waits."""
        return [*self.kept.used, *self.objects.values()]

    def _followers(self) -> list[FollowingDoor | ViewHall]:
        return [entrance for entrance in self.entrances() if isinstance(entrance, (FollowingDoor, ViewHall))]

    def _guards(self) -> list[ViewGuard]:
        return list(self.objects.values())

    # -- tries -----------------------------------------------------------------------------------------

    def view_number(self) -> int:
        return self.agreement.view.number

    def triable(self, key: str) -> Triable | None:
        found = self.doors.get(key) or self.halls.get(key)
        return found if isinstance(found, (FollowingDoor, ViewHall)) else None

    def is_settled(self) -> bool:
        return self.served.is_set()

    # -- made on first use -----------------------------------------------------------------------------

    def _make_door(self, key: str, name: str) -> Door:
        if is_guarded(key):
            return self._make_guard(key)
        return self.kept.make(key, name)

    def guard(self, key: str, name: str, machine: Machine) -> ViewGuard:
        guard = self.doors.get(key)
        if guard is None:
            guard = self._make_guard(key)
        assert isinstance(guard, ViewGuard)
        if guard.error is not None:
            raise guard.error
        guard.use(name, machine)
        return guard

    def _make_guard(self, key: str) -> ViewGuard:
        membership = self.membership
        lock = OBJECTS(membership.me, MOST_PROCESSES, ())
        guard = ViewGuard(self.kept, key, shown(key[1:]), lock)
        self.doors[key] = self.objects[key] = guard
        if membership.opened.is_set():
            lock.attendance.copy(self.attendance)
            self._bring_up(guard)
            guard.begin()
        return guard

    def _door_of(self, key: str) -> Door:
        """The lock of which a peer says something, in the present view."""
        door = self.doors.get(key)
        if door is None:
            return self._make_door(key, shown(key))
        self._move_now(door)
        return door

    def _make_hall(self, key: str, name: str, k: int) -> Hall:
        self.kept.make_room()
        hall = ViewHall(self.kept, key, name, k, self.seat_class, self.kept.settle)
        self.halls[key] = hall
        self._bring_up(hall)
        return hall

    def hall(self, key: str, name: str, k: int) -> Hall:
        hall = self.halls.get(key)
        if hall is None:
            return self._make_hall(key, name, k)
        if isinstance(hall, ViewHall) and hall.k != k and hall.said_by:
            raise disagreement(name, k, hall.said_by, hall.k)
        return super().hall(key, name, k)

    def _hall_of(self, peer: int, key: str, k: int) -> ViewHall:
        """The semaphore of which a peer says that it lets in k. The first one counts."""
        hall = self.halls.get(key)
        if hall is None:
            hall = self._make_hall(key, shown(key[1:]), k)
            assert isinstance(hall, ViewHall)
            hall.said_by = self.membership.name_of(peer)
        assert isinstance(hall, ViewHall)
        self._move_now(hall)
        return hall

    def _hall_held(self, peer: int, key: str, k: int) -> ViewHall:
        """The semaphore in which a member is inside, one of k. That counts more than what was only asked for."""
        hall = self._hall_of(peer, key, k)
        if hall.k != k:
            self._refuse(hall, self.membership.name_of(peer), k)
            hall = self._hall_of(peer, key, k)
            for link in self.membership.links:  # whichever has asked: that is forgotten
                self._tell_k(link, hall)
        return hall

    def _refuse(self, hall: ViewHall, who: str, k: int) -> None:
        """Another number counts than the one that the tasks here have named: they get an error, and nothing is left."""
        hall.fail(disagreement(hall.name, hall.k, who, k))
        self.kept.drop(hall)

    def _tell_k(self, link: Link, hall: ViewHall) -> None:
        """As the home."""
        hall.disputed = self.agreement.view.number
        link.post(Seats(hall.key, hall.k, hall.disputed))

    def known(self) -> set[tuple[str, int]]:
        """Members do not need to be reminded of locks that follow views."""
        return set()

    def again(self, entrance: Entrance) -> Entrance:
        if isinstance(entrance, Hall):
            present: Entrance = self.hall(entrance.key, entrance.name, entrance.k)
        else:
            present = super().again(entrance)
        self._move_now(present)
        return present

    def _bring_up(self, entrance: Entrance) -> None:
        if not isinstance(entrance, (FollowingDoor, ViewHall)):
            super()._bring_up(entrance)
        elif self.membership.opened.is_set() and entrance.era is self.kept.era:  # the others begin when they move
            with self.membership.turn:
                if isinstance(entrance, FollowingDoor):
                    self.kept.settle(entrance.key, entrance.lock)
                entrance.pump()

    def _is_home(self, key: str) -> bool:
        return self.kept.processes[self.kept.home(key)] == self.membership.me

    # -- views -----------------------------------------------------------------------------------------

    def on_open(self) -> None:
        with self.membership.turn:
            self.agreement.begin()
            super().on_open()

    def on_connected(self, link: Link) -> None:
        self.reminders.ask(link)
        if self.membership.opened.is_set():
            self.agreement.inform(link.peer)
        self.failures.on_connected(link)
        for hall in self.halls.values():  # a refusal may have been lost with the last connection
            if isinstance(hall, ViewHall) and hall.disputed == self.agreement.view.number:
                self._tell_k(link, hall)

    def on_missed(self, link: Link) -> None:
        """This process goes on as another one, which has done nothing yet."""
        self.agreement.begin_again()

    def on_view(self, view: View, since: int, rest: float) -> None:
        membership = self.membership
        self.dispatch.number = view.number if since >= 0 else NO_VIEW
        self.failures.forget()
        self.told = set()
        self.rest = 0.0
        self.attendance.attend(since, view.number)
        missed = not 0 <= since <= self.last  # then what was held is lost, as each lock finds out when it moves
        self.missed = missed or (self.missed and bool(self.to_move))
        self.last = view.number
        self.to_move = deque(self.kept.begin(view, since >= 0, missed))
        self.doors, self.halls = self.kept.doors, self.kept.halls
        self.dispatch.moving = True
        self._move(self._guards())  # all of them: they are few
        self._move_some(self.kept.era, rest)
        if since >= 0:
            membership.answer_again(view.processes)
        self.on_new_view()
        later, self.later = self.later, []
        for peer, late in later:
            try:
                self._on_late(peer, late)
            except ProtocolError as error:  # the peer can no longer be refused for it, and others must be heard
                log(logging.ERROR, "message.dropped", node=membership.name, peer=membership.name_of(peer), reason=error)

    def _move_some(self, era: Era, rest: float) -> None:
        """Some locks move; when all have, tell everyone that this was all."""
        if era.over:
            return
        view = self.agreement.view
        with self.membership.turn:
            count = min(len(self.to_move), MOVED_AT_A_TIME)
            self._move([self.to_move.popleft() for _ in range(count)])
            self.dispatch.moving = bool(self.to_move)
            if self.to_move:
                self.membership.loop.call_soon(self._move_some, era, rest)
            elif self.agreement.since >= 0:
                for process in view.processes:
                    self._tell(process, Told(view.number, (), True, rest, self.lease.left()))

    def _move_now(self, entrance: Entrance) -> None:
        """A lock is needed that may not have moved yet."""
        if self.to_move and isinstance(entrance, (FollowingDoor, ViewHall)):
            with self.membership.turn:
                self._move([entrance])

    def _move(self, entrances: Sequence[FollowingDoor | ViewHall]) -> None:
        """Those of these locks that have not moved yet move to the present view, and their homes are told."""
        view, since = self.agreement.view, self.agreement.since
        late = [entrance for entrance in entrances if entrance.era is not self.kept.era and not entrance.forgotten]
        held: dict[int, list[Holding]] = {}
        for entrance in late:
            home = self.kept.home(entrance.key)
            held.setdefault(view.processes[home], []).extend(entrance.move(view, home, since))
        if since >= 0:
            for process in sorted(held):
                for start in range(0, len(held[process]), HELD_AT_A_TIME):
                    some = held[process][start : start + HELD_AT_A_TIME]
                    self._tell(process, Told(view.number, tuple(some), False))
        for entrance in late:
            entrance.pump()

    def _tell(self, process: int, told: Told) -> None:
        link = self.membership.link_to.get(process)
        if link is None:
            self._on_told(process, told)
        else:
            link.send(VIEWS_KEY, self.vocabulary.encode(told))

    def _on_told(self, peer: int, told: Told) -> None:
        if peer not in self.agreement.lives:
            raise ProtocolError("tells what it holds in a view of which it is no member")
        for key, number, group, fence in told.held:
            check_key(key)
            if is_semaphore(key):
                check_k(group)
            found = self._hall_held(peer, key, group) if is_semaphore(key) else self._door_of(key)
            assert isinstance(found, (FollowingDoor, ViewHall))
            found.take_over(peer, number, group, fence)
        self.rest = max(self.rest, self.agreement.grants.seconds_here(told.rest))
        if told.last:
            self.agreement.grants.on_told(self.agreement.lives[peer], told.lease)
            self.told.add(peer)
            if len(self.told) == len(self.agreement.view.members):
                self._on_all_told()

    def _on_all_told(self) -> None:
        """Serve, once no lease of another process lasts."""
        view = self.agreement.view
        self.agreement.grants.on_all_told(self.rest)
        for guard in self._guards():
            if guard.is_home():
                guard.serve()  # what a member that was excluded still issues is never executed
        if self.rest > 0.0:
            self.membership.loop.call_later(self.rest, self._serve, view)
        else:
            self._serve(view)

    def _serve(self, view: View) -> None:
        if self.agreement.view is view and not self.membership.closing:
            with self.membership.turn:
                self.kept.serve()
                self.agreement.keep_record()
                self._serve_some(view, [entrance for entrance in self._followers() if entrance.is_home()])

    def _serve_some(self, view: View, homes: list[FollowingDoor | ViewHall]) -> None:
        """Begin with what was told of these locks, some at a time. New ones have nothing to begin with."""
        if self.agreement.view is view and not self.membership.closing:
            with self.membership.turn:
                for entrance in homes[-SERVED_AT_A_TIME:]:
                    if not entrance.forgotten:
                        entrance.serve()
                del homes[-SERVED_AT_A_TIME:]
            if homes:
                self.membership.loop.call_soon(self._serve_some, view, homes)

    # -- what peers send -------------------------------------------------------------------------------

    def on_data(self, link: Link, data: Data[Any]) -> None:
        self.membership.require_open()
        message = self.vocabulary.message(data.body)
        if data.lock != VIEWS_KEY:
            check_key(data.lock)
        if isinstance(message, (Told, InView, Inherited)):  # those of guarded objects
            self._on_late(link.peer, Late(data.lock, message))
        else:
            self.agreement.receive(link.peer, message)

    def on_other_lock_data(self, link: Link, key: str, message: Message) -> None:
        """A message for another view, for a lock that may not have moved yet, or for one that has a seat."""
        assert isinstance(message, (InView, Inherited))
        check_key(key)
        if message.view == self.dispatch.number >= 0:
            self._door_of(key).accept(link.peer, message)
        else:
            self.membership.require_open()
            self._on_late(link.peer, Late(key, message))

    def on_seat_data(self, link: Link, data: SeatData[Any]) -> None:
        self.membership.require_open()
        message = self.vocabulary.message(data.body)
        check_key(data.lock)
        check_k(data.k)
        if not isinstance(message, (InView, Inherited)):
            raise ProtocolError(f"sent {type(message).__name__} to a semaphore")
        self._on_late(link.peer, Late(data.lock, message, data.k, data.src, data.dst))

    def _on_late(self, peer: int, late: Late) -> None:
        """A message that belongs to a view. If that has not begun here, the message waits."""
        message = late.message
        if message.view > self.agreement.view.number:
            self.later.append((peer, late))
        elif self.agreement.is_current(peer, message.view) and self.agreement.since >= 0:
            if isinstance(message, Told):
                self._on_told(peer, message)
            elif late.k:
                hall = self._hall_of(peer, late.key, late.k)
                link = self.membership.link_to.get(peer)
                if hall.k == late.k:
                    hall.accept(peer, late.src, late.dst, message)
                elif link is not None and self._is_home(late.key):
                    self._tell_k(link, hall)
            else:
                self._door_of(late.key).accept(peer, message)

    def on_seats(self, link: Link, seats: Seats) -> None:
        """The home of a semaphore refuses those that have asked with another number than this one."""
        hall = self.halls.get(seats.lock)
        if isinstance(hall, ViewHall) and hall.k != seats.k and seats.view == self.agreement.view.number:
            self._refuse(hall, link.name, seats.k)

    # -- leases ----------------------------------------------------------------------------------------

    def grant(self, link: Link) -> int:
        return self.agreement.grant(link)

    def on_echo(self, link: Link, echo: Echo) -> None:
        if self.agreement.on_echo(link.peer, echo) and self.membership.serving:
            self.on_serving()

    def on_serving(self) -> None:
        self._tell_some(self.in_use()[::-1], pump)

    def on_lapse(self, lease: Lease) -> None:
        if lease is self.agreement.lease:
            self._tell_some(self.in_use()[::-1], lapse)

    def _tell_some(self, entrances: list[Entrance], tell: Callable[[Entrance], None]) -> None:
        """The last of these first. Those that hear later find the lease as it is then, and know what to do."""
        with self.membership.turn:
            for entrance in entrances[-1 : -TOLD_AT_A_TIME - 1 : -1]:
                tell(entrance)
        del entrances[-TOLD_AT_A_TIME:]
        if entrances:
            self.membership.loop.call_soon(self._tell_some, entrances, tell)

    def on_suspicion(self, peer: int, away: bool) -> None:
        self.agreement.suspect(peer, away)

    # -- the clock -------------------------------------------------------------------------------------

    def on_tick(self, now: float) -> None:
        self._fail_hopeless(now)
        if self.agreement.lease.look():
            self.on_lapse(self.agreement.lease)
        for guard in self._guards():
            guard.look(now)
        self.kept.on_tick(now)


def check_k(k: int) -> None:
    if not 1 <= k <= MOST_SEATS:
        raise ProtocolError(f"speaks of a semaphore that lets in {k} at a time")


def pump(entrance: Entrance) -> None:
    entrance.pump()


def lapse(entrance: Entrance) -> None:
    entrance.lapse()
