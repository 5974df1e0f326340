"""The locks that this process keeps, in a cluster whose members change (`congenial.net.viewed`). A lock is made on its
first use, whether a task or a message comes first, and forgotten when nobody uses it.

Each message may be for a lock of which this process has not heard, so making one is compiled.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Final, Protocol

from congenial.kernel.errors import ConfigError
from congenial.kernel.problem import Problem
from congenial.net.agreement import Agreement
from congenial.net.codec import Vocabulary
from congenial.net.door import Door
from congenial.net.entrance import Entrance, Era, Tally
from congenial.net.failures import Failures
from congenial.net.hall import Hall
from congenial.net.lease import OVER
from congenial.net.membership import Membership
from congenial.net.names import MOST_PROCESSES, first_holder
from congenial.net.numbering import Numbering
from congenial.net.tries import Tries
from congenial.net.view_door import LockDoor, StepTools, ViewDoor
from congenial.net.view_guard import ViewGuard
from congenial.net.view_hall import ViewHall
from congenial.parts.homed import Floor
from congenial.parts.views import View
from congenial.transform.lock_in_views import NO_FLOOR, LockInViews

LOOKED_AT_A_TIME = 500  # locks of which one tick finds out whether they are still in use
FREED_AT_A_TIME: Final = 2000  # locks of earlier views in one tick
IDLE_TIME = 10.0  # seconds after which a lock that is not used may be forgotten
MOST_IDLE = 2000  # locks that are kept for their next use; if there are more, each new one makes room
MAKES_ROOM: Final = 3  # locks that are looked at for each new one; two looks forget one that was used once
SWEPT_AT_A_TIME: Final = 200  # locks that one tick may forget
SWEEPS: Final = 200  # ticks in which all are looked at, if they are more


class Table(Protocol):
    """What locks need that this process keeps."""

    membership: Membership
    vocabulary: Vocabulary
    tally: Tally
    agreement: Agreement
    tries: Tries
    failures: Failures

    def again(self, entrance: Entrance) -> Entrance:
        """What has taken the place of an entrance that was forgotten."""


class KeptLocks:
    def __init__(
        self,
        table: Table,
        tools: StepTools,
        lock_class: type[LockInViews],
        settings: tuple[tuple[str, str], ...],
        problem: Problem,
        bare: bool,
    ) -> None:
        """Locks are `bare` if their nodes need no seats."""
        self.table = table
        self.tools = tools
        self.lock_class = lock_class
        self.settings = settings
        self.problem = problem
        self.bare = bare
        self.membership = table.membership
        self.vocabulary = table.vocabulary
        self.tally = table.tally
        self.agreement = table.agreement
        self.tries = table.tries
        self.failures = table.failures
        self.numbering = Numbering(MOST_PROCESSES, 0)
        self.me: int = table.membership.me
        # the present view
        self.era = Era()
        self.begun = False  # is there any?
        self.number = 0
        self.processes: tuple[int, ...] = ()
        self.takes_part = False  # is this process a member?
        self.serves = False  # all have told, and no lease of a process that has lost what it held lasts
        self.served = asyncio.Event()  # the same, to wait for
        self.floor: Floor = NO_FLOOR  # above which the locks of this home that were forgotten go on
        # the locks
        self.doors: dict[str, Door] = {}
        self.halls: dict[str, Hall] = {}
        self.objects: dict[str, ViewGuard] = {}  # guarded ones, which are doors as well, and are never forgotten
        self.used: deque[LockDoor | ViewHall] = deque()  # all that are in use, and some that were a moment ago
        self.to_sweep: list[LockDoor | ViewHall] = []
        self.swept_at: float = table.membership.now()
        self.sweeps = SWEPT_AT_A_TIME
        self.dropped: list[dict[str, Any]] = []  # locks of earlier views, to be freed little by little

    def entrances(self) -> list[Entrance]:
        return [*self.doors.values(), *self.halls.values()]

    def again(self, entrance: Entrance) -> Entrance:
        return self.table.again(entrance)

    # -- made on first use -----------------------------------------------------------------------------

    def make(self, key: str, name: str) -> LockDoor:
        """A lock that is not known here."""
        self.make_room()
        lock = self.lock_class(self.me, MOST_PROCESSES, self.settings)
        if self.bare:
            door: LockDoor = ViewDoor(self, self.tools, key, name, lock, self.problem)
        else:
            door = LockDoor(self, key, name, lock, self.problem)
        self.doors[key] = door
        self.settle(key, lock)
        return door

    def settle(self, key: str, lock: LockInViews) -> None:
        """Begin in the present view."""
        if lock.view < 0 and self.begun:
            lock.begin(self.number, self.processes, self.home(key), self.takes_part, self.floor)
            lock.serving = self.serves and lock.is_home()

    def home(self, key: str) -> int:
        """The home's place among the members."""
        return first_holder(key, len(self.processes))

    # -- in use ----------------------------------------------------------------------------------------

    def on_use(self, entrance: Entrance) -> None:
        """A lock is in use, perhaps for a moment only."""
        assert isinstance(entrance, (LockDoor, ViewHall))
        if not entrance.listed:
            entrance.listed = True
            self.used.append(entrance)

    def look_at_used(self, most: int) -> None:
        """Look at up to `most` locks that were in use, and unlist those that no longer are."""
        for _ in range(min(len(self.used), most)):
            entrance = self.used.popleft()
            if entrance.idle or entrance.forgotten:
                entrance.listed = False
            else:
                self.used.append(entrance)

    # -- not used --------------------------------------------------------------------------------------

    def on_tick(self, now: float) -> None:
        self.look_at_used(LOOKED_AT_A_TIME)
        if not self.to_sweep and now - self.swept_at > IDLE_TIME:
            self._list_to_sweep(now)
        self._sweep_some(self.sweeps)
        self._free_some()

    def make_room(self) -> None:
        """There will be one lock more. If there are many that nobody uses, look whether some can be forgotten."""
        known = len(self.doors) + len(self.halls) - len(self.objects)
        if known >= MOST_IDLE:
            self.look_at_used(MAKES_ROOM)
            if known >= MOST_IDLE + len(self.used):
                if not self.to_sweep:
                    self._list_to_sweep(self.membership.now())
                with self.tools.turn:
                    self._sweep_some(MAKES_ROOM)

    def _list_to_sweep(self, now: float) -> None:
        """Begin to look at all locks, the oldest first."""
        self.swept_at = now
        self.to_sweep = [lock for lock in reversed(self.entrances()) if isinstance(lock, (LockDoor, ViewHall))]
        self.sweeps = max(SWEPT_AT_A_TIME, len(self.to_sweep) // SWEEPS)

    def _sweep_some(self, most: int) -> None:
        for _ in range(min(len(self.to_sweep), most)):
            self.sweep(self.to_sweep.pop())

    def sweep(self, entrance: LockDoor | ViewHall) -> None:
        """Forget a lock that was not used since it was last looked at."""
        if entrance.forgotten or not entrance.idle:
            return
        if entrance.error is not None and not isinstance(entrance.error, ConfigError):
            return  # its node may be wrong about what others hold, until the view changes
        used = entrance.sessions + entrance.entries
        if used > entrance.swept_at:
            entrance.swept_at = used
            return
        entrance.relax()
        if entrance.is_at_rest():
            fence, serial = entrance.floor()
            self.floor = (max(self.floor[0], fence), max(self.floor[1], serial))
            self.drop(entrance)

    def drop(self, entrance: LockDoor | ViewHall) -> None:
        entrance.forgotten = True
        if isinstance(entrance, ViewHall):
            del self.halls[entrance.key]
        else:
            del self.doors[entrance.key]

    def _free_some(self) -> None:
        for _ in range(FREED_AT_A_TIME):
            while self.dropped and not self.dropped[-1]:
                self.dropped.pop()
            if not self.dropped:
                return
            self.dropped[-1].popitem()

    # -- from view to view -----------------------------------------------------------------------------

    def begin(self, view: View, takes_part: bool, missed: bool) -> list[LockDoor | ViewHall]:
        """There is a new view. Returns the locks that are in use, which move to it. All others are forgotten, and cost
        nothing; but guarded objects are kept. Locks that have failed are forgotten, too: in the new view they can begin
        again. If this process has `missed` a view, the lease that it gets in the new one does not count for what it
        held, until that has moved."""
        self.begun = True
        self.number = view.number
        self.processes = view.processes
        self.takes_part = takes_part
        self.serves = False
        self.served.clear()
        self.floor = NO_FLOOR
        self.era.over = True
        self.era = Era()
        self.dropped += [self.doors, self.halls]
        self.doors = {**self.objects}
        self.halls = {}
        self.to_sweep = []
        used, self.used = self.used, deque()
        for entrance in used:
            if entrance.forgotten or entrance.idle or entrance.error is not None:
                entrance.listed = False
                continue
            self.used.append(entrance)
            if missed:
                entrance.lease = OVER
            if isinstance(entrance, ViewHall):
                self.halls[entrance.key] = entrance
            else:
                self.doors[entrance.key] = entrance
        return list(self.used)

    def serve(self) -> None:
        """Homes may let others in."""
        self.serves = True
        self.served.set()
