"""What every exhibit of a paper has: what it runs, what it claims, and how it is written, shown and put on a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from congenial.lab.claims import Claim, Judged, Tally, claims_markdown
from congenial.lab.parameters import PARAMETERS, show_value
from congenial.lab.results import Results, SweepResult
from congenial.lab.sweep import Sweep

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Evidence:
    """The results of a paper's sweeps, the verdicts that rest on one exhibit alone, and all that the paper claims in
    words."""

    results: Results
    judged: list[Judged]
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True)
class Exhibit:
    """A figure or table of a paper. Its results are kept under its name, or under its name and that of a part."""

    name: str
    title: str

    def sweeps(self, quick: bool) -> dict[str, Sweep]:
        """The sweeps to run, by name of the result; `quick` asks for a coarse version that takes less time."""
        raise NotImplementedError

    def algorithms(self) -> set[str]:
        """The algorithms that are run, with their options."""
        return {name for sweep in self.sweeps(quick=False).values() for name in sweep.algorithms}

    def claims(self) -> tuple[Claim, ...]:
        """The claims that the exhibit makes by itself, such as the rows of a table."""
        return ()

    def heading(self) -> str:
        return f"{self.name}: {self.title}"

    def shown(self, evidence: Evidence, markdown: bool) -> list[Table | str]:
        """Tables and lines for a terminal."""
        raise NotImplementedError

    def write(self, evidence: Evidence, folder: Path, reference: str, command: str) -> None:
        """Write everything into the exhibit's folder; `command` is the one that repeats it."""
        folder.mkdir(parents=True, exist_ok=True)
        self.write_results(evidence, folder, reference, command)
        text = f"# {self.title}\n\n{Tally(evidence.judged)}\n\n{self.verdicts(evidence)}".rstrip()
        (folder / "verdict.md").write_text(f"{text}\n", encoding="utf-8")

    def write_results(self, evidence: Evidence, folder: Path, reference: str, command: str) -> None:
        """Write data and pictures."""

    def verdicts(self, evidence: Evidence) -> str:
        """The verdicts, as Markdown."""
        return claims_markdown(evidence.judged)

    def page(self, evidence: Evidence, folder: Path, pictures: Path) -> list[str]:
        """The exhibit's part of a page, as Markdown. Files that it links to are copied from `folder` to `pictures`."""
        raise NotImplementedError


def describe(result: SweepResult) -> str:
    """The parameters of a sweep in words."""
    sweep = result.sweep
    ((parameter, values),) = sweep.vary.items()
    varied = f"{PARAMETERS[parameter]}: {', '.join([show_value(value) for value in values])}"
    fixed = ", ".join([f"{name} {show_value(value)}" for name, value in sweep.fixed.items()])
    more = ", ".join([f"{name} {show_value(value)}" for name, value in sweep.if_many.items()])
    cap = f"; with more than {sweep.many} processes {more}" if more else ""
    runs = f"{sweep.least} to {sweep.most} runs, until 95% intervals are within {sweep.precision:.0%} of the mean"
    if sweep.least == sweep.most:
        runs = f"{sweep.least} runs"
    return f"Varied: {varied}. Fixed: {fixed}{cap}. {runs}; seeds from {sweep.seed}."
