"""Criteria about two measures at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from congenial.lab.claims import NOT_REPRODUCED, NOT_RUN, PARTLY, REPRODUCED, UNDECIDED, Finding, Range
from congenial.lab.criteria import At, Extreme, RatioCriterion
from congenial.lab.parameters import show_value
from congenial.lab.replication import Value
from congenial.lab.results import Results

FROM_GOOD_TO_BAD = (REPRODUCED, UNDECIDED, PARTLY, NOT_REPRODUCED, NOT_RUN)


@dataclass(frozen=True)
class AtTheSameTime(RatioCriterion):
    """Where the ratio of `metric` is largest it lies in low..high, and at the same point that of another metric lies in
    its own range. The verdict is the worse of the two."""

    low: float
    high: float
    other: str
    other_low: float
    other_high: float

    def needs(self) -> dict[str, float]:
        first = Extreme(self.figures, self.metric, self.low, self.high).needs()
        return {**first, **Extreme(self.figures, self.other, self.other_low, self.other_high).needs()}

    def ranges(self, figure: str, metric: str, values: Sequence[Value]) -> list[Range]:
        first = Extreme(self.figures, self.metric, self.low, self.high).ranges(figure, metric, values)
        return first + Extreme(self.figures, self.other, self.other_low, self.other_high).ranges(figure, metric, values)

    def judge(self, results: Results) -> Finding:
        found = self.ratios(results)
        if not found:
            return Finding("no ratio there", NOT_RUN)
        figure, value, _ = max(found, key=lambda entry: entry[2].value)
        first = At((figure,), self.metric, value, self.low, self.high).judge(results)
        second = At((figure,), self.other, value, self.other_low, self.other_high).judge(results)
        where = f"{next(iter(results[figure].sweep.vary))} {show_value(value)}"
        worse = max(first.verdict, second.verdict, key=FROM_GOOD_TO_BAD.index)
        return Finding(
            f"{first.ours}, and {second.ours} (fig. {figure}, {where})", worse, first.value, first.half_width
        )
