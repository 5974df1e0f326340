"""Faults as values: what may go wrong, when and how often.

Times are simulated time; processes are 0..n-1. Every fault can also be written as text, as the command line takes it:
`str` gives that text, and the `parse_...` functions read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from congenial.kernel.errors import ConfigError
from congenial.kernel.inputs import amount, shown, whole
from congenial.sim.chance import plain

FOREVER = float("inf")


@dataclass(frozen=True)
class MessageFault:
    """It hits a share `rate` of all messages sent between `start` and `end`. Which fault it is (a loss, a
    duplication, a reordering) depends on where it is given.

    >>> str(MessageFault(0.1, start=100, end=200))
    '0.1@100-200'
    """

    rate: float
    start: float = 0.0
    end: float = FOREVER

    def __post_init__(self) -> None:
        if amount(self.rate, "rate") > 1:
            raise ConfigError("a share of messages lies between 0 and 1")
        _check_times(self.start, self.end)

    def __str__(self) -> str:
        if self.start == 0 and self.end == FOREVER:
            return plain(self.rate)
        return f"{plain(self.rate)}@{_times(self.start, self.end)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (MessageFault, (self.rate, self.start, self.end))


@dataclass(frozen=True)
class Outage:
    """Something is wrong with `process` from `start` to `end`: it has crashed, is paused, or is falsely suspected.
    Without an `end` it stays so.

    >>> str(Outage(process=2, start=100, end=200))
    '2@100-200'
    """

    process: int
    start: float
    end: float = FOREVER

    def __post_init__(self) -> None:
        whole(self.process, "process", 0)
        _check_times(self.start, self.end)

    def __str__(self) -> str:
        return f"{self.process}@{_times(self.start, self.end)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Outage, (self.process, self.start, self.end))


@dataclass(frozen=True)
class Partition:
    """From `start` to `end`, messages sent from one side to another are lost. Processes that no side names are on the
    first side.

    >>> str(Partition([[0, 1], [2, 3]], start=100, end=200))
    '0,1|2,3@100-200'
    """

    sides: Sequence[Sequence[int]]
    start: float
    end: float = FOREVER

    def __post_init__(self) -> None:
        object.__setattr__(self, "sides", _sides(self.sides))
        _check_times(self.start, self.end)

    def __str__(self) -> str:
        sides = "|".join([",".join([str(process) for process in side]) for side in self.sides])
        return f"{sides}@{_times(self.start, self.end)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Partition, (self.sides, self.start, self.end))


@dataclass(frozen=True)
class RandomOutages:
    """Outages of every process, at exponential times: `rate` per unit of time, of mean length `duration`.

    >>> str(RandomOutages(rate=0.001, duration=50))
    '0.001/50'
    """

    rate: float
    duration: float

    def __post_init__(self) -> None:
        _check_rate(self.rate, self.duration)

    def __str__(self) -> str:
        return f"{plain(self.rate)}/{plain(self.duration)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (RandomOutages, (self.rate, self.duration))


@dataclass(frozen=True)
class RandomPartitions:
    """Partitions into two random sides, at exponential times: `rate` per unit of time, of mean length `duration`.

    >>> str(RandomPartitions(rate=0.001, duration=50))
    '0.001/50'
    """

    rate: float
    duration: float

    def __post_init__(self) -> None:
        _check_rate(self.rate, self.duration)

    def __str__(self) -> str:
        return f"{plain(self.rate)}/{plain(self.duration)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (RandomPartitions, (self.rate, self.duration))


@dataclass(frozen=True)
class Faults:
    """All faults of a run."""

    loss: tuple[MessageFault, ...] = ()
    duplication: tuple[MessageFault, ...] = ()
    reordering: tuple[MessageFault, ...] = ()  # on FIFO channels: the message may be overtaken
    crashes: tuple[Outage | RandomOutages, ...] = ()
    pauses: tuple[Outage | RandomOutages, ...] = ()
    partitions: tuple[Partition | RandomPartitions, ...] = ()
    suspicions: tuple[Outage | RandomOutages, ...] = ()  # false ones: all others believe that the process has crashed
    detection: float = -1.0  # time from a crash or recovery until the others are told; negative: never
    any: bool = field(init=False)

    def __post_init__(self) -> None:
        rates = (self.loss, self.duplication, self.reordering)
        scripts = (self.crashes, self.pauses, self.partitions, self.suspicions)
        object.__setattr__(self, "any", any([bool(part) for part in (*rates, *scripts)]))


NO_FAULTS = Faults()


# -- in any form ---------------------------------------------------------------------------------------------

MessageFaultLike = float | str | MessageFault
"""A message fault, the text of one such as '0.1@100-200', or the share of messages that it hits."""
OutageLike = str | Outage | RandomOutages
"""Outages, or the text of some: '2@100-200' for process 2, '0.001/50' for random ones."""
PartitionLike = str | Partition | RandomPartitions
"""Partitions, or the text of some: '0,1|2,3@100-200', '0.001/50' for random ones."""

MessageFaultsLike = MessageFaultLike | Sequence[MessageFaultLike]
OutagesLike = OutageLike | Sequence[OutageLike]
PartitionsLike = PartitionLike | Sequence[PartitionLike]


def as_message_faults(given: MessageFaultsLike, what: str) -> tuple[MessageFault, ...]:
    """Message faults in any form. Errors begin with `what`, here and below."""
    found: list[MessageFault] = []
    for item in several(given):
        try:
            found.append(item if isinstance(item, MessageFault) else parse_message_fault(_words(item, True)))
        except ConfigError as error:
            raise ConfigError(f"{what} {_named(item)}: {error}") from None
    return tuple(found)


def as_outages(given: OutagesLike, what: str, n: int) -> tuple[Outage | RandomOutages, ...]:
    """Outages of n processes in any form."""
    found: list[Outage | RandomOutages] = []
    for item in several(given):
        try:
            outage = item if isinstance(item, (Outage, RandomOutages)) else parse_outage(_words(item, False))
            if isinstance(outage, Outage):
                _check_process(outage.process, n)
            found.append(outage)
        except ConfigError as error:
            raise ConfigError(f"{what} {_named(item)}: {error}") from None
    return tuple(found)


def as_partitions(given: PartitionsLike, what: str, n: int) -> tuple[Partition | RandomPartitions, ...]:
    """Partitions of n processes in any form."""
    found: list[Partition | RandomPartitions] = []
    for item in several(given):
        try:
            partition = item
            if not isinstance(item, (Partition, RandomPartitions)):
                partition = parse_partition(_words(item, False))
            if isinstance(partition, Partition):
                _check_partition(partition, n)
            elif n == 1:
                raise ConfigError("one process cannot be separated from others")
            found.append(partition)
        except ConfigError as error:
            raise ConfigError(f"{what} {_named(item)}: {error}") from None
    return tuple(found)


def _words(item: Any, numbers: bool) -> str:
    """The text of a fault; a share of messages may also be a number."""
    if isinstance(item, str):
        return item
    if numbers and isinstance(item, (int, float)) and not isinstance(item, bool):
        return repr(item)
    raise ConfigError(f"it must be a text{', a number' if numbers else ''} or a value of its class")


def _named(item: Any) -> str:
    """What is wrong, in an error."""
    return shown(item if isinstance(item, (str, list, tuple, dict, set)) or item is None else str(item))


def several(given: Any) -> tuple[Any, ...]:
    """One fault or several, as a tuple.

    >>> several("0.1"), several(["0.1", 0.2])
    (('0.1',), ('0.1', 0.2))
    """
    return tuple(given) if isinstance(given, (list, tuple)) else (given,)


# -- as text -------------------------------------------------------------------------------------------------


def parse_message_fault(text: str) -> MessageFault:
    """Read '0.1', or '0.1@100-200' for a stretch of time.

    >>> parse_message_fault("0.1@100-200")
    MessageFault(rate=0.1, start=100.0, end=200.0)
    """
    head, start, end = _split_times(text)
    return MessageFault(_number(head), start, end)


def parse_outage(text: str) -> Outage | RandomOutages:
    """Read '3@100-200' or '3@100' for process 3; '0.001/50' for random ones: any process, 0.001 times per unit of
    time, for 50 on average.

    >>> parse_outage("3@100-200")
    Outage(process=3, start=100.0, end=200.0)
    """
    if "@" not in text:
        rate, duration = _split_rate(text)
        return RandomOutages(rate, duration)
    head, start, end = _split_times(text)
    return Outage(_process(head), start, end)


def parse_partition(text: str) -> Partition | RandomPartitions:
    """Read '0,1|2,3@100-200', or '0.001/50' for random ones.

    >>> parse_partition("0,1|2,3@100").sides
    ((0, 1), (2, 3))
    """
    if "@" not in text:
        rate, duration = _split_rate(text)
        return RandomPartitions(rate, duration)
    head, start, end = _split_times(text)
    return Partition([[_process(word) for word in side.split(",")] for side in head.split("|")], start, end)


def _split_times(text: str) -> tuple[str, float, float]:
    head, _, times = text.partition("@")
    start, _, end = times.partition("-")
    return head, _number(start) if start else 0.0, _number(end) if end else FOREVER


def _split_rate(text: str) -> tuple[float, float]:
    rate, slash, duration = text.partition("/")
    if not slash:
        raise ConfigError("this is neither WHAT@FROM[-TO] nor RATE/DURATION")
    return _number(rate), _number(duration)


def _times(start: float, end: float) -> str:
    return plain(start) if end == FOREVER else f"{plain(start)}-{plain(end)}"


def _process(text: str) -> int:
    if not (text.strip().isascii() and text.strip().isdigit() and len(text) < 20):
        raise ConfigError(f"{shown(text)} is not the number of a process")
    return int(text)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"{shown(text)} is not a number") from None


# -- what is wrong -------------------------------------------------------------------------------------------


def _sides(given: Any) -> tuple[tuple[int, ...], ...]:
    if not isinstance(given, (list, tuple)) or not all([isinstance(side, (list, tuple)) for side in given]):
        raise ConfigError(f"sides must be lists of processes, not {shown(given)}")
    named = [whole(process, "a process of sides", 0) for side in given for process in side]
    twice = [process for process in named if named.count(process) > 1]
    if twice:
        raise ConfigError(f"process {twice[0]} is named twice")
    return tuple([tuple(side) for side in given])


def _check_times(start: float, end: float) -> None:
    amount(start, "start")
    amount(end, "end", endless=True)
    if not start <= end:
        raise ConfigError(f"it should begin at 0 or later, and not end before that; not {plain(start)} to {plain(end)}")


def _check_rate(rate: float, duration: float) -> None:
    if not (amount(rate, "rate") > 0 and amount(duration, "duration") > 0):
        raise ConfigError("rate and duration must be above 0")


def _check_partition(partition: Partition, n: int) -> None:
    """It must separate some process from another. Processes that no side names are on the first side."""
    for side in partition.sides:
        for process in side:
            _check_process(process, n)
    others = sum([len(side) for side in partition.sides[1:]])
    if not 0 < others < n:
        raise ConfigError("it separates no process from another; write the sides as 0,1|2,3")


def _check_process(process: int, n: int) -> None:
    if not 0 <= process < n:
        raise ConfigError(f"{process} is not a process (0..{n - 1})")
