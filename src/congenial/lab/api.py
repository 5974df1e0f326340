"""The laboratory's functions: `compare`, `sweep` and `reproduce`, as `congenial` exports them."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Unpack

from congenial.kernel.errors import ConfigError
from congenial.kernel.inputs import callback, flag, shown, text
from congenial.kernel.node import Node
from congenial.lab.comparison import Comparison, run_comparison, scenarios_of
from congenial.lab.extras import require
from congenial.lab.folder import check_folder, write_folder, write_sweep
from congenial.lab.reproduction import Reproduction, find_targets, run_target, store_of
from congenial.lab.results import SweepResult
from congenial.lab.runner import Progress, Status, run_sweeps
from congenial.lab.store import Store
from congenial.lab.sweep import Sweep
from congenial.lab.workers import check_jobs, workers
from congenial.sim.scenario import ScenarioFields
from congenial.sim.simulate import check_runs
from congenial.trace_files import as_path, check_folder_writable

__all__ = ["Comparison", "Progress", "Reproduction", "Status", "Sweep", "SweepResult", "compare", "reproduce", "sweep"]


def compare(
    algorithms: Sequence[str | type[Node]],
    *,
    seed: int = 1,
    repeat: int = 1,
    precision: float = 0.0,
    jobs: int = 1,
    progress: Progress | None = None,
    **parameters: Unpack[ScenarioFields],
) -> Comparison:
    """Simulate several algorithms under the same load.

    `seed`, `repeat` and `precision` are those of `simulate`; `parameters` are those of `Scenario`. An option in
    `options` goes to the algorithms that have it. With several `jobs` (0: one for each processor) the algorithms run
    at the same time, each in a process of its own; the results are the same.

    >>> comparison = compare(["ricart-agrawala", "suzuki-kasami"], nodes=5, requests=20)
    >>> print(comparison)
    algorithm        messages / entry  integers / entry  mean waiting    p99  sync delay  entries / time  fairness
    ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
    ricart-agrawala                 8                 4         76.97  173.5        10.7         0.03251    0.9965
    suzuki-kasami                 4.9             11.18         73.72  175.8       9.632         0.03419    0.9948
    >>> comparison.results[0].messages_per_entry
    8.0
    >>> compare(["maekawa", "raymond-tree"], nodes=7, requests=5, options={"tree": "star"}).ok
    True
    """
    check_runs(seed, repeat, precision)
    check_jobs(jobs)
    callback(progress, "progress")
    scenarios = scenarios_of(algorithms, parameters)
    return run_comparison(scenarios, seed, repeat, precision, jobs, progress or _ignore)


def sweep(
    what: Sweep | str | Path,
    *,
    folder: str | Path | None = None,
    jobs: int = 1,
    cluster: str = "",
    progress: Progress | None = None,
) -> SweepResult:
    """Run a sweep, given as a `Sweep` or as the path of a TOML file.

    With several `jobs` (0: one for each processor), or on the workers of the Dask scheduler `cluster`, the results are
    the same. With a `folder`, a sweep that was interrupted is resumed from there, and everything is written to it:
    runs, results as CSV and Parquet, plots, and a page (this needs the extra `lab`).

    >>> result = sweep(Sweep(["suzuki-kasami", "ricart-agrawala"], {"nodes": [3, 5]}, {"requests": 10}, most=3))
    >>> [row["messages_per_entry"] for row in result.means() if row["algorithm"] == "ricart-agrawala"]
    [4.0, 8.0]
    """
    if not isinstance(what, (Sweep, str, PathLike)):
        raise ConfigError(f"what must be a Sweep or the path of a TOML file, not {shown(what)}")
    wanted = what if isinstance(what, Sweep) else Sweep.from_toml(as_path(what, "what"))
    place = None if folder is None else as_path(folder, "folder")
    check_jobs(jobs, cluster)
    callback(progress, "progress")
    if place is not None:
        require("lab")
    wanted.validate()
    if place is not None:
        check_folder(place, wanted)
    with workers(jobs, cluster) as pool:
        store = Store(place)
        if place is not None:
            write_sweep(place, wanted)
        run_sweeps([wanted], store, pool, progress)
    result = SweepResult.of(wanted, store)
    if place is not None:
        write_folder(place, result)
    return result


def reproduce(
    paper: str,
    *,
    figures: Sequence[str] = (),
    quick: bool = False,
    folder: str | Path | None = None,
    docs: str | Path | None = None,
    jobs: int = 1,
    cluster: str = "",
    progress: Progress | None = None,
) -> Reproduction:
    """Run a paper's experiments again, and judge its claims.

    `paper` is a name such as 'token-gme', or a name and a figure such as 'token-gme/6a'; `figures` selects several
    figures or tables. The `quick` version has few points and short runs. With a `folder`, runs that are there already
    are not run again, and everything is written to it; with `docs` as well, a page is written there (these need the
    extra `lab`). `jobs` and `cluster` are those of `sweep`.

    >>> result = reproduce("wme")
    >>> result.as_dict()["tally"]
    '16 reproduced'
    >>> result.claims[0].claim.text, result.claims[0].verdict
    ('WME-1: enter', 'reproduced')
    """
    text(paper, "paper")
    if isinstance(figures, str) or not isinstance(figures, Sequence):
        raise ConfigError(f"figures must be a list of names, not {shown(figures)}")
    targets = find_targets([f"{paper}/{text(figure, 'figures')}" for figure in figures] or [paper])
    if len(targets) != 1:
        raise ConfigError(f"paper should name one paper, not {shown(paper)}")
    flag(quick, "quick")
    check_jobs(jobs, cluster)
    callback(progress, "progress")
    place = None if folder is None else as_path(folder, "folder")
    page = None if docs is None else as_path(docs, "docs")
    if page is not None and place is None:
        raise ConfigError("docs needs a folder, where data and pictures come from")
    if place is not None:
        require("lab")
    if page is not None:
        check_folder_writable(page, "page")
    with workers(jobs, cluster) as pool:
        store = Store() if place is None else store_of(targets[0], place, quick)
        made = run_target(targets[0], store, pool, quick, progress)
    if place is not None:
        made.write(place)
        if page is not None:
            made.write_page(place, page)
    return made


def _ignore(status: Status) -> None:
    """The caller did not ask for progress."""
