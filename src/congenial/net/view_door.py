"""A lock of a cluster whose members change, as one process sees it: it moves from view to view."""

from __future__ import annotations

from congenial.kernel.problem import NO_GROUP, Problem
from congenial.net.agreement import Agreement
from congenial.net.call import Call
from congenial.net.codec import Vocabulary
from congenial.net.door import Door
from congenial.net.entrance import Tally, Want
from congenial.net.held import Held
from congenial.net.membership import Membership
from congenial.net.names import MOST_PROCESSES
from congenial.net.numbering import Numbering
from congenial.net.tries import Triable, Tries
from congenial.parts.homed import Floor
from congenial.parts.views import View
from congenial.transform.lock_in_views import LockInViews

Holding = tuple[str, int, int, int]  # as in `Told`; of a semaphore, how many it lets in stands for the group


class ViewDoor(Door, Triable):
    """A lock of such a cluster."""

    def __init__(
        self,
        membership: Membership,
        vocabulary: Vocabulary,
        tally: Tally,
        key: str,
        name: str,
        lock: LockInViews,
        problem: Problem,
        agreement: Agreement,
        tries: Tries,
    ) -> None:
        super().__init__(membership, vocabulary, tally, key, name, lock, problem, Numbering(MOST_PROCESSES, 0))
        self.lock = lock
        self.agreement = agreement
        self.tries = tries
        self.lease = agreement.lease
        self.swept_at = 0  # how often it had been used when it was last looked at

    def move(self, view: View, home: int, since: int) -> list[Holding]:
        """There is a new view; what this member holds in it."""
        self._happen(self.seat, Call(lambda lock, out: lock.move(view.number, view.processes, home, since, out)))
        group, fence = self.lock.holding()
        self.pump()
        return [] if group == NO_GROUP else [(self.key, 0, group, fence)]

    def take_over(self, peer: int, number: int, group: int, fence: int) -> None:
        """At the home: a member is inside."""
        self._happen(self.seat, Call(lambda lock, out: lock.take_over(peer, group, fence)))

    def is_home(self) -> bool:
        return self.lock.is_home()

    def serve(self) -> None:
        """At the home: all members have told."""
        self._happen(self.seat, Call(lambda lock, out: lock.serve(out)))
        self.pump()

    def relax(self) -> None:
        """Give back what is kept for the next task."""
        self._happen(self.seat, Call(lambda lock, out: lock.relax(out)))

    def is_at_rest(self) -> bool:
        return self.lock.is_at_rest()

    def floor(self) -> Floor:
        return self.lock.floor()

    def release(self, held: Held) -> None:
        super().release(held)
        if self.lock.fences_low():
            self.agreement.renew()

    def _joins(self, want: Want) -> bool:
        return want.shared and want.group == self.group and not self.lock.is_closed()

    # -- tries -----------------------------------------------------------------------------------------

    def may_try(self, want: Want) -> bool:
        """Unless a task is inside, or waits here, that does not share the lock with this one."""
        alike = want.shared and all([waiter.want.group == want.group for waiter in self.queue])
        return (alike or not self.queue) and (not self.inside or self._joins(want))

    def home(self) -> int:
        return self.lock.process(0)

    def holders(self, asker: int) -> set[int]:
        return set(self.lock.holders()) - {asker}

    def most(self) -> int:
        return 1

    def occupied(self) -> int:
        return 1 if self.inside or self.queue.first() is not None else 0

    def suspect(self, peer: int, away: bool) -> None:
        """That is for the agreement."""
