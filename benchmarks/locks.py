"""Congenial's locks compared with those of Redis, etcd and ZooKeeper, and with one hop of the network itself.

    python benchmarks/locks.py [--seconds 2] [--only congenial,redis] [--install]
    python benchmarks/locks.py --algorithm token-gme --algorithm home-gme [--members 3,8,25]

The second form compares algorithms behind Congenial's own locks; `lock_algorithms.py` says how. This is the first one.

Everything runs on this machine, over loopback: three nodes of Congenial (eight where eight processes compete: with
Congenial the processes are the nodes), and one server each of the others, with its data in a temporary folder, started
and stopped by this script. A server that is not installed is left out with a message; --install installs it with
apt-get.

`own-thread` is Congenial with each node in a thread of its own, beside the event loop of the program.

How the others are used: redis-py's Lock, polling every millisecond instead of its usual 100 ms; etcd's lock service
over its HTTP gateway; kazoo's Lock, ReadLock and WriteLock. Redis and etcd have no shared locks, and none of the three
has groups: an exclusive lock takes their place.

The scenarios, and the time that each measures:

- `fresh`: acquire and release a lock that another process held last; `again`: one that this process held last
- `two` and `eight`: so many processes compete for one lock; from one holder's release to the next one's entry
- `readers`: eight processes read nine times out of ten; `groups`: eight processes, four groups with skew; the wait

Competing processes hold for two milliseconds, so that others wait when they release. The raw hop is one message between
two tasks of two processes, with asyncio alone, at the same pace.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import http.client
import json
import random
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from workers import Worker, answer, at, end, free_port, hear, say, start, tell

SCENARIOS = {"fresh": 1, "again": 1, "two": 2, "eight": 8, "readers": 8, "groups": 8}  # processes that compete
PACKAGES = {"redis": ("redis-server",), "etcd": ("etcd-server",), "zookeeper": ("zookeeper",)}
OURS = ("congenial", "own-thread")
SYSTEMS = (*OURS, "redis", "etcd", "zookeeper")
HOLD = 0.002  # seconds (uvloop's timers count milliseconds), so that others wait when the holder releases
HOPS = 1000
GROUPS, WEIGHTS = ("red", "green", "blue", "white"), (8, 4, 2, 1)

Span = tuple[float, float, float]  # asked, entered, left


# -- one process of a measurement ------------------------------------------------------------------------------


def wanted(scenario: str, turn: int, rng: random.Random) -> tuple[str, str, str, float]:
    """What to ask for next: name, mode, group, and how long to hold it."""
    if scenario == "fresh":
        return f"fresh {turn}", "exclusive", "", 0.0
    if scenario == "readers":
        return "catalogue", "shared" if rng.random() < 0.9 else "exclusive", "", HOLD
    if scenario == "groups":
        return "jukebox", "group", rng.choices(GROUPS, WEIGHTS)[0], HOLD
    return "x", "exclusive", "", HOLD if scenario in ("two", "eight") else 0.0


async def congenial_worker(job: dict[str, Any]) -> None:
    import congenial
    from congenial.net.names import first_holder, lock_key

    rng = random.Random(job["number"])
    scenario, seconds = job["scenario"], job["seconds"]
    loop = asyncio.get_running_loop()
    cluster: Any
    async with congenial.join(job["name"], job["nodes"], own_thread=job["system"] == "own-thread") as cluster:  # type: ignore[call-overload]
        await cluster.ready()
        spans: list[Span] = []
        say("ready")
        await loop.run_in_executor(None, hear)
        turn = 0
        end = time.perf_counter() + (seconds if job["active"] else 0)
        while time.perf_counter() < end:
            turn += 1
            name, mode, group, hold = wanted(scenario, turn, rng)
            if scenario == "fresh" and first_holder(lock_key(name), len(job["nodes"])) == 0:
                continue  # it would be ours from the beginning
            if mode == "group":
                lock = cluster.group(name, group)
            else:
                lock = cluster.shared(name) if mode == "shared" else cluster.exclusive(name)
            asked = time.perf_counter()
            async with lock:
                entered = time.perf_counter()
                if hold:
                    await asyncio.sleep(hold)
                left = time.perf_counter()
            spans.append((asked, entered, time.perf_counter() if scenario in ("fresh", "again") else left))
        say(spans)
        await loop.run_in_executor(None, hear)  # no node leaves while others measure


def other_worker(job: dict[str, Any]) -> None:
    rng = random.Random(job["number"])
    enter = CLIENTS[job["system"]](job)
    say("ready")
    hear()
    spans: list[Span] = []
    end = time.perf_counter() + job["seconds"]
    turn = 0
    while time.perf_counter() < end:
        turn += 1
        name, mode, _, hold = wanted(job["scenario"], turn, rng)
        asked = time.perf_counter()
        leave = enter(name, mode)
        entered = time.perf_counter()
        if hold:
            time.sleep(hold)
        left = time.perf_counter()
        leave()
        spans.append((asked, entered, time.perf_counter() if job["scenario"] in ("fresh", "again") else left))
    say(spans)
    hear()


def redis_client(job: dict[str, Any]) -> Callable[[str, str], Callable[[], Any]]:
    import redis

    server = redis.Redis(port=job["port"])

    def enter(name: str, mode: str) -> Callable[[], Any]:
        lock = server.lock(name, timeout=30, sleep=0.001)
        lock.acquire()
        return lock.release

    return enter


def etcd_client(job: dict[str, Any]) -> Callable[[str, str], Callable[[], Any]]:
    server = http.client.HTTPConnection("127.0.0.1", job["port"])
    server.connect()
    server.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def call(path: str, **body: Any) -> Any:
        server.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        return json.loads(server.getresponse().read())

    lease = call("/v3/lease/grant", TTL=600)["ID"]

    def enter(name: str, mode: str) -> Callable[[], Any]:
        key = call("/v3/lock/lock", name=base64.b64encode(name.encode()).decode(), lease=lease)["key"]
        return lambda: call("/v3/lock/unlock", key=key)

    return enter


def zookeeper_client(job: dict[str, Any]) -> Callable[[str, str], Callable[[], Any]]:
    from kazoo.client import KazooClient

    server = KazooClient(f"127.0.0.1:{job['port']}")
    server.start()

    def enter(name: str, mode: str) -> Callable[[], Any]:
        if job["scenario"] == "readers":
            lock = server.ReadLock(f"/{name}") if mode == "shared" else server.WriteLock(f"/{name}")
        else:
            lock = server.Lock(f"/{name}")
        lock.acquire()
        return lock.release

    return enter


CLIENTS = {"redis": redis_client, "etcd": etcd_client, "zookeeper": zookeeper_client}


def work(text: str) -> None:
    job = json.loads(text)
    if job["system"] in CLIENTS:
        other_worker(job)
        return
    from congenial.net.loop_thread import new_event_loop

    loop = new_event_loop()
    if job["system"] in OURS:
        loop.run_until_complete(congenial_worker(job))
    elif job["system"] == "raw":
        loop.run_until_complete(raw_worker(job))
    else:
        import lock_algorithms

        loop.run_until_complete(lock_algorithms.work(job))


# -- the raw hop -------------------------------------------------------------------------------------------------


class Catcher(asyncio.Protocol):
    """Notes when each message arrives; a task that waits for it is woken, as a lock's is."""

    def __init__(self) -> None:
        self.caught: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if not self.caught.done():
            self.caught.set_result(data)


async def raw_worker(job: dict[str, Any]) -> None:
    """Two processes send a message back and forth, and pause before each answer; both read the same clock."""
    loop = asyncio.get_running_loop()
    ends: asyncio.Queue[Catcher] = asyncio.Queue()

    def made() -> Catcher:
        ends.put_nowait(Catcher())
        return ends._queue[-1]  # type: ignore[attr-defined, no-any-return]

    if job["active"]:
        await loop.create_connection(made, "127.0.0.1", job["port"])
    else:
        await loop.create_server(made, "127.0.0.1", job["port"])
        say("ready")
    end = await ends.get()
    times: list[float] = []
    if job["active"]:
        end.transport.write(struct.pack("d", time.perf_counter()) + b"x" * 40)
    while len(times) < HOPS:
        data = await end.caught
        times.append(time.perf_counter() - struct.unpack("d", data[:8])[0])
        end.caught = loop.create_future()
        await asyncio.sleep(HOLD)
        end.transport.write(struct.pack("d", time.perf_counter()) + b"x" * 40)
    say(times)
    await asyncio.sleep(0.1)


# -- the servers -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def running(words: list[str], port: int, folder: str) -> Iterator[None]:
    with open(Path(folder) / "log", "w") as log:
        server = subprocess.Popen(words, stdout=log, stderr=log, cwd=folder)
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if server.poll() is not None:
                break
            time.sleep(0.1)
        else:
            server.kill()
        if server.poll() is not None:
            raise RuntimeError(f"{words[0]} does not start: {(Path(folder) / 'log').read_text()[-500:]}")
        time.sleep(1)
        yield
    finally:
        server.terminate()
        server.wait()


def server_command(system: str, port: int, folder: str) -> list[str]:
    if system == "redis":
        return ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
    if system == "etcd":
        mine, peers = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{free_port()}"
        alone = f"default={peers}"
        return [
            "etcd", "--data-dir", f"{folder}/data", "--listen-client-urls", mine, "--advertise-client-urls", mine,
            "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", alone,
        ]  # fmt: skip
    config = Path(folder) / "zoo.cfg"
    config.write_text(
        f"tickTime=2000\ndataDir={folder}/data\nclientPort={port}\nclientPortAddress=127.0.0.1\n"
        "maxClientCnxns=0\nadmin.enableServer=false\n"
    )
    main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
    return ["java", "-cp", "/usr/share/java/*", main, str(config)]


def is_installed(system: str) -> bool:
    if system == "zookeeper":
        return shutil.which("java") is not None and Path("/usr/share/java/zookeeper.jar").exists()
    return shutil.which({"redis": "redis-server", "etcd": "etcd"}[system]) is not None


def client_is_installed(system: str) -> bool:
    from importlib.util import find_spec

    package = {"redis": "redis", "zookeeper": "kazoo"}.get(system)
    return package is None or find_spec(package) is not None


# -- measuring ---------------------------------------------------------------------------------------------------


def measure(system: str, scenario: str, seconds: float, port: int) -> list[list[Span]]:
    """The spans of every process that competed."""
    processes = SCENARIOS[scenario]
    members = max(3, processes) if system in OURS else processes
    names = [chr(ord("a") + at) for at in range(members)]
    nodes = {name: f"127.0.0.1:{free_port()}" for name in names}
    workers: list[Worker] = []
    try:
        for number, name in enumerate(names):
            job = {
                "system": system, "scenario": scenario, "seconds": seconds, "port": port, "name": name, "nodes": nodes,
                "number": number, "active": number < processes,
            }  # fmt: skip
            workers.append(start(job))
        for worker in workers:
            assert answer(worker) == "ready"
        tell(workers, "go")
        spans = [answer(worker) for worker in workers]
        tell(workers, "bye")
        for worker in workers:
            worker.wait(20)
    finally:
        end(workers)
    return spans[:processes]


def raw_hop() -> list[float]:
    port = free_port()
    processes: list[Worker] = []
    times: list[float] = []
    try:
        for active in (False, True):
            processes.append(start({"system": "raw", "active": active, "port": port}))
            times = answer(processes[-1])  # "ready", then the times
    finally:
        end(processes)
    return times


def times_of(scenario: str, spans: list[list[Span]]) -> list[float]:
    """What the scenario is about, in seconds: whole turns, handovers, or waiting."""
    if scenario in ("fresh", "again"):
        return [left - asked for asked, _, left in spans[0]]
    if scenario in ("two", "eight"):
        turns = sorted([(entered, left, who) for who, mine in enumerate(spans) for _, entered, left in mine])
        pairs = pairwise(turns)
        return [later[0] - earlier[1] for earlier, later in pairs if earlier[2] != later[2]]
    return [entered - asked for mine in spans for asked, entered, _ in mine]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="for each measurement")
    parser.add_argument("--only", help="which systems; all of them if not given")
    parser.add_argument("--scenarios", help="which scenarios; all of them if not given")
    parser.add_argument(
        "--algorithm", action="append", default=[], help="compare algorithms; may be given several times"
    )
    parser.add_argument("--members", help="sizes of the clusters in which algorithms are compared (default 3,8,25)")
    parser.add_argument("--install", action="store_true", help="install missing servers with apt-get")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work)
        return
    if options.algorithm:
        compare_algorithms(parser, options)
    elif options.members:
        parser.error("--members is for comparing algorithms: name them with --algorithm")
    else:
        compare_systems(options)


def compare_algorithms(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    import lock_algorithms
    from congenial.cli.output import notice_if_interpreted
    from congenial.kernel.errors import ConfigError

    if options.only or options.install:
        parser.error("--algorithm compares Congenial's own locks: --only and --install are for other systems")
    loads = options.scenarios.split(",") if options.scenarios else list(lock_algorithms.LOADS)
    unknown = [load for load in loads if load not in lock_algorithms.LOADS]
    if unknown:
        parser.error(f"with --algorithm the scenarios are {', '.join(lock_algorithms.LOADS)}, not {unknown[0]!r}")
    try:
        sizes = [int(size) for size in (options.members or "3,8,25").split(",")]
        for size in sizes:
            for algorithm in options.algorithm:
                lock_algorithms.config_of(algorithm, size)
    except ConfigError as error:
        parser.error(str(error))
    except ValueError:
        parser.error(f"--members must be numbers with commas between them, not {options.members!r}")
    notice_if_interpreted()
    rows = lock_algorithms.compare(options.algorithm, sizes, loads, options.seconds)
    if options.json:
        print(json.dumps(rows))
    else:
        lock_algorithms.show(rows)


def compare_systems(options: argparse.Namespace) -> None:
    rows: list[dict[str, Any]] = []
    hops = raw_hop()
    rows.append({"scenario": "raw hop", "system": "asyncio", "p50": at(0.5, hops), "p99": at(0.99, hops)})
    for system in options.only.split(",") if options.only else SYSTEMS:
        if system not in OURS:
            if options.install and not is_installed(system):
                subprocess.run(["apt-get", "install", "-y", "-qq", *PACKAGES[system]], check=True)
            if not is_installed(system) or not client_is_installed(system):
                print(f"{system} is left out: its server or its Python client is not installed", file=sys.stderr)
                continue
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            port = free_port()
            if system not in OURS:
                stack.enter_context(running(server_command(system, port, folder), port, folder))
            for scenario in options.scenarios.split(",") if options.scenarios else SCENARIOS:
                print(f"measuring {system}, {scenario}", file=sys.stderr)
                spans = measure(system, scenario, options.seconds, port)
                times = times_of(scenario, spans)
                entries = sum([len(mine) for mine in spans])
                row = {"scenario": scenario, "system": system, "per_second": entries / options.seconds}
                rows.append({**row, "p50": at(0.5, times), "p99": at(0.99, times)})
    if options.json:
        print(json.dumps(rows))
    else:
        show(rows)


def show(rows: list[dict[str, Any]]) -> None:
    order = {name: place for place, name in enumerate(["raw hop", *SCENARIOS])}
    print(f"{'scenario':10} {'system':10} {'entries/s':>10} {'p50 us':>10} {'p99 us':>10}")
    for row in sorted(rows, key=lambda row: order[row["scenario"]]):
        rate = f"{row['per_second']:10.0f}" if "per_second" in row else " " * 10
        print(f"{row['scenario']:10} {row['system']:10} {rate} {row['p50'] * 1e6:10.1f} {row['p99'] * 1e6:10.1f}")
    ours = {row["scenario"]: row for row in rows if row["system"] == "congenial"}
    hop = rows[0]["p50"]
    if "two" in ours:
        print(f"\nhandover between two: {ours['two']['p50'] / hop:.2f} raw hops")
    for row in rows:
        if row["scenario"] == "again" and row["system"] in CLIENTS and "again" in ours:
            print(f"again: {row['p50'] / ours['again']['p50']:.0f} times faster than {row['system']}")


if __name__ == "__main__":
    main()
