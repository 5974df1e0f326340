"""Repeating a paper's experiments: results, figures, and verdicts on what it claims."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile

from congenial import __version__
from congenial.kernel.errors import ConfigError
from congenial.lab.claims import Judged, Tally, markdown_table
from congenial.lab.contest import standings, winner_lines
from congenial.lab.contest_plots import plot_contest
from congenial.lab.costs import cost_lines, markdown_lines
from congenial.lab.findings import findings_table
from congenial.lab.folder import write_folder, write_sweep
from congenial.lab.papers import PAPERS, Chart, Contest, Exhibit, Figure, Paper, StepTable, Table
from congenial.lab.plots import plot_chart
from congenial.lab.replication import fingerprint
from congenial.lab.runner import Crew, Watch, run_sweeps
from congenial.lab.store import Store
from congenial.lab.sweep import PARAMETERS, Sweep
from congenial.lab.tables import Outcome, show_value, write_csv

DOCUMENTED = ("ratio.svg", "absolute.svg", "ratios.csv", "results.csv")  # what a page shows of a figure


@dataclass(frozen=True)
class Target:
    """Exhibits of a paper."""

    paper: Paper
    exhibits: tuple[Exhibit, ...]

    @property
    def name(self) -> str:
        if self.exhibits == self.paper.exhibits:
            return self.paper.name
        return " ".join([f"{self.paper.name}/{exhibit.name}" for exhibit in self.exhibits])


@dataclass(frozen=True)
class Reproduction:
    target: Target
    outcomes: dict[str, Outcome]
    judged: list[Judged]

    def of_exhibit(self, exhibit: Exhibit) -> list[Judged]:
        """The verdicts that rest on an exhibit alone."""
        parts = set(exhibit.sweeps(quick=True))
        return [item for item in self.judged if parts.issuperset(item.claim.test.figures)]

    def as_dict(self) -> dict[str, object]:
        return {
            "paper": self.target.paper.name,
            "reference": self.target.paper.reference,
            "version": __version__,
            "figures": [exhibit.name for exhibit in self.target.exhibits],
            "claims": [item.as_dict() for item in self.judged],
            "tally": str(Tally(self.judged)),
        }


def find_targets(texts: list[str]) -> list[Target]:
    """'token-gme/6a': a figure; 'token-gme' or 'token-gme/all': all figures of a paper; 'all': everything."""
    if "all" in texts:
        return [Target(paper, paper.exhibits) for paper in PAPERS.values()]
    wanted: dict[str, set[str]] = {}
    for text in texts:
        name, _, figure = text.partition("/")
        if name not in PAPERS:
            raise ConfigError(f"there is no paper {name!r}; there are: {', '.join(PAPERS)}, all")
        known = [item.name for item in PAPERS[name].exhibits]
        if figure not in (*known, "", "all"):
            raise ConfigError(f"{name} has no figure {figure!r}; it has: {', '.join(known)}, all")
        wanted.setdefault(name, set()).update([figure] if figure in known else known)
    return [
        Target(PAPERS[name], tuple([exhibit for exhibit in PAPERS[name].exhibits if exhibit.name in names]))
        for name, names in wanted.items()
    ]


def reproduce(
    target: Target, folder: Path, crew: Crew, quick: bool = False, watch: Watch | None = None
) -> Reproduction:
    """Run the exhibits together, so that what they share is run once, and write each into its folder."""
    paper = target.paper
    store = Store(folder)
    run_sweeps([sweep for exhibit in target.exhibits for sweep in exhibit.sweeps(quick).values()], store, crew, watch)
    outcomes: dict[str, Outcome] = {}
    for exhibit in target.exhibits:
        sweeps = exhibit.sweeps(quick)
        command = f"congenial reproduce {paper.name}/{exhibit.name}{' --quick' if quick else ''}"
        if isinstance(exhibit, Contest):
            sweep = sweeps[exhibit.name]
            write_sweep(folder / exhibit.name, sweep, command)
            outcomes[exhibit.name] = Outcome.of(sweep, store)
        elif isinstance(exhibit, Figure):
            title = f"{exhibit.title} ({paper.reference.split(', section')[0]}, fig. {exhibit.name})"
            outcomes[exhibit.name] = write_folder(folder / exhibit.name, sweeps[exhibit.name], store, title, command)
        else:
            outcomes |= {name: Outcome.of(sweep, store) for name, sweep in sweeps.items()}
    made = Reproduction(target, outcomes, [claim.judge(outcomes) for claim in paper.all_claims()])
    for exhibit in target.exhibits:
        write_exhibit(exhibit, made, folder / exhibit.name)
    if len(target.exhibits) == len(paper.exhibits):
        shown = findings_table(made.judged) if paper.ours else markdown_table(made.judged)
        (folder / "claims.md").write_text(f"{shown}\n", encoding="utf-8")
        (folder / "claims.json").write_text(json.dumps(made.as_dict(), indent=1) + "\n", encoding="utf-8")
    return made


def write_exhibit(exhibit: Exhibit, made: Reproduction, folder: Path) -> None:
    """The verdicts on what an exhibit shows; a table's lines, a chart's picture."""
    folder.mkdir(parents=True, exist_ok=True)
    judged = made.of_exhibit(exhibit)
    if isinstance(exhibit, Table):
        lines = cost_lines(exhibit, made.outcomes, judged)
        write_csv(folder / "table.csv", lines)
        text = markdown_lines(lines)
    elif isinstance(exhibit, Contest):
        outcome = made.outcomes[exhibit.name]
        write_csv(folder / "results.csv", outcome.summary())
        plot_contest(exhibit, outcome, exhibit.title, folder / "contest")
        text = f"{findings_table(judged)}\n\n{markdown_lines(winner_lines(exhibit, outcome))}"
    else:
        text = markdown_table(judged)
    if isinstance(exhibit, Chart):
        panels = exhibit.outcomes(made.outcomes)
        plot_chart(panels, exhibit.title, folder / "chart")
        rows = [
            {"load": panel, **row} for panel, outcomes in panels.items() for item in outcomes for row in item.summary()
        ]
        write_csv(folder / "chart.csv", rows)
    (folder / "verdict.md").write_text(f"# {exhibit.title}\n\n{Tally(judged)}\n\n{text}\n", encoding="utf-8")


def write_docs(made: Reproduction, folder: Path, docs: Path, quick: bool) -> Path:
    """A page with everything shown, its parameters and the claims, and the data as CSV, from the folder of a run."""
    paper = made.target.paper
    pictures = docs / paper.name
    pictures.mkdir(parents=True, exist_ok=True)
    command = f"congenial reproduce {made.target.name}{' --quick' if quick else ''} --docs {docs.as_posix()}"
    stated = [item for item in made.judged if item.claim in paper.claims]
    table = findings_table if paper.ours else markdown_table
    parts = [
        f"# {paper.title}",
        f"{paper.reference}. Made by congenial {__version__} (code {fingerprint()}) with",
        f"    {command}",
        "How it was done:" if paper.ours else "What we assumed:",
        "\n".join([f"- {assumption}" for assumption in paper.assumptions]),
        f"## {'Findings' if paper.ours else 'Claims'}: {Tally(made.judged)}",
        *([table(stated)] if stated else []),
    ]
    for exhibit in made.target.exhibits:
        parts += exhibit_page(exhibit, made, folder / exhibit.name, pictures)
    page = docs / f"{paper.name}.md"
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return page


def exhibit_page(exhibit: Exhibit, made: Reproduction, folder: Path, pictures: Path) -> list[str]:
    """An exhibit's part of the page for people; what it shows is copied into `pictures`."""
    place = f"{pictures.name}/{exhibit.name}"
    if isinstance(exhibit, Contest):
        copyfile(folder / "contest.svg", pictures / f"{exhibit.name}.svg")
        copyfile(folder / "results.csv", pictures / f"{exhibit.name}.csv")
        outcome = made.outcomes[exhibit.name]
        parts = [
            f"## {exhibit.title}",
            f"{describe(outcome.sweep)} Data: [means]({place}.csv).",
            f"![{exhibit.title}: all measures]({place}.svg)",
            "Who is best, and at how much:",
            markdown_lines(winner_lines(exhibit, outcome)),
        ]
        if exhibit.usual is not None:
            parts.insert(1, f"All of them, with {exhibit.usual} {PARAMETERS[exhibit.name]}:")
            parts.insert(2, markdown_lines(standings(outcome, exhibit.usual)))
        return parts
    if isinstance(exhibit, Figure):
        for name in DOCUMENTED:
            copyfile(folder / name, pictures / f"{exhibit.name}-{name}")
        data = f"[ratios]({place}-ratios.csv), [means]({place}-results.csv)"
        drawn = f"[the means, drawn]({place}-absolute.svg)"
        return [
            f"## Figure {exhibit.name}: {exhibit.title}",
            f"{describe(made.outcomes[exhibit.name].sweep)} Data: {data}; {drawn}.",
            f"![{exhibit.title}: ratios]({place}-ratio.svg)",
        ]
    if isinstance(exhibit, Table):
        copyfile(folder / "table.csv", pictures / f"{exhibit.name}.csv")
        loads = [
            f"- {load}: {', '.join([f'{k} {show_value(v)}' for k, v in fixed.items()])}"
            for load, fixed in exhibit.loads.items()
        ]
        lines = cost_lines(exhibit, made.outcomes, made.of_exhibit(exhibit))
        return [
            f"## {exhibit.title}",
            f"Messages per entry with {exhibit.nodes[-1]} processes ([data]({place}.csv)). Loads:",
            "\n".join(loads),
            markdown_lines(lines),
        ]
    if isinstance(exhibit, StepTable):
        return [f"## {exhibit.title}", markdown_table(made.of_exhibit(exhibit))]
    copyfile(folder / "chart.svg", pictures / f"{exhibit.name}.svg")
    copyfile(folder / "chart.csv", pictures / f"{exhibit.name}.csv")
    return [f"## {exhibit.title}", f"![{exhibit.title}]({place}.svg)", f"[Data]({place}.csv)."]


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
