"""Which members of a new view have the state of a replicated object with which it goes on: a rule.

In each view the members `prepare`: they take note of the state with which the object goes on there, and only when all
of them have can operations be issued. An operation counts only when all members of the view have it. So:
- A whole replica that was prepared in view w has all operations that may have been executed in w and before.
- If a member of view w, which has kept its memory since, was not prepared in w, then nothing happened in w. Or if it
  was the home of w, and has not let operations be issued.

Looking back from the new view, the first view in which something may have happened is the one that counts: every whole
replica that was prepared then, or later, has what is needed. If no such replica is there, one has to wait: a process
that is away may have it. If it does not come, the object can go on with the latest replica that is left, or start empty
if there is none. That may lose operations. It takes the crash of all whole replicas of the last view that has begun.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message
from congenial.kernel.part import Part
from congenial.parts.replica import Entries

NOBODY: Final = -1
NEVER: Final = -1  # in no view
MOST_STRETCHES: Final = 64

Stretch = tuple[int, int]
Stretches = tuple[Stretch, ...]
"""The first and the last of consecutive views."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Attendance(Part):
    """The views in which a process was a member, and knows that nothing happened: as far as it remembers."""

    def __init__(self) -> None:
        self.noted = NEVER  # the last view of which is known whether it was a member
        self.idle: list[Stretch] = []

    def copy(self, other: Attendance) -> None:
        self.noted = other.noted
        self.idle = list(other.idle)

    def attend(self, since: int, view: int) -> None:
        """There is a new view, of which the process has been a member since another one (-1: it is none)."""
        if since >= 0 and view > self.noted:
            first = max(since, self.noted + 1)
            if self.idle and self.idle[-1][1] + 1 == first:
                first = self.idle.pop()[0]
            self.idle.append((first, view))
            del self.idle[:-MOST_STRETCHES]
        self.noted = max(self.noted, view)

    def prepare(self, view: int) -> None:
        """Something may happen from now on in the view that it has attended last."""
        if self.idle and self.idle[-1][1] == view:
            first, _ = self.idle.pop()
            if first < view:
                self.idle.append((first, view - 1))


@dataclass(frozen=True)
class Have(Message):
    """To the home: what a member has."""

    prepared: int  # the last view in which it was
    whole: bool
    age: int
    position: int  # the last operation that it has
    tail: Entries = field(metadata={"type": Entries})  # if it was not executed, the operation itself
    idle: Stretches = field(metadata={"type": Stretches})  # views in which it knows that nothing happened
    named: bool  # does it use the object?


class Bearer:
    """The member whose state is to be taken, or NOBODY: the first state. Whole replicas of the same age that were
    prepared in view `floor` or later have it, too, but for the last operation. `sure`: nothing is lost by that."""

    def __init__(self, process: int, floor: int, sure: bool) -> None:
        self.process = process
        self.floor = floor
        self.sure = sure


def bearer_in(view: int, haves: dict[int, Have]) -> Bearer:
    """With which state the object goes on in a view, as far as these members know."""
    floor = view - 1
    while floor >= 0:
        begins = [first for have in haves.values() for first, last in have.idle if first <= floor <= last]
        if not begins:
            break
        floor = min(begins) - 1
    whole = [process for process in sorted(haves) if haves[process].whole]
    bearers = [process for process in whole if haves[process].prepared >= floor]
    if bearers:
        age = min([haves[process].age for process in bearers])  # a later age, in which nothing happened, has lost more
        kin = [process for process in bearers if haves[process].age == age]
        _, chosen = max([(haves[process].position, -process) for process in kin])
        return Bearer(-chosen, floor, True)
    if not whole:
        return Bearer(NOBODY, NEVER, floor < 0)
    prepared, _, left = max([(haves[process].prepared, haves[process].position, -process) for process in whole])
    return Bearer(-left, prepared, False)
