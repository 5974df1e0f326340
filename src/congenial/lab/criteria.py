"""Criteria about ratios: the first algorithm of a sweep to its last, run by run with equal seeds."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import hypot

from congenial.lab.claims import (
    NOT_REPRODUCED,
    NOT_RUN,
    PARTLY,
    REPRODUCED,
    UNDECIDED,
    Criterion,
    Finding,
)
from congenial.lab.parameters import show_value
from congenial.lab.replication import Value
from congenial.lab.results import Estimate, Results


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


@dataclass(frozen=True)
class At(RatioCriterion):
    """The ratio at one value lies in low..high."""

    value: Value
    low: float
    high: float

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
    points."""

    low: float
    high: float
    but: tuple[tuple[str, Value], ...] = ()

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
            verdict = PARTLY if 2 * len(outside) < len(found) else NOT_REPRODUCED
        return Finding(text, verdict)


@dataclass(frozen=True)
class Trend(RatioCriterion):
    """The ratio falls (or rises) from the first value to the last."""

    rises: bool = False

    def judge(self, results: Results) -> Finding:
        found = self.ratios(results)
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
        """Whether the ratio moves as claimed, and by more than chance."""
        low, high = (first, second) if self.rises else (second, first)
        return high.value - low.value > hypot(high.half, low.half)


def _in_range(ratio: Estimate, low: float, high: float) -> str:
    if low <= ratio.value <= high:
        return REPRODUCED
    if _meets(ratio, low, high):
        return UNDECIDED
    same_side = (high < 1 and ratio.high < 1) or (low > 1 and ratio.low > 1)
    return PARTLY if same_side else NOT_REPRODUCED


def _meets(ratio: Estimate, low: float, high: float) -> bool:
    return ratio.low <= high and ratio.high >= low
