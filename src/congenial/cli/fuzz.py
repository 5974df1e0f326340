"""`congenial fuzz`: many random runs of a larger system."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from congenial.cli.bounds import check_effects, with_bounds
from congenial.cli.options import Algorithm, Json, Seed, algorithm_options
from congenial.cli.runs import HtmlTo, Nodes, Set, SvgTo, TraceTo, check_outputs, show_counterexample

EXAMPLES = """
congenial fuzz raymond-tree --nodes 8 --runs 10000
congenial fuzz token-gme --nodes 8 --groups 3 --requests 5 --seed 42
congenial fuzz maekawa --nodes 7 --order any --trace broken.ndjson
"""


@with_bounds(requests=3)
def command(
    algorithm: Algorithm,
    given: dict[str, Any],
    nodes: Nodes = 8,
    runs: Annotated[int, typer.Option(help="How many random runs.")] = 1000,
    seed: Seed = 1,
    jobs: Annotated[int, typer.Option(help="Processes to run on.")] = 1,
    options: Set = None,
    trace: TraceTo = "",
    svg: SvgTo = "",
    html: HtmlTo = "",
    json: Json = False,
) -> None:
    """Run random schedules, uniform or by priorities, with faults if asked for.

    The first run that goes wrong ends the search: its seed is printed, and a shortened form of it is shown. The exit
    code is then 1.
    """
    from congenial.checker.fuzz import fuzz
    from congenial.cli.output import notice_if_interpreted, print_json, progress_bar

    settings = algorithm_options(options)
    check_effects(given)
    check_outputs(trace, svg, html)
    with progress_bar(f"{algorithm}: runs", runs) as progress:
        result = fuzz(
            algorithm, nodes=nodes, runs=runs, seed=seed, jobs=jobs, options=settings, progress=progress, **given
        )
    if json:
        print_json(result.as_dict())
    show_counterexample(result.counterexample, algorithm, nodes, settings, result.fifo, trace, svg, html, "fuzz", json)
    if not json:
        print(result.verdict())
        print(f"{result.steps_per_second:.0f} steps per second")
        notice_if_interpreted()
    if not result.ok:
        raise typer.Exit(1)
