"""Congenial's locks compared with those of other systems, and with one hop of the network itself.

    python benchmarks/locks.py [--seconds 2] [--only congenial,redis] [--install] [--docs docs/benchmarks.md]
    python benchmarks/locks.py --algorithm token-gme --algorithm home-gme [--members 3,8,25]

The second form compares algorithms behind Congenial's own locks; `lock_algorithms.py` says how. This is the first one.

Everything runs on this machine, over loopback: three nodes of Congenial (eight where eight processes compete: with
Congenial the processes are the nodes), and the servers of the others, which this script starts and stops, with their
data in a temporary folder. `other_locks.py` says how each is used. One that is not installed is left out with a
message; --install installs servers with apt-get.

`own-thread` is Congenial with each node in a thread of its own, beside the event loop of the program, and `tls` is
Congenial with certificates. `bare` is the least that a lock between two Python processes can be (`bare_lock.py`). For
these, and for Congenial itself, `cpu` is the processor's time of all processes together, for each entry.

The scenarios, and the time that each measures:

- `fresh`: acquire and release a lock that another process held last; `again`: one that this process held last
- `two` and `eight`: so many processes compete for one lock; from one holder's release to the next one's entry
- `crowd`: three processes with 200 tasks each compete for 50 locks, as quickly as they can; the wait (Congenial only)
- `readers`: eight processes read nine times out of ten; `groups`: eight processes, four groups with skew; the wait

Competing processes hold for two milliseconds, so that others wait when they release. The raw hop is one message between
two tasks of two processes, with asyncio alone, at the same pace.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import socket
import struct
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from other_locks import OTHERS, Other, running, server_is_installed
from workers import Worker, answer, at, end, free_port, hear, say, start, tell

SCENARIOS = {"fresh": 1, "again": 1, "two": 2, "eight": 8, "crowd": 3, "readers": 8, "groups": 8}  # how many compete
CROWD, CROWD_LOCKS = 200, 50  # tasks of a process, and locks
OURS = ("congenial", "own-thread", "tls")
BARE = "bare"
SYSTEMS = (BARE, *OURS, *OTHERS)
BARE_SCENARIOS = ("fresh", "again", "two")
MINORITY = "the crash of a minority of the processes"
SURVIVES = dict.fromkeys(OURS, MINORITY) | {BARE: "nothing"} | {name: other.survives for name, other in OTHERS.items()}
MEANING = {
    "raw hop": "one message from a task of one process to a task of another",
    "fresh": "acquire and release a lock that another process held last",
    "again": "acquire and release a lock that this process held last",
    "two": "two processes compete: from the release by one to the entry of the other",
    "eight": "eight processes compete: from a release to the next entry",
    "crowd": f"three processes with {CROWD} tasks each compete for {CROWD_LOCKS} locks: the wait",
    "readers": "eight processes, nine of ten read: the wait",
    "groups": "eight processes, four groups: the wait",
}
HOLD = 0.002  # seconds (uvloop's timers count milliseconds), so that others wait when the holder releases
HOPS = 1000
GROUPS, WEIGHTS = ("red", "green", "blue", "white"), (8, 4, 2, 1)

Span = tuple[float, float, float]  # asked, entered, left
Measured = tuple[list[list[Span]], float]  # the spans of each process, and the processor's time of all


# -- one process of a measurement ------------------------------------------------------------------------------


def wanted(scenario: str, turn: int, rng: random.Random) -> tuple[str, str, str, float]:
    """What to ask for next: name, mode, group, and how long to hold it."""
    if scenario == "fresh":
        return f"fresh {turn}", "exclusive", "", 0.0
    if scenario == "crowd":
        return f"crowd {rng.randrange(CROWD_LOCKS)}", "exclusive", "", 0.0
    if scenario == "readers":
        return "catalogue", "shared" if rng.random() < 0.9 else "exclusive", "", HOLD
    if scenario == "groups":
        return "jukebox", "group", rng.choices(GROUPS, WEIGHTS)[0], HOLD
    return "x", "exclusive", "", HOLD if scenario in ("two", "eight") else 0.0


async def congenial_worker(job: dict[str, Any]) -> None:
    import congenial

    scenario, seconds = job["scenario"], job["seconds"]
    loop = asyncio.get_running_loop()
    settings: dict[str, Any] = {"own_thread": job["system"] == "own-thread"}
    if job["certificates"]:
        paths = [f"{job['certificates']}/{file}" for file in ("ca.pem", "{name}.pem", "{name}.key")]
        settings["tls"] = congenial.Tls(*paths)
    async with congenial.join(job["name"], job["nodes"], **settings) as cluster:
        await cluster.ready()
        spans: list[Span] = []
        say("ready")
        await loop.run_in_executor(None, hear)
        began = time.process_time()
        if job["active"]:
            tasks = CROWD if scenario == "crowd" else 1
            await asyncio.gather(*[visit(job, task, cluster, spans) for task in range(tasks)])
        else:
            await asyncio.sleep(seconds)
        say([spans, time.process_time() - began])
        await loop.run_in_executor(None, hear)  # no node leaves while others measure


async def visit(job: dict[str, Any], task: int, cluster: Any, spans: list[Span]) -> None:
    """What one task does."""
    from congenial.net.names import first_holder, lock_key

    scenario = job["scenario"]
    rng = random.Random(CROWD * job["number"] + task)
    turn = 0
    end = time.perf_counter() + job["seconds"]
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


def other_worker(job: dict[str, Any]) -> None:
    rng = random.Random(job["number"])
    client = OTHERS[job["system"]].client
    assert client is not None
    enter = client(job)
    say("ready")
    hear()
    spans: list[Span] = []
    end = time.perf_counter() + (job["seconds"] if job["active"] else 0)
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
    say([spans, 0.0])
    hear()


def work(text: str) -> None:
    job = json.loads(text)
    if job["system"] in OTHERS:
        other_worker(job)
        return
    from congenial.net.loop_thread import new_event_loop

    loop = new_event_loop()
    if job["system"] in OURS:
        loop.run_until_complete(congenial_worker(job))
    elif job["system"] == BARE:
        import bare_lock

        loop.run_until_complete(bare_lock.work(job, visit))
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


# -- measuring ---------------------------------------------------------------------------------------------------


def measure(
    system: str, scenario: str, seconds: float, ports: list[int], folder: str
) -> tuple[list[list[Span]], float]:
    """The spans of every process that competed, and the CPU time of all processes of ours."""
    processes = SCENARIOS[scenario]
    members = max(3, processes) if not ports else processes  # where the processes are the nodes
    names = [chr(ord("a") + at) for at in range(members)]
    nodes = {name: f"127.0.0.1:{free_port()}" for name in names}
    if system == "tls":
        from congenial.net.certs import make_certificates

        make_certificates(names, folder)
    workers: list[Worker] = []
    try:
        for number, name in enumerate(names):
            job = {
                "system": system, "scenario": scenario, "seconds": seconds, "ports": ports, "name": name,
                "nodes": nodes, "number": number, "active": number < processes,
                "certificates": folder if system == "tls" else "",
            }  # fmt: skip
            workers.append(start(job))
        for worker in workers:
            assert answer(worker) == "ready"
        tell(workers, "go")
        spans, cpu = zip(*[answer(worker) for worker in workers], strict=True)
        tell(workers, "bye")
        for worker in workers:
            worker.wait(20)
    finally:
        end(workers)
    return list(spans[:processes]), sum(cpu)


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
    parser.add_argument("--docs", help="write the results as a page to this file, too")
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
        other = OTHERS.get(system, Other(0, "", None, ()))
        if options.install and other.package and not server_is_installed(other.package):
            subprocess.run(["apt-get", "install", "-y", "-qq", other.package], check=True)
        if other.missing():
            print(f"{system} is left out: {other.missing()} is not installed", file=sys.stderr)
            continue
        with tempfile.TemporaryDirectory() as folder, running(other, Path(folder)) as ports:
            for scenario in options.scenarios.split(",") if options.scenarios else SCENARIOS:
                if (scenario == "crowd" and system not in OURS) or (system == BARE and scenario not in BARE_SCENARIOS):
                    continue
                print(f"measuring {system}, {scenario}", file=sys.stderr)
                spans, cpu = measure(system, scenario, options.seconds, ports, folder)
                times = times_of(scenario, spans)
                entries = sum([len(mine) for mine in spans])
                row = {"scenario": scenario, "system": system, "per_second": entries / options.seconds}
                if system not in OTHERS:
                    row["cpu"] = cpu / max(entries, 1)
                rows.append({**row, "p50": at(0.5, times), "p99": at(0.99, times), "survives": SURVIVES[system]})
    order = {name: place for place, name in enumerate(["raw hop", *SCENARIOS])}
    rows.sort(key=lambda row: order[row["scenario"]])
    if options.docs:
        Path(options.docs).write_text(page(rows), encoding="utf-8")
    if options.json:
        print(json.dumps(rows))
    else:
        show(rows)


def show(rows: list[dict[str, Any]]) -> None:
    print(f"{'scenario':10} {'system':12} {'entries/s':>10} {'p50 us':>10} {'p99 us':>10} {'cpu us':>8}  survives")
    for row in rows:
        rate = f"{row['per_second']:10.0f}" if "per_second" in row else " " * 10
        times = f"{row['p50'] * 1e6:10.1f} {row['p99'] * 1e6:10.1f}"
        cpu = f"{row['cpu'] * 1e6:8.1f}" if "cpu" in row else " " * 8
        print(f"{row['scenario']:10} {row['system']:12} {rate} {times} {cpu}  {row.get('survives', '')}")
    ours = {row["scenario"]: row for row in rows if row["system"] == "congenial"}
    hop = rows[0]["p50"]
    if "two" in ours:
        print(f"\nhandover between two: {ours['two']['p50'] / hop:.2f} raw hops")
    for row in rows:
        if row["scenario"] == "again" and row["system"] in OTHERS and "again" in ours:
            print(f"again: {row['p50'] / ours['again']['p50']:.0f} times faster than {row['system']}")


def page(rows: list[dict[str, Any]]) -> str:
    """The results as a page of the docs."""
    import congenial

    lines = [
        "# Benchmarks",
        "",
        "`python benchmarks/locks.py --install --docs docs/benchmarks.md` has written this page. The script says what",
        "is measured, and how; `benchmarks/other_locks.py` says how the others are used. Everything ran on one",
        "machine, over loopback, one system after the other. Times are in microseconds, and a hop is the raw hop's",
        "median.",
        "",
        f"Congenial {congenial.__version__}, {machine()}.",
        "",
    ]
    hop = rows[0]["p50"]
    for scenario in ["raw hop", *SCENARIOS]:
        mine = [row for row in rows if row["scenario"] == scenario]
        if mine:
            lines += [f"## {scenario.capitalize()}", "", f"{MEANING[scenario].capitalize()}.", ""]
            lines += [
                "| system | p50 | in hops | p99 | entries per second | CPU per entry | a lock survives |",
                "| --- | --: | --: | --: | --: | --: | --- |",
            ]
            for row in mine:
                rate = f"{row['per_second']:,.0f}" if "per_second" in row else ""
                times = f"{row['p50'] * 1e6:,.1f} | {row['p50'] / hop:.2f} | {row['p99'] * 1e6:,.1f}"
                cpu = f"{row['cpu'] * 1e6:,.1f}" if "cpu" in row else ""
                lines.append(f"| {row['system']} | {times} | {rate} | {cpu} | {row.get('survives', '')} |")
            lines.append("")
    return "\n".join(lines)


def machine() -> str:
    """This machine, in words."""
    cpus = [line.partition(":")[2].strip() for line in cpu_lines() if line.startswith("model name")]
    kind = f" ({cpus[0]})" if cpus else ""
    kernel = ".".join(platform.release().split(".")[:2])
    return f"{os.cpu_count()} cores{kind}, {platform.system()} {kernel}, Python {platform.python_version()}"


def cpu_lines() -> list[str]:
    about = Path("/proc/cpuinfo")
    return about.read_text().splitlines() if about.exists() else []


if __name__ == "__main__":
    main()
