"""Replications on disk: one line of JSON each, appended as they finish, so an interrupted sweep can be resumed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from congenial.kernel.errors import ConfigError, CongenialError
from congenial.lab.replication import Replication, RunRecord, fingerprint
from congenial.trace_files import check_folder_writable

FILE = "replications.ndjson"


class Store:
    """The records of a folder; without a folder, in memory only. To `look` is to change nothing there. Records in the
    folders `beside` it are known, too, and stay where they are."""

    def __init__(self, folder: Path | None = None, look: bool = False, beside: Sequence[Path] = ()) -> None:
        self.path = folder / FILE if folder is not None else None
        self.records: dict[str, RunRecord] = {}
        for other in beside:
            try:
                self._read(other / FILE, look=True)
            except OSError as error:
                raise ConfigError(f"cannot read {other}: {error.strerror}") from error
        if self.path is not None:
            if not look:
                check_folder_writable(self.path.parent, "results")
            try:
                if not look:
                    self.path.parent.mkdir(parents=True, exist_ok=True)
                self._read(self.path, look)
            except OSError as error:
                raise ConfigError(f"cannot use {self.path.parent}: {error.strerror}") from error

    def _read(self, path: Path, look: bool) -> None:
        if not path.exists():
            return
        data = path.read_bytes()
        torn = len(data) - (data.rfind(b"\n") + 1)
        if torn and not look:  # the process was killed while it wrote the last line
            with path.open("r+b") as file:
                file.truncate(len(data) - torn)
        for number, line in enumerate(data[: len(data) - torn].decode("utf-8", "replace").splitlines(), 1):
            try:
                record = RunRecord.from_json(line)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ConfigError(f"{path}, line {number} is no replication; delete the line or the file") from error
            if record.code == fingerprint(record.replication.algorithm):
                self.records[record.replication.key()] = record

    def get(self, work: Replication) -> RunRecord | None:
        return self.records.get(work.key())

    def add(self, record: RunRecord) -> None:
        self.records[record.replication.key()] = record
        if self.path is not None:
            try:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(record.to_json() + "\n")
            except OSError as error:
                raise CongenialError(f"cannot write to {self.path}: {error.strerror}") from error
