"""`congenial check`: explore every run of a small system."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from congenial.cli.bounds import check_effects, with_bounds
from congenial.cli.options import Algorithm, Json, algorithm_options
from congenial.cli.runs import HtmlTo, Nodes, Set, SvgTo, TraceTo, check_outputs, show_counterexample
from congenial.cli.sweep import Cluster

EXAMPLES = """
congenial check ricart-agrawala --nodes 3 --requests 2
congenial check token-gme --nodes 3 --groups 2 --wants "0;1;0,1"
congenial check maekawa --order any --trace broken.ndjson --svg broken.svg
congenial check maekawa --order any --html broken.html
congenial check suzuki-kasami --losses 1
congenial check my_algorithm.py:MyNode --limit 1000000 --json
congenial check ra1 --groups 2 --cluster tcp://scheduler:8786
"""


@with_bounds(requests=2)
def command(
    algorithm: Algorithm,
    given: dict[str, Any],
    nodes: Nodes = 3,
    reduce: Annotated[
        bool | None,
        typer.Option(
            "--reduce/--whole", help="Leave out interleavings that make no difference. By default: in large systems."
        ),
    ] = None,
    symmetry: Annotated[
        bool, typer.Option("--symmetry", help="Count states that differ only in the names of processes as one.")
    ] = False,
    limit: Annotated[int, typer.Option(metavar="STATES", help="Stop after this many states.")] = 10_000_000,
    jobs: Annotated[int, typer.Option(help="Processes among which the work is divided.")] = 1,
    cluster: Cluster = "",
    options: Set = None,
    trace: TraceTo = "",
    svg: SvgTo = "",
    html: HtmlTo = "",
    json: Json = False,
) -> None:
    """Explore all runs of a small system: every order of messages, requests, exits, timers and faults.

    Decides safety, deadlock, starvation, concurrent entry, the message bound and illegal steps. The verdict says
    whether all states were seen. A counterexample is a shortest one; the exit code is then 1.
    """
    from congenial.checker.check import check
    from congenial.cli.output import notice_if_interpreted, print_json, progress_bar, show, table

    settings = algorithm_options(options)
    check_effects(given)
    check_outputs(trace, svg, html)
    with progress_bar(f"{algorithm}: states", None) as progress, _executor(cluster) as executor:
        result = check(
            algorithm,
            nodes=nodes,
            options=settings,
            reduce=reduce,
            symmetry=symmetry,
            limit=limit,
            jobs=jobs,
            executor=executor,
            progress=lambda seen, pending: progress(seen),
            **given,
        )
    if json:
        print_json(result.as_dict())
    else:
        title = f"{result.algorithm}, {nodes} processes, {result.requests} requests each"
        rows = table("measure", "value", title=title)
        rows.add_row("states", str(result.states))
        rows.add_row("transitions", str(result.transitions))
        rows.add_row("depth", str(result.depth))
        if result.least_messages is not None and result.most_messages is not None:
            span = f"{result.least_messages:.4g} .. {result.most_messages:.4g}"
            runs = f"over all runs in which every process asks {result.requests} times"
            rows.add_row("messages per entry", f"{span}, {runs}")
        rows.add_row("time", f"{result.seconds:.2f} s ({result.states_per_second:.0f} states per second)")
        show(rows)
    show_counterexample(result.counterexample, algorithm, nodes, settings, result.fifo, trace, svg, html, "check", json)
    if not json:
        print(result.verdict())
        notice_if_interpreted()
    if not result.ok:
        raise typer.Exit(1)


@contextmanager
def _executor(cluster: str) -> Iterator[Executor | None]:
    """The workers of a Dask cluster, if there is one."""
    if not cluster:
        yield None
        return
    from congenial.lab.workers import workers

    with workers(cluster=cluster) as found:
        yield found.executor
