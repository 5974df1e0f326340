"""The incarnations of the members, and how they agree on them.

A process that is restarted has forgotten what it held, so it must never be taken for its predecessor: there would be
two tokens. Every process therefore has an *incarnation*, a number that is new with every start, and the members
agree once, before anything else happens, on everybody's:

1. A process *meets* a peer when each knows the other's incarnation. Until it has met all of them it may learn that a
   peer has been restarted.
2. When it has met everyone it *pins* what it knows and tells everyone (`View`).
3. When everyone has told it the same, the cluster is *founded*, and locks may be used.

If the cluster is founded for anyone, all have pinned the same incarnations, so all of them began together, and nobody
had anything to remember. A member that is in another incarnation later has been restarted. With most algorithms it is
refused, and so is every member that has not pinned what the others have.

With algorithms that let a process come back (`Node.rejoins`), it may rejoin. The incarnations of the founding are kept,
on disk if there is a directory for it, and told to every member that connects. A member that knows them does not have
to wait for the others. They also tell a process what it is itself:

- *original*, if its incarnation is among them;
- *recovered*, if it has read them from its disk: what it has saved is all that it had promised;
- *forgetful*, if it has them from others: it may have promised anything, in any lock, even after another restart. That
  ends when all others have told it which locks they know. In a lock that none of them knows, nobody can hold it to a
  promise. From then on it is like one that has recovered, and had nothing to save.

A process that enters a cluster later, by seeds, is told how the cluster began before anything else. It is like one that
is forgetful. Where locks follow views, both are so until they are members: then they go on as others, which have
promised nothing (`congenial.parts.views`).

Fences must grow from one cluster to the next, when all members begin again. So incarnations and fences are numbers on
one scale. Their upper bits count ticks of a 32nd of a second since 2025, and each epoch of a lock counts as one tick:

    an incarnation is     (tick at the start)       and finer parts of the tick and random bits below
    a fence is            (birth + epoch)           and what counts within the epoch below
    the birth is          the largest tick of the incarnations with which the cluster was founded
    the tick at the start is the clock's, and larger than any that the member remembers

The largest tick of any fence or incarnation that it knows of is what a member remembers, in its state directory. The
founding takes the largest of all members. So *the first fence of a new cluster is larger than every fence that any
of its members remembers*, whatever the clocks say. Where nobody remembers anything, it is larger if the clock is right
and the old cluster began fewer than 32 epochs in each second of its life. `congenial.net.agreement` sees to that: but
for a few, no more than 32 views begin in a second.
"""

from __future__ import annotations

import secrets
import time

from congenial.problems.epochs import EPOCH_BITS

TURN_BITS = 8  # of a fence: the turn in a session of one process alone (`congenial.net.door`)
FENCE_BITS = EPOCH_BITS + TURN_BITS  # what a fence counts within one epoch; the bits above count ticks
START_OF_TIME = 1_735_689_600  # 2025-01-01, to keep numbers small
TICKS = 32  # in a second: fences have 63 bits until 2059, and a cluster may begin so many epochs each second
RANDOM_BITS = 16  # of an incarnation, the lowest; above them is the clock, so that a quick restart is still later

UNKNOWN, ORIGINAL, RECOVERED, FORGETFUL = "unknown", "original", "recovered", "forgetful"


def tick_of(number: int) -> int:
    """The tick of an incarnation, and the tick that a fence has reached: its cluster's birth and its epoch."""
    return number >> FENCE_BITS


def last_of_tick(number: int) -> int:
    """The largest incarnation or fence with the same tick."""
    return number | ((1 << FENCE_BITS) - 1)


def fence_base(founded: tuple[int, ...]) -> int:
    """The fence below all those of a cluster that was founded with these incarnations."""
    return tick_of(max(founded)) << FENCE_BITS


def new_incarnation(highest: int = 0) -> int:
    """A number like no other: above all earlier ones by the clock, and above the `highest` incarnation or fence that
    this member remembers, whatever the clock says."""
    clock = int((time.time() - START_OF_TIME) * (TICKS << FENCE_BITS))
    if tick_of(clock) > tick_of(highest):
        return clock >> RANDOM_BITS << RANDOM_BITS | secrets.randbits(RANDOM_BITS)
    return tick_of(highest) + 1 << FENCE_BITS | secrets.randbits(FENCE_BITS)


class Roster:
    """The first n processes found the cluster; `me` may be another one, which enters later."""

    def __init__(
        self,
        n: int,
        me: int,
        incarnation: int,
        rejoins: bool = False,
        founded: tuple[int, ...] = (),
        past: str = UNKNOWN,
    ) -> None:
        self.n = n
        self.me = me
        self.rejoins = rejoins  # a restarted member may rejoin
        self.incarnations = {**dict.fromkeys(range(n), 0), me: incarnation}  # by process; 0: not known yet
        self.met = {me}
        self.views: dict[int, tuple[int, ...]] = {}  # what each has pinned
        self.pinned = False
        self.founded = founded  # the incarnations with which the cluster began
        self.past = past
        self._pin_if_complete()

    @property
    def open(self) -> bool:
        return bool(self.founded)

    @property
    def view(self) -> tuple[int, ...]:
        return tuple([self.incarnations[process] for process in range(self.n)])

    def has_founded(self) -> bool:
        """True if this process has founded the cluster, in this life."""
        return self.me < len(self.founded) and self.founded[self.me] == self.incarnations[self.me]

    def known(self, peer: int) -> int:
        """The last incarnation of a peer that is known, or 0."""
        return self.incarnations.get(peer, 0)

    def forget(self, peer: int) -> None:
        """A process that did not found the cluster is a member no longer."""
        if peer >= self.n:
            self.incarnations.pop(peer, None)

    def admits(self, peer: int, incarnation: int) -> bool:
        """True if a peer may be talked to in this incarnation. An earlier one than the last known never returns."""
        known = self.known(peer)
        return known == incarnation or (incarnation > known and (self.rejoins or not self.pinned))

    def recognise(self, peer: int, incarnation: int) -> bool:
        """The peer is in this incarnation now; False, and nothing changes, if it may not be."""
        if not self.admits(peer, incarnation):
            return False
        if self.known(peer) == incarnation:
            return True
        self.incarnations[peer] = incarnation
        self.met.discard(peer)
        self.views.pop(peer, None)
        if not self.founded:
            self.pinned = False
        return True

    def meet(self, peer: int) -> bool:
        """The peer knows us, and we know it. Whether that was the last one missing."""
        self.met.add(peer)
        return self._pin_if_complete()

    def hear_view(self, peer: int, incarnations: tuple[int, ...]) -> bool:
        """What a peer has pinned; False if it is at odds with what we have."""
        self.views[peer] = incarnations
        self._open_if_agreed()
        return self.rejoins or not self.pinned or incarnations == self.view

    def began_as(self, incarnations: tuple[int, ...]) -> bool:
        """True if the cluster may have begun with these incarnations."""
        return self.founded in ((), incarnations)

    def hear_founded(self, incarnations: tuple[int, ...]) -> bool:
        """With which incarnations the cluster began, according to a peer; False if that is another cluster."""
        if not self.founded:
            self.founded = incarnations
            self.past = ORIGINAL if self.has_founded() else FORGETFUL
        return self.founded == incarnations

    def assume_founded(self) -> bool:
        """A peer behaves as if the cluster were founded, so it knows that all have pinned the same; can that be?"""
        if self.pinned and not self.founded and not self.rejoins:
            self.founded = self.view
            self.past = ORIGINAL
        return self.open

    def absent(self) -> list[int]:
        """The founders that the opening still waits for."""
        view = self.view
        return [
            peer for peer in range(self.n) if peer not in self.met or (self.pinned and self.views.get(peer, ()) != view)
        ]

    def _pin_if_complete(self) -> bool:
        if self.pinned or self.founded or not all([process in self.met for process in range(self.n)]):
            return False
        self.pinned = True
        self.views[self.me] = self.view
        self._open_if_agreed()
        return True

    def _open_if_agreed(self) -> None:
        view = self.view
        if not self.founded and self.pinned and all([self.views.get(peer, ()) == view for peer in range(self.n)]):
            self.founded = view
            self.past = ORIGINAL
