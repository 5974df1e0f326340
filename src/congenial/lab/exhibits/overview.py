"""What exhibits have that run several sweeps and tell in one table how algorithms stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from congenial.lab.claims import Tally, findings_markdown
from congenial.lab.exhibits.exhibit import Evidence, Exhibit
from congenial.lab.exhibits.figure import Figure
from congenial.lab.results import Results
from congenial.lab.rows import TableRow, markdown, table, write_csv
from congenial.lab.sweep import Sweep

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Overview(Exhibit):
    """The sweeps are those of `parts`. Subclasses make the table, from all results together."""

    parts: tuple[Figure, ...]

    def standing(self, results: Results) -> list[TableRow]:
        raise NotImplementedError

    def figures(self) -> list[str]:
        return [part.name for part in self.parts]

    def sweeps(self, quick: bool) -> dict[str, Sweep]:
        return {name: sweep for part in self.parts for name, sweep in part.sweeps(quick).items()}

    def shown(self, evidence: Evidence, markdown: bool) -> list[Table | str]:
        return [table(self.standing(evidence.results), markdown), str(Tally(evidence.judged))]

    def write_results(self, evidence: Evidence, folder: Path, reference: str, command: str) -> None:
        write_csv(folder / "means.csv", means_of(evidence.results, self.figures()))

    def verdicts(self, evidence: Evidence) -> str:
        return f"{findings_markdown(evidence.judged)}\n\n{markdown(self.standing(evidence.results))}"


def means_of(results: Results, figures: Sequence[str]) -> list[TableRow]:
    """The means of several sweeps, each with the parameter that it varies."""
    rows: list[TableRow] = []
    for figure in figures:
        (parameter,) = results[figure].sweep.vary
        for mean in results[figure].means():
            row: TableRow = {"algorithm": mean.pop("algorithm"), "varied": parameter, "value": mean.pop(parameter)}
            rows.append({**row, **mean})
    return rows
