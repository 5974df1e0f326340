"""Runs, as subcommands show and store them: the events, a space-time diagram, and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from congenial.checker.counterexample import Counterexample
    from congenial.kernel.trace import Event

TraceTo = Annotated[str, typer.Option("--trace", metavar="FILE", help="Write a counterexample there, for replay.")]
SvgTo = Annotated[str, typer.Option("--svg", metavar="FILE", help="Draw a counterexample there.")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="An option of the algorithm.")]
Nodes = Annotated[int, typer.Option(help="How many processes.")]


def check_outputs(trace: str, svg: str, source: str = "") -> None:
    """Refuse files that cannot be written, before the work begins. `source` is what will be read."""
    import os

    from congenial.kernel.errors import ConfigError
    from congenial.trace_files import check_writable

    named = [os.path.abspath(path) for path in (trace, svg, source) if path]
    if len(set(named)) < len(named):
        raise ConfigError(f"{svg} is named twice: one file would replace the other")
    if trace:
        check_writable(trace, "trace")
    if svg:
        check_writable(svg, "picture")


def show_counterexample(
    found: Counterexample | None,
    algorithm: str,
    nodes: int,
    options: dict[str, str],
    fifo: bool,
    trace: str,
    svg: str,
    quiet: bool,
) -> None:
    """Print a counterexample as a sequence and as a diagram, and write the files asked for."""
    if found is None:
        return
    from congenial.checker.replay import write_trace

    if not quiet:
        show_events(found.events, nodes)
    if trace:
        write_trace(trace, algorithm, nodes, options, fifo, found.events)
    if svg:
        write_svg(svg, found.events, nodes, found.text)


def show_events(events: Sequence[Event], nodes: int) -> None:
    from congenial.view.spacetime import as_text

    for event in events:
        print(event)
    print()
    print(as_text(events, nodes))
    print()


def write_svg(path: str, events: Sequence[Event], nodes: int, title: str) -> None:
    from congenial.kernel.errors import ConfigError
    from congenial.view.spacetime import as_svg

    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(as_svg(events, nodes, title))
    except OSError as error:
        raise ConfigError(f"cannot write the picture to {path}: {error.strerror}") from error
