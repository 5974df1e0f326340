"""The mark of a state directory: how far its log was synced, and which process uses it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from congenial.net.journal import MARK_SIZE, PLACE_SIZE, Damage, Mark, pack_mark, read_marks


class InUse(Exception):
    """Another process has locked the mark, or this one has; `process` is its number, or 0 if that is not known."""

    def __init__(self, process: int) -> None:
        super().__init__(f"process {process}")
        self.process = process


class MarkFile:
    """Open and locked until it is closed. A process that is killed lets go of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = 0  # to be written next
        self.file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            found = _latest(read_marks(os.pread(self.file, MARK_SIZE, 0)))
            os.close(self.file)
            raise InUse(0 if found is None else found.process) from None
        except OSError:
            os.close(self.file)
            raise

    def read(self) -> Mark:
        """What was written last; `Damage` if that cannot be read."""
        raw = os.pread(self.file, MARK_SIZE + 1, 0)
        if len(raw) != MARK_SIZE:
            raise Damage(f"{os.fstat(self.file).st_size} bytes long instead of {MARK_SIZE}")
        marks = read_marks(raw)
        found = _latest(marks)
        if found is None:
            raise Damage("damaged: neither of its places can be read")
        self.place = 1 - marks.index(found)
        return found

    def create(self, identity: bytes) -> None:
        """Begin from the start: nothing is synced yet."""
        os.ftruncate(self.file, 0)
        empty = pack_mark(Mark(0, identity, os.getpid()))
        os.pwrite(self.file, empty + empty, 0)
        os.fsync(self.file)

    def write(self, sequence: int, identity: bytes) -> None:
        os.pwrite(self.file, pack_mark(Mark(sequence, identity, os.getpid())), self.place * PLACE_SIZE)
        self.place = 1 - self.place

    def sync(self) -> None:
        os.fsync(self.file)

    def close(self) -> None:
        os.close(self.file)


def _latest(marks: list[Mark | None]) -> Mark | None:
    return max([mark for mark in marks if mark is not None], key=lambda mark: mark.sequence, default=None)
