"""When a point of a sweep has enough replications.

The decision depends only on the records in the order of their seeds, never on which run finished first. So a sweep
gives the same results with any number of jobs, and when it is resumed.
"""

from __future__ import annotations

from congenial.lab.replication import RunRecord
from congenial.lab.store import Store
from congenial.lab.sweep import Point, Sweep
from congenial.sim.statistics import half_width, mean


def records_at(sweep: Sweep, point: Point, store: Store) -> dict[str, list[RunRecord]] | None:
    """The replications of a point, by algorithm, in the order of their seeds; None if some are still missing.

    The store may hold more of them, left by a more precise sweep. They are ignored.
    """
    count = sweep.least
    while True:
        found = {
            name: [store.get(sweep.replication(name, point, k)) for k in range(count)] for name in sweep.algorithms
        }
        present = {name: [r for r in records if r is not None] for name, records in found.items()}
        if any([len(records) < count for records in present.values()]):
            return None
        if count == sweep.most_at(point) or (
            close(sweep, point, present) and (count >= sweep.most or precise(sweep, present))
        ):
            return present
        count = next_count(sweep, point, count)


def next_count(sweep: Sweep, point: Point, count: int) -> int:
    """How many replications a point gets next, if `count` of them were not precise enough."""
    return min(sweep.most_at(point), count + max(1, count // 3))


def close(sweep: Sweep, point: Point, records: dict[str, list[RunRecord]]) -> bool:
    """True if the ratios to the baseline are as close as claims need them here."""
    for metric in sweep.metrics:
        for bound, near in sweep.bounds(metric, point):
            for ratios in _ratios(sweep, metric, records).values():
                half = half_width(ratios)
                if half > bound and (near is None or abs(mean(ratios) - near) <= 2 * half):
                    return False
    return True


def precise(sweep: Sweep, records: dict[str, list[RunRecord]]) -> bool:
    """True if all means, and all ratios to the baseline, are as precise as the sweep asks."""
    for metric in sweep.metrics:
        samples = [[record.measures[metric] for record in found] for found in records.values()]
        for values in [*samples, *_ratios(sweep, metric, records).values()]:
            if half_width(values) > sweep.precision * abs(mean(values)):
                return False
    return True


def _ratios(sweep: Sweep, metric: str, records: dict[str, list[RunRecord]]) -> dict[str, list[float]]:
    """The ratios to the baseline, run by run; none if the baseline has a zero."""
    samples = {name: [record.measures[metric] for record in found] for name, found in records.items()}
    base = samples.pop(sweep.baseline)
    if 0.0 in base:
        return {}
    return {name: [a / b for a, b in zip(values, base, strict=True)] for name, values in samples.items()}
