"""The blocking twin, used by many threads."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from netlab import PATIENT

import congenial
from congenial.net.config import free_addresses
from places import alone


def test_threads_share_a_cluster() -> None:
    peers = dict(zip("ab", free_addresses(2), strict=True))
    with (
        congenial.join_blocking("a", peers, timing=PATIENT) as a,
        congenial.join_blocking("b", peers, timing=PATIENT) as b,
    ):
        counter = 0
        together = most = 0
        guard = threading.Lock()

        def count(member: object) -> None:
            nonlocal counter
            for _ in range(25):
                with member.mutex("counter", timeout=30) as held:  # type: ignore[attr-defined]
                    assert held.held
                    seen = counter
                    time.sleep(0)
                    counter = seen + 1

        def read(member: object) -> None:
            nonlocal together, most
            with member.shared("catalogue", timeout=30):  # type: ignore[attr-defined]
                with guard:
                    together += 1
                    most = max(most, together)
                time.sleep(0.05)
                with guard:
                    together -= 1

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(count, [a, b] * 4))
            list(pool.map(read, [a, b] * 4))
        assert counter == 200
        assert most == 8
        with a.semaphore("gpus", 2, timeout=30), b.semaphore("gpus", 2, timeout=30):
            assert a.try_semaphore("gpus", 2, timeout=0.05) is None
        with pytest.raises(congenial.ConfigError, match="lets in 2 at a time, not 3"):
            a.semaphore("gpus", 3).acquire()
        held = a.mutex("x").acquire()
        assert b.try_mutex("x", timeout=0.1) is None
        with pytest.raises(congenial.LockTimeout):
            b.mutex("x", timeout=0.05).acquire()
        held.release()
        with pytest.raises(congenial.NotHeld):
            held.release()
        assert b.status()["links"]["a"]["state"] == "up"
    with pytest.raises(congenial.ConfigError, match="join_blocking"):
        a.mutex("x").acquire()


def test_an_interrupted_wait_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    with congenial.join_blocking("a", alone()) as a:
        held = a.mutex("x").acquire()

        class Interrupted(Exception):
            pass

        from concurrent.futures import Future

        plain = Future.result

        def interrupted(self: Future[object], timeout: float | None = None) -> object:
            raise Interrupted

        monkeypatch.setattr(Future, "result", interrupted)
        with pytest.raises(Interrupted):
            a.mutex("x").acquire()  # while it waits
        with pytest.raises(Interrupted):
            a.mutex("y").acquire()  # as it is granted
        monkeypatch.setattr(Future, "result", plain)
        held.release()
        for name in ("x", "y"):
            with a.mutex(name, timeout=5):
                pass
        assert a.status()["locks"]["x"]["queue"] == 0
