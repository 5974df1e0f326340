"""`congenial sim`: simulate one algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from congenial.cli.options import (
    Algorithm,
    Json,
    Parameters,
    Precision,
    Repeat,
    Seed,
    check_effects,
    parameters,
    with_parameters,
)
from congenial.cli.runs import check_outputs
from congenial.kernel.errors import ConfigError

if TYPE_CHECKING:
    from congenial.sim.result import Result
    from congenial.sim.scenario import Scenario

EXAMPLES = """
congenial sim maekawa --nodes 25 --quorums grid
congenial sim raymond-tree --nodes 1000 --tree star --requests 10
congenial sim suzuki-kasami --delay uniform:5,15 --bandwidth 100 --precision 0.02
congenial sim suzuki-kasami --loss 0.01 --trace run.ndjson
congenial sim token-gme --nodes 6 --groups 3 --requests 10 --html run.html
congenial sim ricart-agrawala --crash 3@100-200
congenial sim raymond-tree --nodes 15 --hops
congenial sim my_algorithm.py:MyNode --json
"""


@with_parameters
def command(
    algorithm: Algorithm,
    given: Parameters,
    seed: Seed = 1,
    repeat: Repeat = 1,
    precision: Precision = 0.0,
    trace: Annotated[
        str, typer.Option(metavar="FILE", help="Write all events to this file, one JSON object a line.")
    ] = "",
    html: Annotated[str, typer.Option(metavar="FILE", help="Write a page there that shows the run.")] = "",
    json: Json = False,
    hops: Annotated[
        bool, typer.Option("--hops", help="Measure waiting time and synchronisation delay in hops instead.")
    ] = False,
) -> None:
    """Simulate an algorithm and print its measures.

    Every process thinks, asks, holds and leaves, --requests times. Every event is checked: if one is forbidden, or if
    processes wait although nothing more can happen, the last events are shown and the exit code is 1.
    """
    from congenial.cli.output import notice_if_interpreted, notice_if_long, print_json, progress_bar
    from congenial.sim.scenario import Scenario
    from congenial.sim.simulate import check_runs, run

    scenario = Scenario(algorithm, **given)
    if hops:
        if given != {**parameters(), "nodes": scenario.nodes, "groups": scenario.groups, "options": scenario.options}:
            raise ConfigError(
                "--hops has its own load and network: it takes --nodes, --groups and options of the algorithm only"
            )
        if trace or html or (seed, repeat, precision) != (1, 1, 0.0):
            raise ConfigError("--hops has its own runs: it takes no --trace, --html, --seed, --repeat or --precision")
        show_hops(scenario, json)
        return
    check_effects(given)
    check_runs(seed, repeat, precision)
    if html and (repeat > 1 or precision > 0):
        raise ConfigError("--html goes with a single run, not with --repeat or --precision")
    check_outputs(trace, "", html)
    total = None if precision > 0 else scenario.workload().total() * repeat
    notice_if_long(scenario, repeat)
    with progress_bar(algorithm, total) as progress:
        result = run(scenario, seed, repeat, precision, trace, progress)
    if html:
        from congenial.studio.pages import write_page
        from congenial.studio.recording import simulated

        write_page(html, simulated(scenario, seed))
    if json:
        print_json(result.as_dict())
    else:
        show_result(result)
        notice_if_interpreted()
    if not result.ok:
        raise typer.Exit(1)


def show_result(result: Result) -> None:
    """Print the measures as a table, the last events if something went wrong, and the verdict."""
    from congenial.cli.output import show, table

    runs = f", {result.runs} runs" if result.runs > 1 else ""
    measures = table("measure", "value", title=f"{result.algorithm} (seed {result.seed}{runs})")
    for name, value in result.lines():
        measures.add_row(name, value)
    show(measures)
    if result.trace:
        print("the last events:")
        for event in result.trace:
            print(event)
    print(result.verdict())


def show_hops(scenario: Scenario, json: bool) -> None:
    from congenial.cli.output import print_json, show, table
    from congenial.sim.hops import measure_hops

    measured = measure_hops(scenario.algorithm, scenario.nodes, scenario.groups, scenario.options)
    if json:
        print_json(measured.as_dict())
        return
    title = f"{measured.algorithm}, {measured.nodes} processes, in hops"
    rows = table("", ">least", ">mean", ">most", "claimed", title=title)
    for name, spread in (
        ("waiting time, no other process asks", measured.waiting),
        ("synchronisation delay, all processes ask", measured.sync_delay),
    ):
        if spread is None:
            rows.add_row(name, "-", "-", "-", "")
            continue
        law = "" if spread.law is None else f"{spread.law}{'' if spread.kept else ' (not kept)'}"
        rows.add_row(name, f"{spread.least:g}", f"{spread.mean:.4g}", f"{spread.most:g}", law)
    show(rows)
