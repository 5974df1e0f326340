"""Criteria about costs: formulas in the number of processes, and growth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from congenial.kernel.spec import Law
from congenial.lab.claims import NOT_REPRODUCED, PARTLY, REPRODUCED, Criterion, Finding
from congenial.lab.replication import Replication, RunRecord
from congenial.lab.results import Results
from congenial.sim.statistics import mean

ROUNDING = 1e-9  # in sums of fractions
FIFTH = 0.2
COST, SYNC = "messages_per_entry", "sync_delay_max"


@dataclass(frozen=True)
class Costs(Criterion):
    """Every entry of `algorithm` costs low..high, two formulas as in `Law`.

    What an entry costs is known where no other process competes with it, and those costs are compared. Elsewhere only
    the mean of a run is known; if that is outside, so is some entry. A bound that is `amortised` is one on means only.
    `tight` are costs, at the largest size, that the paper says occur: some entry, or the mean of some run, must come
    within a twentieth, and half a message. At the loads `first_free` one entry is free, and the mean is that of the
    others. For some loads `means` gives the mean at the largest size, within a tenth.

    Partly, if all this holds at more than half of the loads and sizes, and nothing is outside by more than a fifth; or
    if a tight bound is kept, but not reached.
    """

    algorithm: str
    low: str
    high: str
    means: Mapping[str, str] = field(default_factory=dict)
    tight: tuple[str, ...] = ()
    amortised: bool = False
    first_free: tuple[str, ...] = ()

    def judge(self, results: Results) -> Finding:
        seen = _Seen()
        sizes: dict[str, int] = {}
        for figure in [figure for figure in self.figures if self.algorithm in results[figure].sweep.algorithms]:
            load = figure.rpartition(", ")[2]
            for point, records in results[figure].runs.items():
                sizes = sizes_of(self.algorithm, int(point[0]))
                last = point == list(results[figure].runs)[-1]
                where = f"{point[0]}, {load}"
                runs = [self._mean(record, load) for record in records[self.algorithm]]
                entries = [cost for record in records[self.algorithm] for cost in self._entries(record)]
                seen.look(runs + entries, self._law(sizes), where, last)
                if last:
                    seen.entries += entries
            if load in self.means:
                expected = Law(self.means[load]).most_for(sizes)
                seen.expect(mean(runs), expected, where)
        low, high = self._law(sizes)
        text = f"{_span(low, high, '..')} at n = {point[0]}"
        if seen.entries:
            kind = "alone" if self.metric == COST else "shortest"
            text += f"; {kind} {_span(min(seen.entries), max(seen.entries), 'to')}"
        if seen.outside:
            more = "; ..." if len(seen.outside) > 3 else ""
            text += f"; outside at {len(seen.outside)} of {seen.looked_at}: {'; '.join(seen.outside[:3])}{more}"
            near = seen.furthest <= FIFTH + ROUNDING and 2 * len(seen.outside) < seen.looked_at
            return Finding(text, PARTLY if near else NOT_REPRODUCED)
        missed = [formula for formula in self.tight if not seen.reached(Law(formula).most_for(sizes))]
        if missed:
            return Finding(f"{text}; never {' nor '.join(missed)}", PARTLY)
        return Finding(text, REPRODUCED)

    def _law(self, sizes: dict[str, int]) -> tuple[float, float]:
        law = Law(self.low, self.high)
        return law.least_for(sizes), law.most_for(sizes)

    def _mean(self, record: RunRecord, load: str) -> float:
        cost = record.measures[self.metric]
        return cost * record.entries / (record.entries - 1) if load in self.first_free else cost

    def _entries(self, record: RunRecord) -> list[float]:
        """The least and the most of those entries, or handovers, of which each is known by itself."""
        measures = record.measures
        if self.metric == SYNC:
            return [measures["sync_delay_min"]]
        if self.metric != COST or self.amortised or not measures["lone_entries"]:
            return []
        free = [0.0] if measures["free_entries"] else []
        paid = measures["free_entries"] < measures["lone_entries"]
        return free + ([measures["lone_cost_min"], measures["lone_cost_max"]] if paid else [])


def _span(low: float, high: float, between: str) -> str:
    return f"{low:.4g} {between} {high:.4g}" if low < high - ROUNDING else f"{high:.4g}"


@dataclass
class _Seen:
    """What `Costs` has looked at so far: how often, what was outside, and the costs at the largest size."""

    looked_at: int = 0
    outside: list[str] = field(default_factory=list)
    furthest: float = 0.0
    largest: list[float] = field(default_factory=list)
    entries: list[float] = field(default_factory=list)

    def look(self, costs: list[float], law: tuple[float, float], where: str, last: bool) -> None:
        low, high = law
        self.looked_at += 1
        if last:
            self.largest += costs
        if not low - ROUNDING <= min(costs) <= max(costs) <= high + ROUNDING:
            over = max(costs) > high
            worst, bound = (max(costs), high) if over else (min(costs), low)
            self._add(worst, bound, f"{worst:.4g} at {where}")

    def expect(self, cost: float, expected: float, where: str) -> None:
        self.looked_at += 1
        if abs(cost - expected) > expected / 10:
            self._add(cost, expected, f"{cost:.4g}, not {expected:.4g}, at {where}")

    def _add(self, cost: float, bound: float, text: str) -> None:
        self.outside.append(text)
        self.furthest = max(self.furthest, abs(cost - bound) / bound if bound else inf)

    def reached(self, cost: float) -> bool:
        return any([abs(found - cost) <= min(0.5, cost / 20) + ROUNDING for found in self.largest])


@dataclass(frozen=True)
class Extra(Criterion):
    """What a fault costs: the messages of a run with it, less those of the run with the same seed without it. `pairs`
    name these: without, with. All differences lie in low..high, two formulas as in `Law`; at the largest size of some
    pair each of them occurs. Partly, if one of them does not."""

    pairs: tuple[tuple[str, str], ...]
    algorithm: str
    low: str
    high: str

    def judge(self, results: Results) -> Finding:
        texts: list[str] = []
        ends: set[str] = set()
        kept = True
        for usual, faulty in self.pairs:
            for point, records in results[faulty].runs.items():
                laws = {
                    end: Law(end).most_for(sizes_of(self.algorithm, int(point[0]))) for end in (self.low, self.high)
                }
                before = {record.replication.seed: record for record in results[usual].runs[point][self.algorithm]}
                more = [
                    _messages(record) - _messages(before[record.replication.seed]) for record in records[self.algorithm]
                ]
                kept = kept and laws[self.low] <= min(more) <= max(more) <= laws[self.high]
            ends |= {end for end, cost in laws.items() if cost in more}
            texts.append(f"{_span(min(more), max(more), 'to')} at n = {point[0]}, {faulty.rpartition(', ')[2]}")
        missed = [end for end in (self.low, self.high) if end not in ends]
        text = "; ".join(texts + ([f"never {' nor '.join(missed)}"] if missed else []))
        return Finding(text, NOT_REPRODUCED if not kept else PARTLY if missed else REPRODUCED)


def _messages(record: RunRecord) -> int:
    return round(record.measures[COST] * record.entries)


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
