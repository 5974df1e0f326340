"""What survives a restart, if there is a directory for it.

Algorithms that survive crashes name in `Node.durable` the attributes that they need back, and call `Out.save` in the
steps that change them. These attributes are on disk before the messages of such a step leave (`congenial.net.turn`).

Values are kept by key, and the latest counts. They are in one file, `state.log`, to which frames are only appended: one
for each sync, with all that was saved since the last one. A frame that is cut off at the end was being written when the
machine stopped. No other member knows of it, so it is dropped.

A log that was cut off later, for whatever reason, must not be taken for that: promises would be missing. So a second
file, `state.mark`, says up to which frame the log has been synced. It is written after every sync, without a sync of
its own. So it is never ahead of the log, and a log that ends before its mark is damaged. After a power failure the mark
may be some seconds behind. What the log has lost after the mark is not noticed then. The mark is also what a process
locks while it uses the directory.

When more than half of the log is out of date, a new one is written beside it and replaces it. `congenial.net.journal`
describes both files byte by byte, `congenial.net.saved` the values.
"""

from __future__ import annotations

import errno
import os
import secrets
import time
from pathlib import Path
from typing import Any

import msgspec

from congenial.kernel.errors import ConfigError
from congenial.net.histogram import Histogram
from congenial.net.journal import FORMAT, Damage, Format, Frames, Header, Owner
from congenial.net.logfile import LogFile, new_log, reopen_log, sync_folder
from congenial.net.markfile import InUse, MarkFile
from congenial.net.saved import PLAIN, SavedForm, UnreadableState

LOG = "state.log"
MARK = "state.mark"
LEAST_GARBAGE = 1 << 16  # bytes that are out of date before the log is replaced, at least
FORGET = "remove its files, and the node comes back as one that has lost its memory"

_decode_entries = msgspec.msgpack.Decoder(list[tuple[str, bytes]]).decode


class Storage:
    """Keeps nothing: everything is lost when the process ends."""

    lasting = False  # is there anything to put on disk?

    def __init__(self) -> None:
        self.syncs = Histogram()  # how long it took until all was on disk

    def load(self, key: str, form: SavedForm = PLAIN) -> Any:
        """What was saved last; None if there is nothing."""
        return None

    def stored(self) -> list[str]:
        return []

    def save(self, key: str, value: object, form: SavedForm = PLAIN) -> None:
        """Keep a value. It may be lost if the machine stops before `sync` has returned."""

    def sync(self) -> None:
        """Wait until all that was saved is on disk. After an `OSError` nothing more can be saved."""

    def check(self) -> None:
        """Raise `OSError` if what is saved would be lost."""

    def close(self) -> None:
        pass

    def abandon(self) -> None:
        """Let others use what this one used. What was not synced is lost."""


class DirectoryStorage(Storage):
    """Keeps values in a directory that no other process uses."""

    lasting = True

    def __init__(self, directory: str | Path, owner: Owner) -> None:
        super().__init__()
        self.shown = directory
        self.directory = Path(os.path.abspath(directory))  # the process may go to another directory
        self.owner = owner
        self.values: dict[str, bytes] = {}
        self.unwritten: dict[str, bytes] = {}
        self.live = 0  # bytes of keys and values
        self.least_garbage = LEAST_GARBAGE
        self.failed = False
        self.mark: MarkFile | None = None
        self.log: LogFile | None = None
        self.header = Header(FORMAT, b"", owner)
        try:
            self._open()
        except OSError as error:
            self.abandon()
            where = f" ({error.filename})" if error.filename else ""
            raise ConfigError(f"cannot keep state in {directory}: {error.strerror or error}{where}") from error
        except BaseException:
            self.abandon()
            raise

    def load(self, key: str, form: SavedForm = PLAIN) -> Any:
        raw = self.values.get(key)
        if raw is None:
            return None
        try:
            return form.decode(raw)
        except UnreadableState as error:
            raise ConfigError(
                f"{self.shown}: the state of {key!r} does not fit this version of the program ({error}): {FORGET}"
            ) from error

    def stored(self) -> list[str]:
        return list(self.values)

    def save(self, key: str, value: object, form: SavedForm = PLAIN) -> None:
        raw = form.encode(value)
        self.unwritten[key] = raw
        self._remember(key, raw)

    def _remember(self, key: str, raw: bytes) -> None:
        before = self.values.get(key)
        self.live += len(raw) - len(before) if before is not None else len(raw) + len(key)
        self.values[key] = raw

    def sync(self) -> None:
        if self.unwritten:
            try:
                self._sync()
            except OSError:
                self.failed = True  # what is on disk is no longer known, and another try could not tell
                raise

    def _sync(self) -> None:
        if self.failed:
            raise OSError(errno.EIO, "saving has failed before")
        self.check()
        assert self.log is not None
        assert self.mark is not None
        started = time.monotonic()
        self.log.append(self.unwritten)
        self.log.sync()
        self.syncs.add(time.monotonic() - started)
        self.unwritten = {}
        self.mark.write(self.log.sequence, self.header.identity)
        if self.log.size - self.live > max(self.live, self.least_garbage):
            self._replace_log()

    def _replace_log(self) -> None:
        assert self.log is not None
        assert self.mark is not None
        try:
            made = new_log(self.log.path, self.header, self.values, self.log.sequence)
        except OSError:  # there is no room for it, perhaps: go on with the old one, which is complete
            self.least_garbage *= 2
            return
        self.log.close()
        self.log = made
        sync_folder(self.directory)
        self.mark.write(self.log.sequence, self.header.identity)

    def check(self) -> None:
        for part in (self.log, self.mark):
            if part is None:
                raise OSError(errno.EIO, "the state directory is no longer in use")
            try:
                there = os.path.samestat(os.stat(part.path), os.fstat(part.file))
            except (FileNotFoundError, NotADirectoryError):
                there = False
            if not there:
                raise FileNotFoundError(errno.ENOENT, f"{part.path} was removed or replaced while the node was running")

    def close(self) -> None:
        """Sync, and let others use the directory."""
        try:
            if self.mark is not None and not self.failed:
                self.sync()
                self.mark.sync()
        finally:
            self.abandon()

    def abandon(self) -> None:
        for part in (self.log, self.mark):
            if part is not None:
                part.close()
        self.log = self.mark = None

    # -- opening ---------------------------------------------------------------------------------------

    def _open(self) -> None:
        if self.directory.exists() and not self.directory.is_dir():
            raise ConfigError(f"cannot keep state in {self.shown}: it is a file; name a directory")
        self.directory.mkdir(parents=True, exist_ok=True)
        path, mark_path = self.directory / LOG, self.directory / MARK
        if path.exists() and not mark_path.exists():
            self._frames(path.read_bytes())  # if the log is from before there were marks, say that
            raise self._refusal(MARK, "missing")
        self.mark = self._lock(mark_path)
        self.log = self._read(path, self.mark) if path.exists() else self._create(path, self.mark)
        self.mark.write(self.log.sequence, self.header.identity)
        self.mark.sync()

    def _lock(self, path: Path) -> MarkFile:
        try:
            return MarkFile(path)
        except InUse as use:
            by = "" if not use.process else " by this process" if use.process == os.getpid() else f" by {use}"
            raise ConfigError(
                f"{self.shown} is in use{by}: every node needs a state directory of its own "
                "({name} in its path stands for the node's name)"
            ) from None

    def _create(self, path: Path, mark: MarkFile) -> LogFile:
        try:
            synced = mark.read().sequence
        except Damage:
            synced = 0  # it was being made when the machine stopped
        if synced:
            raise self._refusal(LOG, "missing")
        self.header = Header(FORMAT, secrets.token_bytes(16), self.owner)
        mark.create(self.header.identity)
        sync_folder(self.directory)  # there is never a log without a mark
        made = new_log(path, self.header, {}, 0)
        sync_folder(self.directory)
        return made

    def _read(self, path: Path, mark: MarkFile) -> LogFile:
        frames = self._frames(path.read_bytes())
        try:
            self._read_header(frames.bodies[0])
            for body in frames.bodies[1:]:
                for key, value in _decode_entries(body):
                    self._remember(key, value)
        except msgspec.MsgspecError as error:
            raise self._refusal(LOG, f"damaged: {error}") from None
        try:
            synced = mark.read()
        except Damage as damage:
            raise self._refusal(MARK, str(damage)) from None
        if synced.identity != self.header.identity:
            raise self._refusal(MARK, f"not the mark of this {LOG}")
        if frames.last < synced.sequence:
            raise self._refusal(LOG, f"cut off: its last frames ({synced.sequence - frames.last}) are missing")
        return reopen_log(path, frames)

    def _frames(self, raw: bytes) -> Frames:
        try:
            return Frames(raw)
        except Damage as damage:
            raise self._refusal(LOG, str(damage)) from None

    def _read_header(self, body: bytes) -> None:
        version = msgspec.msgpack.decode(body, type=Format).format
        if version != FORMAT:
            raise ConfigError(
                f"{self.shown} is in format {version}, and this version of the program reads format {FORMAT}: use the "
                f"version that wrote it; or {FORGET}"
            )
        self.header = msgspec.msgpack.decode(body, type=Header)
        if self.header.owner != self.owner:
            raise ConfigError(
                f"{self.shown} is the state directory of {self.header.owner}, and this is {self.owner}: name this "
                "node's own directory, or a new one (then the node counts as one that has lost its memory)"
            )

    def _refusal(self, name: str, what: str) -> ConfigError:
        return ConfigError(f"{self.shown}: {name} is {what}; {FORGET}")
