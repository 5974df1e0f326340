"""Arrivals: requests at given times, as values or from a file."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import Any

from congenial.kernel.errors import ConfigError
from congenial.kernel.inputs import MOST_GROUPS, amount, shown, whole
from congenial.kernel.problem import Groups


@dataclass(frozen=True)
class Arrival:
    """At `time`, an application of `process` asks for any of `groups`, to hold for `hold` (None: as others do).

    >>> Arrival(time=5, process=2).groups
    (0,)
    """

    time: float
    process: int
    groups: Groups = (0,)
    hold: float | None = None

    def __post_init__(self) -> None:
        amount(self.time, "time")
        whole(self.process, "process", 0)
        if self.hold is not None:
            amount(self.hold, "hold")
        if not isinstance(self.groups, (tuple, list)) or not self.groups:
            raise ConfigError(f"groups must be a tuple of at least one group, not {shown(self.groups)}")
        for group in self.groups:
            whole(group, "groups", 0, MOST_GROUPS)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Arrival, (self.time, self.process, self.groups, self.hold))


def read_arrivals(path: str, n: int) -> list[Arrival]:
    """Read the arrivals at n processes from a CSV file with the columns time, process, group, hold (group and hold may
    be absent). Several groups, any of which will do, are written 1|4."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            found = [_arrival(row, n) for row in csv.DictReader(file)]
    except OSError as error:
        raise ConfigError(f"cannot read the arrivals in {path}: {error.strerror}") from error
    except (KeyError, ValueError, TypeError, csv.Error) as error:
        what = f"there is no column {error}" if isinstance(error, KeyError) else str(error)
        raise ConfigError(f"{path} should be CSV with the columns time, process[, group, hold]: {what}") from error
    if not found:
        raise ConfigError(f"{path} holds no arrivals")
    return found


def _arrival(row: dict[str, str], n: int) -> Arrival:
    groups = tuple([int(group) for group in (row.get("group") or "0").split("|")])
    hold = float(row["hold"]) if row.get("hold") else None
    arrival = Arrival(float(row["time"]), int(row["process"]), groups, hold)
    if _impossible(arrival, n):
        raise ValueError(_impossible(arrival, n))
    return arrival


def as_arrivals(given: Any, n: int) -> list[Arrival]:
    """Arrivals at n processes, as a user gives them."""
    if not isinstance(given, (list, tuple)) or not given:
        raise ConfigError(f"load must be a text or a list of arrivals, not {shown(given)}")
    for arrival in given:
        if not isinstance(arrival, Arrival):
            raise ConfigError(f"load must be a list of arrivals, and {shown(arrival)} is none")
        if _impossible(arrival, n):
            raise ConfigError(f"load: {_impossible(arrival, n)}")
    return list(given)


def _impossible(arrival: Arrival, n: int) -> str:
    """Why there can be no such arrival, or nothing."""
    return "" if arrival.process < n else f"{arrival.process} is not a process (0..{n - 1})"
