"""`Homed`: a node of an algorithm with a home, process 0, which knows the requests and the holders.

Such an algorithm can do what a cluster that changes needs (`congenial.transform.views`):

- It can begin while processes are inside. The home is told of each of them (`inherit`), and each of them as well
  (`resume`). Their stay has fence 0, and so has that of every process that joins it. Then those that wait ask again, in
  any order; the home may put them off (`gather`) until all have asked (`serve`).
- A process that has not asked for long can be forgotten. What it keeps for its next entry it gives back (`relax`). If
  it `is_at_rest` then, it can be replaced by a new node. A new home must begin above the numbers that the old one
  has used (`floor`, `begin_above`).

That relies on channels that keep the order of messages.

In views such an algorithm may do two things through its `out`: send, to one other process at a time (`_tell` hands over
what is for the process itself), and enter. Anything else is an illegal step: it cannot broadcast, eject, set timers,
choose, save, or execute and answer operations.
"""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from congenial.kernel.out import Out
from congenial.parts.loopback import QueuedLoopback

Floor = tuple[int, int]
"""The largest fence and the largest number of a token that a home has given out."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Homed(QueuedLoopback):
    def inherit(self, process: int, group: int) -> None:
        """At the home, before anything else happens: a process is inside for a group."""
        raise NotImplementedError

    def resume(self, group: int) -> None:
        """Before anything else happens: this process is inside for a group."""
        raise NotImplementedError

    def gather(self) -> None:
        """At the home: from now on those ask that have waited for long, though perhaps after others."""

    def serve(self, lot: int, out: Out) -> None:
        """At the home: all of them have asked. The lot may decide which is first: a number, another one each time."""

    def holders(self) -> list[int]:
        """At the home: the processes that it has admitted, or will have admitted when others leave."""
        raise NotImplementedError

    def is_closed(self) -> bool:
        """While this process is inside: does another one wait that cannot share its stay?"""
        return False

    def relax(self, out: Out) -> None:
        """Give back what is kept for the next entry."""
        raise NotImplementedError

    def is_at_rest(self) -> bool:
        """True if a new node, which begins above the `floor`, could take its place."""
        raise NotImplementedError

    def floor(self) -> Floor:
        """What the home has used up; (0, 0) elsewhere."""
        raise NotImplementedError

    def begin_above(self, floor: Floor) -> None:
        """Called before `inherit`: the lock is not new, and the home must use larger numbers than these."""
        raise NotImplementedError
