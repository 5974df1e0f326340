"""Log lines that a person can read and a machine can parse: one event each, with named values.

The names of events and values stay as they are from version to version. docs/operations.md lists them.
"""

from __future__ import annotations

import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable

logger = logging.getLogger("congenial.net")


def log(level: int, event: str, **values: object) -> None:
    """Write `event key=value ...`; a handler with `JsonLines` writes the same as one JSON object."""
    _log(level, event, values, False)


def log_exception(level: int, event: str, **values: object) -> None:
    """The same with the exception that is being handled."""
    _log(level, event, values, True)


def _log(level: int, event: str, values: dict[str, object], trace: bool) -> None:
    if logger.isEnabledFor(level):
        text = " ".join([event, *[f"{name}={value}" for name, value in values.items()]])
        logger.log(level, "%s", text, exc_info=trace, extra={"event": event, "values": values})


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": getattr(record, "event", record.getMessage()),
            **getattr(record, "values", {}),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class Seldom:
    """Tells what is worth a line in the log: what has not been said lately."""

    def __init__(self, now: Callable[[], float], pause: float = 600.0, most: int = 1000) -> None:
        self.now = now
        self.pause = pause  # seconds
        self.most = most  # things that are remembered
        self.said: OrderedDict[tuple[str, ...], float] = OrderedDict()

    def first(self, *what: str) -> bool:
        now = self.now()
        said = self.said.get(what)
        if said is not None and now - said < self.pause:
            return False
        self.said[what] = now
        self.said.move_to_end(what)
        if len(self.said) > self.most:
            self.said.popitem(last=False)
        return True
