"""Metrics, as Prometheus reads them."""

from __future__ import annotations

import asyncio
import re
import urllib.request
from pathlib import Path
from typing import Any

from netlab import QUICK, clusters, crash

import congenial
from congenial.net.config import free_addresses
from congenial.net.metrics import HostMetrics, MetricsServer

LONG = 60.0


def scrape(place: str) -> str:
    text: str = urllib.request.urlopen(f"http://{place}/metrics").read().decode()
    return text


def value(text: str, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    assert found is not None, f"{name} is not in\n{text}"
    return float(found[1])


async def use(place: str, **settings: Any) -> str:
    """The metrics of a member that has entered twice."""
    peers = dict(zip("ab", free_addresses(2), strict=True))
    async with (
        congenial.join("a", peers, timing=QUICK, metrics=place, **settings) as a,
        congenial.join("b", peers, timing=QUICK) as b,
    ):
        for member in (a, b, a, b):
            async with member.mutex("invoices"):
                pass
        return await asyncio.to_thread(scrape, place)


def test_prometheus_sees_entries_messages_waits_and_links() -> None:
    (place,) = free_addresses(1)
    text = asyncio.run(use(place))
    assert value(text, "congenial_entries_total") == 2
    assert value(text, "congenial_sessions_total") == 2
    assert value(text, "congenial_inside") == value(text, "congenial_waiting") == 0
    assert value(text, "congenial_locks") == 1
    assert value(text, "congenial_hold_seconds_count") == 2
    assert value(text, 'congenial_link_resends_total{peer="b"}') == 0
    assert 50 < value(text, 'congenial_link_bytes_total{peer="b"}') < 10_000, (
        "a few messages, each of a few dozen bytes"
    )
    assert re.search(r'^congenial_messages_total\{kind="\w+"\} [1-9]', text, re.MULTILINE)
    assert 'congenial_wait_seconds_bucket{le="+Inf"}' in text
    assert value(text, 'congenial_peer_away{peer="b"}') == 0
    assert value(text, "congenial_majority") == 1
    assert value(text, "congenial_members") == 2
    assert f'version="{congenial.__version__}"' in text
    assert "invoices" not in text, "names of locks may be many, and private"


def test_metrics_tell_locks_apart_if_asked_to() -> None:
    (place,) = free_addresses(1)
    text = asyncio.run(use(place, metrics_by_lock=True))
    assert value(text, 'congenial_entries_total{lock="invoices"}') == 2
    assert value(text, 'congenial_sessions_total{lock="invoices"}') == 2


def test_names_of_any_kind_do_not_break_the_metrics() -> None:
    (place,) = free_addresses(1)
    names = ["x" * 500 + "1", "x" * 500 + "2", 'a"b\\c\n', "ü"]
    with congenial.join_blocking("a", {"a": free_addresses(1)[0]}, metrics=place, metrics_by_lock=True) as cluster:
        for name in names:
            with cluster.mutex(name):
                pass
        text = scrape(place)
    lines = [line for line in text.splitlines() if line.startswith("congenial_entries_total{")]
    assert sorted([line.rpartition(" ")[2] for line in lines]) == ["1.0", "1.0", "2.0"]
    assert len({line.rpartition(" ")[0] for line in lines}) == 3


def test_timeouts_losses_and_the_majority_are_counted(tmp_path: Path) -> None:
    async def play() -> None:
        async with clusters(3, state=str(tmp_path / "{name}")) as (a, b, c):
            server = MetricsServer(place := free_addresses(1)[0])
            try:
                server.show(a._host)
                async with b.mutex("x"):
                    assert await a.try_mutex("x", timeout=0.01) is None
                    assert await a.try_mutex("x") is None
                held = await a.mutex("x", timeout=LONG).acquire()
                before = await asyncio.to_thread(scrape, place)
                await crash(b)
                await crash(c)
                async with asyncio.timeout(LONG):
                    await held.lost
                after = await asyncio.to_thread(scrape, place)
            finally:
                server.stop()
        assert value(before, "congenial_timeouts_total") == 2
        assert value(before, "congenial_inside") == 1
        assert value(before, "congenial_losses_total") == 0
        assert value(before, "congenial_majority") == 1
        assert value(before, "congenial_fsync_seconds_count") > 0
        assert value(before, "congenial_fsync_seconds_sum") > 0
        assert value(after, "congenial_losses_total") == 1
        assert value(after, "congenial_majority") == 0
        assert value(after, "congenial_hold_seconds_count") == 1
        assert value(after, "congenial_inside") == 0

    asyncio.run(play())


def test_an_agreement_on_the_members_is_counted() -> None:
    async def play() -> None:
        async with clusters(3) as (a, b, c):
            async with a.mutex("x"):
                before = a._host.locks.agreements()
            await crash(b)
            async with c.mutex("x", timeout=LONG), asyncio.timeout(LONG):
                while a._host.locks.agreements() <= before:
                    await asyncio.sleep(0.02)

    asyncio.run(play())


def test_the_page_lists_all_metrics() -> None:
    with congenial.join_blocking("a", {"a": free_addresses(1)[0]}) as cluster:
        families = list(HostMetrics(cluster._cluster._host).collect())
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")
    rows = "\n".join(re.findall(r"^\| (`congenial_.*?) \|", page, re.MULTILINE))
    served = {family.name + ("_total" if family.type == "counter" else "") for family in families}
    assert set(re.findall(r"`(congenial_\w+)`", rows)) == served
