"""What a call says that waits in vain, what the log says about it, and two processes that claim one name."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import pytest
from netlab import QUICK, address_of, clusters, crash, listener

import congenial
from congenial.net.absence import hopeless_since
from congenial.net.config import ClusterConfig, free_addresses
from congenial.net.locks import Cluster

LONG = 30.0


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 4 * LONG))


async def until(condition: Any) -> None:
    async with asyncio.timeout(LONG):
        while not condition():
            await asyncio.sleep(0.01)


def lines(log: pytest.LogCaptureFixture, event: str, node: str) -> list[dict[str, Any]]:
    found = [record.__dict__["values"] for record in log.records if record.__dict__.get("event") == event]
    return [values for values in found if values["node"] == node]


def test_a_call_says_who_is_missing_since_when_and_what_to_do(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)

    async def story() -> None:
        async with clusters(3) as (a, b, c):
            await crash(b)
            await crash(c)
            await until(lambda: {link["state"] for link in a.status()["links"].values()} == {"away"})
            waiting = asyncio.create_task(a.mutex("y").acquire())
            with pytest.raises(congenial.ClusterDegraded) as error:
                await a.mutex("x", timeout=2.5).acquire()
            said = str(error.value)
            assert "'b' is away; 'c' is away. b last heard of at " in said
            assert re.search(r"c last heard of at \d\d:\d\d:\d\d: start what does not run", said)
            assert said.endswith("a majority, 2 of 3 voters, must be there")
            await until(lambda: lines(caplog, "locks.wait", "a"))
            await asyncio.sleep(0.5)
            (line,) = lines(caplog, "locks.wait", "a")  # once
            assert line["missing"] == "b,c"
            waiting.cancel()

    run(story())


def test_a_cluster_that_never_came_together() -> None:
    async def story() -> None:
        peers = dict(zip("abc", free_addresses(3), strict=True))
        async with congenial.join("a", peers, timing=replace(QUICK, gather=60.0)) as a:
            with pytest.raises(congenial.LockTimeout, match=r"'a' still waits for b, c. never heard of b, c: start"):
                await a.mutex("x", timeout=0.2).acquire()
            with pytest.raises(congenial.ClusterDegraded, match="all 3 members must be there"):
                await a.ready(0.05)

    run(story())


def test_two_processes_with_one_name_both_say_so(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)

    async def story() -> None:
        async with clusters(3) as members:
            first, b, _ = members
            other = listener()
            config = ClusterConfig({**first.config.nodes, "a": address_of(other)}, timing=QUICK)
            second = Cluster("a", config, listener=other)
            await second.start()
            try:
                with pytest.raises(congenial.ClusterDegraded, match="Two processes have the name 'a': stop one"):
                    await second.ready(1.0)
                await until(lambda: lines(caplog, "name.claimed", "a"))
                assert lines(caplog, "connection.refused", "b")
                assert first.status()["claims"] > 0
                await asyncio.sleep(1.0)  # the second one calls again and again
                assert len(lines(caplog, "name.claimed", "a")) == 1
                assert len(lines(caplog, "connection.refused", "b")) == 1
                async with first.mutex("x", timeout=LONG), b.mutex("y", timeout=LONG):
                    pass  # nobody is disturbed
            finally:
                await second.close()

    run(story())


def test_a_process_that_has_forgotten_and_knows_nobody_any_more_has_waited_since_now() -> None:
    async def story() -> None:
        async with clusters(1) as (a,):
            membership = a._host.membership
            assert hopeless_since(membership, 7.0) is None
            membership.forgetful_voters = lambda: [membership.me]
            assert hopeless_since(membership, 7.0) == 7.0

    run(story())
