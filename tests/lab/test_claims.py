"""Claims and verdicts: on made-up outcomes whose verdicts are known, and the table's shape."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from standin import made_up

from congenial.lab.claims import Claim, Tally, claims_markdown
from congenial.lab.criteria import At, Everywhere, Extreme, Trend
from congenial.lab.exhibits import Figure
from congenial.lab.papers import PAPERS
from congenial.lab.papers.paper import Paper
from congenial.lab.papers.surrogate import SURROGATE
from congenial.lab.papers.token_gme import TOKEN_GME, USUAL
from congenial.lab.parameters import METRICS

W = "waiting_time_mean"
GOLDEN = Path(__file__).with_name("token_gme_claims.json")

VERDICTS = [
    (At(("f",), W, 10, 0.4, 0.6), {5: 1.0, 10: 0.5}, 0.0, "reproduced"),
    (At(("f",), W, 10, 0.4, 0.6), {10: 0.62}, 0.02, "undecided"),  # the interval reaches it
    (At(("f",), W, 10, 0.4, 0.6), {10: 0.7}, 0.02, "partly"),
    (At(("f",), W, 10, 0.4, 0.6), {10: 0.79}, 0.001, "partly"),  # no further from the range than that is wide
    (At(("f",), W, 10, 0.4, 0.6), {10: 0.81}, 0.001, "not reproduced"),  # on the right side of 1, but too far away
    (At(("f",), W, 10, 0.76, 0.84), {10: 0.537}, 0.001, "not reproduced"),
    (At(("f",), W, 10, 0.005, 0.015), {10: 0.0485}, 0.0001, "not reproduced"),
    (At(("f",), W, 10, 0.7, 0.9), {10: 0.97}, 0.02, "not reproduced"),  # perhaps no change at all
    (At(("f",), W, 10, 0.0, 1.0), {10: 1.05}, 0.0, "not reproduced"),  # which side of 1 is all that is claimed
    (At(("f",), W, 10, 1.1, 1.2), {10: 0.9}, 0.0, "not reproduced"),
    (At(("f",), W, 7, 0.4, 0.6), {10: 0.5}, 0.0, "not run"),
    (Extreme(("f",), W, 0.4, 0.6), {5: 0.9, 10: 0.5, 20: 0.8}, 0.0, "reproduced"),
    (Extreme(("f",), W, 1.1, 1.2, largest=True), {5: 0.9, 10: 1.15, 20: 0.8}, 0.0, "reproduced"),
    (Extreme(("f",), W, 1.1, 1.2, largest=True), {5: 0.9, 10: 1.29}, 0.0, "partly"),
    (Extreme(("f",), W, 1.1, 1.2, largest=True), {5: 0.9, 10: 1.5}, 0.0, "not reproduced"),
    (Everywhere(("f",), W, 0.0, 1.0), {5: 0.9, 10: 0.5}, 0.0, "reproduced"),
    (Everywhere(("f",), W, 0.0, 1.0, but=(("f", 2),)), {2: 1.1, 5: 0.9, 10: 0.5}, 0.0, "reproduced"),
    (Everywhere(("f",), W, 0.0, 1.0), {2: 1.1, 5: 0.9, 10: 0.5}, 0.0, "partly"),
    (Everywhere(("f",), W, 0.0, 1.0), {2: 1.11, 5: 0.9, 10: 0.5}, 0.0, "not reproduced"),  # by more than a tenth
    (Everywhere(("f",), W, 1.0, float("inf")), {2: 0.9, 5: 1.1, 10: 1.5}, 0.0, "partly"),
    (Everywhere(("f",), W, 1.0, float("inf")), {2: 0.89, 5: 1.1, 10: 1.5}, 0.0, "not reproduced"),
    (Everywhere(("f",), W, 0.8, 0.9), {2: 0.99, 5: 0.85, 10: 0.85}, 0.0, "partly"),
    (Everywhere(("f",), W, 0.8, 0.9), {2: 1.01, 5: 0.85, 10: 0.85}, 0.0, "not reproduced"),
    (Everywhere(("f",), W, 0.0, 1.0), {2: 1.1, 5: 0.9, 10: 0.5}, 0.1, "undecided"),
    (Everywhere(("f",), W, 0.0, 1.0), {2: 1.1, 5: 1.2, 10: 0.5}, 0.0, "not reproduced"),
    (Trend(("f",), W), {2: 1.0, 5: 0.9, 10: 0.5}, 0.001, "reproduced"),
    (Trend(("f",), W), {2: 1.0, 5: 1.001, 10: 0.5}, 0.01, "reproduced"),  # no more than chance
    (Trend(("f",), W), {2: 1.0, 5: 1.2, 10: 0.5}, 0.01, "partly"),
    (Trend(("f",), W), {2: 1.0, 3: 1.02, 4: 1.04, 5: 1.06, 10: 0.5}, 0.015, "partly"),  # each step within chance
    (Trend(("f",), W), {2: 1.0, 5: 1.3, 10: 0.5}, 0.01, "not reproduced"),  # more than half of the way back
    (Trend(("f",), W), {2: 1.0, 5: 0.9, 10: 0.99}, 0.1, "not reproduced"),
    (Trend(("f",), W), {2: 0.5, 5: 0.9, 10: 1.0}, 0.001, "not reproduced"),
    (Trend(("f",), W, rises=True), {2: 0.5, 5: 0.9, 10: 1.0}, 0.001, "reproduced"),
]


@pytest.mark.parametrize(("test", "ratios", "noise", "verdict"), VERDICTS)
def test_verdicts(test, ratios, noise, verdict) -> None:  # type: ignore[no-untyped-def]
    outcomes = {"f": made_up("nodes", ratios, noise)}
    assert test.judge(outcomes).verdict == verdict


def test_an_unreproduced_claim_stays_in_the_table_with_its_reason() -> None:
    outcomes = {"f": made_up("nodes", {5: 0.9})}
    claims = [
        Claim("good", "4.1", "0.9", At(("f",), W, 5, 0.8, 1.0), reason="never shown"),
        Claim("bad", "4.2", "0.5", At(("f",), W, 5, 1.4, 1.6), reason="the moon"),
        Claim("absent", "4.3", "0.5", At(("g",), W, 5, 0.4, 0.6)),
    ]
    judged = [claim.judge(outcomes) for claim in claims]
    table = claims_markdown(judged)
    assert "| bad (waiting time) | 4.2 | 0.5 | 0.9 ± 0 | **not reproduced**: the moon |" in table
    assert "never shown" not in table
    assert "figure g was not run" in table
    assert str(Tally(judged)) == "1 reproduced, 1 not reproduced, 1 not run"


def test_the_claims_of_the_paper(rewrite: bool) -> None:
    """All of them, in order, with what the paper says: nothing may vanish from the table unseen."""
    rows = [{"claim": c.text, "where": c.where, "paper": c.paper, "test": repr(c.criterion)} for c in TOKEN_GME.claims]
    if rewrite:
        GOLDEN.write_text(json.dumps(rows, indent=1) + "\n")
    assert rows == json.loads(GOLDEN.read_text())


@pytest.mark.parametrize("paper", PAPERS.values(), ids=list(PAPERS))
def test_claims_speak_of_figures_and_values_that_exist_also_in_the_quick_version(paper: Paper) -> None:
    for claim in paper.all_claims():
        for quick in (False, True):
            sweeps = {name: sweep for exhibit in paper.exhibits for name, sweep in exhibit.sweeps(quick).items()}
            for name in claim.criterion.figures:
                sweep = sweeps[name]
                (values,) = sweep.vary.values()
                ratio = isinstance(claim.criterion, (At, Everywhere, Extreme, Trend))  # to be precise
                measured = set(getattr(claim.criterion, "metrics", [claim.criterion.metric]))
                assert measured <= set(sweep.metrics if ratio else METRICS)
                if isinstance(claim.criterion, At):
                    assert claim.criterion.value in values


@pytest.mark.parametrize("paper", [TOKEN_GME, SURROGATE], ids=["token-gme", "surrogate"])
def test_the_precision_of_runs_follows_the_width_of_claimed_ranges(paper: Paper) -> None:
    """Half an interval is at most a quarter of the range that the claim gives the ratio, at every point that counts.
    Otherwise a verdict could be undecided however well the ratio agrees."""
    sweeps = {exhibit.name: exhibit.sweep for exhibit in paper.exhibits if isinstance(exhibit, Figure)}
    for claim in paper.claims:
        criterion = claim.criterion
        if isinstance(criterion, (At, Extreme, Everywhere)):
            width = 0.1 if criterion.low == 0.0 or criterion.high == float("inf") else criterion.high - criterion.low
            for figure in criterion.figures:
                for point in sweeps[figure].points():
                    if not isinstance(criterion, At) or point == (criterion.value,):
                        found = sweeps[figure].bounds(criterion.metric, point)
                        assert any([bound <= width / 4 + 1e-9 for bound, near in found if near is None or width == 0.1])


def test_a_claim_about_one_value_asks_nothing_of_the_others() -> None:
    figure = Figure("f", "Ratios", made_up("nodes", {5: 1.0, 10: 1.0}).sweep, (5,), {})
    sharp = figure.sharpened([Claim("c", "1", "0.9", At(("f",), W, 10, 0.88, 0.92)),
                              Claim("d", "1", "0.9", At(("g",), W, 5, 0.88, 0.92))])  # fmt: skip
    assert [sharp.sweep.bounds(W, point) for point in sharp.sweep.points()] == [[], [(pytest.approx(0.01), None)]]
    assert sharp.quick().within == {}


def test_figures_vary_what_their_captions_say() -> None:
    """Mittal & Mohan 2007, captions of figures 6 and 7: the parameter, the ends of its range, the processes."""
    captions = {
        "6a": ("groups", 2, 150, 100),
        "6b": ("think", 0, 4000, 100),
        "6c": ("hold", 0, 50, 100),
        "6d": ("delay", 0, 50, 100),
        "6e": ("skew", "50/50", "10/90", 100),
        "6f": ("nodes", 5, 500, None),
        "7a": ("nodes", 2, 500, None),
        "7b": ("skew", "50/50", "10/90", 200),
    }
    figures = [exhibit for exhibit in TOKEN_GME.exhibits if isinstance(exhibit, Figure)]
    assert [figure.name for figure in figures] == list(captions)
    for figure in figures:
        parameter, first, last, nodes = captions[figure.name]
        ((varied, values),) = figure.sweep.vary.items()
        assert (varied, values[0], values[-1], figure.sweep.fixed.get("nodes")) == (parameter, first, last, nodes)
        assert set(figure.coarse) <= set(values)
        for name, value in figure.sweep.fixed.items():
            assert name == "nodes" or value == USUAL[name]
        assert figure.sweep.precision == 0.05
