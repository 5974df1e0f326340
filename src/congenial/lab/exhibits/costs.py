"""A table of costs: for each algorithm the paper's formula, what we measured, and a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING

from congenial.lab.claims import Claim, Criterion, Tally
from congenial.lab.exhibits.exhibit import Evidence, Exhibit
from congenial.lab.parameters import show_value
from congenial.lab.replication import Value
from congenial.lab.rows import TableRow, markdown, table, write_csv
from congenial.lab.sweep import Sweep
from congenial.sim.statistics import mean

if TYPE_CHECKING:
    from rich.table import Table

COST = "messages_per_entry"
GROWING = "growing"


@dataclass(frozen=True)
class CostRow:
    """A row of a table of costs: `says` is what the paper prints, `criterion` what that means, `reason` why our runs
    disagree, where they do. With `requests`, no process makes more than that many, where runs take too long otherwise.
    A row with a `load` is about that load alone, and the other rows are not about it."""

    label: str
    algorithm: str
    says: str
    criterion: Criterion
    reason: str = ""
    requests: int = 0
    load: str = ""


@dataclass(frozen=True)
class CostTable(Exhibit):
    """Costs in messages per entry, measured at several loads.

    The loads in `shown_loads` have columns beside the formula, and so have the least and the most that any run cost.
    Algorithms in `growing` are also measured at the sizes `grown`, at the first of these loads. `seed` is the first.
    """

    rows: tuple[CostRow, ...]
    loads: Mapping[str, Mapping[str, Value]]
    shown_loads: tuple[str, ...]
    nodes: tuple[int, ...]
    where: str
    growing: tuple[str, ...] = ()
    grown: tuple[int, ...] = ()
    seed: int = 1

    def sweeps(self, quick: bool) -> dict[str, Sweep]:
        made: dict[str, Sweep] = {}
        for requests in dict.fromkeys([row.requests for row in self.rows]):
            rows = [row for row in self.rows if row.requests == requests]
            for load, fixed in self.loads.items():
                names = dict.fromkeys([row.algorithm for row in rows if load in self.loads_of(row)])
                part = self.part(load, requests)
                fewer = {"requests": min(requests, int(fixed["requests"]))} if requests and "requests" in fixed else {}
                if names:
                    made[part] = self._sweep(part, tuple(names), self.nodes, {**fixed, **fewer}, quick)
        if self.growing:
            part = self.part(GROWING)
            fixed = {**self.loads[self.shown_loads[0]], "requests": 10}
            made[part] = self._sweep(part, self.growing, self.grown, fixed, True)
        return made

    def _sweep(
        self, part: str, names: tuple[str, ...], sizes: tuple[int, ...], fixed: Mapping[str, Value], quick: bool
    ) -> Sweep:
        runs = 2 if quick else 5
        return Sweep(names, {"nodes": sizes}, fixed, (COST,), least=runs, most=runs, seed=self.seed, name=part)

    def part(self, load: str, requests: int = 0) -> str:
        return f"{self.name}, {requests} requests, {load}" if requests else f"{self.name}, {load}"

    def loads_of(self, row: CostRow) -> list[str]:
        special = {other.load for other in self.rows}
        return [row.load] if row.load else [load for load in self.loads if load not in special]

    def claims(self) -> tuple[Claim, ...]:
        made = []
        for row in self.rows:
            parts = tuple([self.part(load, row.requests) for load in self.loads_of(row)])
            if row.algorithm in self.growing:
                parts += (self.part(GROWING),)
            made.append(Claim(row.label, self.where, row.says, replace(row.criterion, figures=parts), row.reason))
        return tuple(made)

    def shown(self, evidence: Evidence, markdown: bool) -> list[Table | str]:
        return [table(self.lines(evidence), markdown), str(Tally(evidence.judged))]

    def write_results(self, evidence: Evidence, folder: Path, reference: str, command: str) -> None:
        write_csv(folder / "table.csv", self.lines(evidence))

    def verdicts(self, evidence: Evidence) -> str:
        return markdown(self.lines(evidence))

    def page(self, evidence: Evidence, folder: Path, pictures: Path) -> list[str]:
        copyfile(folder / "table.csv", pictures / f"{self.name}.csv")
        data = f"[data]({pictures.name}/{self.name}.csv)"
        loads = [
            f"- {load}: {', '.join([f'{name} {show_value(value)}' for name, value in fixed.items()])}"
            for load, fixed in self.loads.items()
        ]
        return [
            f"## {self.title}",
            f"Messages per entry with {self.nodes[-1]} processes ({data}). Loads:",
            "\n".join(loads),
            markdown(self.lines(evidence)),
        ]

    def lines(self, evidence: Evidence) -> list[TableRow]:
        """The rows of the table, measured with the largest of the usual numbers of processes."""
        lines: list[TableRow] = []
        stated = self.claims()
        judged = [item for item in evidence.judged if item.claim in stated]
        for row, verdict in zip(self.rows, judged, strict=True):
            costs: dict[str, list[float]] = {}
            for load in self.loads_of(row):
                result = evidence.results[self.part(load, row.requests)]
                costs[load] = result.samples((self.nodes[-1],), row.algorithm, COST)
            every = [cost for found in costs.values() for cost in found]
            means: TableRow = {load: round(mean(costs[load]), 2) if load in costs else "" for load in self.shown_loads}
            lines.append(
                {
                    "algorithm": row.label,
                    "run as": row.algorithm,
                    "the paper": row.says,
                    "that is": verdict.finding.ours,
                    **means,
                    "least": round(min(every), 2),
                    "most": round(max(every), 2),
                    "verdict": verdict.explained,
                }
            )
        return lines
