"""`congenial reproduce`: the figures and claims of the papers, run again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from congenial.cli.options import Json, Markdown
from congenial.cli.sweep import Cluster, Jobs, resumable
from congenial.kernel.errors import ConfigError

if TYPE_CHECKING:
    from congenial.lab.claims import Judged
    from congenial.lab.reproduction import Reproduction, Target

EXAMPLES = """
congenial reproduce token-gme/6a
congenial reproduce token-gme/7a token-gme/7b --quick
congenial reproduce token-gme --claims
congenial reproduce survey/table2 survey/scaling
congenial reproduce surrogate/5a surrogate/5c
congenial reproduce comparison --docs docs
congenial reproduce frontier --quick
congenial reproduce wme/table1
congenial reproduce all --docs docs
"""


def command(
    targets: Annotated[
        list[str], typer.Argument(metavar="PAPER[/FIGURE]...", help="token-gme, token-gme/6a, survey/table2, all.")
    ],
    quick: Annotated[bool, typer.Option("--quick", help="A coarse version: few points, short runs.")] = False,
    claims: Annotated[
        bool,
        typer.Option("--claims", help="Only print the claims, judged by the runs that are there; run nothing."),
    ] = False,
    jobs: Jobs = 0,
    cluster: Cluster = "",
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Results go into FOLDER/PAPER.")] = Path("runs"),
    docs: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Also write a page for readers there.")] = None,
    json: Json = False,
    markdown: Markdown = False,
) -> None:
    """Run a paper's experiments again, and say which of its claims are reproduced.

    Each figure gets a folder with results, pictures and a verdict. Runs that are there already are not run again. How
    long the others will take is said before they begin; --claims says it without running them.
    """
    from congenial.cli.output import notice_if_interpreted, one_form, print_json, status_bar
    from congenial.lab.api import reproduce
    from congenial.lab.reproduction import find_targets
    from congenial.trace_files import as_path, check_folder_writable

    one_form(json, markdown)
    as_path(out, "--out")
    wanted = [(target, out / f"{target.paper.name}{'-quick' if quick else ''}") for target in find_targets(targets)]
    if claims:
        if docs is not None or cluster:
            raise ConfigError("--claims runs nothing and writes nothing: it goes without --docs and --cluster")
        judge_claims(wanted, quick, jobs, json, markdown)
        return
    made = []
    for _, folder in wanted:
        check_folder_writable(folder, "results")
    for target, folder in wanted:
        if not cluster:  # whose speed nobody knows
            tell_time(target, folder, quick, jobs)
        paper = target.paper.name
        figures = [exhibit.name for exhibit in target.exhibits]
        with resumable(folder), status_bar(target.name, "runs") as progress:
            made.append(
                reproduce(paper, figures=figures, quick=quick, folder=folder, docs=docs, jobs=jobs, cluster=cluster,
                          progress=progress)
            )  # fmt: skip
    if json:
        print_json([item.as_dict() for item in made])
        return
    for item in made:
        show_exhibits(item, markdown)
    notice_if_interpreted()
    for target, folder in wanted:
        print(f"everything is in {folder}")
        if docs is not None:
            print(f"the page is {target.paper.page_in(docs)}")


def judge_claims(wanted: list[tuple[Target, Path]], quick: bool, jobs: int, json: bool, markdown: bool) -> None:
    """Print the claims, and what is missing to judge all of them."""
    from congenial.cli.output import print_json
    from congenial.lab.reproduction import judge_target, store_of

    made = [judge_target(target, store_of(target, folder, quick, look=True), quick) for target, folder in wanted]
    if json:
        print_json([item.as_dict() for item in made])
        return
    for item, (target, folder) in zip(made, wanted, strict=True):
        show_claims(item.claims, markdown)
        todo = work_left(target, folder, quick, jobs)
        if todo:
            command = f"congenial reproduce {target.name}{' --quick' if quick else ''}"
            print(f"{todo}: {command}")


def tell_time(target: Target, folder: Path, quick: bool, jobs: int) -> None:
    """Say on stderr how long the runs will take, if that is long."""
    todo = work_left(target, folder, quick, jobs)
    if todo and " s " not in todo:
        print(f"congenial: {todo}", file=sys.stderr)


def work_left(target: Target, folder: Path, quick: bool, jobs: int) -> str:
    """How many runs are not there yet, and how long they will take; nothing if all are there."""
    from congenial.cli.output import compiled, duration
    from congenial.lab.estimate import missing_runs, seconds_of
    from congenial.lab.reproduction import store_of, sweeps_of
    from congenial.lab.workers import check_jobs, processors

    check_jobs(jobs)
    store = store_of(target, folder, quick, look=True)
    runs = missing_runs(sweeps_of(target, quick).values(), store)
    if not runs:
        return ""
    seconds = seconds_of(runs, store.records.values(), jobs or processors(), compiled())
    return f"{target.name}: {len(runs)} runs to do, about {duration(seconds)} or more"


def show_exhibits(made: Reproduction, markdown: bool) -> None:
    """All exhibits, then the claims that the paper makes in words about those that were run."""
    from congenial.cli.output import show

    paper = made._target.paper
    for exhibit in made._target.exhibits:
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
