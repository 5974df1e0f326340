"""`Bounds`: how far a check or a random run goes, as users write it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from congenial.checker.rules import Rules
from congenial.kernel.errors import ConfigError
from congenial.kernel.problem import Groups
from congenial.systems.system import System

Wants = str | Sequence[Sequence[Groups]]
"""What each process may ask for: by process, the requests it may make, each of them the groups of which any one will
do. As a string, '0;1;0,1': process 0 asks for group 0, process 1 for group 1, process 2 for either, as the checker
likes (it tries both); '0|1' asks for any one of the two."""

ORDERS = ("", "any", "fifo")
TIMERS = ("", "free", "quiet", "patient")


class BoundsFields(TypedDict, total=False):
    """The fields of `Bounds`, for functions that take them as keywords."""

    requests: int
    groups: int
    wants: Wants
    order: str
    crashes: int
    losses: int
    duplicates: int
    suspicions: int
    timers: str
    recovery: bool
    operations: int


@dataclass(frozen=True)
class Bounds:
    """What may happen in the runs that `check` and `fuzz` look at.

    Each process makes `requests` requests, for any of the `groups`, or for what `wants` says. Channels keep the order
    of messages (`order="fifo"`) or not (`"any"`); if it is empty, as the algorithm needs it. There may be so many
    `crashes`, `losses` and `duplicates` of messages, and false `suspicions` of the failure detector. `timers` run out
    at any time (`"free"`), when no message is under way (`"quiet"`) or when nothing else can happen (`"patient"`); if
    it is empty, as the algorithm needs it. With `recovery` a crashed process recovers in the end. Under weak exclusion
    a process may issue `operations` operations in each stay.

    >>> Bounds(requests=1, crashes=1).order
    ''
    >>> Bounds(losses=-1)
    Traceback (most recent call last):
    congenial.kernel.errors.ConfigError: losses must be a whole number, at least 0, not -1
    """

    requests: int = 2
    groups: int = 1
    wants: Wants = ""
    order: str = ""
    crashes: int = 0
    losses: int = 0
    duplicates: int = 0
    suspicions: int = 0
    timers: str = ""
    recovery: bool = True
    operations: int = 0

    def __post_init__(self) -> None:
        at_least(1, self.requests, "requests")
        at_least(1, self.groups, "groups")
        at_least(0, self.crashes, "crashes")
        at_least(0, self.losses, "losses")
        at_least(0, self.duplicates, "duplicates")
        at_least(0, self.suspicions, "suspicions")
        at_least(0, self.operations, "operations")
        if self.order not in ORDERS:
            raise ConfigError(f"order must be any or fifo, not {self.order!r}")
        if self.timers not in TIMERS:
            raise ConfigError(
                "timers must be free (any time), quiet (when no message is under way) or patient (when nothing else "
                f"can happen), not {self.timers!r}"
            )

    def rules(self, system: System) -> Rules:
        """What these bounds are for one system."""
        timers = self.timers or ("patient" if system.spec.patient else "free")
        return Rules(
            requests=self.requests,
            menus=menus(self.wants, system.n, self.groups),
            fifo=self.order == "fifo" if self.order else system.spec.fifo,
            crashes=self.crashes,
            losses=self.losses,
            duplicates=self.duplicates,
            suspicions=self.suspicions,
            patient=timers == "patient",
            quiet=timers == "quiet",
            recovery=self.recovery,
            operations=system.operations(self.operations),
        )


def bounds_from(bounds: Bounds | None, fields: BoundsFields, default: Bounds) -> Bounds:
    """The bounds given as a whole, if any, with those given one by one in their place."""
    return replace(default if bounds is None else bounds, **fields)


def at_least(least: int, value: int, name: str) -> int:
    if not isinstance(value, int) or value < least:
        raise ConfigError(f"{name} must be a whole number, at least {least}, not {value!r}")
    return value


def menus(wants: Wants, nodes: int, groups: int) -> list[list[Groups]]:
    """The requests that each process may make; if `wants` is empty, for any one of the groups."""
    if not wants:
        return [[(group,) for group in range(groups)]] * nodes
    found = parse_wants(wants) if isinstance(wants, str) else [[tuple(ask) for ask in menu] for menu in wants]
    if len(found) != nodes or not all(found):
        raise ConfigError(f"wants {wants!r} should say for each of the {nodes} processes what it may ask for")
    if any(not ask or min(ask) < 0 for menu in found for ask in menu):
        raise ConfigError(f"wants {wants!r} should name groups: 0, 1, ...")
    return found


def parse_wants(text: str) -> list[list[Groups]]:
    try:
        return [
            [tuple(sorted({int(group) for group in ask.split("|")})) for ask in process.split(",")]
            for process in text.split(";")
        ]
    except ValueError:
        raise ConfigError(f"wants {text!r} is not like '0;1;0,1': groups by process, separated by ';'") from None
