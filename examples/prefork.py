"""A server that forks its workers, as gunicorn and uWSGI do. Each worker connects after the fork, to the node of its
machine: what a process inherits from its parent by a fork is of no use to it. Run it with

    congenial node --config cluster.toml --name a &
    python prefork.py

It prints which worker created the tables, and what each has counted.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import congenial

WORKERS, TURNS = 4, 25


def work(number: int, counter: Path) -> None:
    with congenial.connect_blocking() as node:  # the socket in CONGENIAL_SOCKET, or the node of cluster.toml
        with node.once("create tables") as first:
            if first:
                counter.write_text("0")
                print(f"worker {number} has created the tables", flush=True)
        for _ in range(TURNS):
            with node.mutex("counter"):
                counter.write_text(str(int(counter.read_text()) + 1))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        counter = Path(folder, "counter")
        for number in range(WORKERS):
            if os.fork() == 0:
                work(number, counter)
                os._exit(0)
        for _ in range(WORKERS):
            _, status = os.wait()
            if status:
                sys.exit("a worker has failed")
        print(counter.read_text())


if __name__ == "__main__":
    main()
