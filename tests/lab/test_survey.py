"""The tables of Velazquez 1993: what is run, what is claimed, and the verdicts on costs."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from standin import made_up

from congenial.cli import main
from congenial.lab import papers
from congenial.lab.cost_criteria import Costs, Grows
from congenial.lab.exhibits import Chart, CostTable
from congenial.lab.exhibits.costs import COST
from congenial.lab.papers.paper import Paper
from congenial.lab.papers.survey import SCALING, SURVEY, curves, growing, row
from congenial.lab.replication import Value
from congenial.lab.results import SweepResult
from congenial.lab.sweep import Sweep
from congenial.systems.catalogue import ALGORITHMS

GOLDEN = Path(__file__).with_name("survey_claims.json")
TABLES = [exhibit for exhibit in SURVEY.exhibits if isinstance(exhibit, CostTable)]
HUGE = 400  # processes; the sets of larger systems are verified in the tests of their constructions


# -- what is run ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])
@pytest.mark.parametrize("exhibit", SURVEY.exhibits, ids=[exhibit.name for exhibit in SURVEY.exhibits])
def test_everything_can_be_built(exhibit, quick) -> None:  # type: ignore[no-untyped-def]
    for sweep in exhibit.sweeps(quick).values():
        sizes = tuple([n for n in sweep.vary["nodes"] if int(n) <= HUGE])
        Sweep(sweep.algorithms, {"nodes": sizes}, sweep.fixed, sweep.metrics).validate()


def test_the_figure_has_all_21_algorithms_in_both_panels() -> None:
    """Velazquez 1993, section 7: "In this survey, 21 distributed mutual exclusion algorithms have been presented"."""
    for sweeps in SCALING.panels.values():
        names = [algorithm.split()[0] for sweep in sweeps for algorithm in sweep.algorithms]
        assert len(set(names)) == len(names) == 21
        assert all(["Velazquez 1993" in ALGORITHMS[name].spec.reference for name in names])
    printed = {line.algorithm.split()[0] for table in TABLES for line in table.rows}
    assert printed == {*names, "suzuki-kasami-bounded"}


def test_the_quick_figure_is_small() -> None:
    assert max([int(n) for sweep in SCALING.sweeps(quick=True).values() for n in sweep.vary["nodes"]]) <= 1000
    assert max([int(n) for sweep in SCALING.sweeps(quick=False).values() for n in sweep.vary["nodes"]]) == 10_000


def test_what_is_slow_makes_fewer_requests() -> None:
    table2 = TABLES[1].sweeps(quick=False)
    assert table2["table2, 2 requests, light"].algorithms == ("raynal-primes-mended",)
    assert table2["table2, 2 requests, light"].fixed["requests"] == 2
    assert table2["table2, light"].fixed["requests"] == 40
    assert "raynal-primes-mended" not in table2["table2, light"].algorithms


# -- what is claimed -----------------------------------------------------------------------------------------


def test_the_claims_of_the_survey(rewrite: bool) -> None:
    """All lines of its tables, in order, with what it prints: nothing may vanish unseen."""
    rows = [
        {"claim": c.text, "where": c.where, "paper": c.paper, "test": repr(c.criterion), "reason": c.reason}
        for c in SURVEY.all_claims()
    ]
    if rewrite:
        GOLDEN.write_text(json.dumps(rows, indent=1) + "\n")
    assert rows == json.loads(GOLDEN.read_text())


SUZUKI = "suzuki-kasami"
COSTS = [
    (Costs((), COST, SUZUKI, "0", "n"), {5: 4.9, 7: 7.0}, 0.0, "reproduced"),
    (Costs((), COST, SUZUKI, "0", "n"), {3: 2.0, 5: 4.9, 7: 6.99}, 0.02, "partly"),  # one run costs more
    (Costs((), COST, SUZUKI, "0", "n"), {3: 2.0, 5: 4.9, 7: 8.3}, 0.0, "partly"),
    (Costs((), COST, SUZUKI, "0", "n"), {3: 2.0, 5: 4.9, 7: 8.5}, 0.0, "not reproduced"),  # by more than a fifth
    (Costs((), COST, SUZUKI, "0", "n"), {5: 4.9, 7: 7.1}, 0.0, "not reproduced"),  # not at more than half of the sizes
    (Costs((), COST, SUZUKI, "n-1", "n"), {3: 2.0, 5: 4.5, 7: 5.5}, 0.0, "partly"),  # too cheap is wrong, too
    (Costs((), COST, SUZUKI, "0", "n", {"heavy": "n"}), {5: 1.0, 7: 6.4}, 0.0, "reproduced"),  # only the largest counts
    (Costs((), COST, SUZUKI, "0", "n", {"heavy": "n"}), {5: 5.0, 7: 6.2}, 0.0, "partly"),
    (Costs((), COST, SUZUKI, "0", "n", {"heavy": "n"}), {5: 5.0, 7: 5.0}, 0.0, "not reproduced"),
    (Costs((), COST, SUZUKI, "0", "n", {"light": "n"}), {5: 5.0, 7: 1.0}, 0.0, "reproduced"),  # another load
    (Grows((), COST, SUZUKI, "log2(n)"), {4: 10.0, 16: 20.0}, 0.0, "reproduced"),
    (Grows((), COST, SUZUKI, "log2(n)"), {4: 10.0, 8: 99.0, 16: 24.9}, 0.0, "reproduced"),  # the ends count
    (Grows((), COST, SUZUKI, "log2(n)"), {4: 10.0, 16: 26.0}, 0.0, "partly"),
    (Grows((), COST, SUZUKI, "log2(n)"), {4: 10.0, 16: 40.1}, 0.0, "not reproduced"),
    (Grows((), COST, SUZUKI, "n"), {4: 10.0, 16: 40.1}, 0.0, "reproduced"),
]


@pytest.mark.parametrize(("test", "costs", "noise", "verdict"), COSTS)
def test_verdicts(test, costs, noise, verdict) -> None:  # type: ignore[no-untyped-def]
    figure = "table, heavy"
    finding = replace(test, figures=(figure,)).judge({figure: made_up("nodes", costs, noise)})
    assert finding.verdict == verdict


def test_a_verdict_says_where_it_is_otherwise() -> None:
    outcomes = {"t, light": made_up("nodes", {5: 4.0, 7: 9.0}), "t, heavy": made_up("nodes", {5: 4.0, 7: 6.0})}
    test = Costs(("t, light", "t, heavy"), COST, SUZUKI, "0", "n", {"heavy": "n"})
    assert test.judge(outcomes).ours == ("0 .. 7 at n = 7; outside at 2 of 5: 9 at 7, light; 6, not 7, at 7, heavy")


def costing(mean: float, lone: tuple[float, float], free: bool = False) -> SweepResult:
    """Runs of seven processes with these means, in which entries without competition cost from `lone[0]` to
    `lone[1]`."""
    made = made_up("nodes", {7: mean})
    for record in made.runs[(7,)][SUZUKI]:
        record.measures["lone_entries"] = 2.0
        record.measures["free_entries"] = 1.0 if free else 0.0
        record.measures["lone_cost_min"], record.measures["lone_cost_max"] = lone
    return made


@pytest.mark.parametrize(
    ("mean", "lone", "free", "verdict"),
    [
        (6.0, (5.0, 7.0), False, "reproduced"),
        (6.0, (5.0, 8.0), False, "not reproduced"),  # the mean is within the bound, and an entry is not
        (6.0, (2.0, 7.0), False, "not reproduced"),
        (6.0, (5.0, 7.0), True, "not reproduced"),  # an entry that costs nothing costs less than 3
    ],
)
def test_a_bound_on_entries_is_compared_with_entries(
    mean: float, lone: tuple[float, float], free: bool, verdict: str
) -> None:
    outcomes = {"t, light": costing(mean, lone, free)}
    test = Costs(("t, light",), COST, SUZUKI, "3", "n")
    assert test.judge(outcomes).verdict == verdict
    on_means = replace(test, amortised=True)
    assert on_means.judge(outcomes).verdict == "reproduced"


@pytest.mark.parametrize(
    ("tight", "lone", "free", "verdict"),
    [
        (("0", "n"), (7.0, 7.0), True, "reproduced"),
        (("0", "n"), (7.0, 7.0), False, "partly"),  # never free
        (("0", "n"), (5.0, 6.0), True, "partly"),  # never n
        (("n-1", "n"), (6.0, 6.9), True, "reproduced"),  # within a twentieth
    ],
)
def test_a_bound_that_is_claimed_tight_must_be_reached(
    tight: tuple[str, ...], lone: tuple[float, float], free: bool, verdict: str
) -> None:
    outcomes = {"t, light": costing(4.0, lone, free)}
    finding = Costs(("t, light",), COST, SUZUKI, "0", "n", tight=tight).judge(outcomes)
    assert finding.verdict == verdict
    assert ("never" in finding.ours) == (verdict == "partly")


def test_where_the_first_entry_is_free_the_others_count() -> None:
    outcomes = {"t, together": made_up("nodes", {7: 6.0})}
    records = outcomes["t, together"].runs[(7,)][SUZUKI]
    for number, record in enumerate(records):  # 7 entries, of which one is free: the others cost 7 each
        records[number] = replace(record, entries=7, measures={**record.measures, "lone_entries": 0.0})
    test = Costs(("t, together",), COST, SUZUKI, "0", "n", tight=("n",))
    assert test.judge(outcomes).verdict == "partly"
    assert replace(test, first_free=("together",)).judge(outcomes).verdict == "reproduced"


# -- from end to end -----------------------------------------------------------------------------------------

LOADS: dict[str, dict[str, Value]] = {
    "light": {"think": 1000.0, "requests": 3},
    "heavy": {"think": 0.0, "requests": 3},
    "burst": {"load": "burst"},
}
ROWS = (
    row("Everybody", "ricart-agrawala", "2|R-{i}|", "2*(n-1)", "2*(n-1)"),
    row("Nobody", "suzuki-kasami", "1", "0", "1", reason="it asks all others"),
    growing("A star", "neilsen-mizuno tree=star", "3", "log2(n)"),
    row("Slow", "lamport", "3*(N-1)", "3*(n-1)", "3*(n-1)", requests=1),
)
LITTLE = Paper(
    "little", "A little survey", "Nobody 1999",
    (
        CostTable("table1", "Some", ROWS, LOADS, ("light", "heavy"), (3, 5), "4.1", ("neilsen-mizuno tree=star",),
                  (5, 9)),
        Chart("scaling", "Curves", {"light": (curves("light", ("naimi-trehel", "lamport"), (3, 5, 7), 2),)}),
    ), (), ("Nothing.",),
)  # fmt: skip


def test_a_table_from_end_to_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(papers.PAPERS, "little", LITTLE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "250")
    with pytest.raises(SystemExit) as end:
        main(["reproduce", "little", "--quick", "--jobs", "1", "--docs", "docs"])
    assert not end.value.code
    assert "3 reproduced, 1 not reproduced" in capsys.readouterr().out
    with (tmp_path / "docs/reproductions/little/table1.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [line["algorithm"] for line in lines] == ["Everybody", "Nobody", "A star", "Slow"]
    assert (lines[0]["light"], lines[0]["heavy"], lines[0]["least"], lines[0]["most"]) == ("8.0", "8.0", "8.0", "8.0")
    assert [line["verdict"] for line in lines[:2]] == ["reproduced", "not reproduced: it asks all others"]
    assert lines[3]["that is"] == "12 at n = 5; alone 12"
    page = (tmp_path / "docs/reproductions/little.md").read_text(encoding="utf-8")
    assert "| Nobody | suzuki-kasami | 1 | 0 .. 1 at n = 5; alone 0 to 5; outside at 6 of 6:" in page
    assert "| Everybody | ricart-agrawala | 2\\|R-{i}\\| | 8 at n = 5; alone 8 |" in page
    assert "- burst: load burst" in page
    assert "![Curves](little/scaling.svg)" in page
    assert (tmp_path / "docs/reproductions/little/scaling.svg").stat().st_size > 0
    assert (tmp_path / "docs/reproductions/little/scaling.csv").read_text().count("naimi-trehel") == 2
