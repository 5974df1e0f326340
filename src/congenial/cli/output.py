"""How subcommands print: tables on stdout, progress and notices on stderr, JSON as one object."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import JustifyMethod
    from rich.table import Table

WIDTH_OF_A_FILE = 160  # columns, where output goes to no terminal that would say how wide it is
UNLIMITED = 10_000
INTERPRETED = "interpreted: simulates several times slower; reinstall with a C compiler to change that"


def table(*columns: str, markdown: bool = False, title: str | None = None) -> Table:
    """An empty table; a column whose name starts with '>' holds numbers."""
    from rich import box
    from rich.table import Table

    if markdown:
        made = Table(box=box.MARKDOWN)
    else:  # narrow, for a terminal of 80 columns
        made = Table(
            box=box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            padding=(0, 1, 0, 0),
            title=title,
            title_justify="left",
        )
    for index, column in enumerate(columns):
        side: JustifyMethod = "right" if column.startswith(">") else "left"
        made.add_column(column.lstrip(">"), justify=side, overflow="fold", no_wrap=index == 0)  # names stay whole
    return made


def show(made: Table) -> None:
    """Print a table, without the blanks that rich puts around it."""
    from rich import box
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH_OF_A_FILE
    if made.box is box.MARKDOWN:
        width = UNLIMITED  # a broken line would be no Markdown
    out = Console(width=width, highlight=False)
    with out.capture() as capture:
        out.print(made)
    lines = [line.rstrip() for line in capture.get().splitlines()]
    print("\n".join([line for line in lines if line]))


def print_json(data: object) -> None:
    print(json.dumps(data, allow_nan=False, ensure_ascii=False))


def compiled() -> bool:
    """Is the engine compiled, or does it run as plain Python?"""
    import congenial.sim.engine

    return not str(congenial.sim.engine.__file__).endswith(".py")


def notice_if_interpreted() -> None:
    if not compiled():
        print(f"congenial: {INTERPRETED}", file=sys.stderr)


@contextmanager
def progress_bar(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on stderr, if that is a terminal; the block gets what moves it to a number of entries.

    Even without a bar it gets something to call: compiled code notices Ctrl-C only when it calls interpreted code.
    """
    if not sys.stderr.isatty():
        yield lambda entries: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=total)
        yield lambda entries: progress.update(task, completed=entries)
