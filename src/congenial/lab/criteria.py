"""Criteria about ratios: the first algorithm of a sweep to its last, run by run with equal seeds.

A ratio outside of its range is *partly* right only up to a limit: no further away than the range is wide. Since a range
is as a rule a fifth of the claimed change to either side, that is a change of 0.4 to 1.6 times the claimed one. A range
that is open on one side (below 1, above 1) has no width; there the limit is a tenth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import hypot, isinf

from congenial.lab.claims import (
    NOT_REPRODUCED,
    NOT_RUN,
    PARTLY,
    REPRODUCED,
    UNDECIDED,
    Criterion,
    Finding,
    Range,
)
from congenial.lab.parameters import show_value
from congenial.lab.replication import Value
from congenial.lab.results import Estimate, Results

ROUNDING = 1e-9
CLOSE = 4.0  # an interval is narrow enough if half of it is this fraction of the range


@dataclass(frozen=True)
class RatioCriterion(Criterion):
    """The ratio of `metric`, of the first algorithm of each figure to its last."""

    def ratios(self, results: Results) -> list[tuple[str, Value, Estimate]]:
        """Figure, value of the varied parameter, ratio."""
        found = []
        for figure in self.figures:
            result = results[figure]
            for point in result.runs:
                ratio = result.ratio(point, result.sweep.algorithms[0], self.metric)
                if ratio is not None:
                    found.append((figure, point[0], ratio))
        return found

    def about(self, figure: str, metric: str) -> bool:
        return figure in self.figures and metric == self.metric


@dataclass(frozen=True)
class At(RatioCriterion):
    """The ratio at one value lies in low..high."""

    value: Value
    low: float
    high: float

    def needs(self) -> dict[str, float]:
        return _needs(self.metric, self.low, self.high, f" at {show_value(self.value)}")

    def ranges(self, figure: str, metric: str, values: Sequence[Value]) -> list[Range]:
        return [Range(self.low, self.high, (self.value,))] if self.about(figure, metric) else []

    def judge(self, results: Results) -> Finding:
        found = [ratio for _, value, ratio in self.ratios(results) if value == self.value]
        if not found:
            return Finding("no ratio there", NOT_RUN)
        return Finding(str(found[0]), _in_range(found[0], self.low, self.high), found[0].value, found[0].half)


@dataclass(frozen=True)
class Extreme(RatioCriterion):
    """The least (or largest) ratio lies in low..high."""

    low: float
    high: float
    largest: bool = False

    def needs(self) -> dict[str, float]:
        return _needs(self.metric, self.low, self.high)

    def ranges(self, figure: str, metric: str, values: Sequence[Value]) -> list[Range]:
        return [Range(self.low, self.high)] if self.about(figure, metric) else []

    def judge(self, results: Results) -> Finding:
        found = self.ratios(results)
        pick = max if self.largest else min
        figure, value, ratio = pick(found, key=lambda entry: entry[2].value)
        where = f"{next(iter(results[figure].sweep.vary))} {show_value(value)}"
        verdict = _in_range(ratio, self.low, self.high)
        return Finding(f"{ratio} (fig. {figure}, {where})", verdict, ratio.value, ratio.half)


@dataclass(frozen=True)
class Everywhere(RatioCriterion):
    """The ratio lies in low..high everywhere except at `but` (figure and value); partly, if at more than half of the
    points, and nowhere too far away."""

    low: float
    high: float
    but: tuple[tuple[str, Value], ...] = ()

    def needs(self) -> dict[str, float]:
        return _needs(self.metric, self.low, self.high)

    def ranges(self, figure: str, metric: str, values: Sequence[Value]) -> list[Range]:
        meant = tuple([value for value in values if (figure, value) not in self.but])
        return [Range(self.low, self.high, meant)] if meant and self.about(figure, metric) else []

    def judge(self, results: Results) -> Finding:
        found = [entry for entry in self.ratios(results) if entry[:2] not in self.but]
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
            near = all([_is_near(ratio, self.low, self.high) for _, _, ratio in outside])
            verdict = PARTLY if near and 2 * len(outside) < len(found) else NOT_REPRODUCED
        return Finding(text, verdict)


@dataclass(frozen=True)
class Trend(RatioCriterion):
    """The ratio falls (or rises) from the first value to the last; partly, if it goes the other way between some two
    values, but by no more than half of the whole change."""

    rises: bool = False

    def judge(self, results: Results) -> Finding:
        found = self.ratios(results)
        ratios = [ratio for _, _, ratio in found]
        ends = f"{ratios[0]} at {show_value(found[0][1])}, {ratios[-1]} at {show_value(found[-1][1])}"
        if not self._moves(ratios[0], ratios[-1]):
            return Finding(ends, NOT_REPRODUCED)
        back = [pair for pair in combinations(found, 2) if self._moves(pair[1][2], pair[0][2])]
        if not back:
            return Finding(ends, REPRODUCED)
        (_, before, first), (_, after, second) = max(back, key=lambda pair: abs(pair[1][2].value - pair[0][2].value))
        text = f"{ends}; {'falls' if self.rises else 'rises'} from {show_value(before)} to {show_value(after)}"
        small = 2 * abs(second.value - first.value) <= abs(ratios[-1].value - ratios[0].value)
        return Finding(text, PARTLY if small else NOT_REPRODUCED)

    def _moves(self, first: Estimate, second: Estimate) -> bool:
        """True if the ratio moves as claimed, and by more than chance."""
        low, high = (first, second) if self.rises else (second, first)
        return high.value - low.value > hypot(high.half, low.half)


def _in_range(ratio: Estimate, low: float, high: float) -> str:
    if low <= ratio.value <= high:
        return REPRODUCED
    if _meets(ratio, low, high):
        return UNDECIDED
    same_side = (high < 1 and ratio.high < 1) or (low > 1 and ratio.low > 1)
    return PARTLY if same_side and _is_near(ratio, low, high) else NOT_REPRODUCED


def slack(low: float, high: float) -> float:
    """How far outside of a range a ratio may be: by the range's width or, if one side is open, a tenth of its end."""
    if low <= 0:
        return high / 10
    return low / 10 if isinf(high) else high - low


def _needs(metric: str, low: float, high: float, where: str = "") -> dict[str, float]:
    """As close as the range is narrow. If it is open on one side, that matters only near its bound."""
    if low <= 0 or isinf(high):
        where = f" near {low if isinf(high) else high:g}"
    return {f"{metric}{where}": slack(low, high) / CLOSE}


def _is_near(ratio: Estimate, low: float, high: float) -> bool:
    distance = max(low - ratio.value, ratio.value - high)
    return distance <= slack(low, high) + ROUNDING


def _meets(ratio: Estimate, low: float, high: float) -> bool:
    return ratio.low <= high and ratio.high >= low
