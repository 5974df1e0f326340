"""A process that forks after joining: its child is no member, says so, and does no harm."""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from netlab import QUICK, clusters

import congenial
from congenial.net import forks, loop_thread
from congenial.net.blocking import BlockingCluster
from congenial.net.certs import make_certificates
from congenial.net.client import Client
from congenial.net.config import Timing, Tls, free_addresses
from congenial.net.locks import Cluster
from congenial.net.service import serve
from congenial.problems.weak import Counter
from places import alone

FORKED = "this process was forked after"
PATIENT = Timing(heartbeat=0.1, suspect_after=5.0, gather=20.0, reconnect=0.002, reconnect_most=0.02)


def in_child(work: Callable[[], Any], leave: Callable[[], None] = lambda: os._exit(0)) -> Any:
    """What `work` returns in a forked child, which must not take forever."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, json.dumps(work()).encode())
        except BaseException as error:
            os.write(writing, json.dumps(f"broken: {error!r}").encode())
        os.close(writing)
        leave()
        os._exit(0)
    os.close(writing)
    try:
        told = b""
        while True:
            ready, _, _ = select.select([reading], [], [], 30)
            assert ready, "the child hangs"
            part = os.read(reading, 1 << 16)
            if not part:
                return json.loads(told)
            told += part
    finally:
        os.close(reading)
        end = time.monotonic() + 30
        while os.waitpid(child, os.WNOHANG)[0] == 0:
            if time.monotonic() > end:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                raise AssertionError("the child does not end")
            time.sleep(0.005)


def said(attempt: Callable[[], Any]) -> str:
    """What comes of a call: the error by its name and text, or what is returned."""
    try:
        return f"returned {attempt()!r}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"


def at_once(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that must end without waiting for anything."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    finally:
        work.close()
    raise AssertionError("it waits")


def descriptors() -> set[str]:
    """The network's sockets and the files of states that this process has open, by what they are."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            target = os.readlink(f"/proc/self/fd/{name}")
            if target.startswith("socket:"):
                with socket.socket(fileno=os.dup(int(name))) as copy:
                    if copy.family == socket.AF_INET:
                        found.add(target)
            elif "state" in target:
                found.add(target)
    return found


def check_refusals(told: dict[str, str], quiet: tuple[str, ...] = ()) -> None:
    for what, outcome in told.items():
        if what in quiet:
            assert outcome == "returned None", (what, outcome)
        else:
            assert FORKED in outcome, (what, outcome)
            assert outcome.startswith(("ConfigError: ", "LockLost: ")), (what, outcome)


@pytest.mark.parametrize(
    "loop", [loop_thread.new_event_loop, asyncio.new_event_loop], ids=["the usual loop", "asyncio's"]
)
def test_a_child_of_a_blocking_member_is_no_member_and_does_no_harm(
    loop: Callable[[], asyncio.AbstractEventLoop], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop_thread, "new_event_loop", loop)
    peers = dict(zip("ab", free_addresses(2), strict=True))
    state = str(tmp_path / "state-{name}")
    with (
        congenial.join_blocking("a", peers, timing=PATIENT, state=state) as a,
        congenial.join_blocking("b", peers, timing=PATIENT, state=state) as b,
    ):
        held = a.mutex("x", timeout=30).acquire()
        lock, guarded = a.mutex("x", timeout=1), a.guarded("total", Counter())
        b.guarded("total", Counter())
        before = b.status()["links"]["a"]
        called: list[str] = []
        held.on_lost(lambda: called.append("lost"))

        def misuse() -> dict[str, str]:
            with_lock = a.mutex("y", timeout=1)
            return {
                "check": said(held.check),
                "release": said(held.release),
                "on_lost": said(lambda: held.on_lost(print)),
                "mutex": said(lambda: a.mutex("x", timeout=1).acquire()),
                "with": said(with_lock.__enter__),
                "made before": said(lock.acquire),
                "try": said(lambda: a.try_mutex("x", timeout=1)),
                "shared": said(lambda: a.shared("z", timeout=1).acquire()),
                "group": said(lambda: a.group("z", "g", timeout=1).acquire()),
                "semaphore": said(lambda: a.semaphore("s", 2, timeout=1).acquire()),
                "guarded": said(lambda: a.guarded("total", Counter())),
                "guarded made before": said(guarded.acquire),
                "status": said(a.status),
                "status of all": said(a.status_of_all),
                "ready": said(lambda: a.ready(1)),
                "start": said(a.start),
                "close": said(a.close),
                "exit": said(lambda: a.__exit__(None, None, None)),
                "state": f"held: {held.held}, lost: {held.lost}, called: {called}",
            }

        told = in_child(misuse)
        assert told.pop("state") == "held: False, lost: True, called: []"
        check_refusals(told, quiet=("close", "exit"))
        held.check()
        assert b.try_mutex("x", timeout=0.3) is None
        after = b.status()["links"]["a"]
        assert (after["state"], after["connections"]) == ("up", before["connections"])
        held.release()
        with b.mutex("x", timeout=30):
            pass
        with guarded as section:
            assert section.issue(5) == 5


@pytest.mark.parametrize(
    "loop", [loop_thread.new_event_loop, asyncio.new_event_loop], ids=["the usual loop", "asyncio's"]
)
@pytest.mark.parametrize("encrypted", [False, True])
def test_a_child_closes_what_it_has_inherited_and_the_parent_does_not_notice(
    encrypted: bool,
    loop: Callable[[], asyncio.AbstractEventLoop],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop_thread, "new_event_loop", loop)
    make_certificates("ab", tmp_path)
    tls = Tls(*[str(tmp_path / path) for path in ("ca.pem", "{name}.pem", "{name}.key")]) if encrypted else None
    peers = dict(zip("ab", free_addresses(2), strict=True))
    state = str(tmp_path / "state-{name}")

    def join(name: str, **moved: str) -> BlockingCluster:
        return congenial.join_blocking(name, {**peers, **moved}, timing=PATIENT, state=state, tls=tls)

    nothing = descriptors()
    with join("a") as a, join("b") as b:
        with a.mutex("x", timeout=30), a.group("y", "g", timeout=30):
            open_here = descriptors() - nothing
            assert len([target for target in open_here if "state" in target]) >= 2
            assert len([target for target in open_here if target.startswith("socket:")]) == 4
            assert not set(in_child(lambda: sorted(descriptors()))) & open_here
            assert descriptors() - nothing == open_here
            with pytest.raises(congenial.ConfigError, match="is in use"):
                join("a", a=free_addresses(1)[0]).start()
        with b.mutex("x", timeout=30):
            pass


def test_a_child_without_a_free_descriptor_lets_go_all_the_same() -> None:
    peers = dict(zip("ab", free_addresses(2), strict=True))
    others = descriptors()  # of tests before this one
    with congenial.join_blocking("a", peers, timing=PATIENT) as a, congenial.join_blocking("b", peers, timing=PATIENT):
        held = a.mutex("x", timeout=30).acquire()
        mine = descriptors() - others
        assert len(mine) >= 4
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        reading, writing = os.pipe()
        try:
            full: list[int] = []
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 1, hard))
            with contextlib.suppress(OSError):
                while True:
                    full.append(os.open(os.devnull, os.O_RDONLY))
            child = os.fork()
            if not child:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
                os.write(writing, str(len(descriptors() & mine)).encode())
                os._exit(0)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            for descriptor in (*full, writing):
                os.close(descriptor)
        with open(reading, encoding="ascii") as told:
            assert told.read() == "0"
        assert os.waitpid(child, 0)[1] == 0
        held.check()


def test_an_heir_that_breaks_does_not_keep_others_from_hearing(caplog: pytest.LogCaptureFixture) -> None:
    class Watched:
        def __init__(self, breaks: bool) -> None:
            self.breaks = breaks
            self.told = False

        def on_fork(self) -> None:
            if self.breaks:
                raise OSError
            self.told = True

    watched = [Watched(True), Watched(False), Watched(True), Watched(False)]
    for heir in watched:
        forks.watch(heir)
    try:
        assert in_child(lambda: [heir.told for heir in watched]) == [False, True, False, True]
        assert not any([heir.told for heir in watched])
    finally:
        for heir in watched:
            forks.unwatch(heir)


def test_when_the_parent_crashes_its_peers_notice_although_a_child_lives_on() -> None:
    """The child must not keep the connections open."""
    peers = dict(zip("abc", free_addresses(3), strict=True))
    program = (
        "import os, sys, time, congenial\n"
        f"cluster = congenial.join_blocking('c', {peers!r}, timing=congenial.Timing(0.2, 60.0)).start()\n"
        "cluster.ready(30)\n"
        "held = cluster.mutex('x', timeout=30).acquire()\n"
        "if not os.fork():\n"
        "    print('child', flush=True)\n"
        "    time.sleep(600)\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    slow = Timing(0.2, 60.0)
    with congenial.join_blocking("a", peers, timing=slow) as a, congenial.join_blocking("b", peers, timing=slow) as b:
        assert process.stdout is not None
        assert process.stdout.readline() == "child\n"
        assert b.status()["links"]["c"]["state"] == "up"
        process.kill()
        process.wait()
        deadline = time.monotonic() + 30  # much less than the silence after which a peer is suspected
        while "up" in (a.status()["links"]["c"]["state"], b.status()["links"]["c"]["state"]):
            assert time.monotonic() < deadline, "the child keeps the connection open"
            time.sleep(0.02)


def test_a_child_of_an_asynchronous_member(tmp_path: Path) -> None:
    async def play() -> None:
        async with clusters(3, timing=PATIENT) as (a, b, c):
            node = await serve(a, tmp_path / "a.sock")
            body = a.mutex("body", timeout=30)
            held = await a.mutex("x", timeout=30).acquire()
            token = await a.semaphore("s", 2, timeout=30).acquire()
            guarded, *_ = [member.guarded("total", Counter()) for member in (a, b, c)]
            section = await guarded.acquire()
            async with Client(tmp_path / "a.sock") as program, body:
                remote = await program.mutex("remote", timeout=30).acquire()
                links = {name: link["connections"] for name, link in b.status()["links"].items()}

                def misuse() -> dict[str, str]:
                    return {
                        "check": said(held.check),
                        "release": said(held.release),
                        "release a token": said(token.release),
                        "section": said(section.check),
                        "issue": said(lambda: at_once(section.issue(1))),
                        "mutex": said(lambda: at_once(a.mutex("x", timeout=1).acquire())),
                        "with": said(lambda: at_once(a.mutex("y", timeout=1).__aenter__())),
                        "leaving the body": said(lambda: at_once(body.__aexit__(None, None, None))),
                        "shared": said(lambda: a.shared("z")),
                        "semaphore": said(lambda: at_once(a.semaphore("s", 2).acquire())),
                        "guarded": said(lambda: a.guarded("total", Counter())),
                        "guarded made before": said(lambda: at_once(guarded.acquire())),
                        "status": said(a.status),
                        "status of all": said(lambda: at_once(a.status_of_all())),
                        "ready": said(lambda: at_once(a.ready(1))),
                        "start": said(lambda: at_once(a.start())),
                        "close": said(lambda: at_once(a.close())),
                        "service": said(node.close),
                        "remote check": said(remote.check),
                        "remote release": said(remote.release),
                        "remote mutex": said(lambda: at_once(program.mutex("z").acquire())),
                        "remote close": said(lambda: at_once(program.__aexit__(None, None, None))),
                    }

                told = in_child(misuse)
                check_refusals(told, quiet=("close", "service", "remote close"))
                held.check()
                remote.check()
                assert (tmp_path / "a.sock").exists()
                for name in ("x", "body", "remote"):
                    assert await b.try_mutex(name, timeout=0.1) is None
                assert {name: link["connections"] for name, link in b.status()["links"].items()} == links
                assert await section.issue(5) == 5
                remote.release()
            for thing in (held, token, section):
                thing.release()
            for name in ("x", "body", "remote"):
                async with b.mutex(name, timeout=30):
                    pass
            node.close()

    asyncio.run(asyncio.wait_for(play(), 60))


def test_a_child_may_end_as_any_process_ends() -> None:
    """It unwinds its blocks, and its copy of the event loop is closed. The parent's must go on."""

    class Ended(BaseException):
        """Stands for SystemExit, which pytest would see."""

    child: list[bool] = []

    async def play() -> None:
        async with clusters(2, timing=PATIENT) as (a, b):
            async with a.mutex("x", timeout=30) as held:
                before = b.status()["links"]["a"]["connections"]
                number = os.fork()
                if not number:
                    child.append(True)
                    raise Ended
                ended = await asyncio.wait_for(asyncio.to_thread(os.waitpid, number, 0), 30)
                assert ended == (number, 0)
                held.check()
                assert await b.try_mutex("x", timeout=0.2) is None
            async with b.mutex("x", timeout=30):
                pass
            assert b.status()["links"]["a"]["connections"] == before
            await asyncio.wait_for(asyncio.to_thread(lambda: None), 30)  # the loop can still be woken up

    try:
        asyncio.run(play())
    except BaseException as error:
        if child:
            os._exit(0 if isinstance(error, Ended) else 3)
        raise


def work_alone(queue: Any, cluster: BlockingCluster | None, peers: dict[str, str]) -> None:
    if cluster is not None:
        queue.put(said(lambda: cluster.mutex("x", timeout=1).acquire()))
    own = congenial.join_blocking("c", peers, timing=QUICK)  # under a name of its own, after the fork
    with own, own.mutex("y", timeout=30) as held:
        queue.put(held.name)


def test_multiprocessing_by_fork() -> None:
    peers = dict(zip("abc", free_addresses(3), strict=True))
    context = multiprocessing.get_context("fork")
    with (
        congenial.join_blocking("a", peers, timing=PATIENT) as a,
        congenial.join_blocking("b", peers, timing=PATIENT) as b,
    ):
        queue = context.Queue()
        worker = context.Process(target=work_alone, args=(queue, a, peers))
        worker.start()
        assert FORKED in queue.get(timeout=30)
        assert queue.get(timeout=30) == "y"
        worker.join(30)
        assert worker.exitcode == 0
        with a.mutex("y", timeout=30):
            assert b.try_mutex("y", timeout=0.1) is None


def test_a_child_of_an_asynchronous_member_joins_under_a_name_of_its_own() -> None:
    peers = dict(zip("abc", free_addresses(3), strict=True))

    async def work() -> str:
        async with congenial.join("c", peers, timing=PATIENT) as own, own.mutex("y", timeout=30) as held:
            return held.name

    async def play() -> None:
        a, b = [congenial.join(name, peers, timing=PATIENT) for name in "ab"]
        async with a, b:
            reading, writing = os.pipe()
            child = os.fork()
            if not child:
                try:
                    os.write(writing, asyncio.run(work()).encode())
                finally:
                    os._exit(0)
            os.close(writing)
            async with a.mutex("x", timeout=30):
                assert await b.try_mutex("x", timeout=0.1) is None
            with open(reading, encoding="utf-8") as told:
                assert await asyncio.to_thread(told.read) == "y"
            await asyncio.to_thread(os.waitpid, child, 0)
            async with b.mutex("y", timeout=30):
                pass

    asyncio.run(asyncio.wait_for(play(), 60))


def test_a_program_that_is_run_inherits_nothing() -> None:
    peers = dict(zip("ab", free_addresses(2), strict=True))
    with (
        congenial.join_blocking("a", peers, timing=PATIENT) as a,
        congenial.join_blocking("b", peers, timing=PATIENT),
        a.mutex("x", timeout=30) as held,
    ):
        mine = descriptors()
        assert mine
        for before in (None, lambda: None):  # with a function that runs in the child, Python calls the hooks
            told = subprocess.run(
                ["ls", "-l", "/proc/self/fd"],
                close_fds=False,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
                preexec_fn=before,
            )
            assert told.returncode == 0, told.stderr
            assert not [target for target in mine if target in told.stdout]
        held.check()


def test_a_member_that_has_left_has_nothing_to_do_with_a_child() -> None:
    cluster = congenial.join_blocking("a", alone())
    with cluster:
        pass

    def join_again() -> str:
        with cluster, cluster.mutex("x", timeout=30) as held:
            return held.name

    assert in_child(join_again) == "x"
    assert isinstance(cluster._cluster, Cluster)
