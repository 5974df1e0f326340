"""What a member tells about itself: its links, its locks, who holds them and how many wait.

A member may know 100,000 locks. So a report has the busiest ones, up to a number, and says how many more there are. It
is made in pieces, between which the event loop goes on. And it travels in pages. Each is small, and is asked for when
the one before has arrived, so that it never delays a lock's messages for long.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from congenial.kernel.errors import ConfigError
from congenial.net.acquiring import shown_owner
from congenial.net.checked import Share, checked, checked_text
from congenial.net.entrance import Entrance
from congenial.net.link import Link
from congenial.net.membership import Membership
from congenial.net.names import keys_of, lock_key
from congenial.net.survey import CHUNK, Meter, Question, Survey, Surveys
from congenial.net.table import LockTable
from congenial.net.wire import Query, Report

PAGE = 100  # locks on a page
LONGEST_TEXT = 200  # characters of a name, or of any other text about a lock
MOST_LOCKS = 10_000  # in a report to another member
MOST_TASKS = 20  # at one lock, of those inside and of those that wait
MOST_NAMES = 200  # of locks that a page shows already
MOST_REPORTS = 4  # that wait for one peer until it has asked for all pages
PATIENCE = 10.0  # seconds in which a page must arrive, if the connection lasts
GLANCE = 0.2  # seconds between two looks whether it does

NodeStatus = dict[str, Any]


class Reports:
    """`head` tells all that is not about single locks; `watched`, what a page that watches the cluster asks besides."""

    def __init__(
        self,
        membership: Membership,
        table: LockTable,
        head: Callable[[], NodeStatus],
        watched: Callable[[], NodeStatus],
    ) -> None:
        self.membership = membership
        self.table = table
        self.head = head
        self.watched = watched
        self.meter = Meter()
        self.surveys = Surveys(table, self.meter)
        self.waiting: dict[tuple[int, int], asyncio.Future[Report]] = {}  # by question and page
        self.answers: dict[int, OrderedDict[int, list[bytes]]] = {}  # for peers: pages, by question
        self.tasks: set[asyncio.Task[None]] = set()
        membership.handlers |= {Query: self._on_query, Report: self._on_report}

    # -- this member -----------------------------------------------------------------------------------

    def at_once(self, lock: str | None, top: int, find: str | None = None) -> NodeStatus:
        """This member's report. With very many locks that takes a while: 100,000 take about a quarter of a second."""
        question = question_of(lock, top, find)
        survey = Survey(top, question.find)
        survey.look(self.table.entrances())
        chosen = survey.busiest() if question.lock is None else self._named(question.lock)
        return self._report(question, survey, chosen, dict([described(entrance) for entrance in chosen]))

    async def in_pieces(self, question: Question) -> NodeStatus:
        """The same, while the event loop goes on."""
        survey, chosen = await self.surveys.made(question)
        detailed = [] if question.lock is None else self._named(question.lock)
        if question.watch:
            shown = [entrance for key in question.names[:MOST_NAMES] for entrance in self._named(key)]
            chosen = list(dict.fromkeys([*chosen, *shown, *detailed]))
        elif question.lock is not None:
            chosen = detailed
        locks: NodeStatus = {}
        for start in range(0, len(chosen), CHUNK):
            with self.meter:
                locks.update([described(entrance) for entrance in chosen[start : start + CHUNK]])
            await asyncio.sleep(0)
        with self.meter:
            if question.watch:
                for entrance in detailed:
                    locks[clipped(entrance.label)] |= tasks_at(entrance)
            return self._report(question, survey, chosen, locks)

    def _report(self, question: Question, survey: Survey, chosen: list[Entrance], locks: NodeStatus) -> NodeStatus:
        report = {
            **self.head(),
            "entries": survey.entries,
            "sessions": survey.sessions,
            "abstains": survey.abstains,
            "locks": locks,
            "more": 0 if question.lock is not None and not question.watch else max(0, survey.found - len(chosen)),
        }
        if question.watch:
            tally = self.table.tally
            report |= {
                **self.watched(),
                "entries": tally.entries,
                "sessions": tally.sessions,
                "known": survey.seen,
                "found": survey.found,
                "inside": survey.inside,
                "waiting": sum([len(entrance.queue) for entrance in tally.waited]),
                "oldest": self._oldest(),
                "agreements": report.get("view", survey.agreements),
                "cost": self.meter.seconds,
            }
        return report

    def _oldest(self) -> NodeStatus | None:
        """The task that has waited longest here."""
        firsts = [(entrance.queue.first(), entrance) for entrance in self.table.tally.waited]
        waiters = [(waiter.since, entrance) for waiter, entrance in firsts if waiter is not None]
        if not waiters:
            return None
        since, entrance = min(waiters, key=lambda one: one[0])
        return {"lock": clipped(entrance.label), "for": round(self.membership.now() - since, 3)}

    def _named(self, key: str) -> list[Entrance]:
        """The lock, the semaphore and the guarded object of this name, as far as there are such."""
        tables: tuple[dict[str, Any], ...] = (self.table.doors, self.table.halls)
        return [table[known] for known in keys_of(key) for table in tables if known in table]

    # -- what peers ask --------------------------------------------------------------------------------

    def _on_query(self, link: Link, query: Query) -> None:
        answers = self.answers.setdefault(link.peer, OrderedDict())
        if query.page > 0:
            pages = answers.get(query.number, [])
            if query.page < len(pages):
                link.post(Report(query.number, query.page, len(pages), pages[query.page]))
        elif query.number not in answers:
            answers[query.number] = []  # until it is ready
            if len(answers) > MOST_REPORTS:
                answers.popitem(last=False)
            self._spawn(self._answer(link, query))

    async def _answer(self, link: Link, query: Query) -> None:
        told = await self.in_pieces(
            Question(query.lock, max(0, min(query.top, MOST_LOCKS)), query.find, query.by, query.names, query.watch)
        )
        pages = await self._as_pages(told)
        answers = self.answers[link.peer]
        if query.number in answers:
            if len(pages) > 1:
                answers[query.number] = pages
            else:
                del answers[query.number]
            with self.membership.turn:
                link.post(Report(query.number, 0, len(pages), pages[0]))

    async def _as_pages(self, told: NodeStatus) -> list[bytes]:
        """A report, divided: all but the locks first, then a number of locks on each page."""
        locks = list(told["locks"].items())
        with self.meter:
            pages = [msgspec.json.encode({**told, "locks": {}})]
        for start in range(0, len(locks), PAGE):
            with self.meter:
                pages.append(msgspec.json.encode(dict(locks[start : start + PAGE])))
            await asyncio.sleep(0)
        return pages

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self.membership.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def close(self) -> None:
        for task in self.tasks:
            task.cancel()

    # -- what is asked of peers ------------------------------------------------------------------------

    async def of_all(self, question: Question, patience: float | None = None) -> dict[str, NodeStatus | None]:
        """The report of every member, by name; None for those that do not answer in time."""
        limit = PATIENCE if patience is None else min(patience, PATIENCE)
        links = list(self.membership.links)
        peers = [self._of(link, question, limit) for link in links]
        own, *others = await asyncio.gather(self.in_pieces(question), *peers)
        told = {self.membership.name: own, **{link.name: other for link, other in zip(links, others, strict=True)}}
        return dict(sorted(told.items()))

    async def _of(self, link: Link, question: Question, patience: float) -> NodeStatus | None:
        query = Query(
            random.getrandbits(62), question.lock, min(question.top, MOST_LOCKS), 0,
            question.find, question.by, question.names, question.watch,
        )  # fmt: skip
        first = await self._ask(link, query, patience)
        if first is None:
            return None
        with self.meter:
            told: NodeStatus = msgspec.json.decode(first.status)
        for page in range(1, first.pages):
            answer = await self._ask(link, Query(query.number, query.lock, query.top, page), patience)
            if answer is None:
                told["more"] += PAGE * (first.pages - page)
                break
            with self.meter:
                told["locks"].update(msgspec.json.decode(answer.status))
        return told

    async def _ask(self, link: Link, query: Query, patience: float) -> Report | None:
        answer: asyncio.Future[Report] = self.membership.loop.create_future()
        self.waiting[query.number, query.page] = answer
        try:
            with self.membership.turn:
                link.post(query)
            asked, deadline = link.connection, self.membership.now() + patience
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


def tasks_at(entrance: Entrance) -> NodeStatus:
    """The first tasks inside, and of those that wait. `since` tells one from another; the clocks of members differ."""
    now, loop_now = time.monotonic(), entrance.membership.now()
    inside = sorted(entrance.inside, key=lambda held: held._since)[:MOST_TASKS]
    waiting = [waiter for waiter in entrance.queue if not waiter.future.done()][:MOST_TASKS]
    return {
        "inside": [
            {
                "group": None if held.group is None else clipped(held.group),
                "fence": held.fence,
                "owner": clipped(shown_owner(held.owner)),
                "since": round(held._since, 6),
                "for": round(now - held._since, 3),
            }
            for held in inside
        ],
        "waiting": [
            {
                "group": None if waiter.want.label is None else clipped(waiter.want.label),
                "since": round(waiter.since, 6),
                "for": round(loop_now - waiter.since, 3),
            }
            for waiter in waiting
        ],
    }


def described(entrance: Entrance) -> tuple[str, NodeStatus]:
    """A lock's name and how it is. Names may be of any length and may not even be proper text."""
    status = {name: clipped(value) if isinstance(value, str) else value for name, value in entrance.status().items()}
    return clipped(entrance.label), status


def clipped(text: str) -> str:
    short = text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 3] + "..."
    return short.encode("utf-8", "replace").decode()


def question_of(lock: str | None, top: int, find: str | None = None) -> Question:
    """What a program asks, checked."""
    if lock is not None:
        checked_text("lock", lock)
    if find is not None:
        checked_text("find", find)
    checked("top", top, Share)
    if lock is not None and find is not None:
        raise ConfigError("give one of lock and find: a name, or a part of names")
    return Question(None if lock is None else lock_key(lock), top, find or "")
