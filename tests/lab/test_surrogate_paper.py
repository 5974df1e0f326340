"""The experiments of Atreya, Mittal & Peri 2007, section VII, as data; and that they can be run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from congenial.lab.api import sweep
from congenial.lab.criteria import At, Everywhere
from congenial.lab.exhibits import Figure
from congenial.lab.papers.surrogate import CLAIMS, FIGURES, SURROGATE
from congenial.lab.reproduction import find_targets

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
