"""Rows of a table: as CSV, as Markdown, as text, as a data frame."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from congenial.lab.extras import require
from congenial.lab.replication import Value
from congenial.view.table import new_table

if TYPE_CHECKING:
    import polars
    from rich.table import Table

TableRow = dict[str, Value | None]
"""Column names and values; None where there is no value."""

BAR = "\\|"  # a bar that does not end a cell


def write_csv(path: Path, rows: Sequence[TableRow]) -> None:
    """Numbers are written so that reading them gives the same numbers."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def markdown(rows: Sequence[TableRow]) -> str:
    """A table with the columns of the first row; nothing if there are no rows."""
    if not rows:
        return ""
    heads = list(rows[0])
    lines = [f"| {' | '.join([str(cell).replace('|', BAR) for cell in row.values()])} |" for row in rows]
    return "\n".join([f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}", *lines])


def table(rows: Sequence[TableRow], markdown: bool = False) -> Table:
    """For a terminal, with the columns of the first row."""
    made = new_table(*rows[0], markdown=markdown)
    for row in rows:
        made.add_row(*[str(cell) for cell in row.values()])
    return made


def frame(rows: Sequence[TableRow]) -> polars.DataFrame:
    require("lab")
    import polars

    return polars.DataFrame(list(rows), infer_schema_length=None, strict=False)
