"""What the engine's queue holds: events packed into integers, `kind | argument`.

An argument is a process, an index, or a pair: an envelope, timer or index above the bits of a process.
"""

from __future__ import annotations

from typing import Final

KIND: Final = 56  # the bits below are the argument's
ARGUMENT: Final = (1 << KIND) - 1
ASK: Final = 0 << KIND  # a process asks
LEAVE: Final = 1 << KIND  # a process leaves
ARRIVE: Final = 2 << KIND  # a copy of a message arrives: envelope, process
TRANSMITTED: Final = 3 << KIND  # all of a message is on the wire: envelope
TIMER: Final = 4 << KIND  # a timer runs out: timer, process
SCRIPTED: Final = 5 << KIND  # a scripted change of the faults in force: index
RANDOM: Final = 6 << KIND  # a random fault strikes: index, process
ANNOUNCE: Final = 7 << KIND  # the failure detector announces that a process has crashed or recovered: process
ISSUE: Final = 8 << KIND  # a process issues an operation
ARRIVE_EVERYWHERE: Final = 9 << KIND  # all copies of a message arrive, one after the other: envelope

PROCESS_BITS: Final = 20
PROCESS_MASK: Final = (1 << PROCESS_BITS) - 1
MOST_PROCESSES: Final = 1 << PROCESS_BITS

DEFERRED: Final = -1  # in place of the number of a queued event: it was due, and waits until its process resumes

# what a process does
UP: Final = 0
DOWN: Final = 1
PAUSED: Final = 2
