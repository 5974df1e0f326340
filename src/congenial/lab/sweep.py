"""A sweep, as data: which algorithms, over which values of one or two parameters, and how precisely.

As a file:

    algorithms = ["suzuki-kasami", "maekawa quorums=grid"]
    metrics = ["messages_per_entry", "waiting_time_mean"]
    precision = 0.05

    [vary]
    nodes = [5, 10, 20]

    [fixed]
    think = 200

All algorithms run with the same seeds at every point, and equal seeds give equal requests. So two algorithms are
compared run by run.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from math import isfinite
from pathlib import Path
from typing import Any

from congenial.kernel import inputs
from congenial.kernel.errors import ConfigError
from congenial.kernel.inputs import amount, shown, whole
from congenial.lab.parameters import METRICS, PARAMETERS, USUAL_METRICS, clean_value, show_value
from congenial.lab.replication import Replication, Value

TABLES = ("vary", "fixed", "if_many")  # of a TOML file
MOST_RUNS = 1_000_000  # at one point
FURTHER = 5  # times as many, where a claim needs it
NUMBERS = {"precision": "a number", "least": "a whole number", "most": "a whole number", "many": "a whole number",
           "seed": "a whole number"}  # fmt: skip

Point = tuple[Value, ...]
"""One value for each varied parameter."""


@dataclass(frozen=True)
class Sweep:
    """Algorithms, the values of one or two parameters to run them with, and the wanted precision.

    Options may follow the name of an algorithm: 'maekawa quorums=grid'. The others are compared to the last one. The
    parameters in `vary` and `fixed` are those of `Scenario`: values such as `Uniform(5, 15)`, or texts. They are kept
    as numbers and texts, since a sweep can be written to a file.
    `precision` bounds half the 95% confidence interval, as a share of the mean, of every metric of every algorithm and
    of every ratio to the last algorithm. A point is run at least `least` times, then until it is that precise, and at
    most `most` times. `within` bounds half the intervals of ratios as they are, where a claim needs it: of a metric at
    all points ('throughput'), at one value of the only varied parameter ('throughput at 2'), or where the ratio is so
    near to a number that twice the interval reaches it ('throughput near 1'). There a point may take several times as
    many runs. With more than `many` processes, the parameters in `if_many` replace those in `fixed`; so large systems
    can have shorter runs.

    >>> sweep = Sweep(["suzuki-kasami", "maekawa"], {"nodes": [4, 9]}, {"think": 200})
    >>> sweep.points()
    [(4,), (9,)]
    >>> Sweep(["maekawa"], {"nodes": []})
    Traceback (most recent call last):
    congenial.kernel.errors.ConfigError: vary: there are no values for nodes
    """

    algorithms: Sequence[str]
    vary: Mapping[str, Sequence[Any]]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    metrics: Sequence[str] = USUAL_METRICS
    precision: float = 0.05
    least: int = 3
    most: int = 30
    many: int = 0
    if_many: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 1
    name: str = "sweep"
    within: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        for part in ("algorithms", "metrics"):
            set_(self, part, _names(part, getattr(self, part)))
        for part in TABLES:
            set_(self, part, _table(part, getattr(self, part)))
        set_(self, "within", _bounds(self.within))
        for part, form in NUMBERS.items():
            value = getattr(self, part)
            if isinstance(value, bool) or not isinstance(value, (int, float) if form == "a number" else int):
                raise ConfigError(f"{part} should be {form}, not {shown(value)}")
        if not isinstance(self.name, str):
            raise ConfigError(f"name should be a text, not {shown(self.name)}")
        self._check()

    def _check(self) -> None:
        if not self.algorithms:
            raise ConfigError("algorithms: a sweep needs at least one")
        if not 1 <= len(self.vary) <= 2:
            raise ConfigError(f"vary: a sweep varies one or two parameters, not {len(self.vary)}")
        for name, values in self.vary.items():
            if not values:
                raise ConfigError(f"vary: there are no values for {name}")
            if name in self.fixed or name in self.if_many:
                raise ConfigError(f"{name} is both varied and fixed")
        for what, names in (("algorithm", self.algorithms), ("metric", self.metrics), *self.vary.items()):
            twice = [name for name in names if names.count(name) > 1]
            if twice:
                raise ConfigError(f"{what} {twice[0]} is named twice")
        for metric in self.metrics:
            if metric not in METRICS:
                raise ConfigError(f"metrics: there is no metric {shown(metric)}; there are: {', '.join(METRICS)}")
        for key in self.within:
            metric, at, value = key.partition(" at ")
            values = [show_value(one) for one in next(iter(self.vary.values()))] if len(self.vary) == 1 else []
            if (metric if at else key.partition(" near ")[0]) not in self.metrics or (at and value not in values):
                raise ConfigError(
                    f"within: {shown(key)} should be a metric of this sweep, alone, at a value that is varied"
                    " ('throughput at 2') or near a number ('throughput near 1')"
                )
        if not amount(self.precision, "precision") > 0:
            raise ConfigError(f"precision must be above 0 (0.05: within 5% of the mean), and is {self.precision:g}")
        whole(self.most, "most", 2, MOST_RUNS)
        whole(self.many, "many", 0)
        inputs.seed(self.seed, self.most * FURTHER)
        if not 2 <= self.least <= self.most:
            raise ConfigError(
                f"least and most: 2 <= least <= most replications, not {shown(self.least)} and {self.most}"
            )

    @property
    def baseline(self) -> str:
        """The last algorithm, to which the others are compared."""
        return self.algorithms[-1]

    def bounds(self, metric: str, point: Point) -> list[tuple[float, float | None]]:
        """What half the interval of the ratio may be at a point; and the number to which it must be near, if any."""
        found: list[tuple[float, float | None]] = []
        for key, bound in self.within.items():
            name, near, number = key.partition(" near ")
            if near and name == metric:
                found.append((bound, float(number)))
            elif key in (metric, f"{metric} at {show_value(point[0])}"):
                found.append((bound, None))
        return found

    def most_at(self, point: Point) -> int:
        """How many runs there can be at a point."""
        bounded = any([self.bounds(metric, point) for metric in self.metrics])
        return self.most * FURTHER if bounded else self.most

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
        """Find everything that is wrong with any of the runs before the first one starts."""
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
            if item.name not in (*TABLES, "within"):
                lines.append(f"{item.name} = {_toml(getattr(self, item.name))}")
        for part in TABLES:
            lines += ["", f"[{part}]"] + [f"{name} = {_toml(value)}" for name, value in getattr(self, part).items()]
        if self.within:
            lines += ["", "[within]"] + [f"{json.dumps(key)} = {_toml(bound)}" for key, bound in self.within.items()]
        return "\n".join(lines) + "\n"

    @classmethod
    def from_toml(cls, path: str | Path) -> Sweep:
        """Read a sweep from a file. Its name is that of the file, unless the file gives one."""
        path = Path(path)
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(f"cannot read the sweep in {path}: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} is not TOML: {error}") from error
        return cls.from_dict(data, str(path), path.stem)

    @classmethod
    def from_dict(cls, data: dict[str, Any], source: str, name: str = "sweep") -> Sweep:
        """A sweep from the contents of a file; `source` is named in errors."""
        known = [item.name for item in fields(cls)]
        unknown = sorted(set(data) - set(known))
        if unknown:
            raise ConfigError(f"{source}: a sweep has no {shown(unknown[0])}; it has: {', '.join(known)}")
        for needed in ("algorithms", "vary"):
            if needed not in data:
                raise ConfigError(f"{source}: {needed!r} is missing")
        try:
            return cls(**{"name": name, **data})
        except ConfigError as error:
            raise ConfigError(f"{source}: {error}") from None


def _names(part: str, names: Any) -> tuple[str, ...]:
    if not isinstance(names, (list, tuple)):
        raise ConfigError(f"{part} should be a list, not {shown(names)}")
    if not all([isinstance(name, str) for name in names]):
        raise ConfigError(f"{part} should be a list of texts, not {shown(names)}")
    return tuple(names)


def _table(part: str, table: Any) -> dict[str, Any]:
    """Parameters and their values; in `vary`, a list of values each."""
    if not isinstance(table, Mapping):
        raise ConfigError(f"{part} should be a table of parameters and values, not {shown(table)}")
    for name in table:
        if name not in PARAMETERS:
            raise ConfigError(f"{part}: there is no parameter {shown(name)}; there are: {', '.join(PARAMETERS)}")
    clean = _values if part == "vary" else clean_value
    return {name: clean(name, value) for name, value in table.items()}


def _bounds(table: Any) -> dict[str, float]:
    if not isinstance(table, Mapping):
        raise ConfigError(f"within should be a table of metrics and numbers, not {shown(table)}")
    for key, bound in table.items():
        number = str(key).partition(" near ")[2]
        if number and not _is_number(number):
            raise ConfigError(f"within: {shown(key)}: {shown(number)} is not a number")
        if isinstance(bound, bool) or not isinstance(bound, (int, float)) or not bound > 0:
            raise ConfigError(f"within: {key} should be a number above 0, not {shown(bound)}")
    return {str(key): float(bound) for key, bound in table.items()}


def _is_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False


def _values(name: str, values: Any) -> tuple[Value, ...]:
    if not isinstance(values, (list, tuple)):
        raise ConfigError(f"{name} should vary over a list of values, not {shown(values)}")
    return tuple([clean_value(name, value) for value in values])


def _toml(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join([_toml(item) for item in value]) + "]"
    if isinstance(value, float):
        return repr(value)  # also writes inf as TOML does
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML wants DEL escaped, JSON does not
