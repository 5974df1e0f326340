"""The pages about papers in docs/ say what the code says: only the numbers on them come from runs.

The runs take hours and their records are not kept in the repository. So when a text changes here, it is changed on the
page as well, and this test compares the two.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from congenial.lab.claims import NOT_REPRODUCED, PARTLY, Claim
from congenial.lab.exhibits import CostTable, Exhibit, Figure
from congenial.lab.exhibits.exhibit import describe
from congenial.lab.papers import PAPERS, Paper
from congenial.lab.results import Estimate, SweepResult
from congenial.lab.rows import BAR
from congenial.lab.sweep import Point
from congenial.lab.written import older_in, parts_of

DOCS = Path(__file__).parents[2] / "docs"
OLDER = older_in((DOCS / "reproductions" / "README.md").read_text(encoding="utf-8"))
CELL = re.compile(r"(?<!\\)\|")  # a bar that ends a cell


def page_of(paper: Paper) -> str:
    return paper.page_in(DOCS).read_text(encoding="utf-8")


def tables(text: str) -> list[list[list[str]]]:
    """The tables of a page, as rows of cells, the heads first."""
    blocks = re.findall(r"(?:^\|.*\n)+", text + "\n", re.MULTILINE)
    return [
        [[cell.strip().replace(BAR, "|") for cell in CELL.split(line)[1:-1]] for line in block.splitlines()]
        for block in blocks
    ]


@pytest.fixture(params=list(PAPERS))
def paper(request: pytest.FixtureRequest) -> Paper:
    return PAPERS[request.param]


def test_title_reference_and_assumptions(paper: Paper) -> None:
    page = page_of(paper)
    assert page.startswith(f"# {paper.title}\n\n")
    made = parts_of(page).get("about", page.partition("\n\n")[2])
    assert made.startswith(f"{paper.reference}. Made by congenial ")
    assert "".join([f"- {assumption}\n" for assumption in paper.assumptions]) in page
    assert ("How it was done:" if paper.ours else "What we assumed:") in page


def test_the_page_was_made_by_the_code_that_is_here(paper: Paper) -> None:
    """By the same algorithms, simulator and parameters: comments, docstrings and drawing do not count."""
    page, command = page_of(paper), f"congenial reproduce {paper.name} --docs docs"
    made = re.search(r"Made by congenial \S+ \(code ([0-9a-f]{12}).*\) with\n\n    (.+)\n", page)
    assert made is not None
    if paper.name in OLDER:
        assert made[1] != paper.code(), "it has been made again: docs/reproductions/README.md must not call it older"
        return
    assert made[1] == paper.code(), f"the code has changed since the page was made; run: {command}"
    assert made[2] == command


def test_the_page_about_verdicts_names_only_pages_as_older() -> None:
    assert set(OLDER) <= set(PAPERS)
    assert len(OLDER) == len(set(OLDER))


def test_claims_and_their_verdicts(paper: Paper) -> None:
    page = page_of(paper)
    judged: list[tuple[Claim, str]] = []
    for exhibit in (None, *paper.exhibits):
        claims = paper.claims if exhibit is None else exhibit.claims()
        if claims:
            table = tables(section(page, paper, exhibit))[0]
            rows = [verdict_row(claim, paper, exhibit) for claim in claims]
            for claim, expected, cells in zip(claims, rows, table[2:], strict=True):
                assert cells[: len(expected)] == expected
                verdict, _, reason = cells[-1].replace("**", "").partition(": ")
                assert reason == (claim.reason if verdict in (PARTLY, NOT_REPRODUCED) else "")
                judged.append((claim, verdict))
    for kind in {verdict for _, verdict in judged}:
        count = len([claim for claim, verdict in judged if verdict == kind])
        assert re.search(rf"^## (Claims|Findings):.* {count} {kind}\b", page, re.MULTILINE)


class Published(SweepResult):
    """The ratios of a figure as they are published, without the runs behind them."""

    def ratio(self, point: Point, algorithm: str, metric: str) -> Estimate | None:
        (row,) = [row for row in self.rows() if row[next(iter(self.sweep.vary))] == str(point[0])]
        return Estimate(float(row[metric]), float(row[f"{metric}_half_width"])) if row[metric] else None

    def rows(self) -> list[dict[str, str]]:
        paper, _, figure = self.sweep.name.partition("/")
        with (DOCS / "reproductions" / paper / f"{figure}-ratios.csv").open(encoding="utf-8") as file:
            return list(csv.DictReader(file))


@pytest.mark.parametrize("name", ["token-gme", "surrogate"])
def test_verdicts_on_ratios_are_those_that_the_published_ratios_get(name: str) -> None:
    """So a change of the rules changes the page, also where nothing is run again."""
    paper = PAPERS[name]
    figures = [exhibit for exhibit in paper.exhibits if isinstance(exhibit, Figure)]
    results = {
        figure.name: Published(figure.sweep, {point: {} for point in figure.sweep.points()}) for figure in figures
    }
    table = tables(section(page_of(paper), paper, None))[0][2:]
    for claim, cells in zip(paper.claims, table, strict=True):
        finding = claim.judge(results).finding
        assert cells[-2] == finding.ours, claim.text
        assert re.match(rf"\*\*{finding.verdict}\*\*", cells[-1]), f"{claim.text}: {finding.verdict}"


def verdict_row(claim: Claim, paper: Paper, exhibit: Exhibit | None) -> list[str]:
    """The first cells of a claim's row, which do not depend on runs."""
    if isinstance(exhibit, CostTable):
        (row,) = [row for row in exhibit.rows if (row.label, row.says) == (claim.text, claim.paper)]
        return [row.label, row.algorithm, row.says]
    return [claim.text] if paper.ours else [f"{claim.text} ({claim.metric})", claim.where, claim.paper]


def section(page: str, paper: Paper, exhibit: Exhibit | None) -> str:
    """An exhibit's part of a page, or the part with the findings."""
    made = parts_of(page)
    if made:
        return made["findings" if exhibit is None else exhibit.name]
    headings = [heading(item) for item in paper.exhibits]
    places = [page.index(f"\n{item}\n") for item in headings] + [len(page)]
    if exhibit is None:
        return page[: places[0]]
    number = headings.index(heading(exhibit))
    return page[places[number] : places[number + 1]]


def heading(exhibit: Exhibit) -> str:
    return f"## {exhibit.heading()}" if type(exhibit) is Figure else f"## {exhibit.title}"


def test_exhibits_are_described_and_their_files_are_there(paper: Paper) -> None:
    page = page_of(paper)
    for exhibit in paper.exhibits:
        part = section(page, paper, exhibit)
        if isinstance(exhibit, Figure):
            assert describe(SweepResult(exhibit.sweep, {})) in part
        if isinstance(exhibit, CostTable):
            for load, fixed in exhibit.loads.items():
                assert f"- {load}: {next(iter(fixed))} " in part
        for target in links(part):
            assert (DOCS / ("" if paper.ours else "reproductions") / target).exists(), target


def test_the_page_about_verdicts_says_of_every_paper_when_its_ranges_were_fixed() -> None:
    page = (DOCS / "reproductions" / "README.md").read_text(encoding="utf-8")
    rows = tables(page)[1][2:]
    assert {row[0].partition("]")[0].removeprefix("[") for row in rows} == set(PAPERS)
    for row in rows:
        assert re.search(r"2026-\d\d-\d\d \d\d:\d\d, commit ([0-9a-f]{7}|\".+\")", row[1])
        assert all(row)
    for target in links(page):
        assert (DOCS / "reproductions" / target).exists(), target


def links(text: str) -> Sequence[str]:
    found: list[str] = re.findall(r"\]\(([^)]+)\)", text)
    return found
