"""Leases in a cluster whose members change: until when no view without this process can be served.

A member's lease comes from voters. A voter answers each beat of a member with a grant: for so many seconds, counted
from when the beat was sent, no view without that member is served. That is as long as the voter waits for the next sign
of life (`Link.patience_left`), so a member that has crashed is hardly waited for twice. The lease lasts as long as
grants of a majority of the voters do.

That holds because a home serves only when all members of its view have told it what they hold, and each of them tells
as well for how long its grants to processes that are members no more still last. A majority of the voters of the last
view are members of the next one (`congenial.parts.views`), so one of the voters that granted the lease is among those
that tell. It grants nothing in the old view any more.

Three things are on the safe side:
- A voter grants nothing between its vote for the next view and the beginning of that.
- If a view is over before all have told, nobody knows what the others had granted. Then it is as if this process had
  made a grant when the view began.
- A member takes its lease along into the next view. If there are other voters there, it is as if each of them had made
  a grant when the view began. The same goes for a voter that has just been restarted.

A member that has left holds nothing, nor does one that was restarted with its memory, which no two processes can have:
they need no waiting for. One that was restarted without it does. Perhaps there are two of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from congenial.net.lease import Lease, clock
from congenial.parts.views import View


class ViewLease(Lease):
    """What this process was granted, `longest` seconds at a time at most. Before it knows of a view it has no lease."""

    def __init__(
        self,
        me: int,
        longest: float,
        drift: float,
        stopped: float,
        grace: float,
        clock: Callable[[], float] = clock,
    ) -> None:
        super().__init__(2, stopped, grace, drift, clock)
        self.me = me
        self.longest = longest
        self.view = -1
        self.voters: tuple[int, ...] = ()
        self.by_view: dict[int, tuple[int, float]] = {}  # the last grant of each voter: view, and until when

    def begin(self, view: View, birth: int, member: bool) -> None:
        """There is a new view."""
        self.view = view.number
        self.voters = tuple([process for process, _ in view.voters if process != self.me])
        others = (len(view.voters) // 2 + 1) - ((self.me, birth) in view.voters)
        self.needed = others
        if not member:
            self.until = -math.inf
        elif others == 0:
            self.until = math.inf
        else:
            self.until = min(self.until, self.clock() + self.longest)  # it may have been alone
            self._count()

    def grant_in(self, view: int, peer: int, sent: float, allowed: float) -> bool:
        """A voter has granted a lease, in this view. Whether the lease goes on that was over."""
        until = sent + min(allowed, self.longest) * (1 - self.drift)
        if (view, until) > self.by_view.get(peer, (-1, 0.0)):
            self.by_view[peer] = (view, until)
            self._count()
        return self._goes_on()

    def _count(self) -> None:
        grants = [self.by_view[peer] for peer in self.voters if peer in self.by_view]
        ends = sorted([until for view, until in grants if view == self.view])
        if len(ends) >= self.needed > 0:
            self.until = max(self.until, ends[-self.needed])

    def granted_by(self, peer: int) -> bool:
        return not self.needed or peer not in self.voters or self.clock() < self.by_view.get(peer, (0, -math.inf))[1]


class Grants:
    """What this process has granted to others, and what others may have granted: until when it must be respected."""

    def __init__(self, longest: float, clock: Callable[[], float] = clock) -> None:
        self.longest = longest  # that anybody grants at a time
        self.clock = clock
        self.until: dict[int, float] = {}  # of each process's lease
        self.gone: set[int] = set()  # members that have left, and hold nothing

    def grant(self, peer: int, seconds: float) -> bool:
        """Grant a lease to a member. Whether that is right: it has not left."""
        if peer in self.gone:
            return False
        self.until[peer] = max(self.until.get(peer, -math.inf), self.clock() + min(seconds, self.longest))
        return True

    def assume(self, processes: Iterable[int]) -> None:
        """Others may have granted leases to these processes, or this one did so and has forgotten it."""
        end = self.clock() + self.longest
        for process in processes:
            self.until[process] = end

    def is_gone(self, peer: int) -> None:
        self.gone.add(peer)
        self.until.pop(peer, None)

    def on_view(self, before: View, view: View) -> float:
        """There is a new view. How long the leases of processes that are members no more last, as far as this process
        knows."""
        births = {process: (birth, life) for process, birth, life, _, _ in view.members}
        for process, birth, life, _, _ in before.members:
            if births.get(process, (-1, 0))[0] == birth and births[process][1] > life:
                self.until.pop(process, None)  # it was restarted with its memory, so the one before is gone
                self.gone.add(process)
        kept = {process for process, birth, life, _, _ in before.members if births.get(process) == (birth, life)}
        now = self.clock()
        rest = max([0.0, *[until - now for process, until in self.until.items() if process not in kept]])
        self.assume([process for process in before.processes if process not in kept and process not in self.gone])
        if set(view.voters) != set(before.voters):
            self.assume(kept - self.gone)
        self.gone &= kept
        return rest

    def on_all_told(self, view: View, rest: float) -> None:
        """All members of the view have told: no lease of other processes lasts longer."""
        end = self.clock() + rest
        for process in self.until.keys() - set(view.processes):
            if rest > 0.0:
                self.until[process] = min(self.until[process], end)
            else:
                del self.until[process]
