"""A lock that fails at one member fails wherever tasks wait for it or ask for it, until the members change."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest
from netlab import QUICK, clusters, crash, run, table, until
from test_net_own_homes import Queue, Want, door_of, name_of_home

from congenial.kernel.errors import IllegalStep
from congenial.kernel.message import Message
from congenial.kernel.out import Out
from congenial.net.errors import ClusterDegraded, ProtocolError
from congenial.net.locks import Cluster
from congenial.net.names import semaphore_key
from congenial.transform.views import in_views

FAILED = r"lock '\d+' has failed at 'b', and cannot be acquired until the members change: .*broke"


class BreaksAtHome(Queue):
    """At the home, when so many have asked."""

    after: ClassVar[int] = 2

    def _handle(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Want) and self.me == 0 and len(self.queue) + 1 == type(self).after:
            raise ValueError("broken on purpose")
        super()._handle(src, msg, out)


class BreaksInside(Queue):
    """Those that leave. The home does not hear of it."""

    def release(self, out: Out) -> None:
        if self.me:
            raise ValueError("broken on purpose")
        super().release(out)


async def gone(member: Cluster, *left: Cluster) -> None:
    await crash(member)
    await until(lambda: all([table(each).is_settled() and table(each).size() == len(left) for each in left]))


def test_tasks_that_wait_at_other_members_are_told_and_holders_stay() -> None:
    async def story() -> None:
        async with clusters(3, timing=QUICK, algorithm=in_views(BreaksAtHome)) as (a, b, c):
            name = name_of_home(1, 3)
            held = await c.mutex(name).acquire()
            with pytest.raises(ClusterDegraded, match=FAILED) as raised:
                await a.mutex(name).acquire(timeout=10)  # is the second one to ask
            assert raised.value.peers == ("b",)
            assert held.held
            async with a.mutex(name_of_home(0, 3), timeout=10):
                pass  # other locks do not suffer
            held.release()
            with pytest.raises(ClusterDegraded, match=FAILED):  # the home is asked, and says so
                await c.mutex(name).acquire(timeout=10)
            await gone(b, a, c)
            async with c.mutex(name, timeout=10) as again:
                assert again.fence > held.fence

    run(story())


def test_a_holder_that_breaks_does_not_keep_others_waiting() -> None:
    async def story() -> None:
        async with clusters(3, timing=QUICK, algorithm=in_views(BreaksInside)) as (a, b, c):
            name = name_of_home(0, 3)
            held = await b.mutex(name).acquire()
            waiting = [asyncio.create_task(each.mutex(name).acquire()) for each in (a, c)]
            await until(lambda: len(door_of(a, name).node.inner.queue) == 3)
            held.release()
            for task in waiting:
                with pytest.raises(ClusterDegraded, match=FAILED):
                    await asyncio.wait_for(task, 10)
            with pytest.raises(IllegalStep):
                await b.mutex(name).acquire()

    run(story())


def test_it_is_said_again_on_the_next_connection() -> None:
    async def story() -> None:
        async with clusters(2, timing=QUICK, algorithm=in_views(BreaksInside)) as (a, b):
            name = name_of_home(0, 2)
            held = await b.mutex(name).acquire()
            waiting = asyncio.create_task(a.mutex(name).acquire())
            await until(lambda: len(door_of(a, name).node.inner.queue) == 2)
            (link,) = b._host.membership.links
            assert link.connection is not None
            link.connection.abort()
            held.release()
            with pytest.raises(ClusterDegraded, match=FAILED):
                await asyncio.wait_for(waiting, 10)
            assert link.connections >= 2

    run(story())


def test_a_lock_that_is_not_known_to_have_failed_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """This member knew nothing of the lock when it failed."""

    async def story() -> None:
        async with clusters(3, timing=QUICK, algorithm=in_views(BreaksAtHome)) as (a, b, c):
            name = name_of_home(1, 3)
            monkeypatch.setattr(BreaksAtHome, "after", 1)
            with pytest.raises(ClusterDegraded, match=FAILED):
                await a.mutex(name).acquire(timeout=10)
            monkeypatch.setattr(BreaksAtHome, "after", -1)
            with pytest.raises(ClusterDegraded, match=FAILED):
                await c.mutex(name).acquire(timeout=10)
            assert not any([lock.inside for lock in table(b).entrances()])

    run(story())


def test_a_semaphore_fails_as_well() -> None:
    async def story() -> None:
        async with clusters(2, timing=QUICK) as (a, b):
            held = await b.semaphore("1", 1).acquire()
            waiting = asyncio.create_task(a.semaphore("1", 1).acquire())
            await until(lambda: table(a).in_use())
            hall = table(b).halls[semaphore_key("1")]
            with b._host.turn:
                hall.distrust(ProtocolError("it broke"))
            with pytest.raises(ClusterDegraded, match=FAILED):
                await asyncio.wait_for(waiting, 10)
            assert "it broke" in str(held.lost)

    run(story())
