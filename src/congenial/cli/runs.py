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
HtmlTo = Annotated[
    str, typer.Option("--html", metavar="FILE", help="Write a page there that shows a counterexample step by step.")
]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="An option of the algorithm.")]
Nodes = Annotated[int, typer.Option(help="How many processes.")]


def check_outputs(trace: str, svg: str, html: str, source: str = "") -> None:
    """Refuse files that cannot be written, before the work begins. `source` is what will be read."""
    import os

    from congenial.kernel.errors import ConfigError
    from congenial.trace_files import check_writable

    named: set[str] = set()
    for path in (source, trace, svg, html):
        if path and os.path.abspath(path) in named:
            raise ConfigError(f"{path} is named twice: one file would replace the other")
        named.add(os.path.abspath(path) if path else "")
    for path, what in ((trace, "trace"), (svg, "picture"), (html, "page")):
        if path:
            check_writable(path, what)


def show_counterexample(
    found: Counterexample | None,
    algorithm: str,
    nodes: int,
    options: dict[str, str],
    fifo: bool,
    trace: str,
    svg: str,
    html: str,
    source: str,
    quiet: bool,
) -> None:
    """Print a counterexample as a sequence and as a diagram, and write the files asked for. `source`: what found it."""
    if found is None:
        return
    from congenial.checker.replay import write_trace

    if not quiet:
        show_events(found.events, nodes)
    if trace:
        write_trace(trace, algorithm, nodes, options, fifo, found.events)
    if svg:
        write_svg(svg, found.events, nodes, found.text)
    if html:
        from congenial.studio.explore import explore_document, explored_system_of
        from congenial.studio.pages import write_page
        from congenial.studio.recording import counterexample

        recording = counterexample(found, algorithm, nodes, options, source)
        explored = explored_system_of(algorithm, recording.system, found.events, found.actions, fifo)
        write_page(html, recording, explore_document(explored, found.actions))


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
