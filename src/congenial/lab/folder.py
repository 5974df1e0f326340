"""The folder that a sweep leaves: how to repeat it, its replications, results, pictures and page."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from congenial import __version__
from congenial.kernel.errors import ConfigError
from congenial.lab.claims import Claim
from congenial.lab.page import comparison_page
from congenial.lab.parameters import PARAMETERS
from congenial.lab.plots import plot
from congenial.lab.replication import fingerprint
from congenial.lab.results import SweepResult
from congenial.lab.rows import write_csv
from congenial.lab.sweep import Sweep

SWEEP_FILE = "sweep.toml"


WRITTEN = (
    "results.csv", "replications.csv", "results.parquet", "ratios.csv", "comparison.html", "absolute.svg",
    "absolute.png", "ratio.svg", "ratio.png",
)  # fmt: skip


def check_folder(folder: Path, sweep: Sweep) -> None:
    """Refuse a folder in which the results would replace others than older ones of this sweep.

    A sweep may be continued with more values, more algorithms, other metrics and another precision.
    """
    elsewhere = "choose another folder (out), or delete this one"
    if (folder / SWEEP_FILE).is_file():
        old = Sweep.from_toml(folder / SWEEP_FILE)
        for part in ("fixed", "many", "if_many", "seed"):
            if getattr(old, part) != getattr(sweep, part):
                raise ConfigError(f"{folder} holds another sweep, with a different {part!r}: {elsewhere}")
        if not set(old.algorithms) <= set(sweep.algorithms):
            raise ConfigError(f"{folder} holds another sweep, with other algorithms: {elsewhere}")
        if list(old.vary) != list(sweep.vary) or not set(old.points()) <= set(sweep.points()):
            raise ConfigError(f"{folder} holds another sweep, over other values: {elsewhere}")
        return
    for name in WRITTEN:
        if (folder / name).exists():
            raise ConfigError(f"{folder} holds a {name} that is not of this sweep: {elsewhere}")


def write_sweep(folder: Path, sweep: Sweep, command: str = "") -> str:
    """Write the sweep before anything runs, so that it can be resumed after an interruption; return the text."""
    folder.mkdir(parents=True, exist_ok=True)
    command = command or f"congenial sweep {shlex.quote(str(folder / SWEEP_FILE))} --out {shlex.quote(str(folder))}"
    text = f"# congenial {__version__} (code {fingerprint()}); repeat or resume with:\n# {command}\n{sweep.to_toml()}"
    (folder / SWEEP_FILE).write_text(text, encoding="utf-8")
    return text


def write_folder(
    folder: Path,
    result: SweepResult,
    title: str = "",
    command: str = "",
    figure: str = "",
    claims: Sequence[Claim] = (),
) -> None:
    """Write the sweep, its results as CSV and Parquet, the pictures and the page. What a paper claims about this
    `figure` is drawn beside the ratios."""
    sweep = result.sweep
    repeat = write_sweep(folder, sweep, command)
    result.to_csv(folder / "results.csv")
    write_csv(folder / "replications.csv", result.records())
    result.to_frame().write_parquet(folder / "results.parquet")
    names = ", ".join(sweep.algorithms) if len(sweep.algorithms) <= 3 else f"{len(sweep.algorithms)} algorithms"
    title = title or f"{names}, by {' and '.join([PARAMETERS[name] for name in sweep.vary])}"
    pictures = [("Means", plot(result, "absolute", title, folder / "absolute")[1])]
    if len(sweep.algorithms) > 1:
        write_csv(folder / "ratios.csv", result.ratios())
        against = f"{title}\nratio to {sweep.baseline}"
        pictures.insert(0, ("Ratios", plot(result, "ratio", against, folder / "ratio", figure, claims)[1]))
    page = comparison_page(result, title, pictures, repeat)
    (folder / "comparison.html").write_text(page, encoding="utf-8")
