"""The lines of a table of costs: what the paper prints, what we measured, and a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from congenial.lab.claims import Judged
from congenial.lab.papers.paper import COST, Table
from congenial.lab.tables import Outcome, Row
from congenial.sim.statistics import mean

BAR = "\\|"  # one that is no border


def cost_lines(table: Table, outcomes: Mapping[str, Outcome], judged: Sequence[Judged]) -> list[Row]:
    """One for each line of the table, in messages per entry with the largest of the usual numbers of processes."""
    lines: list[Row] = []
    stated = table.claims()
    for row, verdict in zip(table.rows, [item for item in judged if item.claim in stated], strict=True):
        costs: dict[str, list[float]] = {}
        for load in table.loads_of(row):
            largest = outcomes[table.part(load, row.requests)].records[(table.nodes[-1],)]
            costs[load] = [record.measures[COST] for record in largest[row.algorithm]]
        every = [cost for found in costs.values() for cost in found]
        means: Row = {load: round(mean(costs[load]), 2) if load in costs else "" for load in table.shown}
        lines.append(
            {
                "algorithm": row.label,
                "run as": row.algorithm,
                "the paper": row.says,
                "that is": verdict.finding.ours,
                **means,
                "least": round(min(every), 2),
                "most": round(max(every), 2),
                "verdict": verdict.finding.verdict + (f": {verdict.reason}" if verdict.reason else ""),
            }
        )
    return lines


def markdown_lines(lines: Sequence[Row]) -> str:
    heads = list(lines[0])
    rows = [f"| {' | '.join([str(cell).replace('|', BAR) for cell in line.values()])} |" for line in lines]
    return "\n".join([f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}", *rows])
