"""Lock objects, as `threading.Lock` and `asyncio.Lock` have them: in both worlds, and for programs that use a node."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from netlab import clusters

import congenial
from congenial.net.client import Client
from congenial.net.config import free_addresses
from congenial.net.service import serve
from places import alone

ALONE = alone()


@contextlib.asynccontextmanager
async def lock_forms(kind: str, folder: Path) -> AsyncIterator[Any]:
    if kind == "own thread":
        async with congenial.join("a", ALONE, own_thread=True) as threaded:
            yield threaded
        return
    async with congenial.join("a", ALONE) as cluster:
        if kind == "member":
            yield cluster
        else:
            service = await serve(cluster, folder / "a.sock")
            async with Client(folder / "a.sock") as client:
                yield client
            service.close()


@pytest.fixture
def blocking() -> Iterator[congenial.BlockingCluster]:
    with congenial.join_blocking("a", {"a": free_addresses(1)[0]}) as cluster:
        yield cluster


KINDS = pytest.mark.parametrize("kind", ["member", "client", "own thread"])


@KINDS
def test_acquire_and_release_as_with_threading(kind: str, tmp_path: Path) -> None:
    async def play() -> None:
        async with lock_forms(kind, tmp_path) as cluster:
            lock = cluster.mutex("x")
            assert not lock.locked()
            held = await lock.acquire()
            assert lock.locked()
            assert cluster.shared("x").locked()  # it is one lock, in whichever form
            assert not cluster.semaphore("x", 1).locked()
            assert (held.name, held.mode, held.owner) == ("x", "exclusive", asyncio.current_task())
            assert await lock.acquire(blocking=False) is None
            assert await lock.acquire(timeout=0.01) is None
            assert await lock.acquire(True, 0) is None
            lock.release()
            assert not lock.locked()
            with pytest.raises(congenial.NotHeld, match="nothing to release"):
                lock.release()
            with pytest.raises(RuntimeError):
                lock.release()
            held = await lock.acquire(timeout=5)
            assert held
            held.release()
            with pytest.raises(congenial.NotHeld):
                lock.release()
            async with lock:
                with pytest.raises(congenial.LockTimeout):
                    await cluster.mutex("x", timeout=0.01).acquire()
                with pytest.raises(TimeoutError):
                    await cluster.mutex("x", timeout=0.01).acquire()
            assert await cluster.mutex("x", timeout=0.01).acquire(timeout=5)

    asyncio.run(play())


@KINDS
def test_a_task_that_waits_for_itself_is_told(kind: str, tmp_path: Path) -> None:
    async def play() -> None:
        async with lock_forms(kind, tmp_path) as cluster:
            async with cluster.mutex("x"):
                with pytest.raises(congenial.WouldDeadlock, match="holds 'x' and would wait for itself"):
                    await cluster.mutex("x").acquire()
                with pytest.raises(congenial.WouldDeadlock):
                    async with cluster.shared("x"):
                        pass
                with pytest.raises(congenial.LockTimeout):  # it can wait, if it says for how long
                    await cluster.mutex("x", timeout=0.01).acquire()
                other = asyncio.create_task(cluster.mutex("x").acquire())  # another task may wait
                await asyncio.sleep(0.05)
                assert not other.done()
            (await other).release()
            async with cluster.shared("x"):
                with pytest.raises(congenial.WouldDeadlock):
                    await cluster.exclusive("x", reentrant=True).acquire()  # nobody can hold it alone and share it
            async with cluster.group("x", "g"):
                with pytest.raises(congenial.WouldDeadlock):
                    await cluster.group("x", "h").acquire()
            async with cluster.semaphore("s", 2), cluster.semaphore("s", 2):
                with pytest.raises(congenial.WouldDeadlock):
                    await cluster.semaphore("s", 2).acquire()

    asyncio.run(play())


def test_readers_that_share_twice_are_told_only_if_they_would_wait() -> None:
    async def play() -> None:
        async with congenial.join("a", ALONE) as cluster:
            async with cluster.shared("x"), cluster.shared("x"):
                writer = asyncio.create_task(cluster.exclusive("x").acquire())
                await asyncio.sleep(0.01)
                with pytest.raises(congenial.WouldDeadlock):  # the writer is before it
                    await cluster.shared("x").acquire()
            (await writer).release()

    asyncio.run(play())


@KINDS
def test_a_reentrant_lock_is_released_as_often_as_it_was_acquired(kind: str, tmp_path: Path) -> None:
    async def play() -> None:
        async with lock_forms(kind, tmp_path) as cluster:
            async with cluster.mutex("x", reentrant=True) as first:
                async with cluster.mutex("x", reentrant=True) as second:
                    assert second is first
                    lock = cluster.shared("x", reentrant=True)
                    await lock.acquire()  # a task that is alone may share with itself
                    lock.release()
                assert first.held
                waiting = asyncio.create_task(cluster.mutex("x", reentrant=True).acquire(timeout=0.05))
                assert await waiting is None  # of another task
                lock = cluster.mutex("x", reentrant=True)
                with pytest.raises(congenial.NotHeld):
                    cluster.shared("x").release()  # it is not shared
            assert not first.held

            async def release_it() -> None:
                lock.release()

            await lock.acquire()
            with pytest.raises(congenial.NotHeld, match="by task"):
                await asyncio.create_task(release_it())
            lock.release()

    asyncio.run(play())


@KINDS
def test_a_lock_says_what_it_is(kind: str, tmp_path: Path) -> None:
    async def play() -> None:
        async with lock_forms(kind, tmp_path) as cluster:
            where = str(tmp_path / "a.sock") if kind == "client" else "'a'"
            name = {"member": "Lock", "client": "RemoteLock", "own thread": "ThreadedLock"}[kind]
            lock = cluster.mutex("x")
            assert repr(lock).startswith(f"<unlocked exclusive {name} object 'x' of {where} at 0x")
            async with lock as held:
                task = asyncio.current_task()
                assert task is not None
                said = f"held by task {task.get_name()!r} with fence {held.fence} at 0x"
                assert repr(lock).startswith(f"<locked exclusive {name} object 'x' of {where}, {said}")
            shared, group = cluster.shared("x"), cluster.group("x", "g")
            assert repr(group).startswith(f"<unlocked group 'g' of {name} object 'x'")
            async with shared, cluster.shared("x"):
                assert repr(shared).startswith(f"<locked shared {name} object 'x' of {where}, held 2 times at 0x")
            assert repr(cluster.semaphore("x", 3)).startswith(f"<unlocked 3 places of {name} object 'x'")

    asyncio.run(play())


@KINDS
def test_names_and_groups_are_text_or_bytes(kind: str, tmp_path: Path) -> None:
    async def play() -> None:
        async with lock_forms(kind, tmp_path) as cluster:
            for name in (b"x", "größe".encode(), b"\xff\x00"):
                async with cluster.mutex(name):
                    assert await cluster.mutex(name).acquire(timeout=0.01) is None
                    assert await cluster.mutex(name + b"1").acquire(blocking=False)
            async with cluster.mutex(b"x"):
                assert await cluster.mutex("x").acquire(timeout=0.01) is None
            async with cluster.group("y", b"\xfe"):
                assert await cluster.group("y", b"\xff").acquire(timeout=0.01) is None
                assert await cluster.group("y", b"\xfe").acquire(timeout=5)
            told = await cluster.status_of_all()
            assert "\\udcff\\udc00" in told["a"]["locks"] or "\\udcff\x00" in told["a"]["locks"]

    asyncio.run(play())


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((True, nan), ValueError),
        ((True, -0.5), ValueError),
        ((True, -2), ValueError),
        ((True, "1"), ValueError),
        ((True, True), ValueError),
        ((True, 1e100), OverflowError),
        ((False, 1), ValueError),
        (("yes",), ValueError),
    ],
)
def test_wrong_timeouts_are_refused(
    arguments: tuple[Any, ...], error: type[Exception], blocking: congenial.BlockingCluster
) -> None:
    with pytest.raises(congenial.ConfigError) as found:
        blocking.mutex("x").acquire(*arguments)
    assert isinstance(found.value, error)
    assert ": must be " in str(found.value)
    assert blocking.mutex("x").acquire(timeout=inf)


def test_threads(blocking: congenial.BlockingCluster) -> None:
    lock = blocking.mutex("x")
    with lock:
        assert lock.locked()
        assert "held by thread 'MainThread' with fence" in repr(lock)
        with pytest.raises(congenial.WouldDeadlock, match="thread 'MainThread' holds 'x'"):
            blocking.mutex("x").acquire()
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(lock.acquire, False).result() is None
            assert pool.submit(lock.acquire, timeout=0.01).result() is None
    lock.acquire()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lock.release).result()  # as a `threading.Lock`
    assert not lock.locked()
    again = blocking.mutex("x", reentrant=True)
    with again, blocking.mutex("x", reentrant=True), again:
        assert again._recursion_count() == 3
    assert not again.locked()
    seats = blocking.semaphore("s", 3)
    for _ in range(3):
        seats.acquire()
    with pytest.raises(ValueError, match="not held 4 times"):
        seats.release(4)
    seats.release(3)
    with pytest.raises(ValueError, match="nothing to release"):
        seats.release()


def test_a_lock_of_the_cluster_in_a_condition_of_threading(blocking: congenial.BlockingCluster) -> None:
    condition = threading.Condition(blocking.mutex("x", reentrant=True))  # type: ignore[arg-type]
    ready: list[bool] = []

    def wait() -> bool:
        with condition:
            return condition.wait_for(lambda: bool(ready), 30)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(wait)
        with condition:
            ready.append(True)
            condition.notify()
        assert waiting.result()


@pytest.mark.parametrize("times", [0, 1, 2])
def test_a_block_that_waits_by_a_condition_of_threading_holds_its_lock_again(
    times: int, blocking: congenial.BlockingCluster
) -> None:
    """Entered so many times more, and with a lock that is not reentrant."""
    lock = blocking.mutex("x", reentrant=times > 0)
    condition = threading.Condition(lock)  # type: ignore[arg-type]
    with lock as held:
        before = held.fence
        for _ in range(times):
            lock.acquire()
        condition.wait(0.01)
        held.check()
        assert held.fence > before
        for _ in range(times):
            lock.release()
            held.check()
    assert not lock.locked()
    with lock as later:
        assert later.fence > held.fence


def test_a_condition_of_threading_with_both_places_of_a_semaphore(blocking: congenial.BlockingCluster) -> None:
    lock = blocking.semaphore("s", 2)
    condition = threading.Condition(lock)  # type: ignore[arg-type]
    with lock as first, lock as second:
        condition.wait(0.01)
        assert lock.locked()
        assert first.held
        assert second.held
    assert not lock.locked()
    lock.acquire()
    lock.acquire()
    condition.wait(0.01)
    lock.release(2)
    assert blocking.semaphore("s", 2)._recursion_count() == 0


@pytest.mark.parametrize("n", [1, 3])
def test_a_lock_that_was_lost_is_not_taken_for_that_of_another_task(n: int) -> None:
    async def play() -> None:
        async with clusters(n) as members:
            lock = members[0].mutex("x")
            held = await lock.acquire()
            held._door.release(held)
            held._lose("for a test")

            async def other() -> None:
                assert await lock.acquire(timeout=10)

            await asyncio.create_task(other())
            with pytest.raises(congenial.LockLost):
                lock.release()
            assert lock.locked()  # by the other task
            lock.release()

    asyncio.run(play())
