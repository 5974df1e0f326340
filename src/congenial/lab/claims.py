"""A paper's claims about its experiments, as data, and the verdicts on them.

A claim gives the range that counts as reproduced, fixed before the runs. The verdict is

- *reproduced* if our mean lies in that range (of a trend: if the ends differ by more than their intervals, and no
  step goes the other way by more than its),
- *undecided* if the mean does not, but its 95% interval reaches into the range: more precise runs would tell,
- *partly* if it is at least on the right side of 1 (of a trend: if the ends differ as claimed, but some step does not;
  of a claim about all points: if it holds at more than half of them; of growth: if it is at most twice as fast),
- *not reproduced* otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import hypot

from congenial.kernel.spec import Law
from congenial.lab.replication import Replication, Value
from congenial.lab.sweep import METRICS
from congenial.lab.tables import Estimate, Outcome, show_value
from congenial.sim.statistics import mean

REPRODUCED = "reproduced"
UNDECIDED = "undecided"
PARTLY = "partly"
NOT_REPRODUCED = "not reproduced"
NOT_RUN = "not run"
HOLDS = "true"  # of what we found ourselves
FAILS = "not true"
SLACK = 1e-9  # of sums of fractions

Outcomes = Mapping[str, Outcome]
"""By figure."""


@dataclass(frozen=True)
class Finding:
    ours: str
    verdict: str
    value: float | None = None
    half_width: float | None = None


@dataclass(frozen=True)
class Test:
    """What is looked at: the ratio of `metric`, of the first algorithm of a sweep to its last."""

    figures: tuple[str, ...]
    metric: str

    def judge(self, outcomes: Outcomes) -> Finding:
        raise NotImplementedError

    def ratios(self, outcomes: Outcomes) -> list[tuple[str, Value, Estimate]]:
        """Figure, value of the varied parameter, ratio."""
        found = []
        for figure in self.figures:
            outcome = outcomes[figure]
            for point in outcome.records:
                ratio = outcome.ratio(point, outcome.sweep.algorithms[0], self.metric)
                if ratio is not None:
                    found.append((figure, point[0], ratio))
        return found


@dataclass(frozen=True)
class At(Test):
    """The ratio at one value lies in low..high."""

    value: Value
    low: float
    high: float

    def judge(self, outcomes: Outcomes) -> Finding:
        found = [ratio for _, value, ratio in self.ratios(outcomes) if value == self.value]
        if not found:
            return Finding("no ratio there", NOT_RUN)
        return Finding(str(found[0]), _in_range(found[0], self.low, self.high), found[0].value, found[0].half)


@dataclass(frozen=True)
class Extreme(Test):
    """The least (or largest) ratio lies in low..high."""

    low: float
    high: float
    largest: bool = False

    def judge(self, outcomes: Outcomes) -> Finding:
        found = self.ratios(outcomes)
        pick = max if self.largest else min
        figure, value, ratio = pick(found, key=lambda entry: entry[2].value)
        where = f"{next(iter(outcomes[figure].sweep.vary))} {show_value(value)}"
        verdict = _in_range(ratio, self.low, self.high)
        return Finding(f"{ratio} (fig. {figure}, {where})", verdict, ratio.value, ratio.half)


@dataclass(frozen=True)
class Everywhere(Test):
    """The ratio lies in low..high everywhere but at `but` (figure and value); partly so if at more than half of the
    points."""

    low: float
    high: float
    but: tuple[tuple[str, Value], ...] = ()

    def judge(self, outcomes: Outcomes) -> Finding:
        found = [entry for entry in self.ratios(outcomes) if entry[:2] not in self.but]
        low = min([ratio.value for _, _, ratio in found])
        high = max([ratio.value for _, _, ratio in found])
        outside = [entry for entry in found if not self.low <= entry[2].value <= self.high]
        text = f"{low:.3g} to {high:.3g}"
        if outside:
            text += f"; outside at {len(outside)} of {len(found)} points: " + ", ".join(
                [f"{figure} {show_value(value)}" for figure, value, _ in outside[:6]] + ["..."] * (len(outside) > 6)
            )
        if not outside:
            verdict = REPRODUCED
        elif all([_meets(ratio, self.low, self.high) for _, _, ratio in outside]):
            verdict = UNDECIDED
        else:
            verdict = PARTLY if 2 * len(outside) < len(found) else NOT_REPRODUCED
        return Finding(text, verdict)


@dataclass(frozen=True)
class Trend(Test):
    """The ratio falls (or rises) from the first value to the last."""

    rises: bool = False

    def judge(self, outcomes: Outcomes) -> Finding:
        found = self.ratios(outcomes)
        ratios = [ratio for _, _, ratio in found]
        ends = f"{ratios[0]} at {show_value(found[0][1])}, {ratios[-1]} at {show_value(found[-1][1])}"
        if not self._moves(ratios[0], ratios[-1]):
            return Finding(ends, NOT_REPRODUCED)
        for (_, before, first), (_, after, second) in pairwise(found):
            if self._moves(second, first):
                way = "falls" if self.rises else "rises"
                return Finding(f"{ends}; {way} from {show_value(before)} to {show_value(after)}", PARTLY)
        return Finding(ends, REPRODUCED)

    def _moves(self, first: Estimate, second: Estimate) -> bool:
        """As claimed, and by more than chance."""
        low, high = (first, second) if self.rises else (second, first)
        return high.value - low.value > hypot(high.half, low.half)


@dataclass(frozen=True)
class Costs(Test):
    """Every run of `algorithm` costs low..high, formulas as in `Law`; `means` gives the mean, within a tenth, that some
    loads come to at the largest size. Partly so if that holds at more than half of the loads and sizes."""

    algorithm: str
    low: str
    high: str
    means: Mapping[str, str] = field(default_factory=dict)

    def judge(self, outcomes: Outcomes) -> Finding:
        law = Law(self.low, self.high)
        looked_at = 0
        outside = []
        text = ""
        for figure in [figure for figure in self.figures if self.algorithm in outcomes[figure].sweep.algorithms]:
            load = figure.rpartition(", ")[2]
            records = outcomes[figure].records
            for point in records:
                sizes = sizes_of(self.algorithm, int(point[0]))
                low, high = law.least_for(sizes), law.most_for(sizes)
                costs = [record.measures[self.metric] for record in records[point][self.algorithm]]
                looked_at += 1
                if not low - SLACK <= min(costs) <= max(costs) <= high + SLACK:
                    worst = max(costs) if max(costs) > high else min(costs)
                    outside.append(f"{worst:.4g} at {point[0]}, {load}")
            stated = f"{low:.4g} .. {high:.4g}" if low < high else f"{high:.4g}"
            text = f"{stated} at n = {point[0]}"
            if load in self.means:
                looked_at += 1
                expected = Law(self.means[load]).most_for(sizes)
                if abs(mean(costs) - expected) > expected / 10:
                    outside.append(f"{mean(costs):.4g}, not {expected:.4g}, at {point[0]}, {load}")
        if not outside:
            return Finding(text, REPRODUCED)
        more = "; ..." if len(outside) > 3 else ""
        text += f"; outside at {len(outside)} of {looked_at}: {'; '.join(outside[:3])}{more}"
        return Finding(text, PARTLY if 2 * len(outside) < looked_at else NOT_REPRODUCED)


@dataclass(frozen=True)
class Grows(Test):
    """In the last figure the mean grows, from the smallest to the largest size, no faster than a formula, give or take
    a quarter; partly so if at most twice as fast."""

    algorithm: str
    formula: str

    def judge(self, outcomes: Outcomes) -> Finding:
        outcome = outcomes[self.figures[-1]]
        points = list(outcome.records)
        ends = (points[0], points[-1])
        first, last = [outcome.mean(point, self.algorithm, self.metric).value for point in ends]
        law = Law(self.formula)
        small, large = [law.most_for(sizes_of(self.algorithm, int(point[0]))) for point in ends]
        growth, allowed = last / first, large / small
        text = f"{growth:.3g} times as much from n = {ends[0][0]} to {ends[1][0]}; {self.formula}: {allowed:.3g} times"
        if growth <= 1.25 * allowed:
            return Finding(text, REPRODUCED, growth)
        return Finding(text, PARTLY if growth <= 2 * allowed else NOT_REPRODUCED, growth)


def sizes_of(algorithm: str, n: int) -> dict[str, int]:
    """The variables of the cost laws, for an algorithm and its options as a sweep names them."""
    scenario = Replication(algorithm, (("nodes", n),), 0).scenario()
    return scenario.system().sizes


@dataclass(frozen=True)
class Claim:
    """`paper` is what the paper says, `reason` what we found where it did not come out so."""

    text: str
    where: str
    paper: str
    test: Test
    reason: str = ""

    def judge(self, outcomes: Outcomes) -> Judged:
        missing = [figure for figure in self.test.figures if figure not in outcomes or not outcomes[figure].records]
        if missing:
            return Judged(self, Finding(f"figure {', '.join(missing)} was not run", NOT_RUN))
        return Judged(self, self.test.judge(outcomes))


@dataclass(frozen=True)
class Judged:
    claim: Claim
    finding: Finding

    @property
    def reason(self) -> str:
        return self.claim.reason if self.finding.verdict in (PARTLY, NOT_REPRODUCED) else ""

    def as_dict(self) -> dict[str, object]:
        claim, finding = self.claim, self.finding
        return {
            "claim": claim.text,
            "where": claim.where,
            "figures": list(claim.test.figures),
            "metric": claim.test.metric,
            "paper": claim.paper,
            "ours": finding.ours,
            "value": finding.value,
            "half_width": finding.half_width,
            "verdict": finding.verdict,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Tally:
    """How many claims met which verdict."""

    judged: list[Judged] = field(default_factory=list)

    def __str__(self) -> str:
        verdicts = [item.finding.verdict for item in self.judged]
        kinds = (REPRODUCED, UNDECIDED, PARTLY, NOT_REPRODUCED, HOLDS, FAILS, NOT_RUN)
        counts = [f"{verdicts.count(kind)} {kind}" for kind in kinds if kind in verdicts]
        return ", ".join(counts) or "no claims"


def markdown_table(judged: list[Judged]) -> str:
    lines = ["| claim | section | the paper | ours (95%) | verdict |", "| --- | --- | --- | --- | --- |"]
    for item in judged:
        verdict = f"**{item.finding.verdict}**" + (f": {item.reason}" if item.reason else "")
        claim = item.claim
        metric = METRICS.get(claim.test.metric, claim.test.metric)
        lines.append(f"| {claim.text} ({metric}) | {claim.where} | {claim.paper} | {item.finding.ours} | {verdict} |")
    return "\n".join(lines)


def _in_range(ratio: Estimate, low: float, high: float) -> str:
    if low <= ratio.value <= high:
        return REPRODUCED
    if _meets(ratio, low, high):
        return UNDECIDED
    same_side = (high < 1 and ratio.high < 1) or (low > 1 and ratio.low > 1)
    return PARTLY if same_side else NOT_REPRODUCED


def _meets(ratio: Estimate, low: float, high: float) -> bool:
    return ratio.low <= high and ratio.high >= low
