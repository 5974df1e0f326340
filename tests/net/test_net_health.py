"""Addresses to listen at, health and readiness, and what a service manager is told."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from netlab import QUICK, Cable, clusters, crash, listener

import congenial
from congenial.kernel.errors import ConfigError
from congenial.net.addresses import listening_address
from congenial.net.certs import make_certificates
from congenial.net.config import ClusterConfig, free_addresses
from congenial.net.health import why_not_alive, why_not_ready
from congenial.net.locks import Cluster
from congenial.net.notify import notify, watchdog_period

LONG = 60.0


def ask(place: str, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{place}{path}", timeout=LONG) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.parametrize(
    ("listen", "place"),
    [
        ("", "10.0.0.1:7101"),
        ("0.0.0.0", "0.0.0.0:7101"),
        ("0.0.0.0:9", "0.0.0.0:9"),
        ("::", "[::]:7101"),
        ("[::]", "[::]:7101"),
        ("[::1]:9", "[::1]:9"),
        ("localhost", "localhost:7101"),
    ],
)
def test_a_host_alone_keeps_the_port(listen: str, place: str) -> None:
    assert listening_address(listen, "10.0.0.1:7101") == place


def test_members_are_called_at_one_address_and_listen_at_another() -> None:
    """As behind a port mapping: others cannot know where a member listens."""

    async def play() -> None:
        targets = [listener(), listener()]
        cables = [Cable(target) for target in targets]
        places = [f"127.0.0.1:{target.getsockname()[1]}" for target in targets]
        for target in targets:
            target.close()
        for cable in cables:
            await cable.start()
        nodes = {"a": cables[0].address, "b": cables[1].address}
        configs = [ClusterConfig(nodes, timing=QUICK, listen=place) for place in places]
        async with Cluster("a", configs[0]) as a, Cluster("b", configs[1]) as b:
            for member in (a, b, a):
                async with member.mutex("x", timeout=LONG):
                    pass
        for cable in cables:
            await cable.close()

    asyncio.run(play())


def test_a_member_is_ready_while_a_majority_is_there() -> None:
    async def until(ready: bool, member: Cluster) -> None:
        async with asyncio.timeout(LONG):
            while (not why_not_ready(member._host)) is not ready:
                await asyncio.sleep(0.02)

    async def play() -> None:
        async with clusters(3, ready=False) as (a, b, c):
            await until(True, a)
            await crash(c)
            await crash(b)
            await until(False, a)
            assert why_not_ready(a._host) == "too few members are there, without b, c"
            assert await asyncio.to_thread(why_not_alive, a._host) == ""
            a._host.membership.end("its disk is full")
            assert why_not_ready(a._host) == "its disk is full"
            assert await asyncio.to_thread(why_not_alive, a._host) == "its disk is full"

    asyncio.run(play())


def test_an_event_loop_that_is_stuck_is_not_alive() -> None:
    async def play() -> None:
        async with clusters(1) as (a,):
            with ThreadPoolExecutor() as pool:  # the loop does nothing until the other thread has its answer
                told = pool.submit(why_not_alive, a._host, 0.05).result(LONG)
            assert told == "the event loop has not answered for 0.05 s"

    asyncio.run(play())


def test_health_is_served_beside_the_metrics_at_any_address() -> None:
    async def play() -> None:
        a, b, c = free_addresses(3)
        place = c.replace("127.0.0.1", "127.0.0.2")
        async with congenial.join("a", {"a": a, "b": b}, timing=QUICK, metrics=place) as alone:
            assert await asyncio.to_thread(ask, place, "/healthz") == (200, "ok\n")
            code, why = await asyncio.to_thread(ask, place, "/readyz")
            assert (code, why) == (503, "'a' still waits for b\n")
            async with congenial.join("b", {"a": a, "b": b}, timing=QUICK):
                await alone.ready(LONG)
                async with asyncio.timeout(LONG):
                    while await asyncio.to_thread(ask, place, "/readyz") != (200, "ok\n"):
                        await asyncio.sleep(0.02)
                assert "congenial_peer_away" in (await asyncio.to_thread(ask, place, "/metrics"))[1]

    asyncio.run(play())


def test_metrics_are_served_for_ipv6() -> None:
    place = free_addresses(1)[0].replace("127.0.0.1", "[::1]")
    with congenial.join_blocking("a", {"a": free_addresses(1)[0]}, metrics=place):
        assert ask(place, "/readyz") == (200, "ok\n")


# -- service managers and signals -----------------------------------------------------------------------------------


class Manager:
    """What systemd does: it listens for news of a service."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.socket.settimeout(LONG)
        self.heard: list[str] = []

    def wait_for(self, word: str) -> None:
        while not any([word in line for line in self.heard]):
            self.heard += self.socket.recv(4096).decode().splitlines()


def test_a_node_tells_the_service_manager_and_obeys_signals(tmp_path: Path) -> None:
    a, b, place = free_addresses(3)
    make_certificates(["a", "b"], tmp_path / "certs")
    (tmp_path / "cluster.toml").write_text(
        f"""metrics = "{place}"
nodes.a = "{a}"
nodes.b = "{b}"
tls = {{ca = "certs/ca.pem", certificate = "certs/{{name}}.pem", key = "certs/{{name}}.key"}}
"""
    )
    manager = Manager(tmp_path / "notify.sock")
    with manager.socket:
        command = [sys.executable, "-m", "congenial", "node", "--name", "a", "--socket", "a.sock", "--listen", a]
        env = {**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify.sock"), "WATCHDOG_USEC": "2000000"}
        pipe = subprocess.PIPE
        node = subprocess.Popen(command, cwd=tmp_path, env=env, stdout=pipe, stderr=pipe, text=True)
        manager.wait_for("READY=1")
        manager.wait_for("STATUS='a' still waits for b")
        manager.wait_for("WATCHDOG=1")
        assert ask(place, "/healthz")[0] == 200

        manager.heard.clear()
        make_certificates(["a"], tmp_path / "certs", force=True)
        node.send_signal(signal.SIGHUP)
        manager.wait_for("RELOADING=1")
        manager.wait_for("READY=1")
        manager.heard.clear()
        (tmp_path / "certs" / "a.key").write_text("nonsense")
        node.send_signal(signal.SIGHUP)
        manager.wait_for("READY=1")
        assert ask(place, "/healthz")[0] == 200  # it goes on with the old ones

        node.send_signal(signal.SIGTERM)
        manager.wait_for("STOPPING=1")
        out, log = node.communicate(timeout=LONG)
    assert node.returncode == 0, log
    assert out.startswith(f"node a of 'congenial' listens on {a} and ")
    first, second = [log.index(event) for event in ("certificates.read", "certificates.refused")]
    assert first < second
    assert "certs/a.key" in log[second:]


def test_new_certificates_are_shown_to_new_connections(tmp_path: Path) -> None:
    """After a reload, certificates of another authority work; before it, they did not."""
    for folder in ("old", "new"):
        make_certificates(["a", "b"], tmp_path / folder)
    files = [tmp_path / "certs" / name for name in ("ca.pem", "a.pem", "a.key", "b.pem", "b.key")]
    (tmp_path / "certs").mkdir()

    def put(folder: str) -> None:
        for file in files:
            shutil.copy(tmp_path / folder / file.name, file)

    async def play() -> None:
        put("old")
        names = [str(tmp_path / "certs" / name) for name in ("ca.pem", "{name}.pem", "{name}.key")]
        tls = congenial.Tls(*names)
        async with clusters(2, tls=tls) as (a, b):
            put("new")
            a._host.renew_certificates()
            b._host.renew_certificates()
            for member in (a, b):
                for connection in list(member._host.membership.connections):
                    connection.abort()
            (tmp_path / "certs" / "ca.pem").unlink()  # nobody reads the files any more
            async with b.mutex("x", timeout=LONG), asyncio.timeout(LONG):
                while not (link := a._host.membership.links[0]).connection or link.connections < 2:
                    await asyncio.sleep(0.02)
            with pytest.raises(ConfigError, match=r"ca\.pem"):
                a._host.renew_certificates()

    asyncio.run(play())


def test_without_a_service_manager_nothing_is_sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    assert not notify("READY=1")
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "none"))
    assert not notify("READY=1")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(f"\0congenial-{os.getpid()}")
        monkeypatch.setenv("NOTIFY_SOCKET", f"@congenial-{os.getpid()}")
        assert notify("READY=1", "STATUS=x")
        assert made.recv(100) == b"READY=1\nSTATUS=x"


@pytest.mark.parametrize(
    ("microseconds", "process", "period"),
    [("", "", None), ("x", "", None), ("0", "", None), ("3000000", "", 1.5), ("3000000", "1", None)],
)
def test_the_watchdog_is_fed_twice_in_its_time(
    microseconds: str, process: str, period: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", microseconds)
    monkeypatch.setenv("WATCHDOG_PID", process)
    assert watchdog_period() == period
