"""The status of members with very many locks: it answers, stays small, and disturbs neither links nor the loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from netlab import clusters

import congenial
from congenial.cli.status import show_status
from congenial.net import reports
from congenial.net.asks import Ask
from congenial.net.client import Client
from congenial.net.config import Timing
from congenial.net.frames import LONGEST_FRAME, encode_frame
from congenial.net.link import Link
from congenial.net.locks import Cluster
from congenial.net.service import serve
from congenial.net.wire import Query, Report
from congenial.problems.weak import Counter
from places import alone

CUSTOMERS = {"customer 29", *[f"customer 29{digit}" for digit in range(10)]}
PATIENT = Timing(heartbeat=0.2, suspect_after=20.0, gather=30.0, reconnect=0.002, reconnect_most=0.02)


def use(member: Cluster, count: int, prefix: str = "lock") -> None:
    """Let a member know so many locks, without the time that it takes to acquire them."""
    for number in range(count):
        member.mutex(f"{prefix} {number}")


@contextlib.asynccontextmanager
async def counted_rounds() -> AsyncIterator[list[int]]:
    """How many rounds the event loop makes."""
    rounds = [0]

    async def count() -> None:
        while True:
            await asyncio.sleep(0)
            rounds[0] += 1

    task = asyncio.create_task(count())
    try:
        yield rounds
    finally:
        task.cancel()


def connections(members: list[Cluster]) -> list[Any]:
    return [
        [(link["state"], link["connections"]) for link in member.status(top=0)["links"].values()] for member in members
    ]


@pytest.mark.parametrize(("count", "most"), [(2_000, 1_000), pytest.param(20_000, 10_000, marks=pytest.mark.deep)])
def test_many_locks_at_every_member(count: int, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "MOST_LOCKS", most)
    monkeypatch.setattr("congenial.net.kept.IDLE_TIME", 600.0)  # none is forgotten meanwhile
    monkeypatch.setattr("congenial.net.kept.MOST_IDLE", 1_000_000)
    monkeypatch.setattr(reports, "PATIENCE", 60.0)  # the members share one process, and perhaps a slow machine
    longest = 0

    post = Link.post

    def measured(link: Link, frame: Any) -> None:
        nonlocal longest
        longest = max(longest, len(encode_frame(frame)))
        post(link, frame)

    monkeypatch.setattr(Link, "post", measured)

    async def play() -> None:
        async with clusters(3, timing=PATIENT) as members:
            for member in members:
                use(member, count)
                await asyncio.sleep(0)
            node = await serve(members[0], tmp_path / "a.sock")
            held = await members[1].mutex("wanted", timeout=60).acquire()
            waiting = asyncio.create_task(members[2].mutex("wanted", timeout=60).acquire())
            while not members[2].status(lock="wanted")["locks"]["wanted"]["queue"]:
                await asyncio.sleep(0.01)
            before = connections(members)
            known = {member.name: member.status(top=0)["more"] for member in members}
            async with counted_rounds() as rounds:
                told = await members[0].status_of_all(top=100)
            assert rounds[0] >= count / reports.CHUNK
            async with counted_rounds() as rounds:
                everything = await members[0].status_of_all(top=1_000_000)
            assert rounds[0] >= count / reports.PAGE
            async with Client(tmp_path / "a.sock") as program:
                remote = await program.status_of_all(top=1_000_000)
                one = await program.status_of_all(lock=f"lock {count - 1}")
            for name, status in told.items():
                assert status is not None
                assert (len(status["locks"]), status["more"]) == (100, known[name] - 100)
                if name != "a":
                    assert next(iter(status["locks"])) == "wanted"
            for answer in (everything, remote):
                for name, status in answer.items():
                    assert status is not None
                    shown = known[name] if name == "a" else most  # what does not have to travel is complete
                    assert (len(status["locks"]), status["more"]) == (shown, known[name] - shown)
            for status in one.values():
                assert status is not None
                assert list(status["locks"]) == [f"lock {count - 1}"]
            assert connections(members) == before
            assert 0 < longest < LONGEST_FRAME / 4
            held.release()
            (await waiting).release()
            node.close()

    asyncio.run(asyncio.wait_for(play(), 300))


def test_the_busiest_come_first_and_others_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    async def play() -> None:
        async with congenial.join("a", alone()) as cluster:
            use(cluster, 30)
            shared = [await cluster.shared("lock 7").acquire() for _ in range(3)]
            held = await cluster.mutex("lock 20").acquire()
            waiting = [asyncio.create_task(cluster.mutex("lock 20").acquire()) for _ in range(2)]
            token = await cluster.semaphore("lock 20", 2).acquire()
            await asyncio.sleep(0.01)
            told = cluster.status(top=3)
            assert list(told["locks"]) == ["lock 20", "lock 7", "lock 20 (semaphore)"]
            assert told["more"] == 28
            assert told["entries"] == 5
            assert cluster.status(top=3) == {**(await cluster.status_of_all(top=3))["a"]}  # type: ignore[dict-item]
            named = cluster.status(lock="lock 20")
            assert (list(named["locks"]), named["more"]) == (["lock 20", "lock 20 (semaphore)"], 0)
            assert cluster.status(lock="none")["locks"] == {}
            assert (cluster.status(top=0)["locks"], cluster.status(top=0)["more"]) == ({}, 31)
            assert len(cluster.status()["locks"]) == 31
            for top in (-1, "many", None):
                with pytest.raises(congenial.ConfigError, match=r"top = .*: must be a number of locks"):
                    cluster.status(top=top)  # type: ignore[arg-type]
                with pytest.raises(congenial.ConfigError, match=r"top = .*: must be a number of locks"):
                    await cluster.status_of_all(top=top)  # type: ignore[arg-type]
            show_status({"a": told, "b": None}, None)
            show_status({"a": cluster.status(lock="none")}, "none")
            for task in waiting:
                task.cancel()
            for thing in (held, token, *shared):
                thing.release()

    asyncio.run(asyncio.wait_for(play(), 60))
    printed = capsys.readouterr().out
    assert "and 28 more at a (--top shows more, --lock a certain one)" in printed
    assert printed.index("lock 20") < printed.index("lock 7")
    assert "no node has used a lock 'none'" in printed


def test_names_of_any_kind_fit_into_a_page() -> None:
    async def play() -> None:
        async with clusters(2, timing=PATIENT) as (a, b):
            wild = ["x" * 1_000_000, "\ud800 is no character", "line\nbreak", "", "\0", "\U0001f512" * 1000]
            for name in wild:
                async with b.mutex(name, timeout=60):
                    pass
            for number in range(200):
                b.mutex(f"{number} " + "\U0001f512" * 1000)
            b.guarded("total", Counter())
            told = (await a.status_of_all())["b"]
            assert told is not None
            assert len(told["locks"]) + told["more"] == len(wild) + 201
            assert max([len(label) for label in told["locks"]]) <= reports.LONGEST_TEXT
            for name in wild:
                found = (await a.status_of_all(lock=name))["b"]
                assert found is not None
                assert [status["entries"] for status in found["locks"].values()] == [1], name[:50]

    asyncio.run(asyncio.wait_for(play(), 60))


class Recorder:
    """A link that keeps what is posted."""

    def __init__(self, peer: int) -> None:
        self.peer = peer
        self.posted: list[Report] = []

    def post(self, frame: Report) -> None:
        self.posted.append(frame)


def frames(recorder: Recorder) -> Iterator[tuple[int, int, int]]:
    for report in recorder.posted:
        yield report.number, report.page, report.pages


def test_what_is_kept_for_peers_is_bounded() -> None:
    async def play() -> None:
        async with congenial.join("a", alone()) as cluster:
            use(cluster, 250)
            made = cluster._host.reports
            link = Recorder(1)
            for number in range(20):
                made._on_query(link, Query(number, None, 10**9))  # type: ignore[arg-type]
            while made.tasks:
                await asyncio.sleep(0.01)
            assert len(made.answers[1]) == reports.MOST_REPORTS
            last = range(20 - reports.MOST_REPORTS, 20)
            assert list(frames(link)) == [(number, 0, 4) for number in last]
            for page in (-1, 3, 4, 10**9):
                made._on_query(link, Query(19, None, 0, page))  # type: ignore[arg-type]
            assert list(frames(link))[-1] == (19, 3, 4)
            assert len(link.posted) == reports.MOST_REPORTS + 1
            made._on_query(link, Query(3, "no such lock", -5))  # type: ignore[arg-type]
            while made.tasks:
                await asyncio.sleep(0.01)
            assert list(frames(link))[-1] == (3, 0, 1)

    asyncio.run(asyncio.wait_for(play(), 60))


def test_a_peer_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "PATIENCE", 2.0)  # c must answer in time, on a slow machine too

    async def play() -> None:
        async with clusters(3, timing=PATIENT) as (a, b, c):
            use(b, 250)
            b._host.reports.membership.handlers[Query] = lambda link, query: None
            use(c, 250)
            answer = c._host.reports._on_query
            c._host.reports.membership.handlers[Query] = lambda link, query: (
                None if query.page == 2 else answer(link, query)
            )
            told = await a.status_of_all()
            assert told["b"] is None
            assert told["c"] is not None
            assert (len(told["c"]["locks"]), told["c"]["more"]) == (100, 200)
            assert not a._host.reports.waiting

    asyncio.run(asyncio.wait_for(play(), 60))


def test_locks_are_found_by_a_part_of_their_name(tmp_path: Path) -> None:
    async def play() -> None:
        async with clusters(2, timing=PATIENT) as (a, b):
            use(a, 300, "Invoice")
            use(a, 300, "customer")
            use(b, 20, "invoice")
            async with b.mutex("invoice 7", timeout=60):
                found = b.status(find="OICE", top=5)
                assert (next(iter(found["locks"])), len(found["locks"])) == ("invoice 7", 5)
            assert a.status(find="omer 29", top=100)["locks"].keys() == CUSTOMERS
            assert a.status(find="nothing like it")["locks"] == {}
            told = await b.status_of_all(find="invoice", top=10)
            assert told["a"] is not None
            assert (len(told["a"]["locks"]), told["a"]["more"]) == (10, a.status(find="invoice", top=0)["more"] - 10)
            await serve(a, tmp_path / "a.sock")
            async with Client(tmp_path / "a.sock") as program:
                remote = (await program.status_of_all(find="omer 29"))["a"]
                assert remote is not None
                assert remote["locks"].keys() == CUSTOMERS
                with pytest.raises(congenial.ConfigError, match="one of lock and find"):
                    await program.status_of_all(find="x", lock="y")

    asyncio.run(asyncio.wait_for(play(), 60))


def test_a_page_that_watches_gets_what_is_busy_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All locks are looked at rarely, and still a task that begins to wait is told of immediately, with all about
    it."""
    monkeypatch.setattr("congenial.net.survey.RARELY", 1e9)

    async def play() -> None:
        async with clusters(2, timing=PATIENT) as (a, b):
            use(b, 500)
            await serve(a, tmp_path / "a.sock")
            async with Client(tmp_path / "a.sock") as program, b.group("wanted", "blue", timeout=60) as held:

                async def look(**asked: Any) -> Any:
                    return (await program.ask(Ask("status", 0, top=5, watch=True, **asked))).status

                first = await look()
                assert first["a"]["asked"]
                assert "asked" not in first["b"]
                assert first["b"]["known"] == 501
                waiting = asyncio.create_task(a.group("wanted", "red", timeout=60).acquire())
                while not (told := await look(name="wanted", shown=["lock 77", "none such"]))["a"]["waiting"]:
                    await asyncio.sleep(0.01)
                assert told["a"]["oldest"]["lock"] == "wanted"
                [waiter] = told["a"]["locks"]["wanted"]["waiting"]
                assert waiter["group"] == "red"
                [holder] = told["b"]["locks"]["wanted"]["inside"]
                assert (holder["group"], holder["fence"]) == ("blue", held.fence)
                assert holder["owner"].startswith("task ")
                assert "lock 77" in told["b"]["locks"]
                assert told["b"]["cost"] > first["b"]["cost"]
                use(b, 50, "later")
                assert (await look())["b"]["known"] == 501  # as of the last look at all of them
                assert (await look(find="later"))["b"]["found"] == 50
                named = (await look(by="holders"))["b"]["locks"]
                assert next(iter(named)) == "wanted"
            (await waiting).release()
            assert not a._host.locks.tally.waited

    asyncio.run(asyncio.wait_for(play(), 60))
