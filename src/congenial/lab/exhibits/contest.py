"""A contest: many algorithms on the same loads. It shows which one is best where, not how two of them compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING

from congenial.lab.claims import Tally, findings_markdown
from congenial.lab.contest_plots import plot_contest
from congenial.lab.exhibits.exhibit import Evidence, Exhibit, describe
from congenial.lab.exhibits.figure import Figure
from congenial.lab.folder import write_sweep
from congenial.lab.parameters import METRICS, PARAMETERS, show_value
from congenial.lab.rankings import leaders
from congenial.lab.replication import Value
from congenial.lab.results import SweepResult
from congenial.lab.rows import TableRow, markdown, table
from congenial.lab.sweep import Point, Sweep

if TYPE_CHECKING:
    from rich.table import Table

MOST_NAMED = 3  # more winners than this are counted, not named


@dataclass(frozen=True)
class Contest(Figure):
    """Algorithms by family. Those of the families `outside` are yardsticks and cannot win. The page shows all of them
    at the value `usual`, if there is one."""

    families: Mapping[str, tuple[str, ...]]
    outside: tuple[str, ...]
    usual: Value | None = None

    def quick(self) -> Sweep:
        return replace(super().quick(), least=2, most=2)

    def entrants(self) -> tuple[str, ...]:
        return tuple([name for family, names in self.families.items() if family not in self.outside for name in names])

    def yardsticks(self) -> tuple[str, ...]:
        return tuple([name for family in self.outside for name in self.families[family]])

    def heading(self) -> str:
        return Exhibit.heading(self)

    def shown(self, evidence: Evidence, markdown: bool) -> list[Table | str]:
        return [table(self.winners(evidence.results[self.name]), markdown), str(Tally(evidence.judged))]

    def write_results(self, evidence: Evidence, folder: Path, reference: str, command: str) -> None:
        result = evidence.results[self.name]
        write_sweep(folder, result.sweep, command)
        result.to_csv(folder / "results.csv")
        plot_contest(result, self.families, self.outside, self.title, folder / "contest")

    def verdicts(self, evidence: Evidence) -> str:
        winners = markdown(self.winners(evidence.results[self.name]))
        return f"{findings_markdown(evidence.judged)}\n\n{winners}"

    def page(self, evidence: Evidence, folder: Path, pictures: Path) -> list[str]:
        copyfile(folder / "contest.svg", pictures / f"{self.name}.svg")
        copyfile(folder / "results.csv", pictures / f"{self.name}.csv")
        place = f"{pictures.name}/{self.name}"
        result = evidence.results[self.name]
        parts = [
            f"## {self.title}",
            f"{describe(result)} Data: [means]({place}.csv).",
            f"![{self.title}: all measures]({place}.svg)",
            "The best algorithms, and their values:",
            markdown(self.winners(result)),
        ]
        if self.usual is not None:
            parts.insert(1, f"All of them, with {self.usual} {PARAMETERS[self.name]}:")
            parts.insert(2, markdown(standings(result, self.usual)))
        return parts

    def winners(self, result: SweepResult) -> list[TableRow]:
        """A row for every value of the varied parameter: the best in each metric, and the best yardstick if that is
        better still."""
        (parameter,) = result.sweep.vary
        rows: list[TableRow] = []
        for point in result.runs:
            row: TableRow = {PARAMETERS[parameter]: show_value(point[0])}
            for metric in result.sweep.metrics:
                row[METRICS[metric]] = self._winners(result, point, metric)
            rows.append(row)
        return rows

    def _winners(self, result: SweepResult, point: Point, metric: str) -> str:
        entrants = self.entrants()
        first = leaders(result, point, metric, entrants)
        best = result.mean(point, first[0], metric).value
        text = f"{len(first)} of {len(entrants)}" if len(first) > MOST_NAMED else ", ".join(first)
        text = f"{text}: {best:.3g}"
        overall = leaders(result, point, metric, (*entrants, *self.yardsticks()))
        if not set(overall) & set(entrants):
            text += f" (but {overall[0]}: {result.mean(point, overall[0], metric).value:.3g})"
        return text


def standings(result: SweepResult, value: Value) -> list[TableRow]:
    """All algorithms at one value of the varied parameter."""
    rows: list[TableRow] = []
    for algorithm in result.sweep.algorithms:
        row: TableRow = {"algorithm": algorithm}
        for metric in result.sweep.metrics:
            row[METRICS[metric]] = str(result.mean((value,), algorithm, metric))
        rows.append(row)
    return rows
