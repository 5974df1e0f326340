"""Trace files: NDJSON, one event a line (`congenial.kernel.trace` has the schema)."""

from __future__ import annotations

import json
from pathlib import Path

from congenial.kernel.errors import ConfigError
from congenial.kernel.trace import KINDS, Event, Trace


class TraceFile(Trace):
    """A trace written to a file as it happens."""

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        try:
            self.file = open(path, "w", encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"cannot write the trace to {path}: {error.strerror}") from error

    def record(self, event: Event) -> None:
        self.file.write(json.dumps(event.as_dict(), separators=(",", ":")) + "\n")

    def close(self) -> None:
        self.file.close()


def read_trace(path: str | Path) -> list[Event]:
    """The events of a trace file. `ConfigError` names a line that is not an event."""
    events: list[Event] = []
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the trace {path}: {error}") from error
    for number, line in enumerate(lines, 1):
        try:
            data = json.loads(line)
            if data["event"] not in KINDS:
                raise ValueError(f"unknown event {data['event']!r}")
            data["groups"] = tuple(data.get("groups", ()))
            data["choices"] = tuple(data.get("choices", ()))
            events.append(Event(**data))
        except (ValueError, TypeError, KeyError) as error:
            raise ConfigError(f"{path}, line {number}: not a trace event ({error})") from error
    return events
