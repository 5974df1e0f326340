"""`congenial sweep`: algorithms over the values of one or two parameters."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from congenial.cli.options import NAMED, Json, Markdown, complete_algorithm
from congenial.kernel.errors import ConfigError
from congenial.kernel.inputs import shown

if TYPE_CHECKING:
    from congenial.lab.replication import Value
    from congenial.lab.sweep import Sweep

EXAMPLES = """
congenial sweep --algorithm suzuki-kasami --algorithm maekawa --vary nodes=4,9,16,25 --fixed think=200
congenial sweep --algorithm "maekawa quorums=grid" --algorithm "maekawa quorums=majority" --vary nodes=9,25 --jobs 2
congenial sweep sweep.toml --precision 0.02 --out runs/precise
congenial sweep sweep.toml --cluster tcp://scheduler:8786
"""

Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Processes to run on; 0: one for each processor.")]
Cluster = Annotated[str, typer.Option(metavar="ADDRESS", help="Run on the workers of this Dask scheduler instead.")]


def command(
    file: Annotated[Path | None, typer.Argument(help="A TOML file with the whole sweep.")] = None,
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
    precision: Annotated[
        float | None, typer.Option(help="Wanted half-width of 95% intervals, as a share of the mean: 0.05.")
    ] = None,
    least: Annotated[int | None, typer.Option(help="Runs at each point, at least.")] = None,
    most: Annotated[int | None, typer.Option(help="Runs at each point, at most, precise or not.")] = None,
    seed: Annotated[int | None, typer.Option(help="The seed of the first run; later runs have the next ones.")] = None,
    jobs: Jobs = 0,
    cluster: Cluster = "",
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where results go; runs/NAME if not given.")
    ] = None,
    json: Json = False,
    markdown: Markdown = False,
) -> None:
    """Run algorithms over the values of one or two parameters, until the results are precise enough.

    The folder gets everything: results as CSV and Parquet, plots, a page that compares the algorithms, and how to
    repeat it. Run an interrupted sweep again, and it continues where it stopped. The last algorithm is the one to
    which the others are compared.
    """  # fmt: skip
    from congenial.cli.output import notice_if_interpreted, one_form, print_json, show, status_bar
    from congenial.lab.api import sweep

    one_form(json, markdown)
    wanted = _sweep(file, algorithms, vary, fixed, metrics, precision, least, most, seed)
    folder = out or Path("runs") / wanted.name
    with resumable(folder), status_bar(wanted.name, "runs") as progress:
        result = sweep(wanted, folder=folder, jobs=jobs, cluster=cluster, progress=progress)
    if json:
        print_json({"folder": str(folder), **result.as_dict()})
        return
    for table in result.tables(markdown):
        show(table)
    if result.imprecise():
        print(result.imprecise())
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

    from congenial.lab.sweep import Sweep

    overrides = {"precision": precision, "least": least, "most": most, "seed": seed}
    given: dict[str, Any] = {name: value for name, value in overrides.items() if value is not None}
    if file is not None:
        if algorithms or vary or fixed or metrics:
            raise ConfigError("give a sweep as a file or by --algorithm, --vary, --fixed and --metric, not both")
        return replace(Sweep.from_toml(file), **given)
    if not algorithms or not vary or not all([text.split() for text in algorithms]):
        raise ConfigError("give a file, or at least one --algorithm and one --vary (congenial sweep --help)")
    varied = [parse_vary(text) for text in vary]
    if len({name for name, _ in varied}) < len(varied):
        raise ConfigError("--vary names a parameter twice; put all its values into one: nodes=5,10,20")
    name = "-".join([*[Path(text.split()[0]).name.replace(":", "-") for text in algorithms], *[v for v, _ in varied]])
    data: dict[str, Any] = {"algorithms": algorithms, "vary": dict(varied), "name": name, **given}
    given_fixed = [parse_fixed(text) for text in fixed or ()]
    if len(dict(given_fixed)) < len(given_fixed):
        raise ConfigError("--fixed names a parameter twice")
    data["fixed"] = dict(given_fixed)
    if metrics:
        data["metrics"] = metrics
    return Sweep(**data)


def parse_vary(text: str) -> tuple[str, tuple[Value, ...]]:
    """'nodes=5,10,20'; values that contain commas are separated by semicolons: 'think=uniform:5,15;50'."""
    from congenial.lab.parameters import clean_value

    name, equals, values = text.partition("=")
    if not equals:
        raise ConfigError(f"--vary {shown(text)} is not like nodes=5,10,20")
    parts = values.split(";" if ";" in values else ",")
    name = name.strip()
    return name, tuple([clean_value(name, part.strip()) for part in parts if part.strip()])


def parse_fixed(text: str) -> tuple[str, Value]:
    from congenial.lab.parameters import clean_value

    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--fixed {shown(text)} is not like think=50")
    return name.strip(), clean_value(name.strip(), value.strip())


@contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """Say, when interrupted, that finished runs are kept."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"congenial: finished runs are in {folder}; the same command continues from there", file=sys.stderr)
        raise
