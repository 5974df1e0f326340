"""Who belongs to the cluster, in which life.

A process that starts anew has forgotten what it held, so it must never be taken for its predecessor: two tokens
would be about. Every process therefore has an *incarnation*, a number that is new with every start, and the members
agree once, before anything else happens, on everybody's:

1. A process *meets* a peer when each knows the other's incarnation. Until it has met all of them it may learn that a
   peer has started again.
2. When it has met everyone it *pins* what it knows and tells everyone (`View`). From then on it refuses any other
   incarnation of a peer.
3. When everyone has told it the same, the cluster is *open*, and locks may be used.

If the cluster is open for anyone, all have pinned the same incarnations, so nobody who has forgotten can get in.
"""

from __future__ import annotations

import secrets
import time

START_OF_TIME = 1_735_689_600  # 2025-01-01, to keep numbers small
FENCE_BITS = 33  # a cluster that gave 2**33 fences every second of its life would overtake its successor


def new_incarnation(at_least: int = 0) -> int:
    """A number above all earlier ones (the clock permitting, or else above `at_least`), and like no other."""
    seconds = max(int(time.time()) - START_OF_TIME, (at_least >> 32) + 1)
    return (seconds << 32) | secrets.randbits(32)


class Roster:
    def __init__(self, n: int, me: int, incarnation: int) -> None:
        self.me = me
        self.incarnations = [0] * n  # 0: not known yet
        self.incarnations[me] = incarnation
        self.met = [peer == me for peer in range(n)]
        self.views: list[tuple[int, ...]] = [()] * n  # what each has pinned
        self.pinned = False
        self.open = False
        self._pin_if_complete()

    @property
    def view(self) -> tuple[int, ...]:
        return tuple(self.incarnations)

    @property
    def epoch(self) -> int:
        """Larger for every new cluster: fences grow from one to the next."""
        return max(self.incarnations) >> 32

    def recognise(self, peer: int, incarnation: int) -> bool:
        """Whether a peer that says it is in this incarnation may be talked to."""
        if self.incarnations[peer] == incarnation:
            return True
        if self.pinned or incarnation <= 0:
            return False
        self.incarnations[peer] = incarnation
        self.met[peer] = False
        self.views[peer] = ()
        return True

    def meet(self, peer: int) -> bool:
        """The peer knows us, and we know it. Whether that was the last one missing."""
        self.met[peer] = True
        return self._pin_if_complete()

    def hear_view(self, peer: int, incarnations: tuple[int, ...]) -> bool:
        """What a peer has pinned; False if it is at odds with what we have."""
        self.views[peer] = incarnations
        self._open_if_agreed()
        return not self.pinned or incarnations == self.view

    def absent(self) -> list[int]:
        """Whom the opening still waits for."""
        return [peer for peer, met in enumerate(self.met) if not met or (self.pinned and self.views[peer] != self.view)]

    def _pin_if_complete(self) -> bool:
        if self.pinned or not all(self.met):
            return False
        self.pinned = True
        self.views[self.me] = self.view
        self._open_if_agreed()
        return True

    def _open_if_agreed(self) -> None:
        view = self.view
        self.open = self.open or (self.pinned and all([told == view for told in self.views]))
