"""A table of steps and messages. These are exact, so nothing is swept: each cell measures for itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from congenial.lab.claims import Claim, Tally, claims_markdown, claims_table
from congenial.lab.exhibits.exhibit import Evidence, Exhibit
from congenial.lab.sweep import Sweep

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class StepTable(Exhibit):
    cells: tuple[Claim, ...]

    def sweeps(self, quick: bool) -> dict[str, Sweep]:
        return {}

    def algorithms(self) -> set[str]:
        return {str(getattr(cell.criterion, "algorithm", "")) for cell in self.cells} - {""}

    def claims(self) -> tuple[Claim, ...]:
        return self.cells

    def shown(self, evidence: Evidence, markdown: bool) -> list[Table | str]:
        return [claims_table(evidence.judged, markdown), str(Tally(evidence.judged))]

    def page(self, evidence: Evidence, folder: Path, pictures: Path) -> list[str]:
        return [f"## {self.title}", claims_markdown(evidence.judged)]
