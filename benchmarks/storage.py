"""How long it takes until a node's state is on disk: the append-only file of `congenial.net.storage`, and SQLite.

A save is what an epoch change writes for one lock. The table shows the median and the worst of many, for one save at a
time and for a hundred at once (a peer is lost, and all locks change their epoch). Run it on the disk of the state
directories:

    python benchmarks/storage.py [directory]
"""

from __future__ import annotations

import pickle
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

from congenial.kernel.state import durable_state
from congenial.net.storage import DirectoryStorage
from congenial.systems.catalogue import find_algorithm
from congenial.systems.system import System

ROUNDS = 300
LOCKS = 100


class SqliteStorage:
    """The alternative."""

    def __init__(self, directory: Path) -> None:
        self.database = sqlite3.connect(directory / "state.db", isolation_level=None)
        for words in ("journal_mode=WAL", "synchronous=FULL"):
            self.database.execute(f"PRAGMA {words}")
        self.database.execute("CREATE TABLE state (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID")
        self.open = False

    def save(self, key: str, value: object) -> None:
        if not self.open:
            self.database.execute("BEGIN")
            self.open = True
        self.database.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (key, pickle.dumps(value)))

    def sync(self) -> None:
        self.database.execute("COMMIT")
        self.open = False

    def close(self) -> None:
        self.database.close()


def measure(storage: DirectoryStorage | SqliteStorage, at_once: int) -> list[float]:
    """Milliseconds of each round."""
    value = durable_state(System(find_algorithm("token-gme+epochs"), 5).node(0))
    took = []
    for number in range(ROUNDS):
        start = time.perf_counter()
        for lock in range(at_once):
            storage.save(f"lock {(number + lock) % LOCKS}", value)
        storage.sync()
        took.append(1000 * (time.perf_counter() - start))
    return sorted(took)


def main() -> None:
    print(f"{'':32}{'median':>10}{'99 %':>10}{'worst':>10}   (ms)")
    for at_once in (1, LOCKS):
        for kind in (DirectoryStorage, SqliteStorage):
            with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
                storage = kind(Path(folder))
                took = measure(storage, at_once)
                storage.close()
            name = f"{'append-only file' if kind is DirectoryStorage else 'SQLite'}, {at_once} at once"
            print(f"{name:32}{took[ROUNDS // 2]:10.3f}{took[ROUNDS * 99 // 100]:10.3f}{took[-1]:10.3f}")


if __name__ == "__main__":
    main()
