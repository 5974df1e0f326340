"""Events and budgets of an exploration, packed into integers."""

from __future__ import annotations

from typing import Final

# an event is kind | argument; the argument of a delivery is the packet
KIND: Final = 28
ARGUMENT: Final = (1 << KIND) - 1
EVENT_BITS: Final = 32  # of a whole event
DELIVER: Final = 0 << KIND
ASK: Final = 1 << KIND  # index into the process's menu
LEAVE: Final = 2 << KIND
TIMER: Final = 3 << KIND  # number of the timer
SUSPECT: Final = 4 << KIND  # peer
TRUST: Final = 5 << KIND  # peer
RECOVER: Final = 6 << KIND
CRASH: Final = 7 << KIND
LOSE: Final = 8 << KIND  # packet
REPEAT: Final = 9 << KIND  # packet: delivered, and still under way
ISSUE: Final = 10 << KIND  # an operation

# budgets of faults, packed into one number
CRASHES: Final = 0
LOSSES: Final = 8
DUPLICATES: Final = 16
SUSPICIONS: Final = 24
MOST_FAULTS: Final = 255  # of one kind

# a state: its header, then the processes, then the packets
HEADER: Final = 1

# the label of an edge between states: event | process | messages sent
PROCESS_SHIFT: Final = 32
SENT_SHIFT: Final = 40
EVENT_MASK: Final = (1 << PROCESS_SHIFT) - 1
IDENTITY_MASK: Final = (1 << SENT_SHIFT) - 1
