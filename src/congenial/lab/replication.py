"""A replication: one run, the unit of work of the laboratory, and the record that is kept of it.

Worker processes import this module, so it imports only what a run needs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from congenial.kernel.errors import ConfigError
from congenial.sim.result import MEASURES, Result
from congenial.sim.scenario import FAULTS, Scenario
from congenial.sim.simulate import run_once

Value = int | float | str | bool
"""A parameter's value: only what JSON and TOML can hold."""

ROOMS = ("kernel", "problems", "parts", "algorithms", "transform", "systems", "sim")
"""The rooms whose code the measured numbers depend on."""


@dataclass(frozen=True)
class Replication:
    """One run of an algorithm. Options may follow its name: 'maekawa quorums=grid'.

    >>> print(Replication("maekawa quorums=grid", (("nodes", 9),), seed=1).command())
    congenial sim maekawa --set quorums=grid --nodes 9 --seed 1
    """

    algorithm: str
    parameters: tuple[tuple[str, Value], ...]
    seed: int

    def key(self) -> str:
        return json.dumps([self.algorithm, dict(self.parameters), self.seed])

    def cost(self) -> float:
        """A rough measure of the work: good enough to order runs and to estimate the time left."""
        nodes = self._number("nodes", 10)
        requests = self._number("requests", 100)
        if "until" in dict(self.parameters):  # a process makes a request, waits at least for a hop, and stays inside
            turn = self._number("think", 0) + self._number("delay", 1) + self._number("hold", 0)
            requests = min(requests, self._number("until", 0) / max(turn, 1.0))
        return nodes * nodes * requests

    def _number(self, name: str, otherwise: int) -> float:
        """A parameter that is a number; of a distribution such as uniform:1,3 the first one."""
        return float(str(dict(self.parameters).get(name, otherwise)).rpartition(":")[2].partition(",")[0])

    def scenario(self) -> Scenario:
        name, *words = self.algorithm.split()
        options = dict([_option(self.algorithm, word) for word in words])
        parameters: dict[str, Any] = dict(self.parameters)
        for fault in FAULTS:  # texts that may hold several faults, separated by spaces
            if fault in parameters:
                parameters[fault] = tuple(str(parameters[fault]).split())
        return Scenario(name, options=options, **parameters)

    def command(self) -> str:
        """The command that repeats this run alone."""
        name, *words = self.algorithm.split()
        parts = [f"congenial sim {name}"] + [f"--set {word}" for word in words]
        for parameter, value in self.parameters:
            if parameter == "fifo":
                parts.append("--fifo" if value else "--unordered")
            else:
                each = str(value).split() if parameter in FAULTS else [value]
                parts += [
                    f"--{parameter} {item:g}" if isinstance(item, float) else f"--{parameter} {item}" for item in each
                ]
        return " ".join([*parts, f"--seed {self.seed}"])


@dataclass(frozen=True)
class Record:
    """The record of a run: what a replication measured. `failure` says what went wrong, if anything; `code` identifies
    the code that ran.

    >>> result = sweep(Sweep(["suzuki-kasami"], {"nodes": [3, 5]}, {"requests": 10}, most=3))
    >>> run = result.runs[(5,)]["suzuki-kasami"][0]
    >>> run.entries, run.measures["concurrency_max"]
    (50, 1.0)
    """

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
    result = run_once(work.scenario(), work.seed)
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


def _option(algorithm: str, word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals:
        raise ConfigError(f"algorithm {algorithm!r}: {word!r} is not like quorums=grid")
    return name, value


@cache
def fingerprint(algorithm: str = "") -> str:
    """A hash of the sources that the numbers depend on. Records of different code are not reused."""
    package = Path(__file__).parent.parent
    sources = [path for room in ROOMS for path in sorted((package / room).rglob("*.py"))]
    name = algorithm.split()[0] if algorithm else ""
    own = Path(name.rpartition(":")[0])
    if ":" in name and own.is_file():
        sources.append(own)
    digest = sha256()
    for path in sources:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]
