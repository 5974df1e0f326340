"""Tables as text: for a terminal, for a file, or as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import JustifyMethod
    from rich.table import Table

WIDE = 160  # columns, where no terminal says how wide it is
UNLIMITED = 10_000


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
    for index, column in enumerate(columns):
        side: JustifyMethod = "right" if column.startswith(">") else "left"
        table.add_column(column.lstrip(">"), justify=side, overflow="fold", no_wrap=index == 0)  # names stay whole
    return table


def as_text(table: Table, width: int | None = WIDE) -> str:
    """The lines of a table, without the blanks that rich puts around them; `width` None is that of the terminal."""
    from rich import box
    from rich.console import Console

    if table.box is box.MARKDOWN:
        width = UNLIMITED  # a broken line would be no Markdown
    console = Console(width=width, highlight=False, color_system=None if width else "auto")
    with console.capture() as capture:
        console.print(table)
    lines = [line.rstrip() for line in capture.get().splitlines()]
    return "\n".join([line for line in lines if line])
