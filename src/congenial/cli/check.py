"""`congenial check`: explore every run of a small system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from congenial.cli.options import Algorithm, Json, algorithm_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from congenial.checker.check import Counterexample
    from congenial.kernel.trace import Event

EXAMPLES = """
congenial check ricart-agrawala --nodes 3 --requests 2
congenial check token-gme --nodes 3 --groups 2 --wants "0;1;0,1"
congenial check maekawa --order any --trace broken.ndjson --svg broken.svg
congenial check suzuki-kasami --losses 1
congenial check my_algorithm.py:MyNode --limit 1000000 --json
"""

Nodes = Annotated[int, typer.Option(help="How many processes.")]
Requests = Annotated[int, typer.Option(help="How often each of them may ask.")]
GroupCount = Annotated[int, typer.Option("--groups", help="How many groups there are to ask for.")]
Wants = Annotated[
    str, typer.Option(metavar="LIST", help="Who may ask for what: '0;1;0,1' by process; 0|1 is any one of both.")
]
Order = Annotated[
    str, typer.Option(metavar="any|fifo", help="What channels do; as the algorithm needs it if not given.")
]
Crashes = Annotated[int, typer.Option(help="Crashes that may happen.")]
Losses = Annotated[int, typer.Option(help="Messages that may be lost.")]
Duplicates = Annotated[int, typer.Option(help="Messages that may arrive twice.")]
Suspicions = Annotated[int, typer.Option(help="False suspicions that the failure detector may have.")]
Timers = Annotated[
    str,
    typer.Option(
        metavar="free|quiet|patient",
        help="When timers run out: any time, when no message is under way, or when nothing else can happen; as the "
        "algorithm needs it if not given.",
    ),
]
Recovery = Annotated[
    bool, typer.Option("--recovery/--no-recovery", help="Who has crashed comes back in the end, or never.")
]
Operations = Annotated[
    int, typer.Option(help="Operations that may be issued in each stay, under weak exclusion; their order is judged.")
]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="An option of the algorithm.")]
TraceTo = Annotated[str, typer.Option("--trace", metavar="FILE", help="Write a counterexample there, for replay.")]
SvgTo = Annotated[str, typer.Option("--svg", metavar="FILE", help="Draw a counterexample there.")]


def command(
    algorithm: Algorithm,
    nodes: Nodes = 3,
    requests: Requests = 2,
    groups: GroupCount = 1,
    wants: Wants = "",
    order: Order = "",
    crashes: Crashes = 0,
    losses: Losses = 0,
    duplicates: Duplicates = 0,
    suspicions: Suspicions = 0,
    timers: Timers = "",
    recovery: Recovery = True,
    operations: Operations = 0,
    reduce: Annotated[
        bool | None,
        typer.Option(
            "--reduce/--whole", help="Leave out interleavings that make no difference; else only in large systems."
        ),
    ] = None,
    symmetry: Annotated[
        bool, typer.Option("--symmetry", help="Take states that differ in names only for one.")
    ] = False,
    limit: Annotated[int, typer.Option(metavar="STATES", help="Stop after so many states.")] = 10_000_000,
    jobs: Annotated[
        int, typer.Option(help="Processes; they share the cases (what is asked for, whom a fault hits).")
    ] = 1,
    options: Set = None,
    trace: TraceTo = "",
    svg: SvgTo = "",
    json: Json = False,
) -> None:
    """Explore all runs of a small system: every order of messages, requests, exits, timers and faults.

    Decides safety, deadlock, starvation, concurrent entry, the message bound and illegal steps. The verdict says
    whether all states were seen. A counterexample is a shortest one; the exit code is then 1.
    """
    from congenial.checker.check import check
    from congenial.cli.output import notice_if_interpreted, print_json, progress_bar, show, table

    given = algorithm_options(options)
    with progress_bar(f"{algorithm}: states", None) as progress:
        result = check(
            algorithm,
            nodes=nodes,
            requests=requests,
            groups=groups,
            wants=wants,
            order=order,
            crashes=crashes,
            losses=losses,
            duplicates=duplicates,
            suspicions=suspicions,
            timers=timers,
            recovery=recovery,
            operations=operations,
            reduce=reduce,
            symmetry=symmetry,
            limit=limit,
            jobs=jobs,
            options=given,
            progress=lambda seen, pending: progress(seen),
        )
    if json:
        print_json(result.as_dict())
    else:
        rows = table("measure", "value", title=f"{result.algorithm}, {nodes} processes, {requests} requests each")
        rows.add_row("states", str(result.states))
        rows.add_row("transitions", str(result.transitions))
        rows.add_row("depth", str(result.depth))
        if result.least_messages is not None and result.most_messages is not None:
            span = f"{result.least_messages:.4g} .. {result.most_messages:.4g}"
            rows.add_row("messages per entry", f"{span}, over all runs in which everyone asks {requests} times")
        rows.add_row("time", f"{result.seconds:.2f} s ({result.states_per_second:.0f} states per second)")
        show(rows)
    show_counterexample(result.counterexample, algorithm, nodes, given, result.fifo, trace, svg, json)
    if not json:
        print(result.verdict())
        notice_if_interpreted()
    if not result.ok:
        raise typer.Exit(1)


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
    from congenial.systems.catalogue import find_algorithm
    from congenial.systems.system import System

    if not quiet:
        show_events(found.events, nodes)
    if trace:
        system = System(find_algorithm(algorithm), nodes, options)
        write_trace(trace, algorithm, system, options, fifo, found.events)
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
