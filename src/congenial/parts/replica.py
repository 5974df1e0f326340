"""`Replica`: one copy of a replicated object, and the operations that it has or will have executed.

Operations have positions 1, 2, 3, ... in one sequence. A replica keeps those that it has been sent and not executed
(`queue`), and executes them in order when it knows that no later view can lose them (`bound`). It keeps the last ones
that it has executed (`log`), for others that lack only these. Others are sent a snapshot: the object's state, in
pieces, and which operation of each process was the last (`last`), by which a process learns what became of its own.

A replica is `whole` if it has every operation that may have been executed anywhere, as far as views go that it knows.
One that is not waits for the state of another. One without a machine never has a state: the process takes part in the
agreement on operations, but does not use the object.

A history has a number, its `age`: the view in which it began from the first state, or in which operations may have been
lost. Positions of different histories have nothing to do with each other.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.kernel.part import Part
from congenial.problems.weak import Resource

FIRST_AGE: Final = -1

Entry = tuple[int, int, int, Any]
"""An operation: the view in which it was issued, the process that did so, its number there, and the operation."""
Entries = tuple[Entry, ...]
Last = tuple[tuple[int, int, int], ...]
"""By process: the view in which it issued its last operation that was executed, and the position of that."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Replica(Part):
    longest_log: ClassVar[int] = 1000  # operations
    piece_size: ClassVar[int] = 1 << 16  # bytes

    def __init__(self) -> None:
        self.machine: Resource | None = None
        self.first = b""  # the state in which the object begins
        self.whole = False
        self.age = FIRST_AGE
        self.applied = 0  # so many operations were executed
        self.queue: dict[int, Entry] = {}  # what comes after them, by position
        self.bound = 0  # up to here nothing can be lost
        self.log: list[Entry] = []  # the last that were executed
        self.last: dict[int, tuple[int, int]] = {}  # as in `Last`

    def name(self, machine: Resource) -> None:
        """The process uses the object from now on."""
        self.machine = machine
        self.first = machine.snapshot()

    # -- operations ------------------------------------------------------------------------------------

    def top(self) -> int:
        """The last position up to which this replica has all operations."""
        top = self.applied
        while top + 1 in self.queue:
            top += 1
        return top

    def tail(self) -> Entries:
        """What is not executed yet."""
        return tuple([self.queue[position] for position in range(self.applied + 1, self.top() + 1)])

    def store(self, position: int, entry: Entry) -> None:
        """Keep an operation. All before it are safe."""
        self.confirm(position - 1)
        if position > self.applied or not self.whole:  # what is executed here may be of another history
            self.queue[position] = entry
        if self.machine is None:  # in case it is named one day; what came before is then at all others
            self.queue = {position: entry}

    def confirm(self, position: int) -> None:
        """No later view can lose the operations up to this position."""
        self.bound = max(self.bound, position)

    def is_due(self) -> bool:
        """True if the next operation can be executed."""
        return self.whole and self.applied < self.bound and self.applied + 1 in self.queue

    def execute(self) -> tuple[Entry, object]:
        """Execute the next operation; it and its result."""
        assert self.machine is not None
        entry = self.queue.pop(self.applied + 1)
        self.applied += 1
        self.last[entry[1]] = (entry[0], self.applied)
        self.log.append(entry)
        if len(self.log) > 2 * type(self).longest_log:
            del self.log[: -type(self).longest_log]
        return entry, self.machine.apply(entry[3])

    def drop_queue(self) -> None:
        self.queue = {}
        self.bound = 0

    # -- taking over the state of another --------------------------------------------------------------

    def begin(self, age: int) -> None:
        """Begin in the first state."""
        self.drop_queue()
        if self.machine is not None:
            self.machine.restore(self.first)
        self.whole = self.machine is not None
        self.age = age
        self.applied = self.bound = 0
        self.log = []
        self.last = {}

    def log_since(self, age: int, position: int) -> Entries | None:
        """What was executed after a position; None if that is no longer known. Every history begins alike."""
        if (age != self.age and position > 0) or not self.applied - len(self.log) <= position <= self.applied:
            return None
        return tuple(self.log[len(self.log) - (self.applied - position) :])

    def pieces(self) -> list[bytes]:
        """The state, in pieces."""
        assert self.machine is not None
        state = self.machine.snapshot()
        size = type(self).piece_size
        return [state[start : start + size] for start in range(0, len(state), size)] or [b""]

    def restore(self, age: int, position: int, last: Last, state: bytes) -> None:
        assert self.machine is not None
        self.machine.restore(state)
        self.age = age
        self.applied = position
        self.confirm(position)
        self.last = {process: (view, place) for process, view, place in last}
        self.log = []

    def catch_up(self) -> None:
        """This replica has all that the other had."""
        self.whole = True
        self.queue = {place: self.queue[place] for place in sorted(self.queue) if place > self.applied}

    def last_of_all(self) -> Last:
        return tuple([(process, *self.last[process]) for process in sorted(self.last)])
