"""The log of a state directory: a file of frames (`congenial.net.journal`) that grows, and is replaced now and then."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from congenial.net.journal import Frames, Header, pack_frame

LARGEST_FRAME = 1 << 20  # bytes of values in a frame of a new log

_encode = msgspec.msgpack.Encoder().encode


class LogFile:
    """Open at its end. `sequence` is the number of the last frame."""

    def __init__(self, path: Path, file: int, sequence: int, size: int) -> None:
        self.path = path
        self.file = file
        self.sequence = sequence
        self.size = size

    def append(self, entries: Mapping[str, bytes]) -> None:
        self._append(_encode(list(entries.items())))

    def _append(self, body: bytes) -> None:
        frame = pack_frame(self.sequence + 1, body)
        rest = frame
        while rest:
            rest = rest[os.write(self.file, rest) :]
        self.sequence += 1
        self.size += len(frame)

    def sync(self) -> None:
        os.fdatasync(self.file)

    def close(self) -> None:
        os.close(self.file)


def reopen_log(path: Path, frames: Frames) -> LogFile:
    """The log that holds these frames, without what follows them."""
    file = os.open(path, os.O_RDWR | os.O_APPEND)
    try:
        os.ftruncate(file, frames.end)
        os.fsync(file)  # what was written but not synced counts from now on
    except BaseException:
        os.close(file)
        raise
    return LogFile(path, file, frames.last, frames.end)


def new_log(path: Path, header: Header, values: Mapping[str, bytes], sequence: int) -> LogFile:
    """A log with these values, in frames after `sequence`. It is synced, and then replaces the one that is there."""
    draft = path.with_name(f"{path.name}.new")
    made = LogFile(path, os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600), sequence, 0)
    try:
        made._append(_encode(header))
        entries: dict[str, bytes] = {}
        size = 0
        for key, value in values.items():
            entries[key] = value
            size += len(value)
            if size > LARGEST_FRAME:
                made.append(entries)
                entries = {}
                size = 0
        if entries:
            made.append(entries)
        os.fsync(made.file)
        os.replace(draft, path)
    except BaseException:
        made.close()
        draft.unlink(missing_ok=True)
        raise
    return made


def sync_folder(path: Path) -> None:
    """Make the names of new files survive."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
