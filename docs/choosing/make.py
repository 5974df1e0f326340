"""Makes the figures, the data and the table of docs/choosing.md again: python docs/choosing/make.py

Both sweeps take a few seconds. `make reproductions` runs this as well.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory

from congenial import __version__
from congenial.lab.api import sweep
from congenial.lab.results import SweepResult
from congenial.lab.rows import TableRow, markdown
from congenial.lab.sources import code_behind
from congenial.lab.sweep import Sweep
from congenial.lab.written import made_by, with_parts
from congenial.systems.catalogue import find_algorithm

HERE = Path(__file__).parent
PAGE = HERE.with_suffix(".md")
COMMAND = "python docs/choosing/make.py"
SWEEPS = {name: Sweep.from_toml(HERE / f"{name}.toml") for name in ("load", "groups")}
LIGHT, HEAVY = 10_000, 0  # time between requests


def code() -> str:
    """A hash of the sweeps, and of the code that they run."""
    names = sorted({name.split()[0] for plan in SWEEPS.values() for name in plan.algorithms})
    texts = [code_behind([find_algorithm(name).__module__ for name in names])]
    texts += [plan.to_toml() for plan in SWEEPS.values()]
    return sha256("\n".join(texts).encode()).hexdigest()[:12]


def about() -> str:
    made = made_by(code(), PAGE.read_text(encoding="utf-8"), HERE)
    return f"Figures and table made by congenial {__version__} ({made}) with\n\n    {COMMAND}"


def table(result: SweepResult) -> str:
    """What the page says of every algorithm under light and under heavy load."""
    means = {(row["algorithm"], row["think"]): row for row in result.means()}

    def shown(algorithm: str, think: float, metric: str, digits: int, times: float = 1.0) -> str:
        return f"{times * float(means[algorithm, think][metric] or 0.0):.{digits}f}"

    rows: list[TableRow] = [
        {
            "": f"`{algorithm}`",
            "messages, light": shown(algorithm, LIGHT, "messages_per_entry", 1),
            "messages, heavy": shown(algorithm, HEAVY, "messages_per_entry", 1),
            "waiting, light": shown(algorithm, LIGHT, "waiting_time_mean", 0),
            "entries per 1000, heavy": shown(algorithm, HEAVY, "throughput", 0, 1000),
        }
        for algorithm in result.sweep.algorithms
    ]
    return markdown(rows)


def main() -> None:
    parts = {"about": about()}
    with TemporaryDirectory() as made:
        for name, plan in SWEEPS.items():
            result = sweep(plan, folder=Path(made) / name)
            copyfile(Path(made) / name / "results.csv", HERE / f"{name}.csv")
            copyfile(Path(made) / name / "absolute.svg", HERE / f"{name}.svg")
            if name == "load":
                parts["load"] = table(result)
    PAGE.write_text(with_parts(PAGE.read_text(encoding="utf-8"), parts, str(PAGE)), encoding="utf-8")
    print(f"{PAGE} is made again; compare its sentences with the data")


if __name__ == "__main__":
    main()
