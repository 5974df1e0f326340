"""Notes as a member keeps them (`congenial.parts.notes`), each saved by itself; and as programs see them."""

from __future__ import annotations

from typing import NamedTuple

from congenial.kernel.out import Out
from congenial.net.storage import Storage
from congenial.parts.notes import Base, Notes
from congenial.parts.views import Voters

PREFIX = "note "  # of the keys under which notes are saved
BASE = "notes"  # the key under which the rest is


class Note(NamedTuple):
    """A value, and its stamp: the fence of the holder that wrote it, and which of its notes it is."""

    fence: int = 0
    turn: int = 0
    value: bytes = b""


EMPTY = Note()


class SavedNotes(Notes):
    """There may be many notes, so each is saved under a key of its own."""

    def __init__(self, storage: Storage, me: int, birth: int, view: int, voters: Voters) -> None:
        super().__init__(me, birth, view, voters)
        self.storage = storage
        saved: tuple[Base, Base, tuple[Base, ...]] | None = storage.load(BASE)
        if saved is not None:
            self.view, self.base, handed = saved
            self.handed = dict(handed)
        for key in storage.stored():
            if key.startswith(PREFIX):
                name = key[len(PREFIX) :]
                self.promised[name], *note = storage.load(key)
                self.notes[name] = Note(*note)

    def save_note(self, key: str, out: Out) -> None:
        self.storage.save(PREFIX + key, (self.promised[key], *self.note(key)))

    def save_base(self, out: Out) -> None:
        self.storage.save(BASE, (self.view, self.base, tuple(self.handed.items())))
