"""The comparison: the best algorithms, criteria about two or many, names that do not overlap, and a small one whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from standin import page_of, recorded

from congenial.lab.claims import Claim
from congenial.lab.contest_plots import APART, spread
from congenial.lab.exhibits import Contest
from congenial.lab.papers.comparison import CONTESTS, FAMILIES, FINDINGS
from congenial.lab.papers.paper import Paper
from congenial.lab.parameters import METRICS
from congenial.lab.rankings import Leads, Versus, Within, leaders
from congenial.lab.results import SweepResult
from congenial.lab.sweep import Sweep
from congenial.systems.catalogue import ALGORITHMS

MESSAGES, THROUGHPUT = "messages_per_entry", "throughput"
NAMES = ("token-gme", "ra1", "ra2", "naimi-trehel")
SWEEP = Sweep(
    NAMES,
    {"nodes": (3, 4)},
    {"requests": 10, "groups": 2},
    (MESSAGES, THROUGHPUT),
    least=3,
    most=3,
    name="little/nodes",
)
LITTLE = Contest(
    "nodes",
    "More processes",
    SWEEP,
    (3,),
    {"requests": 5},
    {"token": ("token-gme",), "asked": ("ra1", "ra2"), "one at a time": ("naimi-trehel",)},
    ("one at a time",),
    3,
)


def made_up(values: Mapping[str, list[float]]) -> SweepResult:
    return SweepResult.of(SWEEP, recorded(SWEEP, values))


CLEAR = {"token-gme": [4.0, 5.0, 6.0], "ra1": [8.0, 9.0, 10.0], "ra2": [4.1, 4.9, 6.1], "naimi-trehel": [1.0, 2.0, 3.0]}


def test_an_algorithm_that_cannot_be_distinguished_from_the_best_is_best_too() -> None:
    outcome = made_up(CLEAR)
    assert leaders(outcome, (3,), MESSAGES, NAMES) == ["naimi-trehel"]
    assert leaders(outcome, (3,), MESSAGES, NAMES[:3]) == ["token-gme", "ra2"]
    assert leaders(outcome, (3,), THROUGHPUT, NAMES) == ["ra1"], "more is better here"


def test_yardsticks_do_not_win_but_are_named_where_they_are_better() -> None:
    (line, _) = LITTLE.winners(made_up(CLEAR))
    assert line["processes"] == "3"
    assert line["messages per entry"] == "token-gme, ra2: 5 (but naimi-trehel: 2)"
    assert line["entries per unit of time"] == "ra1: 9"


def test_what_holds_of_two() -> None:
    outcomes = {"nodes": made_up(CLEAR)}
    half = Versus(("nodes",), MESSAGES, "token-gme", "ra1", 0.5, 0.6)
    assert half.judge(outcomes).verdict == "true"
    assert half.judge(outcomes).ours.startswith("token-gme / ra1: 0.552 times (nodes 3)")
    assert replace(half, high=0.55).judge(outcomes).verdict == "not true"
    assert replace(half, values=(7,)).judge(outcomes).verdict == "not run"
    leads = Leads(("nodes",), MESSAGES, ("ra2",), NAMES[:3])
    assert leads.judge(outcomes).verdict == "true"
    assert replace(leads, among=NAMES).judge(outcomes).ours == (
        "ra2: best at 0 of 2 points; naimi-trehel at nodes 3; naimi-trehel at nodes 4"
    )


def test_within_what_all_stay() -> None:
    outcomes = {"nodes": made_up(CLEAR)}
    test = Within(("nodes",), MESSAGES, ("token-gme", "ra1"), 5.0, 9.0)
    assert test.judge(outcomes).ours == "5 (token-gme, nodes 3) to 9 (ra1, nodes 4)"
    assert test.judge(outcomes).verdict == "true"
    assert replace(test, high=8.9).judge(outcomes).verdict == "not true"
    assert replace(test, values=(7,)).judge(outcomes).verdict == "not run"


def test_findings_are_about_what_is_run() -> None:
    contests = {contest.name: contest for contest in CONTESTS}
    for finding in FINDINGS:
        test = finding.criterion
        values = test.values
        for figure in test.figures:
            assert set(values) <= set(contests[figure].sweep.vary[figure]), finding.text
        named = [test.one, test.other] if isinstance(test, Versus) else [*test.algorithms]
        assert set(named) <= set(contests[figure].sweep.algorithms), finding.text


@pytest.mark.parametrize("shares", [[0.5] * 13, [0.0, 0.01, 0.5, 0.52, 1.0], [0.99, 1.0, 1.0], [0.3]])
def test_names_stay_in_order_apart_and_beside_their_panel(shares: list[float]) -> None:
    places = spread(shares)
    assert all([second - first >= APART - 1e-9 for first, second in pairwise(places)])
    assert min(places) >= 0
    assert max(places) <= 1 + 1e-9
    assert sum(places) / len(places) == pytest.approx(sum(shares) / len(shares), abs=0.07)


def test_all_group_algorithms_take_part() -> None:
    group = {name for name, algorithm in ALGORITHMS.items() if algorithm.spec.problem.name == "group"}
    variants = {"token-gme-bounded", "token-gme-types", "surrogate-a", "surrogate-b", "surrogate-types",
                "surrogate-information", "drs-gme-faults", "drs-gme-extended",
                "drs-gme-extended-faults"}  # fmt: skip
    elsewhere = {"home-gme", "tqgmx"}  # ours has a page of its own; TQGmx came later
    entrants = {name for contest in CONTESTS for name in contest.entrants()}
    assert entrants == group - variants - elsewhere
    assert {len(contest.sweep.algorithms) for contest in CONTESTS} == {sum([len(names) for names in FAMILIES.values()])}
    for contest in CONTESTS:
        contest.sweep.validate()
        contest.quick().validate()
        assert set(contest.coarse) <= set(contest.sweep.vary[contest.name])


def test_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = Claim("a token is cheaper", "", "", Versus(("nodes",), MESSAGES, "token-gme", "ra2", 0.0, 1.0))
    paper = Paper("little", "A little contest", "Ours", (LITTLE,), (found,), ("Quickly.",), ours=True)
    page = page_of(paper, monkeypatch, tmp_path)
    assert "## Findings: 1 true" in page
    assert "| a token is cheaper | messages per entry: token-gme / ra2: " in page
    assert "All of them, with 3 processes:" in page
    assert "| naimi-trehel | " in page
    assert "| processes | messages per entry | entries per unit of time |" in page
    assert (tmp_path / "docs" / "little" / "nodes.svg").stat().st_size > 1000
    rows = (tmp_path / "docs" / "little" / "nodes.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * len(NAMES)
    assert "nodes: More processes" in capsys.readouterr().out
    assert set(SWEEP.metrics) <= set(METRICS)
