"""What a sweep measured: means and ratios, each with half its 95% interval, run by run if needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from congenial.lab.parameters import METRICS, PARAMETERS, show_value
from congenial.lab.replication import RunRecord, Value
from congenial.lab.rows import TableRow, frame, write_csv
from congenial.lab.stopping import close, precise, records_at
from congenial.lab.store import Store
from congenial.lab.sweep import Point, Sweep
from congenial.sim.statistics import half_width, mean
from congenial.view.charts import Curve, Spot
from congenial.view.notebook import block, charts, folded, table
from congenial.view.table import as_text, new_table

if TYPE_CHECKING:
    import polars
    from rich.table import Table


@dataclass(frozen=True)
class Estimate:
    """A mean, and half the width of its 95% confidence interval.

    >>> found = Estimate(10.0, 0.5)
    >>> print(found)
    10 ± 0.5
    >>> found.low, found.high
    (9.5, 10.5)
    """

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
class SweepResult:
    """The runs of a sweep at every finished point, by algorithm and in the order of their seeds.

    `means`, `ratios` and `records` are rows for a data frame or a CSV file; `print` shows means and ratios as tables.

    >>> result = sweep(Sweep(["suzuki-kasami"], {"nodes": [3, 5]}, {"requests": 10}, most=3))
    >>> [row["nodes"] for row in result.means()]
    [3, 5]
    """

    sweep: Sweep
    runs: dict[Point, dict[str, list[RunRecord]]]

    @classmethod
    def of(cls, sweep: Sweep, store: Store) -> SweepResult:
        """The points whose replications are all in the store."""
        found = [(point, records_at(sweep, point, store)) for point in sweep.points()]
        return cls(sweep, {point: records for point, records in found if records is not None})

    # -- one value -------------------------------------------------------------------------------------

    def mean(self, point: Point, algorithm: str, metric: str) -> Estimate:
        return _estimate(self.samples(point, algorithm, metric))

    def ratio(self, point: Point, algorithm: str, metric: str) -> Estimate | None:
        """The ratio to the baseline, between runs with equal seeds; None if the baseline has a zero there."""
        return self.versus(point, algorithm, self.sweep.baseline, metric)

    def versus(self, point: Point, one: str, other: str, metric: str) -> Estimate | None:
        """The ratio of any two algorithms."""
        base = self.samples(point, other, metric)
        if 0.0 in base:
            return None
        values = self.samples(point, one, metric)
        return _estimate([a / b for a, b in zip(values, base, strict=True)])

    def difference(self, point: Point, one: str, other: str, metric: str) -> Estimate:
        values, base = self.samples(point, one, metric), self.samples(point, other, metric)
        return _estimate([a - b for a, b in zip(values, base, strict=True)])

    def samples(self, point: Point, algorithm: str, metric: str) -> list[float]:
        """The values of a metric, run by run."""
        return [record.measures[metric] for record in self.runs[point][algorithm]]

    # -- rows ------------------------------------------------------------------------------------------

    def means(self) -> list[TableRow]:
        """A row for each algorithm at each point: means, and half the width of their 95% intervals."""
        rows: list[TableRow] = []
        for point in self.runs:
            for algorithm in self.sweep.algorithms:
                row: TableRow = {"algorithm": algorithm, **self._place(point), "precise": self.is_precise(point)}
                for metric in self.sweep.metrics:
                    estimate = self.mean(point, algorithm, metric)
                    row[metric], row[f"{metric}_half_width"] = estimate.value, estimate.half
                rows.append(row)
        return rows

    def ratios(self) -> list[TableRow]:
        """A row for each algorithm but the baseline at each point."""
        rows: list[TableRow] = []
        for point in self.runs:
            for algorithm in self.sweep.algorithms[:-1]:
                row: TableRow = {"algorithm": algorithm, "against": self.sweep.baseline, **self._place(point)}
                for metric in self.sweep.metrics:
                    estimate = self.ratio(point, algorithm, metric)
                    row[metric] = None if estimate is None else estimate.value
                    row[f"{metric}_half_width"] = None if estimate is None else estimate.half
                rows.append(row)
        return rows

    def records(self) -> list[TableRow]:
        """A row for each run, with all metrics."""
        rows: list[TableRow] = []
        for point, records in self.runs.items():
            for algorithm in self.sweep.algorithms:
                for record in records[algorithm]:
                    row: TableRow = {"algorithm": algorithm, **dict(zip(self.sweep.vary, point, strict=True))}
                    row |= {"seed": record.replication.seed, "entries": record.entries}
                    rows.append({**row, **{name: record.measures[name] for name in METRICS}})
        return rows

    def as_dict(self) -> dict[str, object]:
        """Means and ratios, ready for JSON."""
        return {"results": self.means(), "ratios": self.ratios()}

    def to_csv(self, path: str | Path) -> None:
        """Write the means."""
        write_csv(Path(path), self.means())

    def to_frame(self) -> polars.DataFrame:
        """The means as a Polars data frame, which the extra `lab` brings."""
        return frame(self.means())

    def is_precise(self, point: Point) -> bool:
        """True if a point is as precise as the sweep asks."""
        records = self.runs[point]
        return precise(self.sweep, records) and close(self.sweep, point, records)

    def _place(self, point: Point) -> TableRow:
        runs = len(next(iter(self.runs[point].values())))
        return {**dict(zip(self.sweep.vary, point, strict=True)), "runs": runs}

    # -- for people ------------------------------------------------------------------------------------

    def tables(self, markdown: bool = False) -> list[Table]:
        """The means, and the ratios if there is more than one algorithm."""
        made = [self._table("means", False, markdown)]
        if len(self.sweep.algorithms) > 1:
            made.append(self._table(f"ratios to {self.sweep.baseline}", True, markdown))
        return made

    def _table(self, title: str, ratio: bool, markdown: bool) -> Table:
        sweep = self.sweep
        heads = ["algorithm", *[f">{name}" for name in sweep.vary], ">runs"]
        table = new_table(*heads, *[f">{METRICS[metric]}" for metric in sweep.metrics], markdown=markdown, title=title)
        for point, records in self.runs.items():
            for algorithm in sweep.algorithms[:-1] if ratio else sweep.algorithms:
                cells = [algorithm, *[show_value(value) for value in point], str(len(records[algorithm]))]
                for metric in sweep.metrics:
                    estimate = (self.ratio if ratio else self.mean)(point, algorithm, metric)
                    cells.append("-" if estimate is None else str(estimate))
                table.add_row(*cells)
        return table

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        sweep = self.sweep
        first, *rest = sweep.vary
        seconds = list(sweep.vary[rest[0]]) if rest else [None]
        titled = []
        for metric in sweep.metrics:
            for second in seconds:
                where = f", {rest[0]} {show_value(second)}" if second is not None else ""
                curves = [
                    Curve(algorithm, number, self._spots(algorithm, metric, second))
                    for number, algorithm in enumerate(sweep.algorithms)
                ]
                titled.append((f"{METRICS[metric]}{where}", PARAMETERS[first], curves))
        heads = ["algorithm", *[f">{name}" for name in sweep.vary], ">runs"]
        heads += [f">{METRICS[metric]}" for metric in sweep.metrics]
        rows = [
            [
                algorithm, *[show_value(value) for value in point], str(len(records[algorithm])),
                *[str(self.mean(point, algorithm, metric)) for metric in sweep.metrics],
            ]
            for point, records in self.runs.items()
            for algorithm in sweep.algorithms
        ]  # fmt: skip
        title = f"{len(sweep.algorithms)} algorithms at {len(self.runs)} points:"
        told = self.imprecise() or f"within {sweep.precision:.0%} of the mean"
        return block(title, told, not self.imprecise(), charts(titled), folded("means", table(heads, rows)))

    def _spots(self, algorithm: str, metric: str, second: Value | None) -> list[Spot]:
        """A curve over the first varied parameter."""
        found = []
        for point in self.runs:
            if second is None or point[1] == second:
                estimate = self.mean(point, algorithm, metric)
                x = str(point[0]) if isinstance(point[0], (str, bool)) else float(point[0])
                found.append(Spot(x, estimate.value, estimate.half))
        return found

    def imprecise(self) -> str:
        """A sentence about the points that are less precise than the sweep asks; nothing if there are none."""
        coarse = [point for point in self.runs if not self.is_precise(point)]
        if not coarse:
            return ""
        needs = " or a claim needs" if self.sweep.within else ""
        wanted = f"{self.sweep.precision:.0%}{needs} after {self.sweep.most} runs{' or more' if needs else ''}"
        return f"{len(coarse)} of {len(self.runs)} points are less precise than {wanted}"

    def __str__(self) -> str:
        parts = [as_text(table) for table in self.tables()]
        return "\n".join([*parts, self.imprecise()]).rstrip()


Results = Mapping[str, SweepResult]
"""By name of the figure, or of a part of it."""


def _estimate(values: list[float]) -> Estimate:
    return Estimate(mean(values), half_width(values))
