"""A node for `chaos.py`: `congenial node`, in a process that also has

- a disk that is slow while there is a file `NAME.slow`;
- an event loop that SIGUSR1 blocks for a while;
- a program that uses locks as members do, and looks at their leases;
- a replica of a guarded object, on which the program issues operations.

What became of the operations, and when the loop was blocked, is written to `NAME.journal`, one line of JSON each
(`journals.py` judges them).

    python troubled_node.py WITNESS SEED node --name a ...
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import math
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from machines import PATIENCE

from congenial.cli import main
from congenial.net import service
from congenial.net.entrance import RAN_OUT
from congenial.net.errors import ClusterDegraded, LockLost, LockTimeout, NotHeld
from congenial.net.held import Held
from congenial.net.locks import Cluster
from congenial.testing.witness import Outdated, Reporter

LOCKS = 3  # that the members' programs share
SLOW = 0.2  # seconds that a slow disk takes each time
BLOCKED = 3 * PATIENCE  # seconds at most


class Journal:
    """Of all operations so far: how many, and a digest of them all in their order; and each writer's last one."""

    def __init__(self) -> None:
        self.count = 0
        self.digest = ""
        self.last: dict[str, int] = {}

    def apply(self, operation: Any) -> tuple[int, str, str, int]:
        """The number of the operation, the digests before and after it, and the writer's last operation before."""
        writer, number = operation
        before, last = self.digest, self.last.get(writer, 0)
        self.count += 1
        self.digest = hashlib.blake2b(f"{before} {writer} {number}".encode(), digest_size=8).hexdigest()
        self.last[writer] = number
        return self.count, before, self.digest, last


class Resident:
    """The program in the process of a member."""

    def __init__(self, cluster: Cluster, witness: str, seed: str) -> None:
        self.cluster = cluster
        self.witness = witness
        self.rng = random.Random(f"{seed} {cluster.name} {os.getpid()}")
        self.life = f"{cluster.name}/{os.getpid()}"
        self.lines = Path(f"{cluster.name}.journal").open("a", buffering=1)

    def move_in(self) -> None:
        """Begin; and end before the member leaves, for that releases what the program holds."""
        tasks = [asyncio.create_task(self.use_locks())]
        if self.cluster.config.elastic:
            tasks.append(asyncio.create_task(self.use_object()))
        close = self.cluster.close

        async def move_out() -> None:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await close()

        setattr(self.cluster, "close", move_out)  # noqa: B010 (mypy would object)

    def note(self, what: str, *more: object) -> None:
        self.lines.write(json.dumps([what, self.life, *more]) + "\n")

    def block(self) -> None:
        began = time.monotonic()
        time.sleep(self.rng.uniform(0, BLOCKED))
        self.note("blocked", began, time.monotonic())

    async def use_locks(self) -> None:
        attempt = 0
        async with Reporter(self.witness) as reporter:
            while True:
                attempt += 1
                who = f"{self.life}.{attempt}"
                try:
                    await self._use(reporter, who)
                except LockLost as error:
                    if RAN_OUT in str(error):
                        self.note("expired", who)
                except (LockTimeout, NotHeld, ClusterDegraded, Outdated, AssertionError):
                    pass  # the witness remembers what it objects to
                await asyncio.sleep(self.rng.uniform(0, 0.2))

    async def _use(self, reporter: Reporter, who: str) -> None:
        kind = self.rng.choice(["mutex", "group", "read", "write"])
        name = f"{'own' if kind == 'mutex' else 'grouped' if kind == 'group' else 'book'} {self.rng.randrange(LOCKS)}"
        timeout = self.rng.choice([None, 8 * PATIENCE])
        group = {"mutex": None, "group": self.rng.choice(["red", "green"]), "read": "readers", "write": None}[kind]
        if kind == "mutex":
            lock = self.cluster.mutex(name, timeout=timeout)
        elif kind == "group":
            lock = self.cluster.group(name, str(group), timeout=timeout)
        elif kind == "read":
            lock = self.cluster.shared(name, timeout=timeout)
        else:
            lock = self.cluster.exclusive(name, timeout=timeout)
        async with lock as held:
            until = self._until(held)
            about = {"lock": name, "who": who, "fence": held.fence}
            try:
                await reporter.tell("enter", group=group, until=until, **about)
                if group is None:
                    value = await reporter.tell("read", **about)
                    if self.rng.random() < 0.05:
                        self.block()
                    await asyncio.sleep(self.rng.uniform(0, 0.02))
                    until = self._until(held)
                    held.check()
                    await reporter.tell("write", value=value + 1, until=until, **about)
                else:
                    await asyncio.sleep(self.rng.uniform(0, 0.05))
            finally:
                await reporter.tell("leave", lock=name, who=who)

    def _until(self, held: Held) -> float:
        """The end of a lease. Where members do not follow views, a lease may be cut short (`congenial.net.lease`)."""
        return time.monotonic() + held.valid_for() if self.cluster.config.elastic else -math.inf

    async def use_object(self) -> None:
        journal = self.cluster.guarded("journal", Journal(), timeout=20 * PATIENCE)
        number = 0
        while True:
            await asyncio.sleep(self.rng.uniform(0, 0.3))
            self.note("replica", journal.replica.count, journal.replica.digest)
            with contextlib.suppress(LockTimeout, LockLost, ClusterDegraded):
                async with journal as section:
                    for _ in range(self.rng.randrange(1, 5)):
                        number += 1
                        self.note("issue", number)
                        try:
                            self.note("answer", number, *await section.issue((self.life, number)))
                        except LockLost:
                            self.note("lost", number)
                            raise


def make_slow(disk: Path) -> None:
    """Every call that waits for the disk takes longer while it is slow."""

    def slowed(wait: Any) -> Any:
        def waits(file: int) -> None:
            if disk.exists():
                time.sleep(SLOW)
            wait(file)

        return waits

    os.fsync = slowed(os.fsync)
    os.fdatasync = slowed(os.fdatasync)


def run(witness: str, seed: str, words: list[str]) -> None:
    name = words[words.index("--name") + 1]
    make_slow(Path(f"{name}.slow").resolve())
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # until there is a loop to block
    serve = service.serve

    async def serve_and_use(cluster: Cluster, listener: Any) -> Any:
        resident = Resident(cluster, witness, seed)
        signal.signal(signal.SIGUSR1, lambda *_: resident.block())
        resident.move_in()
        return await serve(cluster, listener)

    service.serve = serve_and_use
    main(words)


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], sys.argv[3:])
