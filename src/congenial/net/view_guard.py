"""A guarded object of a cluster whose members change, as one process sees it.

Every member takes part in the agreement on operations, whether its program uses the object or not: the first message
about an object makes it known. A program that names it gets a replica, which is then brought up to date.
"""

from __future__ import annotations

import logging
from typing import Any, Final, cast

from congenial.kernel.effects import Effect, Restore
from congenial.kernel.errors import ConfigError, CongenialError, ContractError
from congenial.kernel.trace import RESTORE
from congenial.net.call import Call
from congenial.net.guarded import Issuing
from congenial.net.logs import log
from congenial.net.replica import Machine, Replica, copied
from congenial.net.seat import Seat
from congenial.net.view_door import Followed, FollowingDoor, Holding
from congenial.parts.views import View
from congenial.problems.weak import WEAK
from congenial.systems.catalogue import find_algorithm
from congenial.transform.object_in_views import ObjectInViews
from congenial.transform.replicas import Replicas

OBJECTS: Final = cast(type[ObjectInViews], cast(type[Replicas], find_algorithm("home-gme+replicas")).lock_class)


class ViewGuard(Issuing, FollowingDoor):
    lock: ObjectInViews

    def __init__(self, above: Followed, key: str, name: str, lock: ObjectInViews) -> None:
        FollowingDoor.__init__(self, above, key, name, lock, WEAK)
        self.begin_issuing(None)
        lock.asks_all = True
        self.named = False  # does the program here use it?
        self.at_a_loss = 0.0  # since when no member has what is needed

    def use(self, name: str, machine: Machine) -> None:
        """The program here uses the object."""
        self.name = name
        if self.named:
            if self.kind is not type(machine):
                raise ConfigError(f"{name!r} guards a {self.kind.__name__}, not a {type(machine).__name__}")
            return
        try:
            replica = Replica(copied(machine))
            replica.snapshot()
        except ContractError as error:
            raise ConfigError(f"the object to be guarded as {name!r} cannot be copied: {error}") from None
        self.named = True
        self.kind = type(machine)
        with self.membership.turn:
            self._happen(self.seat, Call(lambda lock, out: lock.name(replica, out)))
            self.pump()

    def machine(self) -> Any:
        return cast(Replica, self.lock.replica.machine).machine

    def issued(self) -> int:
        return self.lock.issued

    # -- views -----------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The object has become known in the present view. Its home asks what the others have."""
        self.lock.voters = tuple(self.agreement.voters())
        if self.lock.is_home():
            with self.membership.turn:
                self._happen(self.seat, Call(lambda lock, out: lock.enroll(out)))

    def move(self, view: View, home: int, since: int) -> list[Holding]:
        self.lock.voters = tuple(self.agreement.voters())
        self.at_a_loss = 0.0
        return super().move(view, home, since)

    def serve(self) -> None:
        if not self.lock.serving:
            super().serve()

    def is_up_to_date(self) -> bool:
        return not self.named or self.error is not None or self.lock.is_up_to_date()

    def behind(self) -> int | None:
        behind = self.lock.behind()
        return None if behind < 0 else behind

    def look(self, now: float) -> None:
        """If no member has all operations, and none comes that has, go on with what is left."""
        if not self.lock.is_home() or not self.lock.is_at_a_loss():
            self.at_a_loss = 0.0
        elif not self.at_a_loss:
            self.at_a_loss = now
        elif now - self.at_a_loss > 2 * self.membership.timing.suspect_after:
            log(logging.WARNING, "guarded.lost", node=self.membership.name, object=self.name)
            with self.membership.turn:
                self._happen(self.seat, Call(lambda lock, out: lock.salvage(out)))
                self.pump()

    # -- what the node does ----------------------------------------------------------------------------

    def on_effect(self, seat: Seat, effect: Effect) -> None:
        if isinstance(effect, Restore):
            self.executed = effect.count
            self._note(RESTORE, id=effect.count)
        else:
            super().on_effect(seat, effect)

    def fail(self, error: CongenialError) -> None:
        if self.error is None:
            self._settle(None, error)  # it may be executed by others: that is no `LockLost`
            super().fail(error)

    def status(self) -> dict[str, object]:
        replica = self.lock.replica
        state = "not used here" if not self.named else "up to date" if self.lock.is_up_to_date() else "catching up"
        return {
            **super().status(),
            "operations": replica.applied,
            "behind": self.behind(),
            "replica": state if self.agreement.since >= 0 else "away",
            "trouble": "" if self.error is None else str(self.error),
        }
