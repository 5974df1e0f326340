"""What was measured, as a page draws it: means and ratios with half their 95% intervals.

    title, about        what it is, and the parameters that are fixed, as name and value
    parameters          what is varied: name and label
    metrics             name, label, and whether less or more is better ("" if neither)
    algorithms, baseline
    means, ratios       {algorithm, at: a value for each parameter, runs, precise, values: {metric: [mean, half]}}

It comes from a sweep, from the folder of one, or from a table with the columns `algorithm`, some parameters, and for
each metric its mean and `..._half_width`: what `congenial sweep` and `congenial reproduce` write.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from congenial.kernel.errors import ConfigError
from congenial.kernel.inputs import shown
from congenial.lab.folder import SWEEP_FILE
from congenial.lab.papers import PAPERS
from congenial.lab.parameters import METRICS, PARAMETERS, show_value
from congenial.lab.replication import Value
from congenial.lab.results import Estimate, SweepResult
from congenial.lab.store import FILE, Store
from congenial.lab.sweep import Sweep
from congenial.trace_files import why

Document = dict[str, object]
HALF = "_half_width"
NOT_PARAMETERS = ("algorithm", "against", "runs", "precise")
MORE_IS_BETTER = ("throughput", "concurrency_mean", "concurrency_max", "fairness", "free_entries")
NEITHER = ("simulated_time", "lone_entries")
MOST_TABLES = 500
LARGEST = 20_000_000  # bytes of a table


def of_sweep(result: SweepResult, title: str = "") -> Document:
    """The finished points of a sweep, in all metrics."""
    sweep = result.sweep
    means: list[dict[str, object]] = []
    ratios: list[dict[str, object]] = []
    for point, records in result.runs.items():
        precise = result.is_precise(point)
        for algorithm in sweep.algorithms:
            place = {"algorithm": algorithm, "at": list(point), "runs": len(records[algorithm]), "precise": precise}
            means.append({**place, "values": {m: _pair(result.mean(point, algorithm, m)) for m in METRICS}})
            if algorithm != sweep.baseline:
                found = {metric: result.ratio(point, algorithm, metric) for metric in METRICS}
                values = {metric: _pair(ratio) for metric, ratio in found.items() if ratio is not None}
                ratios.append({**place, "values": values})
    return {
        "title": title or sweep.name,
        "about": _about(sweep),
        "parameters": [_named(name, PARAMETERS) for name in sweep.vary],
        "metrics": _metrics(list(METRICS)),
        "algorithms": list(sweep.algorithms),
        "baseline": sweep.baseline if len(sweep.algorithms) > 1 else "",
        "means": means,
        "ratios": ratios,
    }


def find_tables(folders: Sequence[str]) -> dict[str, Path]:
    """Everything in some folders that can be opened, by the name under which a page knows it."""
    found: dict[str, Path] = {}
    for folder in folders:
        place = Path(folder)
        try:
            there = place.is_dir()
        except OSError:  # a name that cannot be
            there = False
        if not there:
            raise ConfigError(f"runs: there is no folder {shown(folder)}")
        for path in _tables_in(place):
            name = f"{place.name or place.resolve().name}/{path.relative_to(place)}"
            name = name.removesuffix(".csv").removesuffix(f"/{FILE}")
            found[name.removesuffix("/results").removesuffix("-results")] = path
            if len(found) == MOST_TABLES:
                return found
    return found


def _tables_in(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*.csv")):
        try:
            with path.open(encoding="utf-8") as file:
                heads = next(csv.reader(file), [])
        except (OSError, UnicodeDecodeError):
            continue
        if "algorithm" in heads and "against" not in heads and _metric_columns(heads):
            yield path
    for path in sorted(folder.rglob(FILE)):  # a sweep that was interrupted has no table yet
        if (path.parent / SWEEP_FILE).is_file() and not (path.parent / "results.csv").is_file():
            yield path


def open_table(name: str, path: Path) -> list[Document]:
    """What is in a table or a folder. A table whose rows vary different parameters gives one document for each."""
    if path.name == FILE:
        sweep = Sweep.from_toml(path.parent / SWEEP_FILE)
        return [of_sweep(SweepResult.of(sweep, Store(path.parent, look=True)), name)]
    rows = _read(path)
    if not rows:
        raise ConfigError(f"{path} has no rows")
    title, about = _described(name, path)
    beside = path.with_name(path.name.replace("results.csv", "ratios.csv"))
    ratios = _read(beside) if beside != path and beside.is_file() else []
    if not {"varied", "value"} <= set(rows[0]):
        return [_of_rows(title, about, rows, ratios)]
    documents = []
    for varied in dict.fromkeys([row["varied"] for row in rows]):
        others = [name for name in rows[0] if name not in ("varied", "value", varied)]
        own = [
            {varied: row["value"], **{name: row[name] for name in others}} for row in rows if row["varied"] == varied
        ]
        label = PARAMETERS.get(varied, varied)
        documents.append(_of_rows(f"{title}, by {label}", about, own, []))
    return documents


def _of_rows(
    title: str, about: list[tuple[str, str]], rows: list[dict[str, str]], ratios: list[dict[str, str]]
) -> Document:
    metrics = _metric_columns(list(rows[0]))
    columns = {*metrics, *[f"{metric}{HALF}" for metric in metrics], *NOT_PARAMETERS}
    parameters = [name for name in rows[0] if name not in columns]
    numeric = {name for name in parameters if all([_number(row[name]) is not None for row in rows])}
    against = {row["against"] for row in ratios if row.get("against")}
    return {
        "title": title,
        "about": about,
        "parameters": [_named(name, PARAMETERS) for name in parameters],
        "metrics": _metrics(metrics),
        "algorithms": list(dict.fromkeys([row["algorithm"] for row in rows])),
        "baseline": against.pop() if len(against) == 1 else "",
        "means": [_row(row, parameters, numeric, metrics) for row in rows],
        "ratios": [_row(row, parameters, numeric, metrics) for row in ratios] if not against else [],
    }


def _row(row: dict[str, str], parameters: list[str], numeric: set[str], metrics: list[str]) -> dict[str, object]:
    at: list[Value | None] = [_number(row[name]) if name in numeric else row[name] for name in parameters]
    values: dict[str, list[float]] = {}
    for metric in metrics:
        mean, half = _number(row.get(metric, "")), _number(row.get(f"{metric}{HALF}", ""))
        if mean is not None:
            values[metric] = [mean, half or 0.0]
    precise = row.get("precise", "True") == "True"
    return {
        "algorithm": row["algorithm"], "at": at, "runs": int(_number(row.get("runs", "")) or 0), "precise": precise,
        "values": values,
    }  # fmt: skip


def _read(path: Path) -> list[dict[str, str]]:
    try:
        if path.stat().st_size > LARGEST:
            raise ConfigError(f"{path} is too large to be shown")
        with path.open(encoding="utf-8", newline="") as file:
            return [{key: value or "" for key, value in row.items() if key} for row in csv.DictReader(file)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = why(error) if isinstance(error, OSError) else str(error)
        raise ConfigError(f"cannot read {path}: {reason}") from error


def _described(name: str, path: Path) -> tuple[str, list[tuple[str, str]]]:
    """A title, and the fixed parameters: from the sweep beside a table, or of the paper whose figure it is."""
    for beside in (path.with_name(SWEEP_FILE), path.with_suffix(".toml")):
        if beside.is_file():
            try:
                return name, _about(Sweep.from_toml(beside))
            except ConfigError:
                break
    exhibit = path.stem.removesuffix("-results")
    paper = PAPERS.get(path.parent.name)
    for one in paper.exhibits if paper is not None else ():
        if one.name == exhibit:
            fixed = [_about(sweep) for sweep in one.sweeps(quick=False).values()]
            return f"{path.parent.name}, {one.heading()}", fixed[0] if len(fixed) == 1 else []
    return name, []


def _about(sweep: Sweep) -> list[tuple[str, str]]:
    return [(name, show_value(value)) for name, value in sweep.fixed.items()]


def _metric_columns(heads: Sequence[str]) -> list[str]:
    return [head for head in heads if f"{head}{HALF}" in heads]


def _metrics(names: Sequence[str]) -> list[dict[str, str]]:
    better = {**dict.fromkeys(MORE_IS_BETTER, "more"), **dict.fromkeys(NEITHER, "")}
    return [{**_named(name, METRICS), "better": better.get(name, "less")} for name in names]


def _named(name: str, labels: dict[str, str]) -> dict[str, str]:
    return {"name": name, "label": labels.get(name, name)}


def _pair(estimate: Estimate) -> list[float]:
    return [estimate.value, estimate.half]


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if number - number == 0 else None  # neither infinite nor undefined
