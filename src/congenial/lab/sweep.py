"""A sweep: which algorithms, over which values of one or two parameters, how precisely. All of it is data.

As a file:

    algorithms = ["suzuki-kasami", "maekawa quorums=grid"]
    metrics = ["messages_per_entry", "waiting_time_mean"]
    precision = 0.05

    [vary]
    nodes = [5, 10, 20]

    [fixed]
    think = 200

All algorithms meet the same seeds at every point, and equal seeds mean equal requests, so that two algorithms are
compared run by run.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import Any

from congenial.kernel.errors import ConfigError
from congenial.lab.replication import MISHAPS, Replication, Value
from congenial.sim.result import MEASURES

METRICS: dict[str, str] = {
    "messages_per_entry": "messages per entry",
    "integers_per_message": "integers per message",
    "integers_per_entry": "integers per entry",
    "waiting_time_mean": "waiting time",
    "waiting_time_p50": "waiting time, median",
    "waiting_time_p90": "waiting time, 90%",
    "waiting_time_p99": "waiting time, 99%",
    "waiting_time_max": "waiting time, longest",
    "sync_delay_mean": "synchronisation delay",
    "sync_delay_max": "synchronisation delay, longest",
    "throughput": "entries per unit of time",
    "concurrency_mean": "inside together",
    "concurrency_max": "inside together, most",
    "fairness": "fairness (Jain)",
    "simulated_time": "simulated time",
}
"""What can be measured, and how it is called on axes and in tables."""

USUAL_METRICS = ("messages_per_entry", "integers_per_message", "waiting_time_mean", "throughput")

PARAMETERS: dict[str, str] = {
    "nodes": "processes",
    "groups": "groups",
    "requests": "requests per process",
    "think": "mean time between requests",
    "hold": "mean time inside",
    "delay": "mean channel delay",
    "bandwidth": "bandwidth, integers per unit of time",
    "skew": "% of the groups / % of the requests",
    "fifo": "channels keep order",
    "load": "load",
    "warmup": "warm-up",
    "until": "end of the run",
    "loss": "share of messages lost",
    "duplicate": "share of messages duplicated",
    "reorder": "share of messages reordered",
    "crash": "crashes",
    "pause": "pauses",
    "partition": "partitions",
    "suspect": "false suspicions",
    "detector": "failure detector",
    "detection": "time until crashes are noticed",
}
"""What can be varied or fixed: the parameters of `Scenario`, and how they are called on axes."""

WHOLE = ("nodes", "groups", "requests")
AMOUNT = ("bandwidth", "warmup", "until", "detection")
AMOUNT_OR_TEXT = ("think", "hold", "delay")

TABLES = ("vary", "fixed", "if_many")  # of a TOML file

Point = tuple[Value, ...]
"""One value for each varied parameter."""


@dataclass(frozen=True)
class Sweep:
    """`precision` is the most that half a 95% confidence interval may be, as a share of the mean: of every metric of
    every algorithm, and of every ratio to the last algorithm. A point is run `least` times, and on until that is so,
    but not more than `most` times. Where there are more than `many` processes, the parameters in `if_many` take the
    place of the fixed ones, such as an earlier end of the run."""

    algorithms: tuple[str, ...]
    vary: Mapping[str, tuple[Value, ...]]
    fixed: Mapping[str, Value] = field(default_factory=dict)
    metrics: tuple[str, ...] = USUAL_METRICS
    precision: float = 0.05
    least: int = 3
    most: int = 30
    many: int = 0
    if_many: Mapping[str, Value] = field(default_factory=dict)
    seed: int = 1
    name: str = "sweep"

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "algorithms", tuple(self.algorithms))
        set_(self, "metrics", tuple(self.metrics))
        for part, verb in (("vary", "vary"), ("fixed", "fix"), ("if_many", "fix")):
            for name in getattr(self, part):
                if name not in PARAMETERS:
                    raise ConfigError(f"there is no parameter {name!r} to {verb}; there are: {', '.join(PARAMETERS)}")
        set_(self, "vary", {name: _values(name, values) for name, values in self.vary.items()})
        for part in ("fixed", "if_many"):
            set_(self, part, {name: clean_value(name, value) for name, value in getattr(self, part).items()})
        self._check()

    def _check(self) -> None:
        if not self.algorithms:
            raise ConfigError("a sweep needs at least one algorithm")
        if not 1 <= len(self.vary) <= 2:
            raise ConfigError(f"a sweep varies one or two parameters, not {len(self.vary)}")
        for name, values in self.vary.items():
            if not values:
                raise ConfigError(f"there are no values for {name} to take")
            if name in self.fixed or name in self.if_many:
                raise ConfigError(f"{name} is both varied and fixed")
        for what, names in (("algorithm", self.algorithms), ("metric", self.metrics), *self.vary.items()):
            twice = [name for name in names if names.count(name) > 1]
            if twice:
                raise ConfigError(f"{what} {twice[0]} is named twice")
        for metric in self.metrics:
            if metric not in METRICS:
                raise ConfigError(f"there is no metric {metric!r}; there are: {', '.join(METRICS)}")
        if not self.precision > 0:
            raise ConfigError(f"the precision must be above 0 (0.05: within 5% of the mean), and is {self.precision:g}")
        if not 2 <= self.least <= self.most:
            raise ConfigError(f"2 <= least <= most replications, not {self.least} and {self.most}")

    @property
    def baseline(self) -> str:
        """The algorithm to which the others are compared: the last."""
        return self.algorithms[-1]

    def points(self) -> list[Point]:
        return list(product(*self.vary.values()))

    def parameters(self, point: Point) -> dict[str, Value]:
        """The parameters of every run at a point."""
        parameters = {**self.fixed, **dict(zip(self.vary, point, strict=True))}
        return {**parameters, **self.if_many} if int(parameters.get("nodes", 0)) > self.many else parameters

    def replication(self, algorithm: str, point: Point, number: int) -> Replication:
        """The `number`-th run of an algorithm at a point."""
        return Replication(algorithm, tuple(sorted(self.parameters(point).items())), self.seed + number)

    def validate(self) -> None:
        """Fail now rather than after an hour: everything that can be wrong with a run is found before the first."""
        for point in self.points():
            for algorithm in self.algorithms:
                scenario = self.replication(algorithm, point, 0).scenario()
                scenario.system()
                scenario.workload()
                scenario.channel_delay()
                scenario.faults()

    # -- as TOML ---------------------------------------------------------------------------------------

    def to_toml(self) -> str:
        lines = []
        for item in fields(self):
            if item.name not in TABLES:
                lines.append(f"{item.name} = {_toml(getattr(self, item.name))}")
        for part in TABLES:
            lines += ["", f"[{part}]"] + [f"{name} = {_toml(value)}" for name, value in getattr(self, part).items()]
        return "\n".join(lines) + "\n"

    @classmethod
    def from_toml(cls, path: Path) -> Sweep:
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(f"cannot read the sweep in {path}: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} is not TOML: {error}") from error
        return cls.from_dict(data, str(path), path.stem)

    @classmethod
    def from_dict(cls, data: dict[str, Any], source: str, name: str = "sweep") -> Sweep:
        """A sweep from a file's contents; `source` is named where they are wrong."""
        known = [item.name for item in fields(cls)]
        unknown = sorted(set(data) - set(known))
        if unknown:
            raise ConfigError(f"{source}: {unknown[0]!r} is nothing a sweep has; it has: {', '.join(known)}")
        for needed in ("algorithms", "vary"):
            if needed not in data:
                raise ConfigError(f"{source}: {needed!r} is missing")
        for item, kind in _KINDS.items():
            if item in data and not _is(data[item], kind):
                raise ConfigError(f"{source}: {item} should be {_NAMES[kind]}, not {data[item]!r}")
        for item in ("algorithms", "metrics"):
            if not all([isinstance(text, str) for text in data.get(item, [])]):
                raise ConfigError(f"{source}: {item} should be a list of texts, not {data[item]!r}")
        try:
            return cls(**{"name": name, **data})
        except ConfigError as error:
            raise ConfigError(f"{source}: {error}") from None


_KINDS: dict[str, type] = {
    "algorithms": list,
    "metrics": list,
    "vary": dict,
    "fixed": dict,
    "precision": float,
    "least": int,
    "most": int,
    "many": int,
    "if_many": dict,
    "seed": int,
    "name": str,
}
_NAMES: dict[type, str] = {
    list: "a list",
    dict: "a table",
    float: "a number",
    int: "a whole number",
    str: "a text",
}


def _is(value: object, kind: type) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, kind) or (kind is float and isinstance(value, int))


def clean_value(name: str, value: Any) -> Value:
    """A parameter's value in its one form, so that 50, 50.0 and '50' mean the same run."""
    try:
        if isinstance(value, bool) and name != "fifo":
            raise ValueError(value)
        if name in WHOLE:
            if int(value) != float(value):
                raise ValueError(value)
            return int(value)
        if name in AMOUNT:
            return float(value)
        if name in AMOUNT_OR_TEXT:
            try:
                return float(value)
            except ValueError:
                return str(value)
        if name == "fifo":
            return value if isinstance(value, bool) else {"true": True, "false": False}[str(value)]
        if name in MISHAPS:
            return " ".join(value) if isinstance(value, (list, tuple)) else str(value)
        return str(value)
    except (ValueError, TypeError, KeyError):
        form = "a whole number" if name in WHOLE else "true or false" if name == "fifo" else "a number"
        raise ConfigError(f"{name} should be {form}, not {value!r}") from None


def _values(name: str, values: Any) -> tuple[Value, ...]:
    if isinstance(values, str) or not isinstance(values, (list, tuple)):
        raise ConfigError(f"{name} should vary over a list of values, not {values!r}")
    return tuple([clean_value(name, value) for value in values])


def parse_vary(text: str) -> tuple[str, tuple[Value, ...]]:
    """'nodes=5,10,20'; values that contain commas are separated by semicolons: 'think=uniform:5,15;50'."""
    name, equals, values = text.partition("=")
    if not equals:
        raise ConfigError(f"--vary {text!r} is not like nodes=5,10,20")
    parts = values.split(";" if ";" in values else ",")
    name = name.strip()
    return name, tuple([clean_value(name, part.strip()) for part in parts if part.strip()])


def parse_fixed(text: str) -> tuple[str, Value]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--fixed {text!r} is not like think=50")
    return name.strip(), clean_value(name.strip(), value.strip())


def _toml(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join([_toml(item) for item in value]) + "]"
    if isinstance(value, float):
        return repr(value)  # also writes inf as TOML does
    return json.dumps(value, ensure_ascii=False)


assert set(METRICS) == {*MEASURES, "integers_per_message"}
