"""Metrics and logs, as machines read them."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import urllib.request

from netlab import QUICK

import congenial
from congenial.net.config import free_addresses
from congenial.net.logs import JsonLines


def test_prometheus_sees_entries_messages_waits_and_links() -> None:
    async def story() -> str:
        *addresses, free = free_addresses(3)
        peers = dict(zip("ab", addresses, strict=True))
        port = int(free.rpartition(":")[2])
        async with (
            congenial.join("a", peers, timing=QUICK, metrics_port=port) as a,
            congenial.join("b", peers, timing=QUICK) as b,
        ):
            for member in (a, b, a, b):
                async with member.mutex("invoices"):
                    pass
            return await asyncio.to_thread(
                lambda: urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
            )

    text = asyncio.run(story())
    assert 'congenial_entries_total{lock="invoices"} 2.0' in text
    assert 'congenial_sessions_total{lock="invoices"} 2.0' in text
    assert 'congenial_messages_total{kind="Request"}' in text
    assert 'congenial_link_resends_total{peer="b"} 0.0' in text
    size = re.search(r'congenial_link_bytes_total\{peer="b"\} ([0-9.]+)', text)
    assert size is not None
    assert 50 < float(size[1]) < 1000, "a few messages, each of a few dozen bytes"
    assert 'congenial_wait_seconds_bucket{le="+Inf"}' in text
    assert 'congenial_peer_away{peer="b"} 0.0' in text


def test_a_log_line_is_an_event_with_values() -> None:
    record = logging.LogRecord("congenial.net", logging.WARNING, "", 0, "peer.away peer=b", (), None)
    record.event = "peer.away"
    record.values = {"peer": "b"}
    line = json.loads(JsonLines().format(record))
    assert line["event"] == "peer.away"
    assert line["peer"] == "b"
    assert line["level"] == "warning"
