"""Faults: what may go wrong, by rate and by script.

Rates act all the time; a script says what happens when. Times are simulated time, processes 0..n-1.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from congenial.kernel.errors import ConfigError

FOREVER = float("inf")


@dataclass(frozen=True)
class MessageFault:
    """A share `rate` of all messages sent between `start` and `end` meets with it."""

    rate: float
    start: float = 0.0
    end: float = FOREVER


@dataclass(frozen=True)
class Outage:
    """Process `process` is away from `start` to `end`; `FOREVER` if it does not come back."""

    process: int
    start: float
    end: float = FOREVER


@dataclass(frozen=True)
class Partition:
    """From `start` to `end`, messages sent from one side to another are lost. Whoever is not named is in side 0."""

    sides: tuple[tuple[int, ...], ...]
    start: float
    end: float = FOREVER


@dataclass(frozen=True)
class RandomOutages:
    """Every process goes away at exponential times, `rate` per unit of time, for an exponential time each."""

    rate: float
    duration: float


@dataclass(frozen=True)
class RandomPartitions:
    """At exponential times the processes fall into two random parts, for an exponential time each."""

    rate: float
    duration: float


@dataclass(frozen=True)
class Faults:
    loss: tuple[MessageFault, ...] = ()
    duplication: tuple[MessageFault, ...] = ()
    reordering: tuple[MessageFault, ...] = ()  # on FIFO channels: the message may be overtaken
    crashes: tuple[Outage | RandomOutages, ...] = ()
    pauses: tuple[Outage | RandomOutages, ...] = ()
    partitions: tuple[Partition | RandomPartitions, ...] = ()
    suspicions: tuple[Outage | RandomOutages, ...] = ()  # false ones: all others believe that the process is away
    detection: float = -1.0  # time from a crash or recovery until the others are told; negative: never
    any: bool = field(init=False)

    def __post_init__(self) -> None:
        rates = (self.loss, self.duplication, self.reordering)
        scripts = (self.crashes, self.pauses, self.partitions, self.suspicions)
        object.__setattr__(self, "any", any([bool(part) for part in (*rates, *scripts)]))


NO_FAULTS = Faults()


def parse_message_fault(text: str, what: str) -> MessageFault:
    """'0.1', or '0.1@100-200' for a stretch of time."""
    head, start, end = _split_times(text, what)
    rate = _number(head, what)
    if not 0 <= rate <= 1:
        raise ConfigError(f"{what} {text!r}: a share of messages lies between 0 and 1")
    return MessageFault(rate, start, end)


def parse_outage(text: str, what: str, n: int) -> Outage | RandomOutages:
    """'3@100-200' or '3@100' for process 3; '0.001/50' for any, 0.001 times per unit of time, 50 long."""
    if "@" not in text:
        rate, duration = _rate(text, what)
        return RandomOutages(rate, duration)
    head, start, end = _split_times(text, what)
    return Outage(_process(head, what, n), start, end)


def parse_partition(text: str, n: int) -> Partition | RandomPartitions:
    """'0,1|2,3@100-200', or '0.001/50' for random ones."""
    if "@" not in text:
        rate, duration = _rate(text, "partition")
        return RandomPartitions(rate, duration)
    head, start, end = _split_times(text, "partition")
    sides = tuple([tuple([_process(p, "partition", n) for p in side.split(",")]) for side in head.split("|")])
    return Partition(sides, start, end)


def _split_times(text: str, what: str) -> tuple[str, float, float]:
    head, _, times = text.partition("@")
    start, _, end = times.partition("-")
    window = (_number(start, what) if start else 0.0, _number(end, what) if end else FOREVER)
    if window[0] < 0 or window[1] < window[0]:
        raise ConfigError(f"{what} {text!r}: the time should be FROM-TO, with FROM not after TO")
    return head, window[0], window[1]


def _rate(text: str, what: str) -> tuple[float, float]:
    rate, slash, duration = text.partition("/")
    if not slash:
        raise ConfigError(f"{what} {text!r} is neither WHO@FROM[-TO] nor RATE/DURATION")
    values = (_number(rate, what), _number(duration, what))
    if values[0] <= 0 or values[1] <= 0:
        raise ConfigError(f"{what} {text!r}: rate and duration must be above 0")
    return values


def _process(text: str, what: str, n: int) -> int:
    if not text.strip().isdigit() or not 0 <= int(text) < n:
        raise ConfigError(f"{what}: {text!r} is not a process (0..{n - 1})")
    return int(text)


def _number(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"{what}: {text!r} is not a number") from None
