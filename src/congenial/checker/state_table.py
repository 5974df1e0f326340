"""The states seen so far: of each its fingerprint, and the state from which it was reached first.

Two states with one fingerprint would be taken for one. Among ten million states that happens with a probability of
about one in a hundred thousand (see `congenial.checker.fingerprints`), among a hundred million of one in a thousand.
"""

from __future__ import annotations

from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i32, i64

from congenial.kernel.errors import ConfigError

MOST_STATES: Final = (1 << 31) - 2
LARGE: Final = 50_000  # states, with which the table no longer fits into a processor's cache


@final
class StateTable:
    """A hash table with open addressing, from fingerprints to indices in the order of discovery."""

    def __init__(self) -> None:
        self.count: i64 = 0
        self.is_new = False  # was the last state that was looked up not known?
        self.fingerprints = vec[i64]()
        self.parents = vec[i32]()
        self._slots = vec[i32]([i32(0)] * 1024)  # index + 1; 0: empty
        self._mask: i64 = 1023
        self._entries = vec[i64]()

    def fetch(self, fingerprints: vec[i64], count: i64) -> None:
        """Bring what will be looked up next from memory, all together. It changes nothing but the time that takes."""
        if self.count < LARGE:
            return
        while i64(len(self._entries)) < count:
            self._entries = append(self._entries, i64(0))
        mask = self._mask
        slots = self._slots
        entries = self._entries
        i: i64 = 0
        while i < count:
            fingerprint = fingerprints[i]
            entries[i] = i64(slots[(fingerprint ^ (fingerprint >> 29)) & mask])
            i += 1
        known = self.fingerprints
        i = 0
        while i < count:
            if entries[i] > 0:
                entries[i] = known[entries[i] - 1]
            i += 1

    def find(self, fingerprint: i64, parent: i64) -> i64:
        """The index of a state; `is_new` says whether it was not known."""
        mask = self._mask
        slots = self._slots
        slot = (fingerprint ^ (fingerprint >> 29)) & mask
        while True:
            entry = i64(slots[slot])
            if entry == 0:
                break
            if self.fingerprints[entry - 1] == fingerprint:
                self.is_new = False
                return entry - 1
            slot = (slot + 1) & mask
        index = self.count
        slots[slot] = i32(index + 1)
        self.count = index + 1
        self.fingerprints = append(self.fingerprints, fingerprint)
        self.parents = append(self.parents, i32(parent))
        self.is_new = True
        if self.count * 3 > mask * 2:
            self._grow()
        return index

    def _grow(self) -> None:
        if self.count >= MOST_STATES >> 1:
            raise ConfigError("too many states to number them; set a limit")
        size = (self._mask + 1) * 2
        mask = size - 1
        self._slots = vec[i32]()  # two tables at a time would take more memory
        slots = vec[i32]([i32(0)] * size)
        index: i64 = 0
        while index < self.count:
            fingerprint = self.fingerprints[index]
            slot = (fingerprint ^ (fingerprint >> 29)) & mask
            while slots[slot] != 0:
                slot = (slot + 1) & mask
            slots[slot] = i32(index + 1)
            index += 1
        self._slots = slots
        self._mask = mask
