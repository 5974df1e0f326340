"""`congenial sweep`: algorithms over the values of one or two parameters."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from congenial.cli.options import NAMED, Json, Markdown, complete_algorithm
from congenial.kernel.errors import ConfigError

if TYPE_CHECKING:
    from congenial.lab.runner import Status
    from congenial.lab.sweep import Sweep
    from congenial.lab.tables import Outcome

EXAMPLES = """
congenial sweep --algorithm suzuki-kasami --algorithm maekawa --vary nodes=4,9,16,25 --fixed think=200
congenial sweep --algorithm "maekawa quorums=grid" --algorithm "maekawa quorums=majority" --vary nodes=9,25 --jobs 2
congenial sweep sweep.toml --precision 0.02 --out runs/precise
congenial sweep sweep.toml --cluster tcp://scheduler:8786
"""

Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Processes to run on; 0: one for each processor.")]
Cluster = Annotated[str, typer.Option(metavar="ADDRESS", help="Run on the workers of this Dask scheduler instead.")]


def command(
    file: Annotated[Path | None, typer.Argument(help="A TOML file that says it all.")] = None,
    algorithms: Annotated[
        list[str] | None,
        typer.Option(
            "--algorithm",
            "-a",
            help=f"{NAMED} Options may follow: 'maekawa quorums=grid'.",
            autocompletion=complete_algorithm,
        ),
    ] = None,
    vary: Annotated[
        list[str] | None, typer.Option(metavar="NAME=V,V,..", help="A parameter and its values; at most two of these.")
    ] = None,
    fixed: Annotated[list[str] | None, typer.Option(metavar="NAME=V", help="Any other parameter of a run.")] = None,
    metrics: Annotated[list[str] | None, typer.Option("--metric", help="What is measured and must be precise.")] = None,
    precision: Annotated[float | None, typer.Option(help="Half a 95% interval, as a share of the mean: 0.05.")] = None,
    least: Annotated[int | None, typer.Option(help="Runs at each point.")] = None,
    most: Annotated[int | None, typer.Option(help="Runs at each point, precise or not.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the first run; the others follow.")] = None,
    jobs: Jobs = 0,
    cluster: Cluster = "",
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where results go; else runs/NAME.")] = None,
    json: Json = False,
    markdown: Markdown = False,
) -> None:
    """Run algorithms over the values of one or two parameters, as often as the wanted precision takes.

    The folder gets everything: results as CSV and Parquet, plots, a page that compares the algorithms, and how to
    repeat it. A sweep that was interrupted goes on where it stopped when it is run again. The last algorithm is the
    one to which the others are compared.
    """  # fmt: skip
    from congenial.cli.output import notice_if_interpreted, print_json
    from congenial.lab.extras import require
    from congenial.lab.folder import write_folder, write_sweep
    from congenial.lab.runner import run_sweeps, workers
    from congenial.lab.store import Store

    require("lab")
    sweep = _sweep(file, algorithms, vary, fixed, metrics, precision, least, most, seed)
    folder = out or Path("runs") / sweep.name
    sweep.validate()
    store = Store(folder)
    write_sweep(folder, sweep)
    with resumable(folder), workers(jobs, cluster) as crew, sweep_bar(sweep.name) as watch:
        run_sweeps([sweep], store, crew, watch)
    outcome = write_folder(folder, sweep, store)
    if json:
        print_json({"folder": str(folder), "results": outcome.summary(), "ratios": outcome.ratios()})
        return
    show_outcome(outcome, markdown)
    notice_if_interpreted()
    print(f"everything is in {folder}; to look at it, open {folder / 'comparison.html'}")


def _sweep(
    file: Path | None,
    algorithms: list[str] | None,
    vary: list[str] | None,
    fixed: list[str] | None,
    metrics: list[str] | None,
    precision: float | None,
    least: int | None,
    most: int | None,
    seed: int | None,
) -> Sweep:
    from dataclasses import replace

    from congenial.lab.sweep import Sweep, parse_fixed, parse_vary

    overrides = {"precision": precision, "least": least, "most": most, "seed": seed}
    given: dict[str, Any] = {name: value for name, value in overrides.items() if value is not None}
    if file is not None:
        if algorithms or vary or fixed or metrics:
            raise ConfigError("give a sweep as a file or by --algorithm, --vary, --fixed and --metric, not both")
        return replace(Sweep.from_toml(file), **given)
    if not algorithms or not vary:
        raise ConfigError("give a file, or at least one --algorithm and one --vary (congenial sweep --help)")
    varied = [parse_vary(text) for text in vary]
    if len({name for name, _ in varied}) < len(varied):
        raise ConfigError("--vary names a parameter twice; put all its values into one: nodes=5,10,20")
    name = "-".join([*[Path(text.split()[0]).name.replace(":", "-") for text in algorithms], *[v for v, _ in varied]])
    data: dict[str, Any] = {"algorithms": tuple(algorithms), "vary": dict(varied), "name": name, **given}
    data["fixed"] = dict([parse_fixed(text) for text in fixed or ()])
    if metrics:
        data["metrics"] = tuple(metrics)
    return Sweep(**data)


def show_outcome(outcome: Outcome, markdown: bool = False) -> None:
    """Means, and ratios if there is something to compare."""
    from congenial.cli.output import show, table
    from congenial.lab.sweep import METRICS
    from congenial.lab.tables import show_value

    sweep = outcome.sweep
    for kind in ("means", f"ratios to {sweep.baseline}"):
        ratio = kind != "means"
        algorithms = sweep.algorithms[:-1] if ratio else sweep.algorithms
        if not algorithms:
            continue
        heads = ["algorithm", *[f">{name}" for name in sweep.vary], ">runs"]
        rows = table(*heads, *[f">{METRICS[metric]}" for metric in sweep.metrics], markdown=markdown, title=kind)
        for point, records in outcome.records.items():
            for algorithm in algorithms:
                cells = [algorithm, *[show_value(value) for value in point], str(len(records[algorithm]))]
                for metric in sweep.metrics:
                    estimate = (outcome.ratio if ratio else outcome.mean)(point, algorithm, metric)
                    cells.append("-" if estimate is None else str(estimate))
                rows.add_row(*cells)
        show(rows)
    coarse = [row for row in outcome.summary() if not row["precise"]]
    if coarse:
        points = len(coarse) // len(sweep.algorithms)
        print(f"{points} of {len(outcome.records)} points are less precise than {sweep.precision:.0%}"
              f" after {sweep.most} runs")  # fmt: skip


@contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """Say, when interrupted, that nothing is lost."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"congenial: what is finished is in {folder}; the same command goes on from there", file=sys.stderr)
        raise


@contextmanager
def sweep_bar(label: str) -> Iterator[Callable[[Status], None]]:
    """A bar on stderr, if that is a terminal, that knows how much longer it takes."""
    if not sys.stderr.isatty():
        yield lambda status: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("runs"),
               TimeElapsedColumn(), TextColumn("{task.fields[left]}"))  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=None, left="")

        def watch(status: Status) -> None:
            left = "" if status.seconds_left is None else f"about {_duration(status.seconds_left)} left"
            progress.update(task, completed=status.done, total=status.known, left=left)

        yield watch


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
