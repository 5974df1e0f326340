"""The states seen so far: of each its fingerprint, and the move that led to it first.

Two states with one fingerprint would be taken for one. Among ten million states that happens with a probability of
about three in a million.
"""

from __future__ import annotations

from typing import final

from librt.vecs import append, vec
from mypy_extensions import i64


@final
class StateTable:
    """A hash table with open addressing, from fingerprints (64 bits) to indices in the order of discovery."""

    def __init__(self) -> None:
        self.count: i64 = 0
        self.is_new = False  # was the last state that was looked up not known?
        self.fingerprints = vec[i64]()
        self.parents = vec[i64]()
        self.vias = vec[i64]()  # the move that led here first: position << 8 | choice
        self._slots = vec[i64]([0] * 1024)  # index + 1; 0: empty
        self._mask: i64 = 1023

    def find(self, state: tuple[int, ...], parent: i64, via: i64) -> i64:
        """The index of a state; `is_new` says whether it was not known."""
        fingerprint: i64 = hash(state)
        mask = self._mask
        slot = (fingerprint ^ (fingerprint >> 29)) & mask
        while True:
            entry = self._slots[slot]
            if entry == 0:
                break
            if self.fingerprints[entry - 1] == fingerprint:
                self.is_new = False
                return entry - 1
            slot = (slot + 1) & mask
        index = self.count
        self._slots[slot] = index + 1
        self.count = index + 1
        self.fingerprints = append(self.fingerprints, fingerprint)
        self.parents = append(self.parents, parent)
        self.vias = append(self.vias, via)
        self.is_new = True
        if self.count * 3 > mask * 2:
            self._grow()
        return index

    def _grow(self) -> None:
        size = (self._mask + 1) * 4
        mask = size - 1
        slots = vec[i64]([0] * size)
        index: i64 = 0
        while index < self.count:
            fingerprint = self.fingerprints[index]
            slot = (fingerprint ^ (fingerprint >> 29)) & mask
            while slots[slot] != 0:
                slot = (slot + 1) & mask
            slots[slot] = index + 1
            index += 1
        self._slots = slots
        self._mask = mask
