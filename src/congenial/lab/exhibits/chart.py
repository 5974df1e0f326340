"""A chart: curves of one measure over the number of processes, from several sweeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING

from congenial.lab.chart_plots import plot_chart
from congenial.lab.exhibits.exhibit import Evidence, Exhibit
from congenial.lab.results import Results, SweepResult
from congenial.lab.rows import TableRow, write_csv
from congenial.lab.sweep import Sweep

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Chart(Exhibit):
    """Panels, each with sweeps that need not have the same sizes."""

    panels: Mapping[str, tuple[Sweep, ...]]

    def sweeps(self, quick: bool) -> dict[str, Sweep]:
        made = {}
        for panel, sweeps in self.panels.items():
            for number, sweep in enumerate(sweeps):
                sizes = sweep.vary["nodes"]
                few = replace(sweep, vary={"nodes": (sizes[0], sizes[len(sizes) // 2])}, least=2, most=2)
                made[self._part(panel, number)] = few if quick else sweep
        return made

    def _part(self, panel: str, number: int) -> str:
        return f"{self.name}, {panel} {number}"

    def by_panel(self, results: Results) -> dict[str, list[SweepResult]]:
        return {
            panel: [results[self._part(panel, number)] for number in range(len(sweeps))]
            for panel, sweeps in self.panels.items()
        }

    def shown(self, evidence: Evidence, markdown: bool) -> list[Table | str]:
        shown: list[Table | str] = []
        for name in self.sweeps(quick=True):
            result = evidence.results[name]
            shown += [*result.tables(markdown), *filter(None, [result.imprecise()])]
        return shown

    def write_results(self, evidence: Evidence, folder: Path, reference: str, command: str) -> None:
        panels = self.by_panel(evidence.results)
        plot_chart(panels, self.title, folder / "chart")
        rows: list[TableRow] = []
        for panel, results in panels.items():
            rows += [{"load": panel, **row} for result in results for row in result.means()]
        write_csv(folder / "chart.csv", rows)

    def page(self, evidence: Evidence, folder: Path, pictures: Path) -> list[str]:
        copyfile(folder / "chart.svg", pictures / f"{self.name}.svg")
        copyfile(folder / "chart.csv", pictures / f"{self.name}.csv")
        place = f"{pictures.name}/{self.name}"
        return [f"## {self.title}", f"![{self.title}]({place}.svg)", f"[Data]({place}.csv)."]
