"""Which algorithms are better than others in several measures at the same time, and criteria about that.

An algorithm dominates another one at a point if its mean is better in every one of some metrics. Means are compared as
they are, without intervals, so that nothing is said to be undominated only because the runs were few. The front of
some algorithms is what is left when all dominated ones are taken away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log

from congenial.kernel.spec import Law
from congenial.lab.claims import FAILS, HOLDS, NOT_RUN, Criterion, Finding
from congenial.lab.rankings import LARGE_IS_GOOD, place
from congenial.lab.results import Results, SweepResult
from congenial.lab.sweep import Point
from congenial.sim.statistics import mean


def dominates(result: SweepResult, point: Point, one: str, other: str, metrics: Sequence[str]) -> bool:
    """True if `one` is better than `other` in all of these metrics."""
    for metric in metrics:
        apart = result.mean(point, one, metric).value - result.mean(point, other, metric).value
        if apart == 0 or (apart > 0) != (metric in LARGE_IS_GOOD):
            return False
    return True


def dominators(result: SweepResult, point: Point, algorithm: str, metrics: Sequence[str]) -> list[str]:
    """The algorithms of the sweep that are better in all of these metrics."""
    return [name for name in result.sweep.algorithms if dominates(result, point, name, algorithm, metrics)]


def front(places: Mapping[str, tuple[float, float]]) -> list[str]:
    """The names whose two values, of which less is better, are not both at least another one's; by the first value.

    >>> front({"cheap": (1.0, 9.0), "quick": (5.0, 2.0), "neither": (6.0, 3.0)})
    ['cheap', 'quick']
    """
    found: list[str] = []
    least = float("inf")
    for name in sorted(places, key=lambda name: (places[name], name)):
        if places[name][1] < least:
            found.append(name)
            least = places[name][1]
    return found


def distinct(results: Results, figures: Sequence[str]) -> list[tuple[SweepResult, Point]]:
    """The points of several sweeps, without those whose load has been seen before."""
    found: list[tuple[SweepResult, Point]] = []
    seen: list[object] = []
    for figure in figures:
        for point in results[figure].runs:
            load = results[figure].sweep.parameters(point)
            if load not in seen:
                seen.append(load)
                found.append((results[figure], point))
    return found


def limit_at(result: SweepResult, point: Point, most: str) -> float:
    """What a formula in n, the number of processes, is at a point."""
    return Law("0", most).most_for({"n": int(result.sweep.parameters(point)["nodes"])})


@dataclass(frozen=True)
class Below(Criterion):
    """The mean of `algorithm` is at most a formula in n, the number of processes, at every point."""

    algorithm: str
    most: str

    def judge(self, results: Results) -> Finding:
        found = []
        for result, point in distinct(results, self.figures):
            limit = limit_at(result, point, self.most)
            measured = result.mean(point, self.algorithm, self.metric).value
            found.append((measured / limit, f"{measured:.3g} of {limit:.3g} ({place(result, point)})"))
        share, closest = max(found)
        text = (
            f"{self.algorithm}: at most {self.most} at {len([1 for entry in found if entry[0] <= 1])} of {len(found)}"
        )
        return Finding(f"{text} points; the most, by the limit: {closest}", HOLDS if share <= 1 else FAILS)


@dataclass(frozen=True)
class Undominated(Criterion):
    """At no point is one of the other algorithms better than `algorithm` in all of `metrics` at the same time. What
    they are together is `metric`, in words."""

    algorithm: str
    metrics: tuple[str, ...]

    def judge(self, results: Results) -> Finding:
        points = distinct(results, self.figures)
        worse: list[str] = []
        rivals: list[int] = []
        for result, point in points:
            rivals.append(len(result.sweep.algorithms) - 1)
            better = dominators(result, point, self.algorithm, self.metrics)
            worse += [f"{name} at {place(result, point)}" for name in better]
        if worse:
            return Finding(f"better than {self.algorithm}: {'; '.join(worse)}", FAILS)
        count = f"{max(rivals)}" if min(rivals) == max(rivals) else f"{min(rivals)} to {max(rivals)}"
        return Finding(f"none of {count} is better than {self.algorithm} at any of {len(points)} points", HOLDS)


@dataclass(frozen=True)
class Typical(Criterion):
    """The ratio of `one` to `other`, averaged geometrically over all points, lies in low..high."""

    one: str
    other: str
    low: float
    high: float

    def judge(self, results: Results) -> Finding:
        found = ratios(results, self.figures, self.one, self.other, self.metric)
        if not found:
            return Finding("no ratio there", NOT_RUN)
        usual = geometric(found)
        text = f"{self.one} / {self.other}: {usual:.3g} times on average ({min(found):.3g} to {max(found):.3g})"
        return Finding(text, HOLDS if self.low <= usual <= self.high else FAILS, usual)


@dataclass(frozen=True)
class NoneBetter(Criterion):
    """None of `algorithms` is better than `other` in all of `metrics`, averaged geometrically over all points. Less
    must be better in all of them. What they are together is `metric`, in words."""

    algorithms: tuple[str, ...]
    other: str
    metrics: tuple[str, ...]

    def judge(self, results: Results) -> Finding:
        better = []
        for name in self.algorithms:
            usual = [geometric(ratios(results, self.figures, name, self.other, metric)) for metric in self.metrics]
            if max(usual) < 1:
                better.append(f"{name}: {' and '.join([f'{ratio:.3g}' for ratio in usual])} times")
        if better:
            return Finding(f"better than {self.other}: {'; '.join(better)}", FAILS)
        return Finding(f"none of {len(self.algorithms)} is better than {self.other} in all", HOLDS)


def ratios(results: Results, figures: Sequence[str], one: str, other: str, metric: str) -> list[float]:
    """The ratio at every point where there is one, above zero."""
    found = [result.versus(point, one, other, metric) for result, point in distinct(results, figures)]
    return [ratio.value for ratio in found if ratio is not None and ratio.value > 0]


def geometric(values: Sequence[float]) -> float:
    """The geometric mean: what twice and half as much average to is 1."""
    return exp(mean([log(value) for value in values]))
