"""`congenial compare`: several algorithms under the same load."""

from __future__ import annotations

from typing import Annotated

import typer

from congenial.cli.options import (
    NAMED,
    Json,
    Markdown,
    Parameters,
    Precision,
    Repeat,
    Seed,
    complete_algorithm,
    with_parameters,
)
from congenial.kernel.errors import ConfigError

EXAMPLES = """
congenial compare ricart-agrawala suzuki-kasami raymond-tree maekawa --nodes 25
congenial compare maekawa my_algorithm.py:MyNode --think 0 --precision 0.05
"""

COLUMNS = (
    ("messages / entry", "messages_per_entry"),
    ("integers / entry", "integers_per_entry"),
    ("mean waiting", "waiting_time_mean"),
    ("p99", "waiting_time_p99"),
    ("sync delay", "sync_delay_mean"),
    ("entries / time", "throughput"),
    ("fairness", "fairness"),
)


@with_parameters
def command(
    algorithms: Annotated[list[str], typer.Argument(help=NAMED, autocompletion=complete_algorithm)],
    given: Parameters,
    seed: Seed = 1,
    repeat: Repeat = 1,
    precision: Precision = 0.0,
    json: Json = False,
    markdown: Markdown = False,
) -> None:
    """Simulate several algorithms under the same load and print one row for each.

    With equal seeds all algorithms meet the same thinking and holding times. An option such as --quorums goes to
    those that have it.
    """
    from congenial.cli.output import notice_if_interpreted, print_json, progress_bar, show, table
    from congenial.sim.scenario import Scenario
    from congenial.sim.simulate import run
    from congenial.systems.catalogue import find_algorithm

    known = {name: {option.name for option in find_algorithm(name).spec.options} for name in algorithms}
    for option in given["options"]:
        if not any([option in names for names in known.values()]):
            raise ConfigError(f"none of {', '.join(algorithms)} has an option {option}")
    results = []
    for name in algorithms:
        options = {option: value for option, value in given["options"].items() if option in known[name]}
        scenario = Scenario(name, **{**given, "options": options})
        total = None if precision > 0 else scenario.workload().total() * max(repeat, 1)
        with progress_bar(name, total) as progress:
            results.append(run(scenario, seed, repeat, precision, "", progress))
    if json:
        print_json([result.as_dict() for result in results])
    else:
        rows = table("algorithm", *[f">{title}" for title, _ in COLUMNS], markdown=markdown)
        for result in results:
            rows.add_row(result.algorithm, *[f"{getattr(result, measure):.4g}" for _, measure in COLUMNS])
        show(rows)
        for result in results:
            if not result.ok:
                print(f"{result.algorithm}: {result.verdict()}")
        notice_if_interpreted()
    if not all([result.ok for result in results]):
        raise typer.Exit(1)
