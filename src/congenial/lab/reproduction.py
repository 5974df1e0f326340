"""Repeating a paper's experiments: results, figures, and verdicts on what it claims."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from congenial import __version__
from congenial.kernel.errors import ConfigError
from congenial.kernel.inputs import shown
from congenial.lab.claims import HOLDS, REPRODUCED, Judged, Tally, claims_table
from congenial.lab.exhibits import Evidence, Exhibit
from congenial.lab.papers import PAPERS, Paper
from congenial.lab.results import SweepResult
from congenial.lab.runner import Progress, run_sweeps
from congenial.lab.store import Store
from congenial.lab.sweep import Sweep
from congenial.lab.workers import Workers
from congenial.lab.written import made_by, not_older, parts_of, with_parts
from congenial.view.notebook import block, table
from congenial.view.table import as_text


@dataclass(frozen=True)
class Target:
    """All or some of the exhibits of a paper."""

    paper: Paper
    exhibits: tuple[Exhibit, ...]

    @property
    def name(self) -> str:
        """As `find_targets` understands it."""
        if self.whole:
            return self.paper.name
        return " ".join([f"{self.paper.name}/{exhibit.name}" for exhibit in self.exhibits])

    @property
    def whole(self) -> bool:
        return self.exhibits == self.paper.exhibits


@dataclass(frozen=True)
class Reproduction:
    """What came of a paper's experiments: the results of its sweeps by name, and its claims with verdicts.

    `print` shows the claims as a table.

    >>> [item.verdict for item in reproduce("wme").claims][:3]
    ['reproduced', 'reproduced', 'reproduced']
    """

    _target: Target
    quick: bool
    results: dict[str, SweepResult]
    claims: list[Judged]

    def evidence(self, exhibit: Exhibit) -> Evidence:
        """All results and claims, and the verdicts that rest on an exhibit alone."""
        parts = set(exhibit.sweeps(quick=True))
        judged = [item for item in self.claims if parts.issuperset(item.claim.criterion.figures)]
        return Evidence(self.results, judged, self._target.paper.claims)

    def as_dict(self) -> dict[str, object]:
        """The claims with their verdicts, ready for JSON."""
        return {
            "paper": self._target.paper.name,
            "reference": self._target.paper.reference,
            "version": __version__,
            "figures": [exhibit.name for exhibit in self._target.exhibits],
            "claims": [item.as_dict() for item in self.claims],
            "tally": str(Tally(self.claims)),
        }

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = [
            (item.claim.text, item.claim.metric, item.claim.where, item.claim.paper, item.finding.ours, item.explained)
            for item in self.claims
        ]
        heads = ("claim", "of", "section", "the paper", "ours", "verdict")
        whole = all([item.verdict in (REPRODUCED, HOLDS) for item in self.claims])
        return block(f"{self._target.paper.reference}:", str(Tally(self.claims)), whole, table(heads, rows))

    def __str__(self) -> str:
        return f"{as_text(claims_table(self.claims))}\n{Tally(self.claims)}"

    def write(self, folder: Path) -> None:
        """Write every exhibit into a folder of its own; with all exhibits, all claims as well."""
        paper = self._target.paper
        for exhibit in self._target.exhibits:
            command = f"congenial reproduce {paper.name}/{exhibit.name}{' --quick' if self.quick else ''}"
            exhibit.write(self.evidence(exhibit), folder / exhibit.name, paper.reference, command)
        if self._target.whole:
            (folder / "claims.md").write_text(f"{paper.verdicts(self.claims)}\n", encoding="utf-8")
            (folder / "claims.json").write_text(json.dumps(self.as_dict(), indent=1) + "\n", encoding="utf-8")

    def write_page(self, folder: Path, docs: Path) -> Path:
        """Write a page with all exhibits and claims into `docs`, with data and pictures from the run's `folder`. Papers
        have a folder there, `reproductions`; an experiment of our own has not.

        A page that is there and that people have written (`written.py`) keeps what they wrote. A page that is made as a
        whole is taken from the list of those that are older than their code.
        """
        paper = self._target.paper
        page = paper.page_in(docs)
        pictures = page.with_suffix("")
        pictures.mkdir(parents=True, exist_ok=True)
        command = f"congenial reproduce {self._target.name}{' --quick' if self.quick else ''} --docs {docs.as_posix()}"
        stated = [item for item in self.claims if item.claim in paper.claims]
        old = page.read_text(encoding="utf-8") if page.exists() else ""
        about = [
            f"{paper.reference}. Made by congenial {__version__} ({made_by(paper.code(), old, docs)}) with",
            f"    {command}",
            "How it was done:" if paper.ours else "What we assumed:",
            "\n".join([f"- {assumption}" for assumption in paper.assumptions]),
        ]
        verdicts = [f"## {'Findings' if paper.ours else 'Claims'}: {Tally(self.claims)}"]
        verdicts += [paper.verdicts(stated)] if stated else []
        parts = {"about": "\n\n".join(about), "findings": "\n\n".join(verdicts)}
        for exhibit in self._target.exhibits:
            parts[exhibit.name] = "\n\n".join(exhibit.page(self.evidence(exhibit), folder / exhibit.name, pictures))
        text = "\n\n".join([f"# {paper.title}", *parts.values()]) + "\n"
        if parts_of(old):
            if not self._target.whole:  # the findings on the page rest on all exhibits
                del parts["about"], parts["findings"]
            text = with_parts(old, parts, str(page))
        page.write_text(text, encoding="utf-8")
        about_all = docs / "reproductions" / "README.md"
        if self._target.whole and not self.quick and about_all.exists():
            about_all.write_text(not_older(about_all.read_text(encoding="utf-8"), paper.name), encoding="utf-8")
        return page


def find_targets(texts: Sequence[str]) -> list[Target]:
    """'token-gme/6a': a figure; 'token-gme' or 'token-gme/all': all figures of a paper; 'all': everything."""
    if "all" in texts:
        return [Target(paper, paper.exhibits) for paper in PAPERS.values()]
    wanted: dict[str, set[str]] = {}
    for text in texts:
        name, _, figure = text.partition("/")
        if name not in PAPERS:
            raise ConfigError(f"there is no paper {shown(name)}; there are: {', '.join(PAPERS)}, all")
        known = [item.name for item in PAPERS[name].exhibits]
        if figure not in (*known, "", "all"):
            raise ConfigError(f"{name} has no figure {shown(figure)}; it has: {', '.join(known)}, all")
        wanted.setdefault(name, set()).update([figure] if figure in known else known)
    return [
        Target(PAPERS[name], tuple([exhibit for exhibit in PAPERS[name].exhibits if exhibit.name in names]))
        for name, names in wanted.items()
    ]


def judge_target(target: Target, store: Store, quick: bool = False) -> Reproduction:
    """Judge the claims by the runs that are in the store, without running anything. A claim about a figure whose runs
    are not all there is not judged."""
    results = {name: SweepResult.of(sweep, store) for name, sweep in sweeps_of(target, quick).items()}
    whole = {name: result for name, result in results.items() if len(result.runs) == len(result.sweep.points())}
    return Reproduction(target, quick, whole, [claim.judge(whole) for claim in target.paper.all_claims()])


def store_of(target: Target, folder: Path, quick: bool, look: bool = False) -> Store:
    """The runs in the paper's folder. Those of papers that run the same are read in the folders beside it."""
    beside = [folder.parent / f"{name}{'-quick' if quick else ''}" for name in target.paper.shares]
    return Store(folder, look, beside)


def sweeps_of(target: Target, quick: bool) -> dict[str, Sweep]:
    """All sweeps of the target's exhibits, by name of the result."""
    return {name: sweep for exhibit in target.exhibits for name, sweep in exhibit.sweeps(quick).items()}


def run_target(
    target: Target, store: Store, workers: Workers, quick: bool = False, progress: Progress | None = None
) -> Reproduction:
    """Run all exhibits together, so that runs they share are run once, and judge the claims."""
    sweeps = sweeps_of(target, quick)
    run_sweeps(list(sweeps.values()), store, workers, progress)
    results = {name: SweepResult.of(sweep, store) for name, sweep in sweeps.items()}
    return Reproduction(target, quick, results, [claim.judge(results) for claim in target.paper.all_claims()])
