"""Trace files: NDJSON, one event a line (`congenial.kernel.trace` has the schema). And what all files have in common
that users ask for: it is found out early whether they can be written, and a run that fails leaves an old one alone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from congenial.kernel.errors import ConfigError, CongenialError
from congenial.kernel.inputs import shown
from congenial.kernel.trace import KINDS, Event, Trace

WHOLE = ("node", "peer", "id", "group", "fence", "timer")


def why(error: Exception) -> str:
    """What the operating system says, in a few words."""
    return getattr(error, "strerror", None) or str(error)


def as_path(value: Any, name: str) -> Path:
    """A path that a user gave."""
    if not isinstance(value, (str, os.PathLike)) or not str(value) or "\0" in str(value):
        raise ConfigError(f"{name} must be a path, not {shown(value)}")
    return Path(value)


def check_writable(path: str | Path, what: str) -> None:
    """Refuse a file that cannot be written, before the work whose result it should hold. Nothing is changed."""
    try:
        if os.path.exists(path):
            with open(path, "ab"):
                return
        with open(path, "xb"):
            pass
        os.unlink(path)
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot write the {what} to {path}: {why(error)}") from error


def check_folder_writable(path: Path, what: str) -> None:
    """Refuse a folder that cannot be made or written into. Nothing is changed."""
    there = path
    try:
        while not there.exists() and there != there.parent:
            there = there.parent
        if not there.is_dir():
            raise ConfigError(f"cannot write the {what} to {path}: {there} is no folder")
        with TemporaryDirectory(dir=there, prefix=".congenial-"):
            pass
    except ConfigError:
        raise
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot write the {what} to {path}: {why(error)}") from error


class TraceFile(Trace):
    """A trace written to a file as it happens.

    If there is a file of this name already, the trace is written beside it, and takes its place when it is complete.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self.path = str(as_path(path, "trace"))
        check_writable(self.path, "trace")
        self.target = f"{self.path}.part" if os.path.isfile(self.path) else self.path
        self.failure: OSError | None = None
        try:
            self.file = open(self.target, "w", encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"cannot write the trace to {self.path}: {error.strerror}") from error

    def record(self, event: Event) -> None:
        if self.failure is None:
            try:
                self.file.write(json.dumps(event.as_dict(), separators=(",", ":")) + "\n")
            except OSError as error:  # reported at the end: the node whose step this is did nothing wrong
                self.failure = error

    def close(self) -> None:
        """The run is over."""
        try:
            self.file.close()
        except OSError as error:
            self.failure = error
        if self.failure is not None:
            self.give_up()
            raise CongenialError(f"cannot write the trace to {self.path}: {self.failure.strerror}")
        if self.target != self.path:
            os.replace(self.target, self.path)

    def give_up(self, interrupted: bool = False) -> None:
        """There was no run: leave nothing behind. If it was interrupted, a new file keeps what there was of it."""
        try:
            self.file.close()
        except OSError:
            pass
        if os.path.isfile(self.target) and not (interrupted and self.target == self.path):
            os.unlink(self.target)


def read_trace(path: str | Path) -> list[Event]:
    """The events of a trace file. `ConfigError` names a line that is not an event."""
    events: list[Event] = []
    try:
        lines = as_path(path, "path").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the trace {path}: {why(error)}") from error
    for number, line in enumerate(lines, 1):
        try:
            events.append(_event(json.loads(line)))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            what = f"there is no {error}" if isinstance(error, KeyError) else str(error)
            raise ConfigError(f"{path}, line {number}: not a trace event ({what})") from error
    return events


def _event(data: Any) -> Event:
    if not isinstance(data, dict):
        raise ValueError("it is no JSON object")
    if data["event"] not in KINDS:
        raise ValueError(f"unknown event {shown(data['event'])}")
    for name in WHOLE:
        if not _is_whole(data.get(name, 0)):
            raise ValueError(f"{name} must be a whole number, not {shown(data[name])}")
    if isinstance(data["t"], bool) or not isinstance(data["t"], (int, float)):
        raise ValueError(f"t must be a number, not {shown(data['t'])}")
    if not isinstance(data.get("message", ""), str) or not isinstance(data.get("fields", {}), dict | None):
        raise ValueError("message must be a text, and fields an object")
    for name in ("groups", "choices"):
        if not isinstance(data.get(name, []), list) or not all([_is_whole(member) for member in data.get(name, [])]):
            raise ValueError(f"{name} must be a list of whole numbers, not {shown(data[name])}")
    return Event(**{**data, "groups": tuple(data.get("groups", ())), "choices": tuple(data.get("choices", ()))})


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62
