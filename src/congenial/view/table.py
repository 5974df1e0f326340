"""Tables as text: for a terminal, for a file, or as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import JustifyMethod
    from rich.table import Table

WIDE = 160  # columns, where no terminal says how wide it is
UNLIMITED = 10_000
LONGEST_NAME = 30  # in the first column, which stays whole if it can


def new_table(*columns: str, markdown: bool = False, title: str | None = None) -> Table:
    """An empty table. A column whose name starts with '>' holds numbers and is aligned to the right."""
    from rich import box
    from rich.table import Table

    if markdown:
        table = Table(box=box.MARKDOWN)
    else:  # narrow, for a terminal of 80 columns
        table = Table(
            box=box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            padding=(0, 1, 0, 0),
            title=title,
            title_justify="left",
        )
    for column in columns:
        side: JustifyMethod = "right" if column.startswith(">") else "left"
        table.add_column(column.lstrip(">"), justify=side, overflow="fold")
    return table


def as_text(table: Table, width: int | None = WIDE) -> str:
    """The lines of a table, without the blanks that rich puts around them; `width` None is that of the terminal.

    Words stay whole: a table whose words do not fit side by side is wider than asked for."""
    from rich import box
    from rich.console import Console

    if table.box is box.MARKDOWN:
        width = UNLIMITED  # a broken line would be no Markdown
    console = Console(width=width, highlight=False, color_system=None if width else "auto")
    console.width = max(console.width, _fit(table, console.width))
    with console.capture() as capture:
        console.print(table)
    lines = [line.rstrip() for line in capture.get().splitlines()]
    return "\n".join([line for line in lines if line])


def _fit(table: Table, width: int) -> int:
    """Make columns narrower until the table fits, as far as their words allow; returns how wide it is then.

    The name in the first column is shortened last: it is what a reader looks for.
    """
    from rich.cells import cell_len

    texts = [[str(column.header), *[str(cell) for cell in column.cells]] for column in table.columns]
    lines = [[line for text in column for line in text.split("\n")] for column in texts]
    widths = [max([cell_len(line) for line in column]) for column in lines]
    least = [max([cell_len(word) for line in column for word in line.split()] or [0]) for column in lines]
    if table.pad_edge is False and sum(least) + 2 * len(least) - 1 > width:
        table.padding = 0  # one blank between columns instead of two
    _, right, _, left = table.padding
    edges = len(widths) * (left + right) + len(widths) - 1 + (2 if table.show_edge else 0)  # as rich counts
    names = min(widths[0], LONGEST_NAME)
    for floor in (names, least[0]):
        while sum(widths) + edges > width:
            spare = [
                w - (max(floor, low) if column == 0 else low)
                for column, (w, low) in enumerate(zip(widths, least, strict=True))
            ]
            wide = [column for column, room in enumerate(spare) if room > 0]
            if not wide:
                break
            widths[max(wide, key=lambda column: widths[column])] -= 1
    for column, chosen in zip(table.columns, widths, strict=True):
        column.width = chosen
    return sum(widths) + edges
