"""Two measures at the same point: the larger of one decides where, and the worse of both is the verdict."""

from __future__ import annotations

import pytest
from standin import made_up

from congenial.lab.joint_criteria import AtTheSameTime
from congenial.lab.papers.token_gme import CLAIMS

T, W = "throughput", "waiting_time_mean"


@pytest.mark.parametrize(
    ("low", "high", "verdict"), [(1.3, 1.5, "reproduced"), (1.15, 1.35, "partly"), (0.8, 0.9, "not reproduced")]
)
def test_the_worse_of_both(low: float, high: float, verdict: str) -> None:
    """The stand-in has the same ratios for every metric."""
    outcomes = {"f": made_up("nodes", {5: 0.9, 10: 1.4, 20: 1.2})}
    finding = AtTheSameTime(("f",), T, 1.3, 1.5, W, low, high).judge(outcomes)
    assert finding.verdict == verdict
    assert finding.ours.endswith("(fig. f, nodes 10)")


def test_mittal_mohan_section_6_is_one_claim_about_both() -> None:
    """ "it decreased the waiting time by as much as 35% and increased the system throughput by as much as 39% at the
    same time" """
    (claim,) = [claim for claim in CLAIMS if claim.where == "6"]
    criterion = claim.criterion
    assert isinstance(criterion, AtTheSameTime)
    assert (criterion.metric, criterion.other) == (T, W)
    assert criterion.low < 1.39 < criterion.high
    assert criterion.other_low < 0.65 < criterion.other_high


@pytest.mark.parametrize(("throughput", "waiting"), [(1.39, 0.65), (1.0, 0.5)])
def test_section_6_and_section_4_1_speak_of_different_points(throughput: float, waiting: float) -> None:
    """Every process is away for 50 units and inside for 20 (section 4), and the rest of its cycle it waits. So the two
    ratios together give RA2's waiting time w: (70 + w) / (70 + waiting * w) = throughput. With 39% and 35% that is a
    heavy load. With 50% less waiting, 39% more throughput would need w = 90, as short as hardly any in the figures;
    and with a throughput that stays the same, requests must be rare: the time away is long beside any wait."""
    cycle = 70.0
    if throughput > 1:
        wait = cycle * (throughput - 1) / (1 - throughput * waiting)
        assert 250 < wait < 300
        assert cycle * (throughput - 1) / (1 - throughput * 0.5) < 90
    else:
        away, wait = 4000.0, 20.0  # figure 6(b), at its right end: two hops of 10
        assert (away + wait) / (away + waiting * wait) == pytest.approx(throughput, abs=0.01)
