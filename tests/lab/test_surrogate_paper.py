"""The experiments of Atreya, Mittal & Peri 2007, section VII, as data; and that they can be run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from standin import recorded

from congenial.lab.api import sweep
from congenial.lab.claims import Claim
from congenial.lab.criteria import At, Everywhere
from congenial.lab.exhibits import Evidence, Figure, Reading, Readings
from congenial.lab.papers.surrogate import CLAIMS, FIGURES, QUORUMS, READINGS, SURROGATE
from congenial.lab.reproduction import find_targets
from congenial.lab.results import SweepResult
from congenial.lab.sweep import Sweep

BY_NAME = {figure.name: figure for figure in FIGURES}


@pytest.mark.parametrize(
    ("name", "groups", "think", "hold", "delay"),
    [
        ("5a", None, 4, 2, 4),  # VII-A.1
        ("5b", 20, None, 2, 4),  # VII-A.2
        ("5c", 100, 4, None, 4),  # VII-A.3
        ("5d", 20, 4, 2, None),  # VII-A.4
    ],
)
def test_parameters_are_the_papers(name: str, groups: int | None, think: int, hold: int, delay: int) -> None:
    sweep = BY_NAME[name].sweep
    assert sweep.algorithms == ("surrogate", "maekawa-m")
    assert [sweep.fixed.get(key) for key in ("groups", "think", "hold", "delay")] == [groups, think, hold, delay]
    assert [sweep.fixed[key] for key in ("nodes", "bandwidth", "requests")] == [25, 1000, 1000]
    assert "skew" not in sweep.fixed, "a process randomly selects a forum"
    (values,) = sweep.vary.values()
    ends = {"5a": (2, 100), "5b": (0, 100), "5c": (0, 100), "5d": (0, 10)}[name]
    assert (values[0], values[-1]) == ends


@pytest.mark.parametrize("figure", FIGURES, ids=[figure.name for figure in FIGURES])
def test_figures_can_be_run(figure: Figure) -> None:
    figure.sweep.validate()
    quick = figure.quick()
    quick.validate()
    (parameter,) = quick.vary
    assert set(figure.coarse) <= set(figure.sweep.vary[parameter])
    short = {**quick.fixed, "warmup": 0.0, "until": 250.0}
    frame = sweep(replace(quick, vary={parameter: figure.coarse[-1:]}, fixed=short, least=2, most=2)).to_frame()
    assert frame["throughput"].min() > 0  # type: ignore[operator]


def test_claims_name_values_that_are_run() -> None:
    for claim in CLAIMS:
        for figure in claim.criterion.figures:
            (values,) = BY_NAME[figure].sweep.vary.values()
            assert claim.criterion.metric in BY_NAME[figure].sweep.metrics
            if isinstance(claim.criterion, At):
                assert claim.criterion.value in values
            if isinstance(claim.criterion, Everywhere):
                assert len(claim.criterion.but) < len(values)
                assert all([value in values for _, value in claim.criterion.but])


def test_targets() -> None:
    (target,) = find_targets(["surrogate/5d", "surrogate/5a"])
    assert target.paper is SURROGATE
    assert [exhibit.name for exhibit in target.exhibits] == ["5a", "5d"]


def test_readings_are_judged_one_by_one() -> None:
    """Readings of an algorithm against one other: each gets the verdicts that it would get alone."""
    algorithms = ("surrogate quorums=grid", "surrogate quorums=majority", "maekawa-m")
    part = Figure(
        "q, 5d", "Delay", Sweep(algorithms, {"delay": (0.0, 10.0)}, {"nodes": 9}, least=2, most=2), (0.0,), {}
    )
    claims = (
        Claim("fewer messages", "VII", "0.8", At(("5d",), "messages_per_entry", 10.0, 0.76, 0.84)),
        Claim("longer waiting", "VII", "above 1", Everywhere(("5d",), "waiting_time_mean", 1.0, float("inf"))),
        Claim("another figure", "VII", "0.8", At(("5a",), "messages_per_entry", 10, 0.76, 0.84)),
    )
    plane = replace(part, name="p, 5d", sweep=replace(part.sweep, algorithms=algorithms[1:], fixed={"nodes": 7}))
    readings = {
        "grid": Reading(algorithms[0], "q, "),
        "majority": Reading(algorithms[1], "q, "),
        "of 7": Reading(algorithms[1], "p, "),
    }
    exhibit = Readings("q", "Quorums", (part, plane), readings, claims)
    values = {algorithms[0]: [2.0, 2.0], algorithms[1]: [0.8, 0.8], "maekawa-m": [1.0, 1.0]}
    others = {algorithms[1]: [1.6, 1.6], "maekawa-m": [1.0, 1.0]}
    results = {
        "q, 5d": SweepResult.of(part.sweep, recorded(part.sweep, values)),
        "p, 5d": SweepResult.of(plane.sweep, recorded(plane.sweep, others)),
    }
    rows = exhibit.standing(results)
    assert [(row["reading"], row["reproduced"], row["not reproduced"], row["off by"]) for row in rows] == [
        ("grid", 1, 1, "2.50"),
        ("majority", 1, 1, "1.00"),
        ("of 7", 1, 1, "2.00"),
    ]
    assert [item.verdict for item in exhibit.judged(results, readings["majority"])] == ["reproduced", "not reproduced"]


def test_the_best_reading_is_named_with_what_it_leaves_over(tmp_path: Path) -> None:
    algorithms = ("surrogate quorums=grid", "surrogate quorums=majority", "maekawa-m")
    made = Sweep(algorithms, {"delay": (0.0, 10.0)}, {"nodes": 9, "requests": 2}, least=2, most=2)
    claims = (
        Claim("fewer messages", "VII", "0.8", At(("5d",), "messages_per_entry", 10.0, 0.76, 0.84)),
        Claim("longer waiting", "VII", "above 1", Everywhere(("5d",), "waiting_time_mean", 1.0, float("inf"))),
        Claim("much longer", "VII", "2", At(("5d",), "waiting_time_mean", 10.0, 1.8, 2.2)),
    )
    readings = {"grid": Reading(algorithms[0], "q, "), "majority": Reading(algorithms[1], "q, ")}
    exhibit = Readings("q", "Quorums", (Figure("q, 5d", "Delay", made, (0.0,), {}),), readings, claims)
    values = {algorithms[0]: [2.0, 2.0], algorithms[1]: [0.8, 0.8], "maekawa-m": [1.0, 1.0]}
    results = {"q, 5d": SweepResult.of(made, recorded(made, values))}
    assert exhibit.best(results) == "grid"
    exhibit.write(Evidence(results, []), tmp_path, "", "")
    text = "\n".join(exhibit.page(Evidence(results, []), tmp_path, tmp_path))
    assert "'grid' fits best. Not reproduced even so:" in text
    assert "| fewer messages (messages per entry) | 0.8 | 2 ± 0 |" in text
    assert "| longer waiting" not in text


def test_messages_are_told_apart_by_kind() -> None:
    parts = [
        replace(part, sweep=replace(part.sweep, fixed={**part.sweep.fixed, "warmup": 0.0, "until": 200.0}))
        for part in QUORUMS.parts
    ]
    rows = replace(QUORUMS, parts=tuple(parts)).kinds()
    assert [row["run as"] for row in rows] == [reading.algorithm for reading in READINGS.values()] + ["maekawa-m"] * 3
    assert [row["reading"] for row in rows[-3:]] == [f"compared with, {nodes} processes" for nodes in (25, 21, 31)]
    assert all(["Request " in str(row["of these"]) for row in rows])


def test_planes_have_as_many_processes_as_they_need() -> None:
    for part in QUORUMS.parts:
        part.sweep.validate()
    nodes = {part.sweep.fixed["nodes"] for part in QUORUMS.parts if "surrogate quorums=plane" in part.sweep.algorithms}
    assert nodes == {21, 31}
