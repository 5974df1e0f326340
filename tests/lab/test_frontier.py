"""The frontier: what dominates what, the limits, the picture, the schemes, and a small one whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from standin import page_of, recorded

from congenial.lab.axis_plots import round_values
from congenial.lab.claims import Claim
from congenial.lab.dominance import (
    Below,
    NoneBetter,
    Typical,
    Undominated,
    distinct,
    dominates,
    dominators,
    front,
    geometric,
)
from congenial.lab.exhibits import Figure, Frontier, Schemes
from congenial.lab.frontier_plots import Panel, looks_of, plot_frontier, worth_naming
from congenial.lab.papers.comparison import CONTESTS
from congenial.lab.papers.frontier import (
    FRONTIER,
    GROUP_ALGORITHMS,
    KNOWN_SCHEMES,
    LARGE,
    OWN_SCHEMES,
    PANELS,
    PUBLISHED,
    loads,
)
from congenial.lab.papers.paper import Paper
from congenial.lab.replication import RunRecord
from congenial.lab.results import SweepResult
from congenial.lab.store import Store
from congenial.lab.sweep import Sweep
from congenial.systems.catalogue import ALGORITHMS

MESSAGES, WAITING, THROUGHPUT = "messages_per_entry", "waiting_time_mean", "throughput"
NAMES = ("token-gme", "ra1", "naimi-trehel")
SWEEP = Sweep(NAMES, {"nodes": (4, 16)}, {"requests": 10, "groups": 2}, (MESSAGES, WAITING), least=3, most=3)
PLACES = {"cheap": (1.0, 9.0), "even": (3.0, 4.0), "even too": (3.0, 4.0), "neither": (3.0, 5.0), "quick": (9.0, 2.0)}


def made_up(measures: Mapping[str, Mapping[str, float]], sweep: Sweep = SWEEP) -> SweepResult:
    """Every run of an algorithm measured these values; what is not named is 1."""
    store = Store()
    for record in recorded(sweep, dict.fromkeys(measures, [1.0] * sweep.least)).records.values():
        values = {**record.measures, **measures[record.replication.algorithm]}
        store.add(RunRecord(record.replication, values, 1, 1, 0.0, ""))
    return SweepResult.of(sweep, store)


CLEAR = {
    "token-gme": {MESSAGES: 9.0, WAITING: 2.0, THROUGHPUT: 3.0},
    "ra1": {MESSAGES: 10.0, WAITING: 5.0, THROUGHPUT: 2.0},
    "naimi-trehel": {MESSAGES: 2.0, WAITING: 6.0, THROUGHPUT: 2.0},
}


def test_better_in_all_measures_at_once() -> None:
    outcome = made_up(CLEAR)
    three = (MESSAGES, WAITING, THROUGHPUT)
    assert dominates(outcome, (4,), "token-gme", "ra1", three), "of entries per unit of time, more is better"
    assert not dominates(outcome, (4,), "token-gme", "token-gme", three)
    assert not dominates(outcome, (4,), "token-gme", "naimi-trehel", three)
    assert dominates(outcome, (4,), "naimi-trehel", "ra1", (MESSAGES,))
    assert not dominates(outcome, (4,), "naimi-trehel", "ra1", (MESSAGES, THROUGHPUT)), "equal is not better"
    assert dominators(outcome, (4,), "ra1", three) == ["token-gme"]
    assert dominators(outcome, (4,), "naimi-trehel", three) == []


def test_the_front_leaves_out_what_is_dearer_and_slower() -> None:
    assert front(PLACES) == ["cheap", "even", "quick"]
    assert front({}) == []


def test_a_load_that_two_sweeps_have_counts_once() -> None:
    other = replace(SWEEP, vary={"groups": (2, 3)}, fixed={"requests": 10, "nodes": 16})
    results = {"nodes": made_up(CLEAR), "groups": made_up(CLEAR, other)}
    found = [(list(result.sweep.vary), point) for result, point in distinct(results, ("nodes", "groups"))]
    assert found == [(["nodes"], (4,)), (["nodes"], (16,)), (["groups"], (3,))]


def test_a_limit_that_grows_with_the_number_of_processes() -> None:
    results = {"nodes": made_up(CLEAR)}
    below = Below(("nodes",), MESSAGES, "token-gme", "5 + log2(n)")
    assert below.judge(results).verdict == "not true"
    assert below.judge(results).ours == (
        "token-gme: at most 5 + log2(n) at 1 of 2 points; the most, by the limit: 9 of 7 (nodes 4)"
    )
    assert replace(below, most="7 + log2(n)").judge(results).verdict == "true", "exactly at the limit"


def test_nothing_is_better_at_any_point() -> None:
    results = {"nodes": made_up(CLEAR)}
    test = Undominated(("nodes",), "both", "naimi-trehel", (MESSAGES, WAITING))
    assert test.judge(results).ours == "none of 2 is better than naimi-trehel at any of 2 points"
    assert test.judge(results).verdict == "true"
    other = replace(test, algorithm="ra1").judge(results)
    assert other.ours == "better than ra1: token-gme at nodes 4; token-gme at nodes 16"
    assert other.verdict == "not true"


def test_a_typical_ratio() -> None:
    assert geometric([0.5, 2.0]) == pytest.approx(1.0)
    results = {"nodes": made_up(CLEAR)}
    test = Typical(("nodes",), WAITING, "naimi-trehel", "token-gme", 2.9, 3.1)
    assert test.judge(results).ours == "naimi-trehel / token-gme: 3 times on average (3 to 3)"
    assert test.judge(results).verdict == "true"
    assert replace(test, high=2.95).judge(results).verdict == "not true"
    assert replace(test, metric="sync_delay_max").judge({"nodes": never_zero()}).verdict == "not run"


def test_none_is_better_on_average() -> None:
    results = {"nodes": made_up(CLEAR)}
    test = NoneBetter(("nodes",), "both", ("ra1", "naimi-trehel"), "token-gme", (MESSAGES, WAITING))
    assert test.judge(results).ours == "none of 2 is better than token-gme in all"
    assert test.judge(results).verdict == "true"
    other = replace(test, other="ra1", algorithms=("token-gme", "naimi-trehel")).judge(results)
    assert other.ours == "better than ra1: token-gme: 0.9 and 0.4 times"
    assert other.verdict == "not true"


def never_zero() -> SweepResult:
    return made_up({name: {**values, "sync_delay_max": 0.0} for name, values in CLEAR.items()})


def test_names_in_the_picture_do_not_overlap() -> None:
    families = {"ours": ("mine",), "tokens": ("one", "two", "three"), "locks": ("old",)}
    looks = looks_of(families, ("locks",), "mine")
    assert [looks[name].marker for name in ("mine", "one", "two")] == ["*", "o", "s"]
    assert looks["one"].family == looks["two"].family
    assert len({look.colour for look in looks.values()}) == len(looks), "no colour is used twice"
    places = {"old": (1.0, 99.0), "mine": (5.0, 11.0), "two": (20.0, 10.5), "one": (21.0, 10.0), "three": (90.0, 9.0)}
    assert worth_naming(front(places), places, looks) == ["three", "one", "mine", "old"]


@pytest.mark.parametrize("limits", [(3.0, 60.0), (130.0, 480.0), (0.2, 0.9), (1.0, 1.2), (7.0, 90000.0), (8.0, 9.5e7)])
def test_axes_have_round_numbers(limits: tuple[float, float]) -> None:
    values = round_values(*limits)
    assert values == sorted(values)
    assert all([limits[0] <= value <= limits[1] for value in values])
    assert 1 <= len(values) <= 8


def test_the_picture_is_drawn_even_where_nothing_is_sent(tmp_path: Path) -> None:
    panels = [Panel("usual", {"mine": (5.0, 11.0), "one": (20.0, 10.0), "old": (1.0, 99.0)}, (8.0, 11.5)),
              Panel("one group", {"mine": (0.0, 0.0), "one": (0.0, 0.0), "old": (4.0, 80.0)}, (8.0, 1.0))]  # fmt: skip
    families = {"ours": ("mine",), "tokens": ("one",), "locks": ("old",)}
    for path in plot_frontier(panels, families, ("locks",), "mine", ("messages", "waiting"), "a title", tmp_path / "x"):
        assert path.stat().st_size > 1000


LITTLE = Frontier(
    "loads",
    "Messages against waiting",
    (Figure("nodes", "More processes", SWEEP, (4,), {"requests": 5}),),
    "token-gme",
    "ra1",
    (MESSAGES, WAITING),
    (MESSAGES, WAITING),
    "4 + log2(n)",
    1.15,
    (("nodes", 4), ("nodes", 16)),
    (("nodes", 16),),
    {"ours": ("token-gme",), "asked": ("ra1",), "one at a time": ("naimi-trehel",)},
    ("one at a time",),
)
CHOICES = ("token-gme selection=priority", "token-gme selection=fifo")
SCHEMES = Schemes(
    "selection",
    "Which group is next",
    (Figure("selection, nodes", "More processes", replace(SWEEP, algorithms=CHOICES), (4,), {"requests": 5}),),
    "token-gme",
    "selection",
    ("priority", "fifo"),
    ("priority",),
    (WAITING,),
)


def test_the_table_of_all_points() -> None:
    rows = LITTLE.standing({"nodes": made_up(CLEAR)})
    assert [row["load"] for row in rows] == ["nodes 4", "nodes 16"]
    assert (rows[0]["messages per entry"], rows[0]["at most"]) == ("9", "6")
    assert rows[1]["at most"] == "8"
    assert str(rows[0]["waiting time, ratio"]).startswith("0.400 ± ")
    assert (rows[0]["better"], rows[0]["worse"]) == ("none", "1 of 2")
    assert replace(LITTLE, ours="ra1").standing({"nodes": made_up(CLEAR)})[0]["better"] == "token-gme"


def test_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = Claim("few messages", "", "", Below(("nodes",), MESSAGES, "naimi-trehel", "n"))
    paper = Paper("little", "A little frontier", "Ours", (LITTLE, SCHEMES), (found,), ("Quickly.",), ours=True)
    page = page_of(paper, monkeypatch, tmp_path)
    assert "## Findings: 1 true" in page
    assert "All algorithms with 16 processes:" in page
    assert "| load | messages per entry | at most | waiting time | " in page
    assert "| nodes 16 | " in page
    assert "| selection | waiting time / priority |" in page
    assert "| priority | 1 |" in page
    assert "| fifo | " in page
    docs = tmp_path / "docs" / "little"
    assert (docs / "loads.svg").stat().st_size > 1000
    assert len((docs / "loads.csv").read_text().splitlines()) == 1 + 2 * len(NAMES)
    assert (docs / "loads.csv").read_text().startswith("algorithm,varied,value,runs,precise,")
    assert len((docs / "selection.csv").read_text().splitlines()) == 1 + 2 * 2
    assert "loads: Messages against waiting" in capsys.readouterr().out


def test_all_group_algorithms_take_part() -> None:
    ours = {"home-gme"}
    group = {name for name, algorithm in ALGORITHMS.items() if algorithm.spec.problem.name == "group"}
    assert set(GROUP_ALGORITHMS) == group - ours
    assert set(LARGE) <= {name for names in PUBLISHED.values() for name in names}


def test_findings_and_panels_are_about_what_is_run() -> None:
    frontier, schemes = FRONTIER.exhibits
    assert isinstance(frontier, Frontier)
    assert isinstance(schemes, Schemes)
    assert set(schemes.schemes) == {*KNOWN_SCHEMES, *OWN_SCHEMES}
    sweeps = {**frontier.sweeps(quick=False), **schemes.sweeps(quick=False)}
    assert list(frontier.sweeps(quick=False)) == [*[contest.name for contest in CONTESTS], "large"]
    for part, value in (*PANELS, *frontier.shown_whole):
        assert (value,) in sweeps[part].points()
    for finding in FRONTIER.claims:
        test = finding.criterion
        points = {point[0] for figure in test.figures for point in sweeps[figure].points()}
        assert set(getattr(test, "values", ())) <= points, finding.text
        names = {getattr(test, field, frontier.ours) for field in ("algorithm", "one", "other")}
        names |= {*getattr(test, "algorithms", ()), *getattr(test, "among", ())}
        for figure in test.figures:
            assert names - {frontier.ours} <= set(sweeps[figure].algorithms), finding.text


def test_the_quick_version_has_some_of_the_points() -> None:
    for exhibit in FRONTIER.exhibits:
        for name, sweep in exhibit.sweeps(quick=True).items():
            sweep.validate()
            assert set(sweep.points()) <= set(exhibit.sweeps(quick=False)[name].points())


def test_the_comparison_has_made_most_of_the_runs() -> None:
    """The loads and the seeds are the same, so they are not run again."""
    sweeps = loads("home-gme").sweeps(quick=False)
    for contest in CONTESTS:
        for point in contest.sweep.points():
            for name in contest.sweep.algorithms:
                assert sweeps[contest.name].replication(name, point, 3) == contest.sweep.replication(name, point, 3)
