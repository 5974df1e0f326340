"""Log lines that a person can read and a machine can parse: one event each, with named values."""

from __future__ import annotations

import json
import logging
import time

logger = logging.getLogger("congenial.net")


def log(level: int, event: str, **values: object) -> None:
    """Write `event key=value ...`; a handler with `JsonLines` writes the same as one JSON object."""
    if logger.isEnabledFor(level):
        text = " ".join([event, *[f"{name}={value}" for name, value in values.items()]])
        logger.log(level, "%s", text, extra={"event": event, "values": values})


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": getattr(record, "event", record.getMessage()),
            **getattr(record, "values", {}),
        }
        return json.dumps(line, default=str)
