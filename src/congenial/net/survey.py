"""Looks at all locks of a member: how many there are, which are the busiest, which have a certain text in their name.

A member may know 100,000 locks, and a look at all of them takes some 100 ms. A page that watches a cluster asks again
and again. So such a page gets what the last look has found, until it is `RARELY` times as old as the look took. Only
what tasks wait for is always up to date: each entrance where a task waits is known without looking (`Tally.waited`).
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections import OrderedDict
from collections.abc import Iterable
from types import TracebackType

import msgspec

from congenial.net.entrance import Entrance
from congenial.net.table import LockTable
from congenial.transform.epochs import Epochs

CHUNK = 200  # locks that are looked at in one go
RARELY = 400  # times as long as a look takes, it is not repeated for a page that watches: a quarter of a percent
MOST_KEPT = 4  # looks
MOST_FRESH = 1000  # locks that tasks wait for, and that are looked at every time
WAITING, HOLDERS = "waiting", "holders"


class Question(msgspec.Struct, frozen=True):
    """What is asked about locks: about one, by its key; or about the `top` busiest, of those with `find` in their name
    if it is given. A page that watches the cluster wants both, and `names` (keys) that it shows already."""

    lock: str | None = None
    top: int = 0
    find: str = ""
    by: str = WAITING  # which are the busiest: those for which most tasks wait, or with most holders
    names: tuple[str, ...] = ()
    watch: bool = False


class Meter:
    """Counts the time of the processor that reports take."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self.began = time.thread_time()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seconds += time.thread_time() - self.began


class Survey:
    """A look at all locks, as many at a time as one likes."""

    def __init__(self, top: int, find: str = "", by: str = WAITING) -> None:
        self.top = top
        self.find = find.lower()
        self.by = by
        self.seen = 0
        self.found = 0  # with `find` in their name
        self.entries = 0
        self.sessions = 0
        self.inside = 0
        self.agreements = 0  # where each lock has its own
        self.abstains = 0  # from voting in so many locks, since this member has lost its memory
        self._busiest: list[tuple[int, int, int, int, Entrance]] = []  # a heap, the least busy first

    def look(self, entrances: Iterable[Entrance]) -> None:
        for entrance in entrances:
            self.seen += 1
            self.entries += entrance.entries
            self.sessions += entrance.sessions
            self.inside += len(entrance.inside)
            for seat in entrance.seats:
                node = seat.node
                if isinstance(node, Epochs):
                    self.agreements += node.instance
                    if node.abstains():
                        self.abstains += 1
            if self.find and self.find not in entrance.label.lower():
                continue
            self.found += 1
            busy = (*busyness(entrance, self.by), -self.seen, entrance)
            if len(self._busiest) < self.top:
                heapq.heappush(self._busiest, busy)
            elif self._busiest and busy > self._busiest[0]:
                heapq.heapreplace(self._busiest, busy)

    def busiest(self) -> list[Entrance]:
        return [busy[-1] for busy in sorted(self._busiest, reverse=True)]


def busyness(entrance: Entrance, by: str) -> tuple[int, int, int]:
    waiting, holders = len(entrance.queue), len(entrance.inside)
    return (holders, waiting, entrance.entries) if by == HOLDERS else (waiting, holders, entrance.entries)


class Surveys:
    """Makes surveys, while the event loop goes on."""

    def __init__(self, table: LockTable, meter: Meter) -> None:
        self.table = table
        self.meter = meter
        self.recent: OrderedDict[tuple[int, str, str], tuple[float, Survey]] = OrderedDict()  # and until when they are

    async def made(self, question: Question) -> tuple[Survey, list[Entrance]]:
        """A survey, and the busiest locks now."""
        if not question.watch:
            survey = await self._look(question)
            return survey, survey.busiest()
        survey = await self._recent(question)
        found = dict.fromkeys([entrance for entrance in survey.busiest() if not entrance.forgotten])
        waited = self.table.tally.waited
        if len(waited) <= MOST_FRESH:
            found.update(dict.fromkeys([entrance for entrance in waited if survey.find in entrance.label.lower()]))
        busiest = sorted(found, key=lambda entrance: busyness(entrance, question.by), reverse=True)
        return survey, busiest[: question.top]

    async def _recent(self, question: Question) -> Survey:
        asked = (question.top, question.find, question.by)
        until, survey = self.recent.pop(asked, (0.0, None))
        if survey is None or time.monotonic() >= until:
            before = self.meter.seconds
            survey = await self._look(question)
            until = time.monotonic() + RARELY * (self.meter.seconds - before)
        self.recent[asked] = (until, survey)
        if len(self.recent) > MOST_KEPT:
            self.recent.popitem(last=False)
        return survey

    async def _look(self, question: Question) -> Survey:
        with self.meter:
            entrances = self.table.entrances()
        survey = Survey(question.top, question.find, question.by)
        for start in range(0, len(entrances), CHUNK):
            with self.meter:
                survey.look(entrances[start : start + CHUNK])
            await asyncio.sleep(0)
        return survey
