"""Leases in a cluster whose members change: until when no view without this process can be served.

A member gets its lease from voters. A voter answers each beat of a member with a grant: for so many seconds, counted
from the sending of the beat, no view without that member is served. The voter waits equally long for the next sign of
life (`Link.patience_left`), so others rarely wait twice for a member that has crashed. The lease lasts as long as the
grants of a majority of the voters do.

This is safe because a home serves only when all members of its view have told it what they hold. Each of them also
tells how long, as far as it knows, the leases of processes last that are no longer members. A majority of the voters of
the last view are members of the next one (`congenial.parts.views`). So if the voters are the same, one of those that
granted the lease is among those that tell. It grants nothing in the old view any more, nor between its vote for the
next view and the beginning of that view.

Where the voters change, the new ones must know what the old ones had granted:
- A member takes its lease along into the next view, and tells how long it lasts. Until it has told, every other process
  acts as if it had made a grant when the view began. The same goes for a voter that was restarted and has forgotten.
- All are told how long leases of excluded processes last. If the view ends before that, nobody knows what the others
  had granted, and this process acts as if it had made a grant when the view began.

What others tell are seconds of their clocks, which may be slower than the clock here. So a process respects them for a
little longer (`Grants.seconds_here`), every time that they go from one process to another.

A restarted process must still know what it knew of leases. So with each view it keeps a record on disk of how long
leases may last: those of members, of other processes, and its own. After a restart it counts these times from the
restart, and begins with what it knew when the view began, as if no process had told it anything since. It may be the
only one that knows of its own lease, if those that granted it are away. A process that was stopped properly has no
lease.

A member that was excluded and has returned tells by itself how long its old lease lasts, since its programs may rely on
that. The grants of others to it may end later, and do not count. For a restarted member they count: programs that it
has served may still be there. A member that has left holds nothing (`View.left`), and is not waited for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from congenial.net.lease import Lease, clock
from congenial.parts.views import View

Life = tuple[int, int, int]  # one life of a process: the process, its birth and its life, as in a view


class Record(NamedTuple):
    """What a process must know of leases when it is restarted."""

    view: int = -1  # the last one that it knew
    members: float = 0.0  # for how many seconds leases of the members of this view may last, without this process
    others: float = 0.0  # and those of processes that are no members
    own: float = 0.0  # and the lease of this process: programs that it has served may rely on it
    ignorant: bool = True  # as in `Grants`


def lives_of(view: View) -> dict[int, Life]:
    """The members of a view, by process."""
    return {member[0]: member[:3] for member in view.members}


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
        self.before_alone = -math.inf  # until when the lease lasted when this process got the only vote
        self.promised = -math.inf  # until when programs may rely on locks that they have lost

    def begin(self, view: View, birth: int, since: int) -> float:
        """There is a new view, of which this process has been a member since view `since`; -1: it is none. For how many
        seconds programs may rely on locks that they have lost, because this process has missed a view."""
        now = self.clock()
        if not 0 <= since <= self.view:
            self.promised = max(self.promised, now + self.left())
            self.until = -math.inf
        self.view = view.number
        self.voters = tuple([process for process, _ in view.voters if process != self.me])
        others = (len(view.voters) // 2 + 1) - ((self.me, birth) in view.voters)
        self.needed = others
        if since >= 0 and others == 0:
            self.before_alone = self.until if self.until < math.inf else self.before_alone
            self.until = math.inf
        elif since >= 0:
            self.until = min(self.until, now + self.left())  # it may have been alone
            self._count()
        return max(self.promised - now, 0.0)

    def left(self) -> float:
        """What is promised today must hold tomorrow, when others may have votes: no longer than a grant. Alone, this
        process has to wait for that itself when it is restarted; and for what was promised before it was alone."""
        alone = self.until == math.inf
        return min(max(self.grace, self.before_alone - self.clock()) if alone else super().left(), self.longest)

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

    def __init__(self, me: int, longest: float, clock: Callable[[], float] = clock, drift: float = 0.0) -> None:
        self.me = me
        self.longest = longest  # that anybody grants at a time
        self.drift = drift  # as in `Lease`
        self.clock = clock
        self.granted: dict[Life, float] = {}  # to members, by this process
        self.assumed: dict[Life, float] = {}  # and by others, in earlier views
        self.outside = -math.inf  # until when leases of processes last that are no members, as far as this one knows
        self.complete = True  # have all members of this view told?
        self.unsure = -math.inf  # the same as `outside`, if this view ends before
        self.ignorant = False  # voters may have granted leases of which this process does not know, and did not vote

    def grant(self, life: Life, seconds: float) -> None:
        """Grant a lease to a member."""
        self.granted[life] = max(self.granted.get(life, -math.inf), self.clock() + min(seconds, self.longest))

    def assume(self, lives: Iterable[Life]) -> None:
        """Others may have granted leases to these processes."""
        end = self.clock() + self.longest
        for life in lives:
            if life[0] != self.me:
                self.assumed[life] = end

    def record(self, view: View, usual: float, lease: ViewLease | None) -> Record:
        """To be saved with a view, and before a longer lease than `usual` is granted or used. When it is saved again
        because no lease of other processes lasts, it tells that too. A process without a lease holds nothing."""
        now = self.clock()
        members = max([*self.granted.values(), *self.assumed.values()], default=now)
        others = self.outside if self.complete else max(self.outside, self.unsure)
        own = 0.0
        if lease is not None:
            others = max(others, lease.promised)
            own = max(lease.left(), usual)
        return Record(view.number, max(members - now, usual), max(others - now, 0.0), own, self.ignorant)

    def recover(self, view: View, record: Record) -> None:
        """This process was restarted in this view."""
        if record.view != view.number:
            record = Record(view.number, self.longest, self.longest, self.longest)
        self.ignorant = record.ignorant
        self.complete = False
        now = self.clock()
        for life in lives_of(view).values():
            self.assumed[life] = now + min(record.own if life[0] == self.me else record.members, self.longest)
        self.outside = now + record.others

    def on_view(self, before: View, view: View, since: int) -> float:
        """There is a new view, of which this process has been a member since view `since`. How long leases of processes
        last that are no members, as far as this process knows."""
        now = self.clock()
        lives, members = lives_of(before), set(lives_of(view).values())
        left = {lives.pop(process) for process in view.left if process in lives}
        if not self.complete:
            self.outside = max(self.outside, self.unsure)
        for times in (self.granted, self.assumed):
            for life in [life for life in times if life not in members]:
                end = times.pop(life)
                if life not in left:
                    self.outside = max(self.outside, end)
        missed = view.number > before.number + 1  # in between there may have been other voters
        others_vote = set(view.voters) != set(before.voters)
        knows = self.complete and members.issuperset(lives.values())  # as much as all do
        if self.complete or self.unsure > -math.inf:
            self.ignorant = False  # or `outside` says it
        self.ignorant = self.ignorant or missed or (others_vote and not knows)
        self.unsure = now + self.longest if since >= 0 and self.ignorant else -math.inf
        self.complete = False
        if since >= 0 and (others_vote or (self.ignorant and since == view.number)):
            self.assume(members)
        return max(self.outside - now, 0.0)

    def seconds_here(self, seconds: float) -> float:
        """As many as another process has told, by a clock that may be faster than that one's. No lease that has begun
        lasts longer than the longest grant, by any clock."""
        return min(seconds / (1 - self.drift), self.longest)

    def on_told(self, life: Life, lease: float) -> None:
        """A member has told how long the lease lasts that it has taken along, by its clock."""
        if life[0] != self.me:
            self.assumed[life] = self.clock() + self.seconds_here(lease)

    def on_all_told(self, rest: float) -> None:
        """All members of the view have told: no lease of other processes lasts longer, by the clock here."""
        self.outside = self.clock() + rest
        self.complete = True
