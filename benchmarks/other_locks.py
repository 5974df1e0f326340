"""The systems that `locks.py` compares Congenial with: how each is started on this machine, and how a process uses it.

One server, and three of them where that survives the crash of one. redis-py's Lock polls every millisecond instead of
its usual 100 ms, pottery's Redlock every two instead of 200, and PySyncObj's lock manager, which can only try, is
asked again after a millisecond; PySyncObj itself is set to be quick, with periods of a millisecond and no batches.
etcd's lock service is used over its HTTP gateway, ZooKeeper by kazoo's Lock, ReadLock and WriteLock. The others have
no shared locks, and none has groups: an exclusive lock takes their place.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from workers import free_port

Leave = Callable[[], Any]
Enter = Callable[[str, str], Leave]  # the name and the mode of a lock

POLL = 0.001  # seconds
FOREVER = 600  # seconds
START = 60.0  # seconds in which servers must begin to serve
ZOOKEEPER_JAR = Path("/usr/share/java/zookeeper.jar")


@dataclass(frozen=True)
class Other:
    """A system: `nodes` servers, or none if the processes are the nodes themselves."""

    nodes: int
    survives: str  # what locks survive, in words
    client: Callable[[dict[str, Any]], Enter] | None
    modules: tuple[str, ...]  # of Python
    package: str = ""  # of Debian
    command: Callable[[list[int], int, Path], list[str]] | None = None  # of one of the servers: all ports, which, where

    def missing(self) -> str:
        """What is not installed."""
        lacking = [name for name in self.modules if find_spec(name) is None]
        if self.package and not server_is_installed(self.package):
            lacking.append(self.package)
        return " and ".join(lacking)


def server_is_installed(package: str) -> bool:
    if package == "zookeeper":
        return shutil.which("java") is not None and ZOOKEEPER_JAR.exists()
    return shutil.which({"redis-server": "redis-server", "etcd-server": "etcd"}[package]) is not None


# -- clients -------------------------------------------------------------------------------------------------------


def redis_client(job: dict[str, Any]) -> Enter:
    import redis

    server = redis.Redis(port=job["ports"][0])

    def enter(name: str, mode: str) -> Leave:
        lock = server.lock(name, timeout=30, sleep=POLL)
        lock.acquire()
        return lock.release

    return enter


def redlock_client(job: dict[str, Any]) -> Enter:
    import redis
    from pottery import Redlock

    Redlock._RETRY_DELAY = 2 * POLL
    servers = {redis.Redis(port=port) for port in job["ports"]}

    def enter(name: str, mode: str) -> Leave:
        lock = Redlock(key=name, masters=servers, auto_release_time=30)
        lock.acquire()
        return lock.release

    return enter


def etcd_client(job: dict[str, Any]) -> Enter:
    server = http.client.HTTPConnection("127.0.0.1", job["ports"][job["number"] % len(job["ports"])])
    server.connect()
    server.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def call(path: str, **body: Any) -> Any:
        server.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        return json.loads(server.getresponse().read())

    lease = call("/v3/lease/grant", TTL=FOREVER)["ID"]

    def enter(name: str, mode: str) -> Leave:
        key = call("/v3/lock/lock", name=base64.b64encode(name.encode()).decode(), lease=lease)["key"]
        return lambda: call("/v3/lock/unlock", key=key)

    return enter


def zookeeper_client(job: dict[str, Any]) -> Enter:
    from kazoo.client import KazooClient

    server = KazooClient(",".join([f"127.0.0.1:{port}" for port in job["ports"]]))
    server.start()

    def enter(name: str, mode: str) -> Leave:
        if job["scenario"] == "readers":
            lock = server.ReadLock(f"/{name}") if mode == "shared" else server.WriteLock(f"/{name}")
        else:
            lock = server.Lock(f"/{name}")
        lock.acquire()
        return lock.release

    return enter


def pysyncobj_client(job: dict[str, Any]) -> Enter:
    from pysyncobj import SyncObj, SyncObjConf
    from pysyncobj.batteries import ReplLockManager

    nodes = dict(job["nodes"])
    mine = nodes.pop(job["name"])
    manager = ReplLockManager(autoUnlockTime=30)
    quick = SyncObjConf(autoTickPeriod=POLL, appendEntriesPeriod=POLL, appendEntriesUseBatch=False)
    member = SyncObj(mine, list(nodes.values()), consumers=[manager], conf=quick)
    member.waitReady()

    def enter(name: str, mode: str) -> Leave:
        while not manager.tryAcquire(name, sync=True):
            time.sleep(POLL)
        return lambda: manager.release(name, sync=True)

    return enter


# -- servers -------------------------------------------------------------------------------------------------------


def redis_command(ports: list[int], which: int, folder: Path) -> list[str]:
    port = ports[which]
    return ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]


def etcd_command(ports: list[int], which: int, folder: Path) -> list[str]:
    mine = f"http://127.0.0.1:{ports[which]}"
    peers = [f"http://127.0.0.1:{port + 1}" for port in ports]
    everyone = ",".join([f"node{at}={place}" for at, place in enumerate(peers)])
    return [
        "etcd", "--name", f"node{which}", "--data-dir", str(folder / "data"), "--listen-client-urls", mine,
        "--advertise-client-urls", mine, "--listen-peer-urls", peers[which],
        "--initial-advertise-peer-urls", peers[which], "--initial-cluster", everyone,
    ]  # fmt: skip


def zookeeper_command(ports: list[int], which: int, folder: Path) -> list[str]:
    config = folder / "zoo.cfg"
    data = folder / "data"
    data.mkdir()
    lines = [
        "tickTime=2000", "initLimit=10", "syncLimit=5", f"dataDir={data}", f"clientPort={ports[which]}",
        "clientPortAddress=127.0.0.1", "maxClientCnxns=0", "admin.enableServer=false",
    ]  # fmt: skip
    if len(ports) > 1:
        lines += [f"server.{at + 1}=127.0.0.1:{port + 1}:{port + 2}" for at, port in enumerate(ports)]
        (data / "myid").write_text(f"{which + 1}\n")
    config.write_text("\n".join(lines) + "\n")
    main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
    return ["java", "-cp", f"{ZOOKEEPER_JAR.parent}/*", main, str(config)]


def free_ports(count: int) -> list[int]:
    """Ports with two more free ones after each, for what servers say to each other."""
    found: list[int] = []
    while len(found) < count:
        port = free_port()
        if all([abs(port - other) > 2 for other in found]) and all([is_free(port + more) for more in (1, 2)]):
            found.append(port)
    return found


def is_free(port: int) -> bool:
    with socket.socket() as made:
        try:
            made.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


@contextlib.contextmanager
def running(other: Other, folder: Path) -> Iterator[list[int]]:
    """The servers of a system, until the end of the block; their ports."""
    ports = free_ports(other.nodes)
    servers: list[subprocess.Popen[bytes]] = []
    with contextlib.ExitStack() as stack:
        try:
            for which in range(other.nodes):
                place = folder / str(which)
                place.mkdir()
                assert other.command is not None
                log = stack.enter_context(open(place / "log", "wb"))
                words = other.command(ports, which, place)
                servers.append(subprocess.Popen(words, stdout=log, stderr=log, cwd=place))
            for which, port in enumerate(ports):
                wait_for(servers[which], port, folder / str(which) / "log")
            if servers:
                time.sleep(2 if other.nodes > 1 else 1)  # until they have elected a leader
            yield ports
        finally:
            for server in servers:
                server.terminate()
            for server in servers:
                server.wait()


def wait_for(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + START
    while server.poll() is None and time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError(f"{server.args!r} does not start: {log.read_text(errors='replace')[-500:]}")


ONE_OF_THREE = "the crash of one of three servers"
RESTART = "a restart of its only server"
OTHERS = {
    "redis": Other(1, "nothing", redis_client, ("redis",), "redis-server", redis_command),
    "redlock": Other(3, ONE_OF_THREE, redlock_client, ("redis", "pottery"), "redis-server", redis_command),
    "etcd": Other(1, RESTART, etcd_client, (), "etcd-server", etcd_command),
    "etcd-3": Other(3, ONE_OF_THREE, etcd_client, (), "etcd-server", etcd_command),
    "zookeeper": Other(1, RESTART, zookeeper_client, ("kazoo",), "zookeeper", zookeeper_command),
    "zookeeper-3": Other(3, ONE_OF_THREE, zookeeper_client, ("kazoo",), "zookeeper", zookeeper_command),
    "pysyncobj": Other(0, "the crash of a minority of the processes", pysyncobj_client, ("pysyncobj",)),
}
