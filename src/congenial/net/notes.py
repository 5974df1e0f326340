"""Notes: small values that the members keep for each other, each behind a lock of its own.

Only the holder of a note's lock reads it to change it, or writes it. A majority has every note that was written, so a
note survives what locks survive. The rest is as in Paxos (Lamport 1998), with the lock's fence as the number of a
ballot: fences grow and belong to one holder each.

- To read, a holder asks the members. Each promises to accept nothing from holders with smaller fences any more. When a
  majority has answered, the note with the largest stamp is the present one. If not all that answered had it, the holder
  writes it again before anybody acts on it.
- To write, a holder sends the note to the members. When a majority has accepted it, it is written. A member that has
  promised otherwise refuses: then the lock is lost.

So a holder that does not know yet that it has lost its lock changes nothing. `Notes` is what one member keeps;
`congenial.net.board` asks the others.
"""

from __future__ import annotations

from typing import NamedTuple

from congenial.net.storage import Storage

PREFIX = "note "  # of the keys under which notes are saved


class Note(NamedTuple):
    """A value, and its stamp: the fence of the holder that wrote it, and which of its notes it is."""

    fence: int = 0
    turn: int = 0
    value: bytes = b""

    @property
    def stamp(self) -> tuple[int, int]:
        return self.fence, self.turn


EMPTY = Note()


class Notes:
    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.notes: dict[str, Note] = {}
        self.promised: dict[str, int] = {}  # the largest fence of a holder that has asked
        for key in storage.stored():
            if key.startswith(PREFIX):
                promised, fence, turn, value = storage.load(key)
                name = key[len(PREFIX) :]
                self.promised[name] = promised
                self.notes[name] = Note(fence, turn, value)

    def get(self, key: str) -> Note:
        return self.notes.get(key, EMPTY)

    def promise(self, key: str, fence: int) -> bool:
        """A holder with this fence asks: accept nothing of earlier ones any more. False if a later one has asked."""
        promised = self.promised.get(key, 0)
        if fence > promised:
            self.promised[key] = fence
            self.save(key)
        return fence >= promised

    def accept(self, key: str, note: Note) -> bool:
        """A holder has written this note. False if a later one has asked before."""
        if note.fence < self.promised.get(key, 0):
            return note == self.get(key)  # it may have been accepted before
        if note.stamp > self.get(key).stamp:
            self.promised[key] = note.fence
            self.notes[key] = note
            self.save(key)
        return True

    def recall(self, key: str, promised: int, note: Note) -> None:
        """What another member has. This one has forgotten what it had, and may have had the same. It is not saved: only
        when enough have told is it what this member had (`save`)."""
        self.promised[key] = max(self.promised.get(key, 0), promised)
        self.notes[key] = max(self.get(key), note)

    def save(self, key: str) -> None:
        self.storage.save(PREFIX + key, (self.promised[key], *self.get(key)))
