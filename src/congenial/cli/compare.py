"""`congenial compare`: several algorithms under the same load."""

from __future__ import annotations

from typing import Annotated

import typer

from congenial.cli.options import (
    NAMED,
    RUNS,
    Json,
    Markdown,
    Parameters,
    Precision,
    Repeat,
    Seed,
    check_effects,
    complete_algorithm,
    with_parameters,
)

EXAMPLES = """
congenial compare ricart-agrawala suzuki-kasami raymond-tree maekawa --nodes 25
congenial compare maekawa my_algorithm.py:MyNode --think 0 --precision 0.05
"""


@with_parameters
def command(
    algorithms: Annotated[list[str], typer.Argument(help=NAMED, autocompletion=complete_algorithm)],
    given: Parameters,
    seed: Seed = 1,
    repeat: Repeat = 1,
    precision: Precision = 0.0,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="Processes to run on; 0: one for each processor.", rich_help_panel=RUNS)
    ] = 1,
    json: Json = False,
    markdown: Markdown = False,
) -> None:
    """Simulate several algorithms under the same load and print one row for each.

    With equal seeds all algorithms get the same thinking and holding times. An option such as --quorums goes to
    the algorithms that have it.
    """
    from congenial.cli.output import notice_if_interpreted, one_form, print_json, show, status_bar
    from congenial.lab.api import compare

    one_form(json, markdown)
    check_effects(given)
    with status_bar("compare", "entries") as progress:
        comparison = compare(
            algorithms, seed=seed, repeat=repeat, precision=precision, jobs=jobs, progress=progress, **given
        )
    if json:
        print_json([result.as_dict() for result in comparison.results])
    else:
        show(comparison.table(markdown))
        for problem in comparison.problems():
            print(problem)
        notice_if_interpreted()
    if not comparison.ok:
        raise typer.Exit(1)
