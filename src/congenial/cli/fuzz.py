"""`congenial fuzz`: many random runs of a larger system."""

from __future__ import annotations

from typing import Annotated

import typer

from congenial.cli.check import (
    Crashes,
    Duplicates,
    GroupCount,
    Losses,
    Nodes,
    Operations,
    Order,
    Recovery,
    Requests,
    Set,
    Suspicions,
    SvgTo,
    Timers,
    TraceTo,
    Wants,
    show_counterexample,
)
from congenial.cli.options import Algorithm, Json, Seed, algorithm_options

EXAMPLES = """
congenial fuzz raymond-tree --nodes 8 --runs 10000
congenial fuzz token-gme --nodes 8 --groups 3 --requests 5 --seed 42
congenial fuzz maekawa --nodes 7 --order any --trace broken.ndjson
"""


def command(
    algorithm: Algorithm,
    nodes: Nodes = 8,
    requests: Requests = 3,
    groups: GroupCount = 1,
    wants: Wants = "",
    runs: Annotated[int, typer.Option(help="How many random runs.")] = 1000,
    seed: Seed = 1,
    order: Order = "",
    crashes: Crashes = 0,
    losses: Losses = 0,
    duplicates: Duplicates = 0,
    suspicions: Suspicions = 0,
    timers: Timers = "",
    recovery: Recovery = True,
    operations: Operations = 0,
    jobs: Annotated[int, typer.Option(help="Processes to run in.")] = 1,
    options: Set = None,
    trace: TraceTo = "",
    svg: SvgTo = "",
    json: Json = False,
) -> None:
    """Run random schedules, uniform ones and ones by priorities, with faults if asked for.

    A run that goes wrong ends it: its seed is printed, and the run, made short, is shown; the exit code is then 1.
    """
    from congenial.checker.fuzz import fuzz
    from congenial.cli.output import notice_if_interpreted, print_json, progress_bar

    given = algorithm_options(options)
    with progress_bar(f"{algorithm}: runs", runs) as progress:
        result = fuzz(
            algorithm,
            nodes=nodes,
            requests=requests,
            groups=groups,
            wants=wants,
            runs=runs,
            seed=seed,
            order=order,
            crashes=crashes,
            losses=losses,
            duplicates=duplicates,
            suspicions=suspicions,
            timers=timers,
            recovery=recovery,
            operations=operations,
            jobs=jobs,
            options=given,
            progress=progress,
        )
    if json:
        print_json(result.as_dict())
    show_counterexample(result.counterexample, algorithm, nodes, given, result.fifo, trace, svg, json)
    if not json:
        print(result.verdict())
        print(f"{result.steps_per_second:.0f} steps per second")
        notice_if_interpreted()
    if not result.ok:
        raise typer.Exit(1)
