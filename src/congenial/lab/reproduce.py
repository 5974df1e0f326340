"""Repeating a paper's experiments: results, figures, and verdicts on what it claims."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile

from congenial import __version__
from congenial.kernel.errors import ConfigError
from congenial.lab.claims import Judged, Tally, markdown_table
from congenial.lab.folder import write_folder
from congenial.lab.papers import PAPERS, Figure, Paper
from congenial.lab.replication import fingerprint
from congenial.lab.runner import Crew, Watch, run_sweeps
from congenial.lab.store import Store
from congenial.lab.sweep import PARAMETERS, Sweep
from congenial.lab.tables import Outcome, show_value

DOCUMENTED = ("ratio.svg", "absolute.svg", "ratios.csv", "results.csv")  # what a page shows of a figure


@dataclass(frozen=True)
class Target:
    """Figures of a paper."""

    paper: Paper
    figures: tuple[Figure, ...]

    @property
    def name(self) -> str:
        if self.figures == self.paper.figures:
            return self.paper.name
        return " ".join([f"{self.paper.name}/{figure.name}" for figure in self.figures])


@dataclass(frozen=True)
class Reproduction:
    target: Target
    outcomes: dict[str, Outcome]
    judged: list[Judged]

    def of_figure(self, figure: str) -> list[Judged]:
        """The verdicts that rest on a figure alone."""
        return [item for item in self.judged if item.claim.test.figures == (figure,)]

    def as_dict(self) -> dict[str, object]:
        return {
            "paper": self.target.paper.name,
            "reference": self.target.paper.reference,
            "version": __version__,
            "figures": list(self.outcomes),
            "claims": [item.as_dict() for item in self.judged],
            "tally": str(Tally(self.judged)),
        }


def find_targets(texts: list[str]) -> list[Target]:
    """'token-gme/6a': a figure; 'token-gme' or 'token-gme/all': all figures of a paper; 'all': everything."""
    if "all" in texts:
        return [Target(paper, paper.figures) for paper in PAPERS.values()]
    wanted: dict[str, set[str]] = {}
    for text in texts:
        name, _, figure = text.partition("/")
        if name not in PAPERS:
            raise ConfigError(f"there is no paper {name!r}; there are: {', '.join(PAPERS)}, all")
        known = [item.name for item in PAPERS[name].figures]
        if figure not in (*known, "", "all"):
            raise ConfigError(f"{name} has no figure {figure!r}; it has: {', '.join(known)}, all")
        wanted.setdefault(name, set()).update([figure] if figure in known else known)
    return [
        Target(PAPERS[name], tuple([figure for figure in PAPERS[name].figures if figure.name in figures]))
        for name, figures in wanted.items()
    ]


def reproduce(
    target: Target, folder: Path, crew: Crew, quick: bool = False, watch: Watch | None = None
) -> Reproduction:
    """Run the figures together, so that what they share is run once, and write each into its folder."""
    paper = target.paper
    sweeps = {figure.name: figure.quick() if quick else figure.sweep for figure in target.figures}
    store = Store(folder)
    run_sweeps(list(sweeps.values()), store, crew, watch)
    outcomes: dict[str, Outcome] = {}
    for figure in target.figures:
        command = f"congenial reproduce {paper.name}/{figure.name}{' --quick' if quick else ''}"
        title = f"{figure.title} ({paper.reference.split(',')[0]}, fig. {figure.name})"
        outcomes[figure.name] = write_folder(folder / figure.name, sweeps[figure.name], store, title, command)
    made = Reproduction(target, outcomes, [claim.judge(outcomes) for claim in paper.claims])
    for figure in target.figures:
        judged = made.of_figure(figure.name)
        text = f"# {figure.title}\n\n{Tally(judged)}\n\n{markdown_table(judged)}\n"
        (folder / figure.name / "verdict.md").write_text(text, encoding="utf-8")
    if len(outcomes) == len(paper.figures):
        (folder / "claims.md").write_text(f"{markdown_table(made.judged)}\n", encoding="utf-8")
        (folder / "claims.json").write_text(json.dumps(made.as_dict(), indent=1) + "\n", encoding="utf-8")
    return made


def write_docs(made: Reproduction, folder: Path, docs: Path, quick: bool) -> Path:
    """A page with all figures, their parameters and the claims, and what it shows as CSV, from the folder of a run."""
    paper = made.target.paper
    pictures = docs / paper.name
    pictures.mkdir(parents=True, exist_ok=True)
    command = f"congenial reproduce {made.target.name}{' --quick' if quick else ''} --docs {docs.as_posix()}"
    parts = [
        f"# {paper.title}",
        f"{paper.reference}. Made by congenial {__version__} (code {fingerprint()}) with",
        f"    {command}",
        "What we assumed:",
        "\n".join([f"- {assumption}" for assumption in paper.assumptions]),
        f"## Claims: {Tally(made.judged)}",
        markdown_table(made.judged),
    ]
    for figure in made.target.figures:
        outcome = made.outcomes[figure.name]
        for name in DOCUMENTED:
            copyfile(folder / figure.name / name, pictures / f"{figure.name}-{name}")
        data = f"[ratios]({paper.name}/{figure.name}-ratios.csv), [means]({paper.name}/{figure.name}-results.csv)"
        parts += [
            f"## Figure {figure.name}: {figure.title}",
            f"{describe(outcome.sweep)} Data: {data}; [the means, drawn]({paper.name}/{figure.name}-absolute.svg).",
            f"![{figure.title}: ratios]({paper.name}/{figure.name}-ratio.svg)",
        ]
    page = docs / f"{paper.name}.md"
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return page


def describe(sweep: Sweep) -> str:
    """The parameters of a sweep in words."""
    ((parameter, values),) = sweep.vary.items()
    varied = f"{PARAMETERS[parameter]}: {', '.join([show_value(value) for value in values])}"
    fixed = ", ".join([f"{name} {show_value(value)}" for name, value in sweep.fixed.items()])
    more = ", ".join([f"{name} {show_value(value)}" for name, value in sweep.if_many.items()])
    cap = f"; with more than {sweep.many} processes {more}" if more else ""
    runs = f"{sweep.least} to {sweep.most} runs, until 95% intervals are within {sweep.precision:.0%} of the mean"
    if sweep.least == sweep.most:
        runs = f"{sweep.least} runs"
    return f"Varied: {varied}. Fixed: {fixed}{cap}. {runs}; seeds from {sweep.seed}."
