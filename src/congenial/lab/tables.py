"""What a sweep came to, as rows, CSV and data frames: means and ratios, each with half its 95% interval."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from congenial.lab.replication import Record, Value
from congenial.lab.runner import precise, records_at
from congenial.lab.store import Store
from congenial.lab.sweep import METRICS, Point, Sweep
from congenial.sim.statistics import half_width, mean

if TYPE_CHECKING:
    import polars

Cell = Value | None
Row = dict[str, Cell]


@dataclass(frozen=True)
class Estimate:
    """A mean, and half the width of its 95% confidence interval."""

    value: float
    half: float

    @property
    def low(self) -> float:
        return self.value - self.half

    @property
    def high(self) -> float:
        return self.value + self.half

    def __str__(self) -> str:
        return f"{self.value:.4g} ± {self.half:.2g}"


@dataclass(frozen=True)
class Outcome:
    """The replications of a sweep at every finished point, and what is computed from them."""

    sweep: Sweep
    records: dict[Point, dict[str, list[Record]]]

    @classmethod
    def of(cls, sweep: Sweep, store: Store) -> Outcome:
        found = [(point, records_at(sweep, point, store)) for point in sweep.points()]
        return cls(sweep, {point: records for point, records in found if records is not None})

    def mean(self, point: Point, algorithm: str, metric: str) -> Estimate:
        return _estimate(self.samples(point, algorithm, metric))

    def ratio(self, point: Point, algorithm: str, metric: str) -> Estimate | None:
        """To the baseline, from run to run with equal seeds; None if the baseline has a zero there."""
        return self.versus(point, algorithm, self.sweep.baseline, metric)

    def versus(self, point: Point, one: str, other: str, metric: str) -> Estimate | None:
        """The ratio of any two."""
        base = self.samples(point, other, metric)
        if 0.0 in base:
            return None
        values = self.samples(point, one, metric)
        return _estimate([a / b for a, b in zip(values, base, strict=True)])

    def difference(self, point: Point, one: str, other: str, metric: str) -> Estimate:
        values, base = self.samples(point, one, metric), self.samples(point, other, metric)
        return _estimate([a - b for a, b in zip(values, base, strict=True)])

    def samples(self, point: Point, algorithm: str, metric: str) -> list[float]:
        """Run by run."""
        return [record.measures[metric] for record in self.records[point][algorithm]]

    # -- rows --------------------------------------------------------------------------------------

    def summary(self) -> list[Row]:
        rows: list[Row] = []
        for point, records in self.records.items():
            for algorithm in self.sweep.algorithms:
                row: Row = {"algorithm": algorithm, **self._place(point), "precise": precise(self.sweep, records)}
                for metric in self.sweep.metrics:
                    estimate = self.mean(point, algorithm, metric)
                    row[metric], row[f"{metric}_half_width"] = estimate.value, estimate.half
                rows.append(row)
        return rows

    def ratios(self) -> list[Row]:
        rows: list[Row] = []
        for point in self.records:
            for algorithm in self.sweep.algorithms[:-1]:
                row: Row = {"algorithm": algorithm, "against": self.sweep.baseline, **self._place(point)}
                for metric in self.sweep.metrics:
                    estimate = self.ratio(point, algorithm, metric)
                    row[metric] = None if estimate is None else estimate.value
                    row[f"{metric}_half_width"] = None if estimate is None else estimate.half
                rows.append(row)
        return rows

    def replications(self) -> list[Row]:
        rows: list[Row] = []
        for point, records in self.records.items():
            for algorithm in self.sweep.algorithms:
                for record in records[algorithm]:
                    row: Row = {"algorithm": algorithm, **dict(zip(self.sweep.vary, point, strict=True))}
                    row |= {"seed": record.replication.seed, "entries": record.entries}
                    rows.append({**row, **{name: record.measures[name] for name in METRICS}})
        return rows

    def _place(self, point: Point) -> Row:
        runs = len(next(iter(self.records[point].values())))
        return {**dict(zip(self.sweep.vary, point, strict=True)), "runs": runs}


def _estimate(values: list[float]) -> Estimate:
    return Estimate(mean(values), half_width(values))


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Numbers are written so that reading them gives the same numbers."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def frame(rows: Sequence[Row]) -> polars.DataFrame:
    import polars

    return polars.DataFrame(list(rows), infer_schema_length=None, strict=False)


def summary_frame(sweep: Sweep, store: Store) -> polars.DataFrame:
    return frame(Outcome.of(sweep, store).summary())


def show_value(value: Value) -> str:
    """As on axes and in tables."""
    return f"{value:g}" if isinstance(value, float) else str(value)
