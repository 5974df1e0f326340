"""`Bounds`: how far a check or a random run goes, as users write it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

from congenial.checker.events import MOST_FAULTS
from congenial.checker.rules import Rules
from congenial.kernel.errors import ConfigError
from congenial.kernel.inputs import MOST_GROUPS, flag, shown, text, whole
from congenial.kernel.problem import Groups
from congenial.systems.system import System

Wants = str | Sequence[Sequence[Groups]]
"""What each process may ask for: by process, the requests it may make, each of them the groups of which any one will
do. As a string, '0;1;0,1': process 0 asks for group 0, process 1 for group 1, process 2 for either, as the checker
likes (it tries both); '0|1' asks for any one of the two."""

MOST_MENU = 1000  # groups, each of which every process may ask for in every state
ORDERS = ("", "any", "fifo")
TIMERS = ("", "free", "quiet", "patient")


class BoundsFields(TypedDict, total=False):
    """The fields of `Bounds`, for functions that take them as keywords."""

    requests: int
    groups: int | None
    wants: Wants
    order: str
    crashes: int
    losses: int
    duplicates: int
    suspicions: int
    lasting: bool
    timers: str
    recovery: bool
    operations: int


NAMES = tuple(BoundsFields.__annotations__)


@dataclass(frozen=True)
class Bounds:
    """What may happen in the runs that `check` and `fuzz` look at.

    Each process makes `requests` requests, for any of the `groups`, or for what `wants` says. If `groups` is None,
    there are those that `wants` names, or else one. Channels keep the order of messages (`order="fifo"`) or not
    (`"any"`); if it is empty, as the algorithm needs it. There may be so many `crashes`, `losses` and `duplicates` of
    messages, and false `suspicions` of the failure detector. If these are `lasting`, they may last longer than timers
    run, and so may a few messages to a process that suspects their sender: it is cut off. `timers` run out at any time
    (`"free"`), when no message is under way (`"quiet"`) or when nothing else can happen (`"patient"`); if it is empty,
    as the algorithm needs it.
    With `recovery` a crashed process recovers in the end. Under weak exclusion a process may issue `operations`
    operations in each stay.

    >>> Bounds(requests=1, crashes=1).order
    ''
    >>> Bounds(losses=-1)
    Traceback (most recent call last):
    congenial.kernel.errors.ConfigError: losses must not be negative, and is -1
    """

    requests: int = 2
    groups: int | None = None
    wants: Wants = ""
    order: str = ""
    crashes: int = 0
    losses: int = 0
    duplicates: int = 0
    suspicions: int = 0
    lasting: bool = False
    timers: str = ""
    recovery: bool = True
    operations: int = 0

    def __post_init__(self) -> None:
        whole(self.requests, "requests", 1)
        if self.groups is not None:
            whole(self.groups, "groups", 1, MOST_MENU)
        for name in ("crashes", "losses", "duplicates", "suspicions"):
            whole(getattr(self, name), name, 0, MOST_FAULTS)
        whole(self.operations, "operations", 0)
        flag(self.recovery, "recovery")
        flag(self.lasting, "lasting")
        if text(self.order, "order") not in ORDERS:
            raise ConfigError(f"order must be any or fifo, not {shown(self.order)}")
        if text(self.timers, "timers") not in TIMERS:
            raise ConfigError(
                "timers must be free (any time), quiet (when no message is under way) or patient (when nothing else "
                f"can happen), not {shown(self.timers)}"
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
            lasting=self.lasting,
            patient=timers == "patient",
            quiet=timers == "quiet",
            recovery=self.recovery,
            operations=system.operations(self.operations),
        )


def bounds_from(bounds: Bounds | None, fields: BoundsFields, default: Bounds) -> Bounds:
    """The bounds given as a whole, if any, with those given one by one in their place."""
    if bounds is not None and not isinstance(bounds, Bounds):
        raise ConfigError(f"bounds must be a Bounds, not {shown(bounds)}")
    for name in fields:
        if name not in NAMES:
            raise ConfigError(f"there is no parameter {name!r}; the bounds are: {', '.join(NAMES)}")
    return replace(default if bounds is None else bounds, **fields)


def menus(wants: Wants, nodes: int, groups: int | None) -> list[list[Groups]]:
    """The requests that each process may make; if `wants` is empty, for any one of the groups."""
    if not wants:
        return [[(group,) for group in range(groups or 1)]] * nodes
    found = parse_wants(wants) if isinstance(wants, str) else _as_menus(wants)
    if len(found) != nodes or not all(found):
        raise ConfigError(f"wants {shown(wants)} should say for each of the {nodes} processes what it may ask for")
    for menu in found:
        for ask in menu:
            for group in ask or (-1,):
                if not 0 <= group < (groups or MOST_GROUPS):
                    there = f": 0..{groups - 1}, since groups is {groups}" if groups else ": 0, 1, ..."
                    raise ConfigError(f"wants {shown(wants)} should name groups that there are{there}")
    return found


def _as_menus(wants: Any) -> list[list[Groups]]:
    try:
        found = [[tuple(ask) for ask in menu] for menu in wants]
    except TypeError:
        found = [[("",)]]
    for menu in found:
        for ask in menu:
            if not all([isinstance(group, int) and not isinstance(group, bool) for group in ask]):
                raise ConfigError(f"wants must be a text, or for each process a list of requests, not {shown(wants)}")
    return found


def parse_wants(words: str) -> list[list[Groups]]:
    try:
        return [
            [tuple(sorted({int(group) for group in ask.split("|")})) for ask in process.split(",")]
            for process in words.split(";")
        ]
    except ValueError:
        raise ConfigError(f"wants {shown(words)} is not like '0;1;0,1': groups by process, separated by ';'") from None
