"""OpenTelemetry spans of locks."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator

import pytest
from netlab import QUICK, clusters, crash

import congenial
from congenial.kernel.errors import ConfigError
from congenial.net.config import free_addresses
from congenial.net.errors import LockTimeout
from loud import not_run

try:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from opentelemetry.trace import StatusCode

    THERE = True
except ImportError:
    THERE = False

LONG = 60.0


@pytest.fixture(autouse=True)
def _sdk() -> None:
    if not THERE:
        not_run("spans are not tested: there is no opentelemetry-sdk (extra dev)")


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    yield exporter
    provider.shutdown()


def told(span: ReadableSpan) -> tuple[str, dict[str, object], StatusCode]:
    attributes = {name.removeprefix("congenial."): value for name, value in dict(span.attributes or {}).items()}
    return span.name, attributes, span.status.status_code


def test_a_task_waits_in_one_span_and_holds_in_another(spans: InMemorySpanExporter) -> None:
    async def play() -> int:
        async with congenial.join("a", {"a": free_addresses(1)[0]}, spans=True, cluster="shop") as cluster:
            async with cluster.group("jukebox", "disc-7") as held:
                fence = held.fence
                assert [span.name for span in spans.get_finished_spans()] == ["congenial.acquire"]
            async with cluster.shared("x"), cluster.semaphore("gpus", 2):
                pass
            held = await cluster.mutex("x").acquire()
            with pytest.raises(LockTimeout):
                await asyncio.create_task(late(cluster))
            held.release()
            return fence

    async def late(cluster: congenial.Cluster) -> None:
        await cluster.mutex("x", timeout=0.01).acquire()

    fence = asyncio.run(play())
    ended = [told(span) for span in spans.get_finished_spans()]
    assert len(ended) == 9
    about = {"cluster": "shop", "node": "a", "lock": "jukebox", "mode": "group", "group": "disc-7"}
    assert ended[0] == ("congenial.acquire", about, StatusCode.UNSET)
    assert ended[1] == ("congenial.hold", {**about, "fence": fence}, StatusCode.UNSET)
    modes = [(name, attributes["lock"], attributes["mode"]) for name, attributes, _ in ended[2:6]]
    assert modes == [
        ("congenial.acquire", "x", "shared"),
        ("congenial.acquire", "gpus", "semaphore"),
        ("congenial.hold", "gpus", "semaphore"),
        ("congenial.hold", "x", "shared"),
    ]
    assert [(name, status) for name, _, status in ended[6:]] == [
        ("congenial.acquire", StatusCode.UNSET),
        ("congenial.acquire", StatusCode.ERROR),
        ("congenial.hold", StatusCode.UNSET),
    ]


def test_a_lost_lock_ends_its_span_with_the_reason(spans: InMemorySpanExporter) -> None:
    async def play() -> None:
        async with clusters(3, spans=True, timing=QUICK) as (a, b, c):
            held = await a.mutex("x", timeout=LONG).acquire()
            await crash(b)
            await crash(c)
            async with asyncio.timeout(LONG):
                why = await held.lost
            (span,) = [span for span in spans.get_finished_spans() if span.name == "congenial.hold"]
            assert span.status.status_code == StatusCode.ERROR
            assert span.status.description == why

    asyncio.run(play())


def test_spans_are_children_of_the_callers_also_in_the_blocking_form(spans: InMemorySpanExporter) -> None:
    tracer = trace.get_tracer("a program")
    with (
        congenial.join_blocking("a", {"a": free_addresses(1)[0]}, spans=True) as cluster,
        tracer.start_as_current_span("work"),
        cluster.mutex("x"),
    ):
        pass
    acquired, held, work = sorted(spans.get_finished_spans(), key=lambda span: span.name)
    assert (acquired.name, held.name, work.name) == ("congenial.acquire", "congenial.hold", "work")
    assert acquired.parent == held.parent == work.context


def test_spans_are_not_promised_without_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ConfigError, match="spans need the package opentelemetry-api"):
        congenial.join_blocking("a", {"a": free_addresses(1)[0]}, spans=True).start()
    with congenial.join_blocking("a", {"a": free_addresses(1)[0]}) as cluster, cluster.mutex("x"):
        pass
