"""The pages about papers in docs/ say what the code says: only the numbers on them come from runs.

The runs take hours and their records are not kept in the repository. So when a text changes here, it is changed on the
page as well, and this test compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from congenial.lab.claims import NOT_REPRODUCED, PARTLY, Claim
from congenial.lab.exhibits import CostTable, Exhibit, Figure
from congenial.lab.exhibits.exhibit import describe
from congenial.lab.papers import PAPERS, Paper
from congenial.lab.results import SweepResult
from congenial.lab.rows import BAR
from congenial.lab.written import parts_of

DOCS = Path(__file__).parents[2] / "docs"
CELL = re.compile(r"(?<!\\)\|")  # a bar that ends a cell


def page_of(paper: Paper) -> str:
    folder = DOCS if paper.ours else DOCS / "reproductions"
    return (folder / f"{paper.name}.md").read_text(encoding="utf-8")


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


def links(text: str) -> Sequence[str]:
    found: list[str] = re.findall(r"\]\(([^)]+)\)", text)
    return found
