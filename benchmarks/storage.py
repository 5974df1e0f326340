"""How long it takes until a node's state is on disk: the log of `congenial.net.storage`, SQLite, and a bare file.

A save is what an epoch change writes for one lock. The table shows the median and the worst of many, for one save at a
time and for a hundred together (a peer is lost, and all locks change their epoch). The bare file is what any of them
costs at least: the same bytes, appended and synced. Rounds of all three take turns, so that they meet the same disk.
Last comes the start with a log of 100,000 frames, and with zeros at its end. Run it on the disk of the state
directories:

    python benchmarks/storage.py [directory]
"""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from typing import Protocol

from congenial.kernel.state import durable_state
from congenial.net.journal import Owner
from congenial.net.saved import form_of
from congenial.net.storage import LOG, DirectoryStorage
from congenial.systems.catalogue import find_algorithm
from congenial.systems.system import System

ROUNDS = 300
LOCKS = 100
FRAMES = 100_000
ZEROS = 8_000_000
OWNER = Owner("a", "benchmark", ("a", "b", "c"), "token-gme+epochs", "srimani-reddy+epochs")
NODE = System(find_algorithm("token-gme+epochs"), 5).node(0)
VALUE = durable_state(NODE)
FORM = form_of(NODE)


class Store(Protocol):
    def save(self, key: str) -> None: ...

    def sync(self) -> None: ...


class Log:
    def __init__(self, directory: Path) -> None:
        self.storage = DirectoryStorage(directory, OWNER)

    def save(self, key: str) -> None:
        self.storage.save(key, VALUE, FORM)

    def sync(self) -> None:
        self.storage.sync()


class Sqlite:
    """With a write-ahead log that is synced at every commit."""

    def __init__(self, directory: Path) -> None:
        self.database = sqlite3.connect(directory / "state.db", isolation_level=None)
        for words in ("journal_mode=WAL", "synchronous=FULL"):
            self.database.execute(f"PRAGMA {words}")
        self.database.execute("CREATE TABLE state (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID")
        self.open = False

    def save(self, key: str) -> None:
        if not self.open:
            self.database.execute("BEGIN")
            self.open = True
        self.database.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (key, FORM.encode(VALUE)))

    def sync(self) -> None:
        self.database.execute("COMMIT")
        self.open = False


class Bare:
    def __init__(self, directory: Path) -> None:
        self.file = os.open(directory / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.unwritten: list[bytes] = []

    def save(self, key: str) -> None:
        self.unwritten += (key.encode(), FORM.encode(VALUE))

    def sync(self) -> None:
        os.write(self.file, b"".join(self.unwritten))
        os.fdatasync(self.file)
        self.unwritten.clear()


def measure(stores: list[Store], at_once: int) -> list[list[float]]:
    """Milliseconds of each round, sorted, for each of the stores."""
    took: list[list[float]] = [[] for _ in stores]
    for number in range(ROUNDS):
        for store, times in zip(stores, took, strict=True):
            start = time.perf_counter()
            for lock in range(at_once):
                store.save(f"lock {(number + lock) % LOCKS}")
            store.sync()
            times.append(1000 * (time.perf_counter() - start))
    return [sorted(times) for times in took]


def measure_start(directory: Path) -> None:
    storage = DirectoryStorage(directory, OWNER)
    storage.least_garbage = 1 << 40  # so that the log is not replaced
    sync, os.fdatasync = os.fdatasync, lambda file: None  # it is only to be read
    for number in range(FRAMES):
        storage.save(f"lock {number}", VALUE, FORM)
        storage.sync()
    os.fdatasync = sync
    storage.close()
    size = (directory / LOG).stat().st_size
    for zeros in (0, ZEROS):
        with open(directory / LOG, "ab") as log:
            log.write(bytes(zeros))
        start = time.perf_counter()
        DirectoryStorage(directory, OWNER).close()
        after = f" and {zeros / 1e6:.0f} MB of zeros" if zeros else ""
        print(f"start with {FRAMES:,} frames, {size / 1e6:.0f} MB{after}: {time.perf_counter() - start:.2f} s")


def main() -> None:
    where = sys.argv[1] if len(sys.argv) > 1 else None
    print(f"{'':32}{'median':>10}{'99 %':>10}{'worst':>10}   (ms)")
    for at_once in (1, LOCKS):
        with tempfile.TemporaryDirectory(dir=where) as folder:
            kinds = (Log, Sqlite, Bare)
            for kind, took in zip(kinds, measure([kind(Path(folder)) for kind in kinds], at_once), strict=True):
                name = f"{kind.__name__}, {at_once} together"
                print(f"{name:32}{took[ROUNDS // 2]:10.3f}{took[ROUNDS * 99 // 100]:10.3f}{took[-1]:10.3f}")
    with tempfile.TemporaryDirectory(dir=where) as folder:
        measure_start(Path(folder))


if __name__ == "__main__":
    main()
