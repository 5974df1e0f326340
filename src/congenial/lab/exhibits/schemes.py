"""The values of one option of an algorithm, compared over many loads: which is best on average, and at what price."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile

from congenial.lab.dominance import distinct, geometric, ratios
from congenial.lab.exhibits.exhibit import Evidence
from congenial.lab.exhibits.overview import Overview
from congenial.lab.parameters import METRICS
from congenial.lab.results import Results
from congenial.lab.rows import TableRow, markdown


@dataclass(frozen=True)
class Schemes(Overview):
    """The sweeps of `parts` run the algorithm with every one of `schemes`, whose names it takes by `option`. They are
    compared with those named in `against`, in `metrics`."""

    algorithm: str
    option: str
    schemes: tuple[str, ...]
    against: tuple[str, ...]
    metrics: tuple[str, ...]

    def page(self, evidence: Evidence, folder: Path, pictures: Path) -> list[str]:
        copyfile(folder / "means.csv", pictures / f"{self.name}.csv")
        results = evidence.results
        points = len(distinct(results, self.figures()))
        runs = results[self.figures()[0]].sweep.least
        return [
            f"## {self.title}",
            f"{self.algorithm} with every value of its option {self.option!r}, at {points} points, {runs} runs each."
            f" Ratios run by run with equal requests, averaged geometrically over the points; in brackets the least and"
            f" the largest. Below 1 is better. [The means at all points]({pictures.name}/{self.name}.csv).",
            markdown(self.standing(results)),
        ]

    def standing(self, results: Results) -> list[TableRow]:
        """A row for every scheme: each metric, against each of the schemes it is compared with."""
        rows: list[TableRow] = []
        for scheme in self.schemes:
            row: TableRow = {self.option: scheme}
            for other in self.against:
                for metric in self.metrics:
                    row[f"{METRICS[metric]} / {other}"] = self._ratio(results, scheme, other, metric)
            rows.append(row)
        return rows

    def _ratio(self, results: Results, scheme: str, other: str, metric: str) -> str:
        if scheme == other:
            return "1"
        found = ratios(results, self.figures(), self.named(scheme), self.named(other), metric)
        return f"{geometric(found):.3f} ({min(found):.2f} to {max(found):.2f})" if found else "-"

    def named(self, scheme: str) -> str:
        """As sweeps name it."""
        return named(self.algorithm, self.option, scheme)


def named(algorithm: str, option: str, value: str) -> str:
    """An algorithm with an option, as sweeps name it."""
    return f"{algorithm} {option}={value}"
