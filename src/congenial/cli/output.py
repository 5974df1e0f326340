"""How subcommands print: tables on stdout, progress and notices on stderr, JSON as one object."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from congenial.kernel.errors import ConfigError

if TYPE_CHECKING:
    from rich.table import Table

    from congenial.lab.runner import Status
    from congenial.sim.scenario import Scenario

COMPILED_SPEED = 5e6  # messages delivered per second, roughly
INTERPRETED_SPEED = 1e5
INTERPRETED = "interpreted: simulates several times slower; reinstall with a C compiler to change that"


def table(*columns: str, markdown: bool = False, title: str | None = None) -> Table:
    """An empty table; a column whose name starts with '>' holds numbers."""
    from congenial.view.table import new_table

    return new_table(*columns, markdown=markdown, title=title)


def show(item: Table | str) -> None:
    """Print a table, or a line."""
    from congenial.view.table import as_text

    print(item if isinstance(item, str) else as_text(item, None if _is_known() else width()))


def width() -> int:
    """How many columns there are to print in."""
    from congenial.view.table import WIDE

    return get_terminal_size().columns if _is_known() else WIDE


def _is_known() -> bool:
    return sys.stdout.isatty() or "COLUMNS" in os.environ


def one_form(json: bool, markdown: bool) -> None:
    """Refuse two forms of output at the same time."""
    if json and markdown:
        raise ConfigError("--json and --markdown are two forms of the same: choose one")


def print_json(data: object) -> None:
    print(json.dumps(data, allow_nan=False, ensure_ascii=False))


def compiled() -> bool:
    """True if the engine is compiled; False if it runs as plain Python."""
    import congenial.sim.engine

    return not str(congenial.sim.engine.__file__).endswith(".py")


def notice_if_interpreted() -> None:
    if not compiled():
        print(f"congenial: {INTERPRETED}", file=sys.stderr)


def notice_if_long(scenario: Scenario, repeat: int) -> None:
    """Say before a run begins that it will take more than ten minutes, if what the algorithm claims to send says so."""
    from math import inf

    system = scenario.system()
    law = system.spec.messages
    if law is None or scenario.until < inf:
        return
    sizes = {**system.sizes, "m": scenario.groups}
    messages = (law.least_for(sizes) + law.most_for(sizes)) / 2 * scenario.workload().total() * repeat
    seconds = messages / (COMPILED_SPEED if compiled() else INTERPRETED_SPEED)
    if seconds > 600:
        what = f"about {messages:.0e} messages to deliver, which takes about {duration(seconds)}"
        print(f"congenial: {system.name}: {what}; fewer nodes or requests take less", file=sys.stderr)


@contextmanager
def progress_bar(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on stderr, if that is a terminal; the block calls the function it gets with the number of entries so far.

    Without a bar it still gets a function to call: compiled code notices Ctrl-C only when it calls interpreted code.
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


@contextmanager
def status_bar(label: str, unit: str) -> Iterator[Callable[[Status], None]]:
    """A bar on stderr, if that is a terminal, for the functions of the laboratory; it shows the estimated time left."""
    if not sys.stderr.isatty():
        yield lambda status: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn(unit),
               TimeElapsedColumn(), TextColumn("{task.fields[left]}"))  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=None, left="")

        def update(status: Status) -> None:
            left = "" if status.seconds_left is None else f"about {duration(status.seconds_left)} left"
            progress.update(task, completed=status.done, total=status.total, left=left)

        yield update


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
