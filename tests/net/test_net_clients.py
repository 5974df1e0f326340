"""Programs that are no members: `congenial.connect`, to nodes of this machine and elsewhere, which come and go."""

from __future__ import annotations

import asyncio
import math
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from netlab import Cable, cabled_clusters, clusters, listener

import congenial
from congenial.net.asks import RENUMBERED, Answer
from congenial.net.certs import make_certificates
from congenial.net.config import free_addresses
from congenial.net.lease import clock
from congenial.net.service import serve, serve_at
from congenial.net.tls import Tls
from places import alone, with_free_addresses

LONG = 30.0
ALONE = alone()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: that of a socket must not be long."""
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 4 * LONG))


async def until(condition: Any) -> None:
    async with asyncio.timeout(LONG):
        while not condition():
            await asyncio.sleep(0.01)


def test_all_forms_of_locks_and_what_is_made_of_them(folder: Path) -> None:
    async def story() -> None:
        async with clusters(3) as (a, b, c):
            for name, member in zip("abc", (a, b, c), strict=True):
                await serve(member, folder / f"{name}.sock")
            async with (
                congenial.connect(folder / "a.sock") as one,
                congenial.connect([folder / "b.sock", folder / "c.sock"]) as two,
            ):
                async with one.shared("x"), two.shared("x"):
                    assert await two.exclusive("x").acquire(timeout=0.05) is None
                async with one.group("x", "g"), two.group("x", "g"):
                    assert await one.group("x", "h").acquire(timeout=0.05) is None
                async with one.semaphore("s", 2), two.semaphore("s", 2):
                    assert await one.semaphore("s", 2).acquire(timeout=0.05) is None
                async with one.all("p", "q", timeout=LONG):
                    with pytest.raises(congenial.LockTimeout):
                        await two.all("q", "p", timeout=0.05).acquire()
                waiting = asyncio.create_task(two.event("go").wait(LONG))
                await one.event("go").set()
                assert await waiting
                assert await c.event("go").wait(LONG)
                meet = [asyncio.create_task(who.barrier("meet", 3).wait(LONG)) for who in (one, two, c)]
                assert sorted(await asyncio.gather(*meet)) == [0, 1, 2]
                async with one.once("create") as first:
                    assert first
                async with two.once("create") as first:
                    assert not first
                async with two.lead("scheduler") as held:
                    assert held.fence > 0
                    assert await one.lead("scheduler").leader() == "b"
                jobs: list[int] = []

                async def take() -> int:
                    async with two.condition("jobs") as _:
                        await two.condition("jobs").wait_for(lambda: jobs, LONG)
                        return jobs.pop()

                taking = asyncio.create_task(take())
                async with one.condition("jobs") as _:
                    jobs.append(5)
                    await one.condition("jobs").notify_all()
                assert await taking == 5
                assert not two.condition("jobs").locked()
                told = await one.status_of_all(lock="x")
                assert set(told) == {"a", "b", "c"}

    run(story())


def test_a_node_that_is_restarted(folder: Path) -> None:
    async def story() -> None:
        async with congenial.join("a", ALONE) as cluster:
            await serve(cluster, folder / "a.sock")
            node = congenial.connect(folder / "a.sock")
            await node.__aenter__()
            held = await node.mutex("x").acquire()

            async def body() -> None:
                async with node.mutex("y"):
                    await asyncio.sleep(4 * LONG)

            working = asyncio.create_task(body())
            await until(lambda: node.mutex("y").locked())
        assert "is gone" in await asyncio.wait_for(held.lost.wait(), LONG)
        with pytest.raises(congenial.LockLost):
            await asyncio.wait_for(working, LONG)
        with pytest.raises(congenial.LockLost):
            held.release()
        with pytest.raises(congenial.ClusterDegraded, match=r"is gone|no node is listening"):
            await node.mutex("x").acquire(timeout=0.1)
        with pytest.raises(congenial.ClusterDegraded):
            await node.mutex("x").acquire(blocking=False)
        waiting = asyncio.create_task(node.mutex("x").acquire())
        event = asyncio.create_task(node.event("go").wait())
        await asyncio.sleep(0.1)
        assert not waiting.done()
        async with congenial.join("a", ALONE) as cluster:
            await serve(cluster, folder / "a.sock")
            later = await asyncio.wait_for(waiting, LONG)  # it asks again
            assert later.fence > held.fence
            await cluster.event("go").set()
            assert await asyncio.wait_for(event, LONG)
            assert await cluster.mutex("x").acquire(timeout=0.05) is None
            await node.__aexit__(None, None, None)
            assert await cluster.mutex("x").acquire(timeout=LONG)  # what it held is free

    run(story())


def test_a_request_at_the_moment_at_which_the_connection_breaks_is_asked_again(folder: Path) -> None:
    """The transport knows that it is closed before the client hears of it."""

    async def story() -> None:
        async with congenial.join("a", ALONE) as cluster:
            await serve(cluster, folder / "a.sock")
            async with congenial.connect(folder / "a.sock") as node:
                for _ in range(2):
                    assert node._writer is not None
                    node._writer.transport.abort()
                    async with node.mutex("x", timeout=LONG) as held:
                        assert held.held

    run(story())


@pytest.mark.parametrize("news", ["another fence", "it is lost", "the connection breaks"])
def test_what_comes_right_after_a_grant_is_heard(news: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both arrive at the same time, before the task that has asked goes on."""

    async def story() -> None:
        async with congenial.join("a", ALONE) as cluster:
            service = await serve(cluster, folder / "a.sock")
            async with congenial.connect(folder / "a.sock") as node:
                hear, grants = node._on_answer, []

                def hear_both(answer: Answer) -> None:
                    hear(answer)
                    if answer.lock:
                        grants.append(answer.id)
                    if not answer.lock or len(grants) > 1:
                        return
                    if news == "another fence":
                        hear(Answer(RENUMBERED, 1 << 62, held=answer.id))
                    elif news == "it is lost":
                        for session in service.sessions:
                            theirs = session.held[answer.id]
                            theirs._door.release(theirs)
                            theirs._lose("for a test")
                        hear(Answer(answer.id, error="LockLost", text="for a test"))
                    else:
                        node._break("for a test")

                monkeypatch.setattr(node, "_on_answer", hear_both)
                held = await node.semaphore("s", 1).acquire(timeout=LONG)
                assert held is not None
                assert held.held
                assert (held.fence == 1 << 62) == (news == "another fence")
                assert len(grants) == (1 if news == "another fence" else 2)  # what was lost unseen is asked for again
                assert cluster.semaphore("s", 1).locked()
                held.release()
                await until(lambda: not cluster.semaphore("s", 1).locked())

    run(story())


def test_another_node_takes_the_place_of_one_that_is_gone(folder: Path) -> None:
    async def story() -> None:
        async with clusters(3) as (a, b, _):
            first = await serve(a, folder / "a.sock")
            await serve(b, folder / "b.sock")
            async with congenial.connect([folder / "a.sock", folder / "b.sock"]) as node:
                held = await node.mutex("x").acquire()
                async with b.mutex("y"):
                    waiting = asyncio.create_task(node.mutex("y").acquire())
                    await asyncio.sleep(0.05)
                    first.close()
                    await asyncio.wait_for(held.lost.wait(), LONG)
                    await until(lambda: str(node._where).endswith("b.sock") and node._up.is_set())
                assert (await asyncio.wait_for(waiting, LONG)).held
                assert await node.mutex("x").acquire(timeout=LONG)

    run(story())


def tls_in(folder: Path, name: str) -> Tls:
    return Tls(str(folder / "ca.pem"), str(folder / f"{name}.pem"), str(folder / f"{name}.key"))


def test_a_node_elsewhere_over_tls(folder: Path) -> None:
    make_certificates(("a", "web"), folder)
    (folder / "other").mkdir()
    make_certificates(("web",), folder / "other")
    place = free_addresses(1)[0]

    async def story() -> None:
        tls = Tls(str(folder / "ca.pem"), str(folder / "{name}.pem"), str(folder / "{name}.key"))
        async with congenial.join("a", ALONE, tls=tls) as cluster:
            await serve_at(cluster, place)
            async with congenial.connect({"a": place}, tls=tls_in(folder, "web")) as node, node.mutex("x") as held:
                assert held.fence > 0
                assert await cluster.mutex("x").acquire(timeout=0.05) is None
            assert await cluster.mutex("x").acquire(timeout=LONG)
            with pytest.raises(congenial.ClusterDegraded, match="certificate"):  # for another name
                await congenial.connect({"b": place}, tls=tls_in(folder, "web")).__aenter__()
            with pytest.raises(congenial.ClusterDegraded):  # of another authority
                await congenial.connect({"a": place}, tls=tls_in(folder / "other", "web")).__aenter__()
            mixed = Tls(str(folder / "ca.pem"), *[str(folder / "other" / f"web.{end}") for end in ("pem", "key")])
            with pytest.raises(congenial.ClusterDegraded):
                await congenial.connect({"a": place}, tls=mixed).__aenter__()
            with pytest.raises(congenial.ConfigError, match="over TLS only"):
                congenial.connect({"a": place})
        async with congenial.join("a", ALONE) as cluster:
            with pytest.raises(congenial.ConfigError, match="need TLS"):
                await serve_at(cluster, place)

    run(story())


def test_a_program_that_is_cut_off_stops_by_its_clock_before_the_node_goes_on(folder: Path) -> None:
    make_certificates(("a", "web"), folder)

    async def story() -> None:
        tls = Tls(str(folder / "ca.pem"), str(folder / "{name}.pem"), str(folder / "{name}.key"))
        made = listener()
        cable = Cable(made)
        place = f"127.0.0.1:{made.getsockname()[1]}"
        made.close()
        await cable.start()
        async with congenial.join("a", ALONE, tls=tls) as cluster:
            await serve_at(cluster, place)
            client = congenial.connect({"a": cable.address}, tls=tls_in(folder, "web"), patience=0.6)
            async with client as node:
                held = await node.mutex("x").acquire()
                await asyncio.sleep(1.5)
                held.check()  # it is asked and answers
                cable.delay = 4 * LONG
                free = asyncio.create_task(cluster.mutex("x").acquire())
                told = asyncio.create_task(held.lost.wait())
                await asyncio.wait([free, told], return_when=asyncio.FIRST_COMPLETED)
                assert not held.held  # before another one has it
                await asyncio.wait_for(free, LONG)
                assert "has not answered" in await asyncio.wait_for(told, LONG)
                cable.cut()
        await cable.close()

    run(story())


@pytest.mark.parametrize("told", [True, False], ids=["the node tells", "the program looks at its clock"])
def test_a_program_learns_that_its_node_was_cut_off(told: bool, folder: Path) -> None:
    async def story() -> None:
        async with cabled_clusters(3) as (members, cables):
            await serve(members[2], folder / "c.sock")
            async with congenial.connect(folder / "c.sock") as node:
                held = await node.mutex("x", timeout=LONG).acquire()
                hear = node._on_answer
                if not told:
                    node._on_answer = lambda answer: None if answer.error == "LockLost" else hear(answer)  # type: ignore[method-assign]
                for cable in cables:
                    cable.down = True
                    cable.cut()
                assert "gone on without" in await asyncio.wait_for(held.lost.wait(), LONG)

    run(story())


def test_the_mode_and_the_group_of_the_socket(folder: Path) -> None:
    async def story() -> None:
        async with congenial.join("a", ALONE) as cluster:
            group = str(os.getgid())
            service = await serve(cluster, folder / "a.sock", mode=0o660, group=group)
            found = os.stat(folder / "a.sock")
            assert (stat.S_IMODE(found.st_mode), found.st_gid) == (0o660, os.getgid())
            async with congenial.connect(folder / "a.sock") as node, node.mutex("x"):
                pass
            service.close()
            for mode, wrong in ((0o777, ""), (0o066, ""), (0o660, "no-such-group")):
                with pytest.raises(congenial.ConfigError, match="socket"):
                    await serve(cluster, folder / "b.sock", mode=mode, group=wrong)

    run(story())


def test_threads_use_a_node(folder: Path) -> None:
    with congenial.join_blocking("a", {"a": free_addresses(1)[0]}) as cluster:
        cluster._run(serve(cluster._cluster, folder / "a.sock"))
        with congenial.connect_blocking(folder / "a.sock") as node, ThreadPoolExecutor(4) as pool:
            counter = 0

            def count(_: int) -> None:
                nonlocal counter
                with node.mutex("x", timeout=LONG):
                    seen = counter
                    counter = seen + 1

            list(pool.map(count, range(100)))
            assert counter == 100
            lock = node.mutex("x", reentrant=True)
            with lock, lock:
                assert not pool.submit(lock.acquire, False).result()
            waiting = pool.submit(node.event("go").wait, LONG)
            cluster.event("go").set()
            assert waiting.result()
            with node.lead("l") as held:
                held.check()
            assert node.barrier("b", 1).wait() == 0
            condition = node.condition("c")
            with condition:
                assert not condition.wait(0.01)
            with node.all("p", "q"):
                pass
        with pytest.raises(congenial.ConfigError, match="connect_blocking"):
            node.mutex("x").acquire()


def test_where_nodes_are(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONGENIAL_SOCKET", str(folder / "env.sock"))
    assert str(congenial.connect()._where) == str(folder / "env.sock")
    monkeypatch.delenv("CONGENIAL_SOCKET")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    (folder / "cluster.toml").write_text(with_free_addresses('[nodes]\na = "127.0.0.1:7101"\n'))
    monkeypatch.chdir(folder)
    with pytest.raises(congenial.ClusterDegraded, match="no node of 'congenial' on this machine"):
        congenial.connect()
    (folder / "congenial-congenial-a.sock").touch()
    assert str(congenial.connect()._where).endswith("congenial-a.sock")
    for wrong in (5, [], [5], "", {"a": "nowhere"}):
        with pytest.raises(congenial.ConfigError):
            congenial.connect(wrong, tls=None)  # type: ignore[arg-type]
    with pytest.raises(congenial.ConfigError, match="tls is for nodes elsewhere"):
        congenial.connect("a.sock", tls=Tls("a", "b", "c"))
    with pytest.raises(congenial.ConfigError, match="patience"):
        congenial.connect("a.sock", patience=0)


@pytest.mark.deep
def test_a_node_on_the_command_line(folder: Path) -> None:
    """`congenial node` with a group for its socket and an address for programs, killed and started again."""
    make_certificates(("a", "web"), folder)
    place = free_addresses(1)[0]
    (folder / "cluster.toml").write_text(
        with_free_addresses('[nodes]\na = "127.0.0.1:7101"\n[tls]\n')
        + 'ca = "ca.pem"\ncertificate = "{name}.pem"\nkey = "{name}.key"\n'
    )
    command = [sys.executable, "-m", "congenial", "node", "--name", "a", "--config", str(folder / "cluster.toml")]
    command += ["--socket", str(folder / "a.sock"), "--socket-mode", "660", "--socket-group", str(os.getgid())]
    command += ["--clients", place]

    def start() -> subprocess.Popen[str]:
        node = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert node.stdout is not None
        assert place in node.stdout.readline()
        return node

    node = start()
    assert stat.S_IMODE(os.stat(folder / "a.sock").st_mode) == 0o660
    with (
        congenial.connect_blocking(folder / "a.sock") as here,
        congenial.connect_blocking({"a": place}, tls=tls_in(folder, "web")) as elsewhere,
    ):
        held = here.mutex("x").acquire()
        assert elsewhere.mutex("x").acquire(timeout=0.05) is None
        node.kill()
        node.wait()
        with ThreadPoolExecutor(2) as pool:
            waiting = [pool.submit(client.mutex(name).acquire) for client, name in ((here, "y"), (elsewhere, "z"))]
            node = start()
            assert all([one.result(LONG).held for one in waiting])
        assert held.lost
        assert here.mutex("x").acquire(timeout=LONG)
    node.terminate()
    assert node.wait(LONG) == 0


# -- the examples -----------------------------------------------------------------------------------------------

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def node(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A node of this machine, which programs find by CONGENIAL_SOCKET."""
    monkeypatch.setenv("CONGENIAL_SOCKET", str(folder / "a.sock"))
    with congenial.join_blocking("a", {"a": free_addresses(1)[0]}) as cluster:
        cluster._run(serve(cluster._cluster, folder / "a.sock"))
        yield folder / "a.sock"


def test_the_example_of_a_web_application(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from fastapi.testclient import TestClient
    from web_app import app, balances

    with TestClient(app) as web, congenial.connect_blocking(node) as other:
        with ThreadPoolExecutor(4) as pool:
            ways = [("ann", "bob") if number % 2 else ("bob", "ann") for number in range(20)]
            told = list(pool.map(lambda way: web.post(f"/transfer/{way[0]}/{way[1]}/5").json(), ways))
        assert balances == {"ann": 100, "bob": 100}
        assert len({one["fence"] for one in told}) == 20
        with other.mutex("ann"):
            refused = web.post("/transfer/ann/bob/5")
        assert refused.status_code == 503
        assert "'ann' was missing" in refused.json()["error"]


def test_the_example_of_a_server_that_forks(node: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "prefork.py")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert ended.stderr == ""
    created, counted = ended.stdout.splitlines()
    assert created.endswith("has created the tables")
    assert counted == "100"


def test_a_client_of_a_hasty_cluster_keeps_what_it_holds(folder: Path) -> None:
    """Once it asked for signs of life less often than the node's leases last, and lost everything in a second."""

    async def story() -> None:
        hasty = congenial.Timing(heartbeat=0.1, suspect_after=0.5)
        async with clusters(3, timing=hasty) as (a, b, _):
            await serve(a, folder / "a.sock")
            async with congenial.connect(folder / "a.sock") as client, client.mutex("x") as held:
                kept = asyncio.create_task(asyncio.sleep(1.5))
                while not kept.done():
                    await asyncio.sleep(0.02)
                    assert held.held
                assert await b.try_mutex("x") is None

    run(story())


def test_a_client_allows_for_clocks_that_differ_as_the_cluster_says(folder: Path) -> None:
    async def story() -> None:
        async with congenial.join("a", ALONE, timing=congenial.Timing(drift=0.4)) as cluster:
            await serve(cluster, folder / "a.sock")
            async with congenial.connect(folder / "a.sock", patience=10) as node:
                left = node.until - clock()
                assert 0 < left <= 6

    run(story())


def test_what_a_node_has_just_begun_to_promise_is_not_lost_at_once(folder: Path) -> None:
    """It could promise nothing when it was last asked, since it had no majority. Then it had one, and the lock."""

    async def story() -> None:
        async with congenial.join("a", ALONE) as cluster:
            await serve(cluster, folder / "a.sock")
            async with congenial.connect(folder / "a.sock") as node:
                node.until = -math.inf
                async with node.mutex("x") as held:
                    assert held.held

    run(story())


def test_a_program_knows_for_how_long_it_surely_holds_a_lock(folder: Path) -> None:
    patience = 2.0

    def by_threads() -> None:
        with congenial.connect_blocking(folder / "a.sock", patience=patience) as node, node.mutex("x") as held:
            assert 0 < held.valid_for() <= patience
        assert held.valid_for() == 0

    async def story() -> None:
        async with clusters(3) as (a, *_):
            await serve(a, folder / "a.sock")
            async with congenial.connect(folder / "a.sock", patience=patience) as node:
                async with node.mutex("x") as held:
                    assert 0 < held.valid_for() <= min(patience, a._host.locks.lease.left())
                assert held.valid_for() == 0
                held = await node.mutex("x").acquire()
                node.until = clock() - 1
                assert held.valid_for() == 0
            await asyncio.to_thread(by_threads)

    run(story())
