"""Criteria about many algorithms on the same loads: which is best, how two compare, the range in which all stay.

Algorithms are compared run by run, with equal seeds and so with equal requests. An algorithm that cannot be
distinguished from the best one, since the 95% interval of the difference includes zero, counts as best, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from congenial.lab.claims import FAILS, HOLDS, NOT_RUN, Criterion, Finding
from congenial.lab.parameters import show_value
from congenial.lab.replication import Value
from congenial.lab.results import Estimate, Results, SweepResult
from congenial.lab.sweep import Point

LARGE_IS_GOOD = ("throughput", "concurrency_mean", "fairness")


def leaders(result: SweepResult, point: Point, metric: str, algorithms: Sequence[str]) -> list[str]:
    """The best one first, then all that cannot be distinguished from it."""
    means = {name: result.mean(point, name, metric).value for name in algorithms}
    ordered = sorted(algorithms, key=lambda name: means[name], reverse=metric in LARGE_IS_GOOD)
    best = ordered[0]
    differences = {name: result.difference(point, name, best, metric) for name in ordered[1:]}
    return [best] + [name for name, apart in differences.items() if abs(apart.value) <= apart.half]


@dataclass(frozen=True)
class Versus(Criterion):
    """`one` has low..high times as much as `other`, at `values` of the varied parameter (none given: at all)."""

    one: str
    other: str
    low: float
    high: float
    values: tuple[Value, ...] = ()

    def judge(self, results: Results) -> Finding:
        found: list[tuple[str, Estimate]] = []
        for figure in self.figures:
            result = results[figure]
            for point in result.runs:
                ratio = result.versus(point, self.one, self.other, self.metric)
                if ratio is not None and (not self.values or point[0] in self.values):
                    found.append((place(result, point), ratio))
        if not found:
            return Finding("not at these values", NOT_RUN)
        low, high = [pick(found, key=lambda entry: entry[1].value) for pick in (min, max)]
        text = f"{low[1].value:.3g} times ({low[0]})"
        if len(found) > 1:
            text += f" to {high[1].value:.3g} times ({high[0]})"
        within = self.low <= low[1].value and high[1].value <= self.high
        return Finding(f"{self.one} / {self.other}: {text}", HOLDS if within else FAILS)


@dataclass(frozen=True)
class Leads(Criterion):
    """One of `algorithms` is best `among` these, alone or with others, at `values` (none given: at all)."""

    algorithms: tuple[str, ...]
    among: tuple[str, ...]
    values: tuple[Value, ...] = ()

    def judge(self, results: Results) -> Finding:
        looked_at = 0
        others: list[str] = []
        for figure in self.figures:
            result = results[figure]
            for point in [point for point in result.runs if not self.values or point[0] in self.values]:
                looked_at += 1
                best = leaders(result, point, self.metric, self.among)
                if not set(best) & set(self.algorithms):
                    others.append(f"{best[0]} at {place(result, point)}")
        if not looked_at:
            return Finding("not at these values", NOT_RUN)
        text = f"{' or '.join(self.algorithms)}: best at {looked_at - len(others)} of {looked_at} points"
        return Finding(text + "".join([f"; {other}" for other in others]), FAILS if others else HOLDS)


@dataclass(frozen=True)
class Within(Criterion):
    """The means of all of `algorithms` lie in low..high, at `values` (none given: at all)."""

    algorithms: tuple[str, ...]
    low: float
    high: float
    values: tuple[Value, ...] = ()

    def judge(self, results: Results) -> Finding:
        found = [
            (results[figure].mean(point, name, self.metric).value, f"{name}, {place(results[figure], point)}")
            for figure in self.figures
            for point in results[figure].runs
            for name in self.algorithms
            if not self.values or point[0] in self.values
        ]
        if not found:
            return Finding("not at these values", NOT_RUN)
        low, high = min(found), max(found)
        text = f"{low[0]:.3g} ({low[1]})" + (f" to {high[0]:.3g} ({high[1]})" if len(found) > 1 else "")
        return Finding(text, HOLDS if self.low <= low[0] and high[0] <= self.high else FAILS)


def place(result: SweepResult, point: Point) -> str:
    return f"{next(iter(result.sweep.vary))} {show_value(point[0])}"
