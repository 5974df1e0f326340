"""The meter: counts and times during a run, taken when a message is sent and when a process asks, enters or leaves."""

from __future__ import annotations

from typing import final

from librt.vecs import append, vec
from mypy_extensions import i64

from congenial.kernel.errors import ContractError
from congenial.kernel.message import Measure, Message, message_fault


@final
class Kind:
    """The traffic of one message class."""

    def __init__(self, message: type[Message]) -> None:
        fault = message_fault(message)
        if fault:
            raise ContractError(fault)
        self.name = message.__name__
        self.measure = Measure(message)
        self.last: Message | None = None  # that was measured
        self.last_size: i64 = 0
        self.count: i64 = 0
        self.integers: i64 = 0


@final
class Meter:
    """Counts from the beginning, or from the end of the warm-up."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.kinds: dict[type[Message], Kind] = {}
        self.asked_at: list[float] = [0.0] * n
        self.waits_by_process: list[float] = [0.0] * n
        self.entries_by_process: list[int] = [0] * n
        self.waits = vec[float]()
        self.sync_delays = vec[float]()
        self.begin = 0.0
        self.entries: i64 = 0
        self.sessions: i64 = 0
        self.deliveries: i64 = 0
        self.most_inside: i64 = 0
        # the present session, and time spent inside
        self._inside: i64 = 0
        self._since = 0.0
        self._busy = 0.0
        self._occupied = 0.0  # the sum, over all processes, of the time inside
        self._session_end = 0.0
        self._contested = False  # a process was waiting when the last session ended
        self._last_group = -1
        # entries that no other process competed with: how many, how many of them for free, and what the others cost
        self.lone_entries: i64 = 0
        self.free_entries: i64 = 0
        self.lone_cost_min: i64 = 0
        self.lone_cost_max: i64 = 0
        self._sent: i64 = 0  # messages, from the beginning
        self._lone_from: i64 = -1  # what had been sent when a process asked alone; -1: none is alone

    def restart(self, now: float) -> None:
        """The warm-up is over: forget the counts, but not which session is going on."""
        for kind in self.kinds.values():
            kind.count = 0
            kind.integers = 0
        self.waits_by_process = [0.0] * self.n
        self.entries_by_process = [0] * self.n
        self.waits = vec[float]()
        self.sync_delays = vec[float]()
        self.begin = now
        self.entries = 0
        self.sessions = 0
        self.deliveries = 0
        self.most_inside = self._inside
        self.lone_entries = 0
        self.free_entries = 0
        self.lone_cost_min = 0
        self.lone_cost_max = 0
        self._lone_from = -1
        self._since = now
        self._busy = 0.0
        self._occupied = 0.0

    def sent(self, message: Message, copies: i64) -> i64:
        """Count copies of a message as sent, and return its size in integers."""
        kind = self.kinds.get(type(message))
        if kind is None:
            kind = Kind(type(message))
            self.kinds[type(message)] = kind
        size: i64 = kind.measure.scalars
        if not kind.measure.fixed:
            if message is not kind.last:  # one that is sent to many is measured once
                kind.last = message
                kind.last_size = kind.measure.size(message)
            size = kind.last_size
        kind.count += copies
        self._sent += copies
        kind.integers += copies * size
        return size

    def asked(self, process: int, now: float, alone: bool) -> None:
        """A process asks: `alone`, if no other waits or is inside, and no message is under way."""
        self.asked_at[process] = now
        self.settle(alone)
        if alone:
            self._lone_from = self._sent

    def settle(self, quiet: bool) -> None:
        """Count what was sent since a process asked alone as the cost of its entry, if all is quiet again."""
        if quiet and self._lone_from >= 0:
            cost = self._sent - self._lone_from
            self.lone_entries += 1
            if cost == 0:
                self.free_entries += 1
            elif self.lone_cost_min == 0 or cost < self.lone_cost_min:
                self.lone_cost_min = cost
            if cost > self.lone_cost_max:
                self.lone_cost_max = cost
        self._lone_from = -1

    def entered(self, process: int, now: float, group: int, groups_matter: bool) -> None:
        self._advance(now)
        if self._inside == 0:
            self.sessions += 1
            if self._contested and not (groups_matter and group == self._last_group):
                self.sync_delays = append(self.sync_delays, now - self._session_end)
            self._last_group = group
        self._inside += 1
        if self._inside > self.most_inside:
            self.most_inside = self._inside
        wait = now - self.asked_at[process]
        self.waits = append(self.waits, wait)
        self.waits_by_process[process] += wait
        self.entries_by_process[process] += 1
        self.entries += 1

    def left(self, now: float, others_wait: bool) -> None:
        self._advance(now)
        self._inside -= 1
        if self._inside == 0:
            self._session_end = now
            self._contested = others_wait

    def _advance(self, now: float) -> None:
        if self._inside > 0:
            self._busy += now - self._since
            self._occupied += float(self._inside) * (now - self._since)
        self._since = now

    def mean_inside(self) -> float:
        """How many processes were inside, averaged over the time when any was."""
        return self._occupied / self._busy if self._busy > 0 else float(self.most_inside)
