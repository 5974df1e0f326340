"""A replication: one run, the unit of work of the laboratory, and what is kept of it.

Only what a worker process needs is imported here.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from congenial.kernel.errors import ConfigError
from congenial.sim.result import MEASURES, Result
from congenial.sim.scenario import Scenario
from congenial.sim.simulate import run_once

Value = int | float | str | bool
"""A parameter's value: what JSON and TOML can hold as well."""

# several in one text, separated by spaces
MISHAPS = ("loss", "duplicate", "reorder", "crash", "pause", "partition", "suspect")
RUNNABLE = ("kernel", "problems", "parts", "algorithms", "transform", "sim")  # what the numbers depend on


@dataclass(frozen=True)
class Replication:
    """`algorithm` may be followed by its options: 'maekawa quorums=grid'."""

    algorithm: str
    parameters: tuple[tuple[str, Value], ...]
    seed: int

    def key(self) -> str:
        return json.dumps([self.algorithm, dict(self.parameters), self.seed])

    def cost(self) -> float:
        """A rough measure of the work, good for ordering and for guessing the time left."""
        nodes = self._number("nodes", 10)
        return nodes * nodes * self._number("requests", 100)

    def _number(self, name: str, otherwise: int) -> float:
        return float(dict(self.parameters).get(name, otherwise))

    def scenario(self) -> Scenario:
        name, *words = self.algorithm.split()
        options = dict([_option(self.algorithm, word) for word in words])
        parameters: dict[str, Any] = dict(self.parameters)
        for mishap in MISHAPS:
            if mishap in parameters:
                parameters[mishap] = tuple(str(parameters[mishap]).split())
        return Scenario(name, options=options, **parameters)

    def command(self) -> str:
        """How to repeat this run alone."""
        name, *words = self.algorithm.split()
        parts = [f"congenial sim {name}"] + [f"--set {word}" for word in words]
        for parameter, value in self.parameters:
            if parameter == "fifo":
                parts.append("--fifo" if value else "--unordered")
            else:
                each = str(value).split() if parameter in MISHAPS else [value]
                parts += [
                    f"--{parameter} {item:g}" if isinstance(item, float) else f"--{parameter} {item}" for item in each
                ]
        return " ".join([*parts, f"--seed {self.seed}"])


@dataclass(frozen=True)
class Record:
    """What a replication came to. `failure` says what went wrong, if anything did; `code` which code ran."""

    replication: Replication
    measures: dict[str, float]
    entries: int
    deliveries: int
    seconds: float
    code: str
    failure: str = ""

    def to_json(self) -> str:
        work = self.replication
        return json.dumps(
            {
                "algorithm": work.algorithm,
                "parameters": dict(work.parameters),
                "seed": work.seed,
                "measures": self.measures,
                "entries": self.entries,
                "deliveries": self.deliveries,
                "seconds": round(self.seconds, 3),
                "code": self.code,
            }
        )

    @classmethod
    def from_json(cls, line: str) -> Record:
        data = json.loads(line)
        parameters = tuple(sorted(data["parameters"].items()))
        return cls(
            Replication(str(data["algorithm"]), parameters, int(data["seed"])),
            {str(name): float(value) for name, value in data["measures"].items()},
            int(data["entries"]),
            int(data["deliveries"]),
            float(data["seconds"]),
            str(data["code"]),
        )


def replicate(work: Replication) -> Record:
    """Run it."""
    result = run_once(work.scenario(), work.seed, progress=_breathe)
    seconds = result.deliveries / result.deliveries_per_second if result.deliveries_per_second else 0.0
    return Record(
        work,
        _measures(result),
        result.entries,
        result.deliveries,
        seconds,
        fingerprint(work.algorithm),
        "" if result.ok else result.verdict(),
    )


def _measures(result: Result) -> dict[str, float]:
    measures = {name: float(getattr(result, name)) for name in MEASURES}
    messages = measures["messages_per_entry"]
    measures["integers_per_message"] = measures["integers_per_entry"] / messages if messages > 0 else 0.0
    return measures


def _breathe(entries: int) -> None:
    """Compiled code sees Ctrl-C only when it calls interpreted code, such as this."""


def _option(algorithm: str, word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals:
        raise ConfigError(f"algorithm {algorithm!r}: {word!r} is not like quorums=grid")
    return name, value


# -- which code ran ------------------------------------------------------------------------------------------


@cache
def fingerprint(algorithm: str = "") -> str:
    """Of the sources that the numbers depend on; records of other code are not reused."""
    package = Path(__file__).parent.parent
    sources = [path for room in RUNNABLE for path in sorted((package / room).rglob("*.py"))]
    name = algorithm.split()[0] if algorithm else ""
    own = Path(name.rpartition(":")[0])
    if ":" in name and own.is_file():
        sources.append(own)
    digest = sha256()
    for path in sources:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


# -- a worker process ----------------------------------------------------------------------------------------


def start_worker(lifeline: Connection) -> None:
    """End at once at Ctrl-C, and when the other end of the lifeline is closed, be it by death."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()


def _end_with(lifeline: Connection) -> None:
    lifeline.poll(None)
    os._exit(1)
