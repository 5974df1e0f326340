"""`congenial reproduce`: the figures and claims of the papers, run again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from congenial.cli.options import Json, Markdown
from congenial.cli.sweep import Cluster, Jobs, resumable, show_outcome, sweep_bar

if TYPE_CHECKING:
    from congenial.lab.claims import Judged
    from congenial.lab.papers import Exhibit
    from congenial.lab.reproduce import Reproduction

EXAMPLES = """
congenial reproduce token-gme/6a
congenial reproduce token-gme/7a token-gme/7b --quick
congenial reproduce token-gme --claims --json
congenial reproduce survey/table2 survey/scaling
congenial reproduce surrogate/5a surrogate/5c
congenial reproduce comparison --docs docs
congenial reproduce wme/table1
congenial reproduce all --docs docs/reproductions
"""


def command(
    targets: Annotated[
        list[str], typer.Argument(metavar="PAPER[/FIGURE]...", help="token-gme, token-gme/6a, survey/table2, all.")
    ],
    quick: Annotated[bool, typer.Option("--quick", help="A coarse version: few points, short runs.")] = False,
    claims: Annotated[bool, typer.Option("--claims", help="Print the paper's claims and what became of them.")] = False,
    jobs: Jobs = 0,
    cluster: Cluster = "",
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Results go into FOLDER/PAPER.")] = Path("runs"),
    docs: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Also write a page for people there.")] = None,
    json: Json = False,
    markdown: Markdown = False,
) -> None:
    """Run a paper's experiments again, and say which of its claims come out.

    Each figure gets a folder with results, pictures and a verdict. What has been run before is not run again.
    """
    from congenial.cli.output import notice_if_interpreted, print_json
    from congenial.lab.extras import require
    from congenial.lab.reproduce import find_targets, reproduce, write_docs
    from congenial.lab.runner import workers

    require("lab")
    made = []
    places = []
    for target in find_targets(targets):
        folder = out / f"{target.paper.name}{'-quick' if quick else ''}"
        with resumable(folder), workers(jobs, cluster) as crew, sweep_bar(target.name) as watch:
            made.append(reproduce(target, folder, crew, quick, watch))
        places.append(f"everything is in {folder}")
        if docs is not None:
            places.append(f"the page is {write_docs(made[-1], folder, docs, quick)}")
    if json:
        print_json([item.as_dict() for item in made])
        return
    for item in made:
        if not claims:
            for exhibit in item.target.exhibits:
                show_exhibit(exhibit, item, markdown)
        ran = set(item.outcomes)
        stated = item.judged if claims else [j for j in item.judged if j.claim in item.target.paper.claims]
        show_claims([j for j in stated if claims or ran.issuperset(j.claim.test.figures)], markdown)
    notice_if_interpreted()
    for place in places:
        print(place)


def show_exhibit(exhibit: Exhibit, made: Reproduction, markdown: bool) -> None:
    from congenial.cli.output import show, table
    from congenial.lab.claims import Tally
    from congenial.lab.contest import winner_lines
    from congenial.lab.costs import cost_lines
    from congenial.lab.papers import Contest, Figure, StepTable, Table

    plain = isinstance(exhibit, Figure) and not isinstance(exhibit, Contest)
    print(f"\n{'Figure ' if plain else ''}{exhibit.name}: {exhibit.title}")
    if isinstance(exhibit, (Table, Contest)):
        judged = made.of_exhibit(exhibit)
        if isinstance(exhibit, Table):
            lines = cost_lines(exhibit, made.outcomes, judged)
        else:
            lines = winner_lines(exhibit, made.outcomes[exhibit.name])
        rows = table(*lines[0], markdown=markdown)
        for line in lines:
            rows.add_row(*[str(cell) for cell in line.values()])
        show(rows)
        print(Tally(judged))
        return
    if isinstance(exhibit, StepTable):
        show_claims(made.of_exhibit(exhibit), markdown)
    for name in exhibit.sweeps(quick=True):
        show_outcome(made.outcomes[name], markdown)


def show_claims(judged: list[Judged], markdown: bool) -> None:
    if not judged:
        return
    from congenial.cli.output import show, table
    from congenial.lab.claims import Tally
    from congenial.lab.sweep import METRICS

    rows = table("claim", "of", "section", "the paper", "ours", "verdict", markdown=markdown)
    for item in judged:
        claim, finding = item.claim, item.finding
        verdict = f"{finding.verdict}: {item.reason}" if item.reason else finding.verdict
        rows.add_row(
            claim.text,
            METRICS.get(claim.test.metric, claim.test.metric),
            claim.where,
            claim.paper,
            finding.ours,
            verdict,
        )
    show(rows)
    print(Tally(judged))
