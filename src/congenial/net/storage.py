"""What survives a restart, if there is a directory for it.

Algorithms that survive crashes name in `Node.durable` the attributes that they need back, and call `Out.save` in the
steps that change them. These attributes are on disk before the messages of such a step leave (`congenial.net.turn`).

Everything is in one file, to which records are only appended: a key and its value, of which the latest counts. Many
records may be saved and then synced in one go. A record is written as

    length (4 bytes), checksum of the length (4), checksum of the body (4), body, a last byte 0xFF

A record that is cut off at the end was being written when the machine stopped. No other member knows of it, so it is
ignored. Zeros at the end mean the same: some file systems make a file longer before they fill it. Anything else that
does not fit its checksum is damage: a promise may be missing, and the node must not go on as if it knew everything.

When more than half of the file is out of date, a new file is written beside it and replaces it.
"""

from __future__ import annotations

import fcntl
import os
import pickle
from pathlib import Path
from struct import Struct
from zlib import crc32

from congenial.kernel.errors import ConfigError

NAME = "state.log"
LEAST_GARBAGE = 1 << 20  # bytes that are out of date before the file is replaced
HEAD = Struct(">III")  # length of the body, its checksum, the body's checksum
END = b"\xff"  # no single flipped bit makes it the zero of a byte that was never written


class Storage:
    """Keeps nothing: everything is lost when the process ends."""

    def load(self, key: str) -> object | None:
        return None

    def stored(self) -> list[str]:
        return []

    def save(self, key: str, value: object) -> None:
        """Keep a value. It may be lost if the machine stops before `sync` has returned."""

    def sync(self) -> None:
        """Wait until all that was saved is on disk."""

    def close(self) -> None:
        pass

    def abandon(self) -> None:
        """Close all files. What was not synced is lost, and nothing is written any more."""


class DirectoryStorage(Storage):
    """Keeps values in a directory that no other process uses."""

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self.path = self.directory / NAME
        self.values: dict[str, bytes] = {}  # the record of each key
        self.live = 0  # bytes of these
        self.size = 0  # of the file
        self.unwritten: list[bytes] = []
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self.file)
            raise ConfigError(
                f"{directory} is in use: every node needs a state directory of its own ({{name}} is the node's name)"
            ) from None
        except OSError as error:
            raise ConfigError(f"cannot keep state in {directory}: {error.strerror}") from error
        try:
            self._read()
        except ConfigError:
            os.close(self.file)
            raise
        self._sync_folder()

    def load(self, key: str) -> object | None:
        record = self.values.get(key)
        if record is None:
            return None
        try:
            value: object = pickle.loads(record[HEAD.size : -1])[1]
        except Exception as error:  # it was written by another version of the program
            raise self._damaged(f"{key!r} cannot be read: {error}") from error
        return value

    def stored(self) -> list[str]:
        return list(self.values)

    def save(self, key: str, value: object) -> None:
        body = pickle.dumps((key, value))
        record = _head(body) + body + END
        self.unwritten.append(record)
        self._remember(key, record)

    def sync(self) -> None:
        if self.unwritten:
            records = b"".join(self.unwritten)
            self.unwritten = []
            _write(self.file, records)
            os.fdatasync(self.file)
            self.size += len(records)
            if self.size - self.live > max(self.live, LEAST_GARBAGE):
                self._replace_file()

    def close(self) -> None:
        self.sync()
        self.abandon()

    def abandon(self) -> None:
        os.close(self.file)

    # -- the file --------------------------------------------------------------------------------------

    def _read(self) -> None:
        raw = self.path.read_bytes()
        start = 0
        while start < len(raw):
            record = self._record(raw, start)
            if not record:
                os.ftruncate(self.file, start)
                break
            try:
                key = pickle.loads(record[HEAD.size : -1])[0]
            except Exception as error:
                raise self._damaged(f"the record at byte {start} cannot be read: {error}") from error
            self._remember(key, record)
            start += len(record)
        self.size = start

    def _record(self, raw: bytes, start: int) -> bytes:
        """The record that starts here; empty if it was never finished."""
        written = len(raw) - start
        if not raw[-1]:
            written = len(raw[start:].rstrip(b"\0"))
        if written < HEAD.size:
            return b""
        length, length_sum, body_sum = HEAD.unpack_from(raw, start)
        if length_sum != crc32(raw[start : start + 4]):
            raise self._damaged(f"at byte {start}")
        whole = HEAD.size + length + 1
        if written < whole:
            return b""
        record = raw[start : start + whole]
        if body_sum != crc32(record[HEAD.size : -1]) or record[-1:] != END:
            raise self._damaged(f"in the record at byte {start}")
        return record

    def _damaged(self, where: str) -> ConfigError:
        return ConfigError(
            f"{self.path} is damaged, {where}: remove it, and the node comes back as one that has lost its memory"
        )

    def _remember(self, key: str, record: bytes) -> None:
        self.live += len(record) - len(self.values.get(key, b""))
        self.values[key] = record

    def _replace_file(self) -> None:
        draft = self.directory / f"{NAME}.new"
        file = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX)
        _write(file, b"".join(self.values.values()))
        os.fsync(file)
        os.replace(draft, self.path)
        self._sync_folder()  # the new name, too, must survive
        os.close(self.file)
        self.file = file
        self.size = self.live

    def _sync_folder(self) -> None:
        folder = os.open(self.directory, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _head(body: bytes) -> bytes:
    length = len(body).to_bytes(4, "big")
    return HEAD.pack(len(body), crc32(length), crc32(body))


def _write(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]
