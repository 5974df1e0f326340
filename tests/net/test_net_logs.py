"""Events in the log: their names and values are those that the page lists, and both forms say the same."""

from __future__ import annotations

import ast
import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import congenial
from congenial.net.config import free_addresses
from congenial.net.logs import JsonLines, log, logger

SOURCES = Path(congenial.__file__).parent
LOGGING = ("log", "log_exception")
PAGE = Path(__file__).parents[2] / "docs" / "operations.md"


def calls() -> Iterator[tuple[Path, ast.Call]]:
    for path in sorted(SOURCES.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "congenial.net.logs" in text:
            for part in ast.walk(ast.parse(text)):
                if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in LOGGING:
                    yield path, part


def levels_of(call: ast.Call) -> set[str]:
    if isinstance(call.args[0], ast.Attribute):
        return {call.args[0].attr.lower()}
    return set()  # computed: the page says which


def test_the_page_lists_all_events_with_their_values() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z]+\.[a-z]+)` \| ([a-z, ]+) \| ([a-z, ]+) \| .* \|$", text, re.MULTILINE)
    listed = {event: (set(levels.split(", ")), set(values.split(", "))) for event, levels, values in rows}
    assert len(listed) == len(rows)
    used: dict[str, set[str]] = {}
    for path, call in calls():
        event = call.args[1]
        assert isinstance(event, ast.Constant), f"{path}: {ast.unparse(call)}: the name of an event is a constant"
        assert event.value in listed, f"{path}: {event.value} is not in {PAGE.name}"
        levels, values = listed[str(event.value)]
        assert levels_of(call) <= levels, f"{path}: {event.value}"
        used.setdefault(str(event.value), set()).update({word.arg for word in call.keywords if word.arg is not None})
        assert used[str(event.value)] <= values, f"{path}: {event.value}"
    assert used == {event: values for event, (_, values) in listed.items()}


def test_nothing_is_logged_but_events() -> None:
    for path in sorted((SOURCES / "net").glob("*.py")):
        if path.name != "logs.py":
            assert not re.search(r"\blogger\b|getLogger", path.read_text(encoding="utf-8")), path


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logger.addHandler(handler)
    try:
        yield stream
    finally:
        logger.removeHandler(handler)


def test_a_line_is_an_event_with_values(lines: io.StringIO, caplog: pytest.LogCaptureFixture) -> None:
    log(logging.WARNING, "peer.away", peer="b", why="silent")
    line = json.loads(lines.getvalue())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("time"))
    assert line == {"level": "warning", "event": "peer.away", "peer": "b", "why": "silent"}
    assert caplog.messages == ["peer.away peer=b why=silent"]


def test_a_callback_that_fails_is_an_event_with_its_trace(lines: io.StringIO) -> None:
    def broken() -> None:
        raise RuntimeError("no such thing")

    with congenial.join_blocking("a", {"a": free_addresses(1)[0]}) as cluster:
        held = cluster.mutex("x").acquire()
        held.on_lost(broken)
        host = cluster._cluster._host
        host.membership.loop.call_soon_threadsafe(host.membership.end, "its disk is full")
        while not held.lost:
            pass
    told = [json.loads(line) for line in lines.getvalue().splitlines()]
    (failed,) = [line for line in told if line["event"] == "callback.failed"]
    assert failed["lock"] == "x"
    assert failed["trace"].endswith("RuntimeError: no such thing")
