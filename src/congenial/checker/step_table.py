"""The steps of single processes, numbered, and looked up by state and event."""

from __future__ import annotations

from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i64

from congenial.checker.events import EVENT_BITS
from congenial.checker.process_state import Step

COUNT_BITS: Final = 16
MOST_CHOICES: Final = (1 << COUNT_BITS) - 1


@final
class StepTable:
    """A hash table with open addressing, from a state and an event to the numbers of the steps, which are consecutive:
    one for each way to choose in it."""

    def __init__(self) -> None:
        # by number of a step
        self.steps: list[Step] = []
        self.afters = vec[i64]()
        self.changes = vec[i64]()  # of the fingerprint, without what concerns packets in FIFO channels
        self.special = vec[i64]()  # 1: there is an error, an entry, or an operation to look at
        self.sent_firsts = vec[i64]([i64(0)])  # where a step begins among `sent`; one more than steps
        self.sent = vec[i64]()
        self.known = vec[i64]()  # the states and events computed so far, as state << EVENT_BITS | event
        # slots
        self._keys = vec[i64]([i64(-1)] * 1024)
        self._firsts = vec[i64]([i64(0)] * 1024)  # first step << COUNT_BITS | how many
        self._mask: i64 = 1023
        self._used: i64 = 0

    def find(self, before: i64, event: i64) -> i64:
        """The first step << COUNT_BITS | how many; -1: not known."""
        key = before << EVENT_BITS | event
        keys = self._keys
        mask = self._mask
        slot = (key ^ (key >> 27) ^ (key >> 32) * 40503) & mask
        while True:
            found = keys[slot]
            if found == key:
                return self._firsts[slot]
            if found < 0:
                return -1
            slot = (slot + 1) & mask

    def add(self, step: Step, change: i64) -> None:
        """Number a step."""
        self.steps.append(step)
        self.afters = append(self.afters, step.after)
        self.changes = append(self.changes, change)
        special = step.error or step.entered or step.issued or step.booked
        self.special = append(self.special, i64(1 if special else 0))
        for packet in step.packets:
            self.sent = append(self.sent, packet)
        self.sent_firsts = append(self.sent_firsts, i64(len(self.sent)))

    def put(self, before: i64, event: i64, first: i64, count: i64) -> i64:
        """Say that these are the steps of an event in a state."""
        if self._used * 2 > self._mask:
            self._grow()
        self._used += 1
        value = first << COUNT_BITS | count
        key = before << EVENT_BITS | event
        self.known = append(self.known, key)
        self._insert(key, value)
        return value

    def _insert(self, key: i64, value: i64) -> None:
        slot = (key ^ (key >> 27) ^ (key >> 32) * 40503) & self._mask
        while self._keys[slot] >= 0:
            slot = (slot + 1) & self._mask
        self._keys[slot] = key
        self._firsts[slot] = value

    def _grow(self) -> None:
        keys = self._keys
        firsts = self._firsts
        size = (self._mask + 1) * 2
        self._keys = vec[i64]([i64(-1)] * size)
        self._firsts = vec[i64]([i64(0)] * size)
        self._mask = size - 1
        slot: i64 = 0
        while slot < i64(len(keys)):
            if keys[slot] >= 0:
                self._insert(keys[slot], firsts[slot])
            slot += 1
