"""What the benchmarks of locks share: processes that are told on stdin what to do and answer on stdout, in JSON."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("locks.py")

Worker = subprocess.Popen[str]


# -- in a worker -------------------------------------------------------------------------------------------------


def say(what: Any) -> None:
    print(json.dumps(what), flush=True)


def hear() -> str:
    """What this process is told; nothing if nobody is left to tell it anything."""
    return sys.stdin.readline().strip()


# -- in the process that measures ----------------------------------------------------------------------------------


def start(job: dict[str, Any], script: Path = SCRIPT) -> Worker:
    words = [sys.executable, str(script), "--work", json.dumps(job)]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def tell(workers: list[Worker], what: str) -> None:
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write(f"{what}\n")
        worker.stdin.flush()


def answer(worker: Worker) -> Any:
    assert worker.stdout is not None
    line = worker.stdout.readline()
    if not line:
        raise RuntimeError(f"a process of the benchmark has ended with code {worker.wait()}; its error is above")
    return json.loads(line)


def end(workers: list[Worker]) -> None:
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.wait()
        for pipe in (worker.stdin, worker.stdout):
            if pipe is not None:
                pipe.close()


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def at(share: float, values: list[float]) -> float:
    """The value that so large a share of all values does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")
