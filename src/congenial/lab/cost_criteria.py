"""Criteria about costs: formulas in the number of processes, and growth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from congenial.kernel.spec import Law
from congenial.lab.claims import NOT_REPRODUCED, PARTLY, REPRODUCED, Criterion, Finding
from congenial.lab.replication import Replication
from congenial.lab.results import Results
from congenial.sim.statistics import mean

ROUNDING = 1e-9  # in sums of fractions


@dataclass(frozen=True)
class Costs(Criterion):
    """Every run of `algorithm` costs low..high, two formulas as in `Law`. For some loads `means` gives the mean at the
    largest size, within a tenth. Partly, if that holds at more than half of the loads and sizes."""

    algorithm: str
    low: str
    high: str
    means: Mapping[str, str] = field(default_factory=dict)

    def judge(self, results: Results) -> Finding:
        law = Law(self.low, self.high)
        looked_at = 0
        outside = []
        text = ""
        for figure in [figure for figure in self.figures if self.algorithm in results[figure].sweep.algorithms]:
            load = figure.rpartition(", ")[2]
            records = results[figure].runs
            for point in records:
                sizes = sizes_of(self.algorithm, int(point[0]))
                low, high = law.least_for(sizes), law.most_for(sizes)
                costs = [record.measures[self.metric] for record in records[point][self.algorithm]]
                looked_at += 1
                if not low - ROUNDING <= min(costs) <= max(costs) <= high + ROUNDING:
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
class Grows(Criterion):
    """In the last figure the mean grows at most a quarter faster than a formula, from the smallest to the largest size.
    Partly, if at most twice as fast."""

    algorithm: str
    formula: str

    def judge(self, results: Results) -> Finding:
        result = results[self.figures[-1]]
        points = list(result.runs)
        ends = (points[0], points[-1])
        first, last = [result.mean(point, self.algorithm, self.metric).value for point in ends]
        law = Law(self.formula)
        small, large = [law.most_for(sizes_of(self.algorithm, int(point[0]))) for point in ends]
        growth, allowed = last / first, large / small
        text = f"{growth:.3g} times as much from n = {ends[0][0]} to {ends[1][0]}; {self.formula}: {allowed:.3g} times"
        if growth <= 1.25 * allowed:
            return Finding(text, REPRODUCED, growth)
        return Finding(text, PARTLY if growth <= 2 * allowed else NOT_REPRODUCED, growth)


def sizes_of(algorithm: str, n: int) -> dict[str, int]:
    """The variables of the cost laws, for an algorithm with its options as a sweep names it."""
    scenario = Replication(algorithm, (("nodes", n),), 0).scenario()
    return scenario.system().sizes
