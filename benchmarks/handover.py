"""Where the time of a handover goes: from the release of a lock by one process to the entry of another one.

    python benchmarks/handover.py [--seconds 3] [--json]

Three processes on this machine; two of them compete, as for `two` in `locks.py`. All read the same clock. Each notes
when it has released the lock, when it hands bytes to a connection and gets the processor back, when it gets bytes, and
when a task has the lock. So a handover has three parts:

- `send`: from the release until the bytes are handed to the connection
- `network`: until the other process has them
- `enter`: until its task goes on

The bytes wake the other process up. Where it runs at once, the sender does not get the processor back before. Where it
does, the sender goes on, asks for the lock again and sleeps, and the other process runs only then. Which of the two
happens is for the kernel to decide. So they are shown apart, with the share that each has, and beside them a raw hop,
whose sender does nothing but sleep.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import locks
from workers import Worker, answer, at, end, free_port, start, tell

PARTS = ("send", "network", "enter", "whole")
Event = tuple[float, str]  # when, and what: `write`, `written`, or `read`


# -- in a process of the measurement -------------------------------------------------------------------------------


class Watched:
    """A transport that notes when it is written to."""

    def __init__(self, transport: Any, events: list[Event]) -> None:
        self.transport = transport
        self.events = events

    def write(self, raw: bytes) -> None:
        self.events.append((time.perf_counter(), "write"))
        self.transport.write(raw)
        self.events.append((time.perf_counter(), "written"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.transport, name)


def watch(events: list[Event]) -> None:
    """Have the connections of this process note what they do."""
    from congenial.net.connection import Connection

    begin: Callable[..., None] = Connection.__init__
    made: Callable[..., None] = Connection.connection_made

    def __init__(self: Any, *arguments: Any, **options: Any) -> None:
        begin(self, *arguments, **options)
        updated = self.stream.buffer_updated

        def buffer_updated(nbytes: int) -> None:
            events.append((time.perf_counter(), "read"))
            updated(nbytes)

        self.buffer_updated = buffer_updated

    def connection_made(self: Any, transport: Any) -> None:
        made(self, transport)
        self.stream.transport = Watched(transport, events)

    Connection.__init__ = __init__  # type: ignore[assignment]
    Connection.connection_made = connection_made  # type: ignore[method-assign]


def work(text: str) -> None:
    from congenial.net.loop_thread import new_event_loop

    job = json.loads(text)
    events: list[Event] = []
    watch(events)
    new_event_loop().run_until_complete(locks.congenial_worker(job))
    Path(job["events"]).write_text(json.dumps(events))


# -- in the process that measures ----------------------------------------------------------------------------------


def measure(seconds: float) -> list[dict[str, Any]]:
    """Each handover: its parts in seconds, and whether the sender `runs on`."""
    nodes = {name: f"127.0.0.1:{free_port()}" for name in "abc"}
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / name for name in nodes}
        workers: list[Worker] = []
        try:
            for number, name in enumerate(nodes):
                job = {
                    "system": "congenial", "scenario": "two", "seconds": seconds, "name": name, "nodes": nodes,
                    "number": number, "active": number < 2, "certificates": "", "events": str(files[name]),
                }  # fmt: skip
                workers.append(start(job, Path(__file__)))
            for worker in workers:
                assert answer(worker) == "ready"
            tell(workers, "go")
            spans = [answer(worker)[0] for worker in workers]
            tell(workers, "bye")
            for worker in workers:
                worker.wait(20)
        finally:
            end(workers)
        events = {number: json.loads(files[name].read_text()) for number, name in enumerate("ab")}
    turns = sorted([(entered, left, who) for who in events for _, entered, left in spans[who]])
    handovers = [
        handover(left, entered, events[giver], events[taker])
        for (_, left, giver), (entered, _, taker) in pairwise(turns)
        if giver != taker
    ]
    return [found for found in handovers if found is not None]


def handover(left: float, entered: float, given: list[Event], taken: list[Event]) -> dict[str, Any] | None:
    """From what the two processes have noted. None if the taker got nothing meanwhile: it was let in by the third."""
    writes = between(given, "write", left, entered)
    reads = between(taken, "read", left, entered)
    if not writes or not reads:
        return None
    wrote, read = writes[0], reads[-1]
    times = (wrote - left, read - wrote, entered - read, entered - left)
    return {**dict(zip(PARTS, times, strict=True)), "runs on": bool(between(given, "written", wrote, read))}


def between(events: list[Event], what: str, begin: float, end: float) -> list[float]:
    first = bisect_left(events, begin, key=lambda event: event[0])
    last = bisect_right(events, end, key=lambda event: event[0])
    return [when for when, noted in events[first:last] if noted == what]


def table(rows: dict[str, list[dict[str, Any]]], hops: list[float]) -> str:
    hop = at(0.5, hops)
    lines = [f"{'handovers':<28} {'share':>6}" + "".join([f" {part:>9}" for part in PARTS]) + f" {'hops':>6}"]
    total = len(rows["all"])
    for name, some in rows.items():
        if some:
            middle = [at(0.5, [found[part] for found in some]) for part in PARTS]
            shown = "".join([f" {value * 1e6:>6.1f} us" for value in middle])
            lines.append(f"{name:<28} {len(some) / total:>6.0%}{shown} {middle[-1] / hop:>6.2f}")
    lines.append(f"{'a raw hop':<28} {'':>6}{'':>30} {hop * 1e6:>6.1f} us {1:>6.2f}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--json", action="store_true", help="all handovers, in seconds")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work)
        return
    hops = locks.raw_hop()
    found = measure(options.seconds)
    if options.json:
        print(json.dumps({"raw hops": hops, "handovers": found}))
        return
    rows = {
        "all": found,
        "the other process runs": [one for one in found if not one["runs on"]],
        "the sender runs on": [one for one in found if one["runs on"]],
    }
    print(table(rows, hops))


if __name__ == "__main__":
    main()
