"""`congenial reproduce`: the figures and claims of the papers, run again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from congenial.cli.options import Json, Markdown
from congenial.cli.sweep import Cluster, Jobs, resumable

if TYPE_CHECKING:
    from congenial.lab.claims import Judged
    from congenial.lab.reproduction import Reproduction

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
    claims: Annotated[bool, typer.Option("--claims", help="Print the paper's claims and our verdicts.")] = False,
    jobs: Jobs = 0,
    cluster: Cluster = "",
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Results go into FOLDER/PAPER.")] = Path("runs"),
    docs: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Also write a page for readers there.")] = None,
    json: Json = False,
    markdown: Markdown = False,
) -> None:
    """Run a paper's experiments again, and say which of its claims are reproduced.

    Each figure gets a folder with results, pictures and a verdict. Runs that are there already are not run again.
    """
    from congenial.cli.output import notice_if_interpreted, print_json, status_bar
    from congenial.lab.api import reproduce
    from congenial.lab.reproduction import find_targets

    made = []
    places = []
    for target in find_targets(targets):
        paper = target.paper.name
        figures = [exhibit.name for exhibit in target.exhibits]
        folder = out / f"{paper}{'-quick' if quick else ''}"
        with resumable(folder), status_bar(target.name, "runs") as progress:
            made.append(
                reproduce(paper, figures=figures, quick=quick, folder=folder, docs=docs, jobs=jobs, cluster=cluster,
                          progress=progress)
            )  # fmt: skip
        places.append(f"everything is in {folder}")
        if docs is not None:
            places.append(f"the page is {docs / f'{paper}.md'}")
    if json:
        print_json([item.as_dict() for item in made])
        return
    for item in made:
        if claims:
            show_claims(item.claims, markdown)
        else:
            show_exhibits(item, markdown)
    notice_if_interpreted()
    for place in places:
        print(place)


def show_exhibits(made: Reproduction, markdown: bool) -> None:
    """All exhibits, then the claims that the paper makes in words about those that were run."""
    from congenial.cli.output import show

    paper = made.target.paper
    for exhibit in made.target.exhibits:
        print(f"\n{exhibit.heading()}")
        for item in exhibit.shown(made.evidence(exhibit), markdown):
            show(item)
    stated = [item for item in made.claims if item.claim in paper.claims]
    show_claims([item for item in stated if set(item.claim.criterion.figures) <= set(made.results)], markdown)


def show_claims(judged: list[Judged], markdown: bool) -> None:
    from congenial.cli.output import show
    from congenial.lab.claims import Tally, claims_table

    if judged:
        show(claims_table(judged, markdown))
        print(Tally(judged))
