"""What a member tells about itself: its links, its locks, who holds them and how many wait.

A member may know 100,000 locks. So a report has the busiest ones, up to a number, and says how many more there are. It
is made in pieces, between which the event loop goes on. And it travels in pages. Each is small, and is asked for when
the one before has arrived, so that it never delays a lock's messages for long.
"""

from __future__ import annotations

import asyncio
import heapq
import json
import random
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any

from congenial.net.checked import Share, checked, checked_text
from congenial.net.entrance import Entrance
from congenial.net.link import Link
from congenial.net.membership import Membership
from congenial.net.names import keys_of, lock_key
from congenial.net.table import LockTable
from congenial.net.wire import Query, Report
from congenial.transform.epochs import Epochs

CHUNK = 200  # locks that are looked at in one go
PAGE = 100  # locks on a page
LONGEST_TEXT = 200  # characters of a name, or of any other text about a lock
MOST_LOCKS = 10_000  # in a report to another member
MOST_REPORTS = 4  # that are kept for one peer until it has asked for all pages
PATIENCE = 10.0  # seconds in which a page must arrive, if the connection lasts
GLANCE = 0.2  # seconds between two looks whether it does

Status = dict[str, Any]


class Survey:
    """A look at all locks, as many at a time as one likes: how much they were used, and which are the busiest."""

    def __init__(self, top: int) -> None:
        self.top = top
        self.seen = 0
        self.entries = 0
        self.sessions = 0
        self.abstains = 0  # from voting in so many locks, since this member has lost its memory
        self._busiest: list[tuple[int, int, int, int, Entrance]] = []  # a heap, the least busy first

    def look(self, entrances: list[Entrance]) -> None:
        for entrance in entrances:
            self.seen += 1
            self.entries += entrance.entries
            self.sessions += entrance.sessions
            for seat in entrance.seats:
                node = seat.node
                if isinstance(node, Epochs) and node.abstains():
                    self.abstains += 1
            busy = (len(entrance.queue), len(entrance.inside), entrance.entries, -self.seen, entrance)
            if len(self._busiest) < self.top:
                heapq.heappush(self._busiest, busy)
            elif self._busiest:
                heapq.heappushpop(self._busiest, busy)

    def busiest(self) -> list[Entrance]:
        return [busy[-1] for busy in sorted(self._busiest, reverse=True)]


class Reports:
    """`head` tells all that is not about single locks."""

    def __init__(self, membership: Membership, table: LockTable, head: Callable[[], Status]) -> None:
        self.membership = membership
        self.table = table
        self.head = head
        self.waiting: dict[tuple[int, int], asyncio.Future[Report]] = {}  # by question and page
        self.kept: dict[int, OrderedDict[int, list[bytes]]] = {}  # for peers: pages, by question
        self.tasks: set[asyncio.Task[None]] = set()
        membership.handlers |= {Query: self._on_query, Report: self._on_report}

    # -- this member -----------------------------------------------------------------------------------

    def at_once(self, lock: str | None, top: int) -> Status:
        """This member's report. With very many locks that takes a while: 100,000 take about a quarter of a second."""
        check_question(lock, top)
        entrances = self.table.entrances()
        survey = Survey(top)
        survey.look(entrances)
        chosen = survey.busiest() if lock is None else self._named(lock_key(lock))
        return self._report(survey, chosen, lock is None, dict([described(entrance) for entrance in chosen]))

    async def in_pieces(self, lock: str | None, top: int) -> Status:
        """The same, while the event loop goes on."""
        check_question(lock, top)
        return await self._in_pieces(None if lock is None else lock_key(lock), top)

    async def _in_pieces(self, key: str | None, top: int) -> Status:
        entrances = self.table.entrances()
        survey = Survey(top)
        for start in range(0, len(entrances), CHUNK):
            survey.look(entrances[start : start + CHUNK])
            await asyncio.sleep(0)
        chosen = survey.busiest() if key is None else self._named(key)
        locks: Status = {}
        for start in range(0, len(chosen), CHUNK):
            locks.update([described(entrance) for entrance in chosen[start : start + CHUNK]])
            await asyncio.sleep(0)
        return self._report(survey, chosen, key is None, locks)

    def _report(self, survey: Survey, chosen: list[Entrance], all_locks: bool, locks: Status) -> Status:
        return {
            **self.head(),
            "entries": survey.entries,
            "sessions": survey.sessions,
            "abstains": survey.abstains,
            "locks": locks,
            "more": survey.seen - len(chosen) if all_locks else 0,
        }

    def _named(self, key: str) -> list[Entrance]:
        """The lock, the semaphore and the guarded object of this name, as far as there are such."""
        tables: tuple[dict[str, Any], ...] = (self.table.doors, self.table.halls)
        return [table[known] for known in keys_of(key) for table in tables if known in table]

    # -- what peers ask --------------------------------------------------------------------------------

    def _on_query(self, link: Link, query: Query) -> None:
        kept = self.kept.setdefault(link.peer, OrderedDict())
        if query.page > 0:
            pages = kept.get(query.number, [])
            if query.page < len(pages):
                link.post(Report(query.number, query.page, len(pages), pages[query.page]))
        elif query.number not in kept:
            kept[query.number] = []  # until it is ready
            if len(kept) > MOST_REPORTS:
                kept.popitem(last=False)
            self._spawn(self._answer(link, query))

    async def _answer(self, link: Link, query: Query) -> None:
        told = await self._in_pieces(query.lock, max(0, min(query.top, MOST_LOCKS)))
        pages = await as_pages(told)
        kept = self.kept[link.peer]
        if query.number in kept:
            if len(pages) > 1:
                kept[query.number] = pages
            else:
                del kept[query.number]
            with self.membership.turn:
                link.post(Report(query.number, 0, len(pages), pages[0]))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self.membership.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def close(self) -> None:
        for task in self.tasks:
            task.cancel()

    # -- what is asked of peers ------------------------------------------------------------------------

    async def of_all(self, lock: str | None, top: int) -> dict[str, Status | None]:
        """The report of every member, by name; None for those that do not answer."""
        check_question(lock, top)
        links = self.membership.links
        own, *others = await asyncio.gather(self.in_pieces(lock, top), *[self._of(link, lock, top) for link in links])
        told = {self.membership.name: own, **{link.name: other for link, other in zip(links, others, strict=True)}}
        return dict(sorted(told.items()))

    async def _of(self, link: Link, lock: str | None, top: int) -> Status | None:
        question = Query(random.getrandbits(62), None if lock is None else lock_key(lock), min(top, MOST_LOCKS))
        first = await self._ask(link, question)
        if first is None:
            return None
        told: Status = json.loads(first.status)
        for page in range(1, first.pages):
            answer = await self._ask(link, Query(question.number, question.lock, question.top, page))
            if answer is None:
                told["more"] += PAGE * (first.pages - page)
                break
            told["locks"].update(json.loads(answer.status))
        return told

    async def _ask(self, link: Link, query: Query) -> Report | None:
        answer: asyncio.Future[Report] = self.membership.loop.create_future()
        self.waiting[query.number, query.page] = answer
        try:
            with self.membership.turn:
                link.post(query)
            asked, deadline = link.connection, self.membership.now() + PATIENCE
            while asked is not None and link.connection is asked and self.membership.now() < deadline:
                await asyncio.wait([answer], timeout=GLANCE)
                if answer.done():
                    return answer.result()
            return None
        finally:
            del self.waiting[query.number, query.page]

    def _on_report(self, link: Link, report: Report) -> None:
        answer = self.waiting.get((report.number, report.page))
        if answer is not None and not answer.done():
            answer.set_result(report)


async def as_pages(told: Status) -> list[bytes]:
    """A report, divided: all but the locks first, then a number of locks on each page."""
    locks = list(told["locks"].items())
    pages = [json.dumps({**told, "locks": {}}).encode()]
    for start in range(0, len(locks), PAGE):
        pages.append(json.dumps(dict(locks[start : start + PAGE])).encode())
        await asyncio.sleep(0)
    return pages


def described(entrance: Entrance) -> tuple[str, Status]:
    """A lock's name and how it is. Names may be of any length and may not even be proper text."""
    status = {name: clipped(value) if isinstance(value, str) else value for name, value in entrance.status().items()}
    return clipped(entrance.label), status


def clipped(text: str) -> str:
    short = text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 3] + "..."
    return short.encode("utf-8", "replace").decode()


def check_question(lock: str | None, top: int) -> None:
    if lock is not None:
        checked_text("lock", lock)
    checked("top", top, Share)
