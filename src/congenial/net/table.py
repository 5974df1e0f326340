"""All locks of one process, by their keys: made on first use, whether a task or a message comes first.

The table hands messages to the locks they are for, tells locks about suspicions and the opening of the cluster, and
looks after waiting tasks by the clock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from congenial.kernel.errors import ConfigError
from congenial.net.absence import Complaint, degraded, hopeless_since
from congenial.net.agreement import Agreement
from congenial.net.codec import Vocabulary
from congenial.net.door import Door
from congenial.net.entrance import Entrance, Tally
from congenial.net.errors import ProtocolError
from congenial.net.guarded import Guard, Issuing
from congenial.net.hall import Hall, disagreement
from congenial.net.lease import Lease
from congenial.net.link import Link
from congenial.net.membership import Membership
from congenial.net.names import LONGEST_KEY, is_guarded, shown
from congenial.net.numbering import Numbering
from congenial.net.reminders import Reminders
from congenial.net.replica import Machine
from congenial.net.unclaimed import Unclaimed
from congenial.net.wire import Data, Echo, Known, Nudge, Remind, SeatData, Seats
from congenial.systems.system import System
from congenial.transform.epochs import Epochs


class LockTable:
    agreement: Agreement | None = None  # where locks follow views

    def __init__(self, membership: Membership, vocabulary: Vocabulary, system: System) -> None:
        self.membership = membership
        self.vocabulary = vocabulary
        self.system = system
        self.tally = Tally()
        self.doors: dict[str, Door] = {}
        self.halls: dict[str, Hall] = {}
        self.guards: dict[str, Guard] = {}  # which are doors as well
        self.unclaimed = Unclaimed(membership, vocabulary)
        self.announced: dict[str, tuple[str, int]] = {}  # k of semaphores that are not used here, and which member says
        self.reminders = Reminders(membership, self)
        self.complaint = Complaint(membership)
        self.on_new_view: Callable[[], None] = _nothing
        membership.listener = self
        membership.handlers |= {
            Data: self.on_data,
            SeatData: self.on_seat_data,
            Nudge: self.on_nudge,
            Seats: self.on_seats,
            Remind: self.reminders.on_remind,
            Known: self.reminders.on_known,
        }

    def entrances(self) -> list[Entrance]:
        return [*self.doors.values(), *self.halls.values()]

    def in_use(self) -> list[Entrance]:
        """All that have holders, or tasks that wait, and perhaps others."""
        return self.entrances()

    @property
    def lease(self) -> Lease:
        """Until when what is held here is surely held."""
        return self.membership.lease

    def agreements(self) -> int:
        """How often the members have agreed on which of them take part."""
        nodes = [seat.node for entrance in self.entrances() for seat in entrance.seats]
        return sum([node.instance for node in nodes if isinstance(node, Epochs)])

    def about(self) -> dict[str, Any]:
        """What there is to tell about the members, for the status."""
        return {}

    def size(self) -> int:
        """How many members there are."""
        return self.membership.n

    def is_settled(self) -> bool:
        """True if locks can be acquired here, as far as the members agree on who they are."""
        return True

    def behind(self) -> int:
        """How many guarded objects that the program here uses are not up to date."""
        return 0

    async def settled(self, deadline: float | None) -> bool:
        """Wait until locks can be acquired here; whether they can before the deadline."""
        return True

    async def leave(self, for_good: bool) -> None:
        """This process no longer holds anything. If it leaves permanently, wait until the others have agreed to go on
        without it and its vote, if they can."""

    # -- made on first use -----------------------------------------------------------------------------

    def door(self, key: str, name: str) -> Door:
        """The lock with this key."""
        door = self.doors.get(key)
        if door is None:
            return self._make_door(key, name)
        door.name = name
        return door

    def again(self, entrance: Entrance) -> Entrance:
        """What has taken the place of an entrance that was forgotten."""
        return self.door(entrance.key, entrance.name)

    def _make_door(self, key: str, name: str) -> Door:
        numbering = Numbering.of(key, self.membership.n)
        node = self.system.node(numbering.process(self.membership.me))
        door = Door(self.membership, self.vocabulary, self.tally, key, name, node, self.system.problem, numbering)
        self.doors[key] = door
        self._bring_up(door)
        return door

    def hall(self, key: str, name: str, k: int) -> Hall:
        """The semaphore with this key."""
        hall = self.halls.get(key)
        if hall is None:
            who, told = self.announced.get(key, ("", k))
            if told != k:
                raise disagreement(name, k, who, told)
            with self.membership.turn:
                hall = self._make_hall(key, name, k)
                for link in self.membership.links:
                    link.post(Seats(key, k))
        elif hall.k != k:
            raise ConfigError(
                f"semaphore {name!r} lets in {hall.k} at a time, not {k}: everyone must give the same number"
            )
        hall.name = name
        return hall

    def _make_hall(self, key: str, name: str, k: int) -> Hall:
        hall = self.halls[key] = Hall(self.membership, self.vocabulary, self.tally, key, name, k)
        self._bring_up(hall)
        return hall

    def guard(self, key: str, name: str, machine: Machine) -> Issuing:
        """The guarded object with this key."""
        guard = self.doors.get(key)
        if guard is None:
            guard = Guard(self.membership, self.vocabulary, self.tally, key, name, machine)
            self.doors[key] = self.guards[key] = guard
            with self.membership.turn:
                self._bring_up(guard)
                self.unclaimed.claim(guard)
        assert isinstance(guard, Guard)
        if guard.kind is not type(machine):
            raise ConfigError(f"{name!r} guards a {guard.kind.__name__}, not a {type(machine).__name__}")
        if guard.error is not None:
            raise guard.error
        return guard

    def known(self) -> set[tuple[str, int]]:
        return {(key, 0) for key in self.doors} | {(key, hall.k) for key, hall in self.halls.items()}

    def learn(self, key: str, k: int) -> None:
        """Another member knows this lock: a semaphore that lets in k, or with k = 0 a lock."""
        check_key(key)
        if k == 0 and key not in self.doors:
            self._make_door(key, shown(key))
        elif k and key not in self.halls:
            self._make_hall(key, shown(key[1:]), k)

    def _bring_up(self, entrance: Entrance) -> None:
        """Tell the nodes of a new entrance what has happened before."""
        if self.membership.opened.is_set():
            with self.membership.turn:
                entrance.recover()
                for link in self.membership.links:
                    if link.away:
                        entrance.suspect(link.peer, True)

    # -- what peers send -------------------------------------------------------------------------------

    def on_data(self, link: Link, data: Data[Any]) -> None:
        """A message for a lock has arrived. If it makes no sense, nothing happens but a `ProtocolError`."""
        self.membership.require_open()
        message = self.vocabulary.message(data.body)
        door = self.doors.get(data.lock)
        if door is not None:
            door.receive(link.peer, message)
            return
        check_key(data.lock)
        if is_guarded(data.lock):
            self.unclaimed.add(data.lock, link.peer, message)
            return
        door = self._make_door(data.lock, shown(data.lock))
        try:
            door.receive(link.peer, message)
        except ProtocolError:
            if door.error is None:
                self.doors.pop(data.lock).stop()
            raise

    def on_seat_data(self, link: Link, data: SeatData[Any]) -> None:
        """The same for a message to the seats of a semaphore."""
        self.membership.require_open()
        message = self.vocabulary.message(data.body)
        hall = self.halls.get(data.lock)
        new = hall is None
        if hall is None:
            check_key(data.lock)
            try:
                hall = self._make_hall(data.lock, shown(data.lock[1:]), data.k)
            except ConfigError as error:
                raise ProtocolError(str(error)) from None
        if data.k != hall.k:
            hall.hear_k(link.name, data.k)
            link.post(Seats(data.lock, hall.k))
            return
        try:
            hall.receive(link.peer, data.src, data.dst, message)
        except ProtocolError:
            if new and hall.error is None:
                self.halls.pop(data.lock).stop()
            raise

    def on_nudge(self, link: Link, nudge: Nudge) -> None:
        door = self.doors.get(nudge.lock)
        if door is not None:
            door.on_nudge(int.from_bytes(nudge.group, "big"))

    def on_seats(self, link: Link, seats: Seats) -> None:
        hall = self.halls.get(seats.lock)
        if hall is not None:
            hall.hear_k(link.name, seats.k)
        elif len(seats.lock) <= LONGEST_KEY:
            self.announced[seats.lock] = (link.name, seats.k)

    # -- what the membership says ----------------------------------------------------------------------

    def on_open(self) -> None:
        if self.agreement is None:
            self.on_new_view()
        self.reminders.ask_everyone()
        for entrance in self.entrances():
            self._bring_up(entrance)

    def on_serving(self) -> None:
        for entrance in self.in_use():
            entrance.pump()

    def on_connected(self, link: Link) -> None:
        for hall in self.halls.values():
            link.post(Seats(hall.key, hall.k))
        self.reminders.ask(link)

    def on_suspicion(self, peer: int, away: bool) -> None:
        for entrance in self.entrances():
            entrance.suspect(peer, away)

    def on_lapse(self, lease: Lease) -> None:
        for entrance in self.in_use():
            if entrance.lease is lease:
                entrance.lapse()

    def grant(self, link: Link) -> int:
        return -1

    def on_echo(self, link: Link, echo: Echo) -> None:
        """Nothing but the membership's lease depends on it."""

    def on_missed(self, link: Link) -> None:
        """It does not happen: such links are refused."""

    def on_tick(self, now: float) -> None:
        self._fail_hopeless(now)
        if self.system.problem.groups:  # otherwise nobody shares, so nobody needs to be nudged
            for door in self.doors.values():
                if door.nudge_due(now):
                    group = door.asked_number.to_bytes(door.asked_number.bit_length() // 8 + 1, "big")
                    for link in self.membership.links:
                        link.post(Nudge(door.key, group))

    def _waiting_since(self) -> float | None:
        """Since when the task waits that has waited longest."""
        firsts = [entrance.queue.first() for entrance in self.in_use()]
        return min([waiter.since for waiter in firsts if waiter is not None], default=None)

    def _fail_hopeless(self, now: float) -> None:
        """Tell tasks that wait for a peer that is away, once that has lasted a while: it may never end."""
        self.complaint.look(self._waiting_since, now)
        patience = self.membership.timing.suspect_after
        since = hopeless_since(self.membership, now)
        if since is not None and now - since >= patience:
            for entrance in self.in_use():
                for waiter in entrance.queue:
                    if now - waiter.since >= patience and not waiter.future.done():
                        waiter.future.set_exception(degraded(self.membership, entrance.name))


def _nothing() -> None:
    pass


def check_key(key: str) -> None:
    if len(key) > LONGEST_KEY:
        raise ProtocolError(f"a lock's key of {len(key)} characters is too long")
