"""The folder a sweep leaves: how to repeat it, its replications, results, pictures and page."""

from __future__ import annotations

import shlex
from pathlib import Path

from congenial import __version__
from congenial.lab.page import comparison_page
from congenial.lab.plots import plot
from congenial.lab.replication import fingerprint
from congenial.lab.store import Store
from congenial.lab.sweep import PARAMETERS, Sweep
from congenial.lab.tables import Outcome, frame, write_csv

SWEEP_FILE = "sweep.toml"


def write_sweep(folder: Path, sweep: Sweep, command: str = "") -> str:
    """Before anything runs, so that an interrupted sweep can be gone on with; returns what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    command = command or f"congenial sweep {shlex.quote(str(folder / SWEEP_FILE))} --out {shlex.quote(str(folder))}"
    text = f"# congenial {__version__} (code {fingerprint()}); repeat or resume with:\n# {command}\n{sweep.to_toml()}"
    (folder / SWEEP_FILE).write_text(text, encoding="utf-8")
    return text


def write_folder(folder: Path, sweep: Sweep, store: Store, title: str = "", command: str = "") -> Outcome:
    """Everything that comes out of a sweep's replications."""
    repeat = write_sweep(folder, sweep, command)
    outcome = Outcome.of(sweep, store)
    summary = outcome.summary()
    write_csv(folder / "results.csv", summary)
    write_csv(folder / "replications.csv", outcome.replications())
    frame(summary).write_parquet(folder / "results.parquet")
    names = ", ".join(sweep.algorithms) if len(sweep.algorithms) <= 3 else f"{len(sweep.algorithms)} algorithms"
    title = title or f"{names}, by {' and '.join([PARAMETERS[name] for name in sweep.vary])}"
    pictures = [("Means", plot(outcome, "absolute", title, folder / "absolute")[1])]
    if len(sweep.algorithms) > 1:
        write_csv(folder / "ratios.csv", outcome.ratios())
        against = f"{title}\nratio to {sweep.baseline}"
        pictures.insert(0, ("Ratios", plot(outcome, "ratio", against, folder / "ratio")[1]))
    page = comparison_page(outcome, title, pictures, repeat)
    (folder / "comparison.html").write_text(page, encoding="utf-8")
    return outcome
