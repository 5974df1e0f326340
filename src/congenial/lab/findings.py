"""What holds of many algorithms on the same loads: who is best, how two compare, within what all of them stay.

Algorithms are compared run by run, with equal seeds and so with equal requests. Who cannot be told from the best, since
the 95% interval of the difference includes zero, is counted as best, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from congenial.lab.claims import FAILS, HOLDS, NOT_RUN, Finding, Judged, Outcomes, Test
from congenial.lab.replication import Value
from congenial.lab.sweep import METRICS, Point
from congenial.lab.tables import Estimate, Outcome, show_value

LARGE_IS_GOOD = ("throughput", "concurrency_mean", "fairness")


def leaders(outcome: Outcome, point: Point, metric: str, algorithms: Sequence[str]) -> list[str]:
    """The best first, then all that cannot be told from it."""
    means = {name: outcome.mean(point, name, metric).value for name in algorithms}
    ordered = sorted(algorithms, key=lambda name: means[name], reverse=metric in LARGE_IS_GOOD)
    best = ordered[0]
    differences = {name: outcome.difference(point, name, best, metric) for name in ordered[1:]}
    return [best] + [name for name, apart in differences.items() if abs(apart.value) <= apart.half]


@dataclass(frozen=True)
class Versus(Test):
    """`one` has low..high times as much as `other`, at `values` of the varied parameter (none: at all)."""

    one: str
    other: str
    low: float
    high: float
    values: tuple[Value, ...] = ()

    def judge(self, outcomes: Outcomes) -> Finding:
        found: list[tuple[str, Estimate]] = []
        for figure in self.figures:
            outcome = outcomes[figure]
            for point in outcome.records:
                ratio = outcome.versus(point, self.one, self.other, self.metric)
                if ratio is not None and (not self.values or point[0] in self.values):
                    found.append((_place(outcome, point), ratio))
        if not found:
            return Finding("not at these values", NOT_RUN)
        low, high = [pick(found, key=lambda entry: entry[1].value) for pick in (min, max)]
        text = f"{low[1].value:.3g} times ({low[0]})"
        if len(found) > 1:
            text += f" to {high[1].value:.3g} times ({high[0]})"
        within = self.low <= low[1].value and high[1].value <= self.high
        return Finding(f"{self.one} / {self.other}: {text}", HOLDS if within else FAILS)


@dataclass(frozen=True)
class Leads(Test):
    """One of `algorithms`, or somebody who cannot be told from it, is best `among` them, at `values` (none: at all)."""

    algorithms: tuple[str, ...]
    among: tuple[str, ...]
    values: tuple[Value, ...] = ()

    def judge(self, outcomes: Outcomes) -> Finding:
        looked_at = 0
        others: list[str] = []
        for figure in self.figures:
            outcome = outcomes[figure]
            for point in [point for point in outcome.records if not self.values or point[0] in self.values]:
                looked_at += 1
                best = leaders(outcome, point, self.metric, self.among)
                if not set(best) & set(self.algorithms):
                    others.append(f"{best[0]} at {_place(outcome, point)}")
        if not looked_at:
            return Finding("not at these values", NOT_RUN)
        text = f"{' or '.join(self.algorithms)}: best at {looked_at - len(others)} of {looked_at} points"
        return Finding(text + "".join([f"; {other}" for other in others]), FAILS if others else HOLDS)


@dataclass(frozen=True)
class Within(Test):
    """The means of all of `algorithms` lie in low..high, at `values` (none: at all)."""

    algorithms: tuple[str, ...]
    low: float
    high: float
    values: tuple[Value, ...] = ()

    def judge(self, outcomes: Outcomes) -> Finding:
        found = [
            (outcomes[figure].mean(point, name, self.metric).value, f"{name}, {_place(outcomes[figure], point)}")
            for figure in self.figures
            for point in outcomes[figure].records
            for name in self.algorithms
            if not self.values or point[0] in self.values
        ]
        if not found:
            return Finding("not at these values", NOT_RUN)
        low, high = min(found), max(found)
        text = f"{low[0]:.3g} ({low[1]}) to {high[0]:.3g} ({high[1]})"
        return Finding(text, HOLDS if self.low <= low[0] and high[0] <= self.high else FAILS)


def _place(outcome: Outcome, point: Point) -> str:
    return f"{next(iter(outcome.sweep.vary))} {show_value(point[0])}"


def findings_table(judged: Sequence[Judged]) -> str:
    lines = ["| what we found | measured | |", "| --- | --- | --- |"]
    for item in judged:
        metric = METRICS[item.claim.test.metric]
        lines.append(f"| {item.claim.text} | {metric}: {item.finding.ours} | {item.finding.verdict} |")
    return "\n".join(lines)
