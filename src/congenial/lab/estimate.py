"""How long runs will take, before they are run."""

from __future__ import annotations

from collections.abc import Iterable

from congenial.lab.replication import Replication, RunRecord
from congenial.lab.store import Store
from congenial.lab.sweep import Sweep

USUAL = 4e-7  # seconds per unit of `Replication.cost`, compiled, for an algorithm of which nothing is known
INTERPRETED = 25.0  # times slower


def missing_runs(sweeps: Iterable[Sweep], store: Store) -> list[Replication]:
    """The runs that these sweeps still need. Points that are not precise enough after them need more."""
    found: dict[str, Replication] = {}
    for sweep in sweeps:
        for point in sweep.points():
            for number in range(sweep.least):
                for algorithm in sweep.algorithms:
                    work = sweep.replication(algorithm, point, number)
                    if store.get(work) is None:
                        found[work.key()] = work
    return list(found.values())


def seconds_of(runs: Iterable[Replication], known: Iterable[RunRecord], jobs: int, compiled: bool) -> float:
    """About how long these runs will take, judged by those of the same algorithm that are known already."""
    spent: dict[str, tuple[float, float]] = {}
    for record in known:
        cost, seconds = spent.get(record.replication.algorithm, (0.0, 0.0))
        spent[record.replication.algorithm] = (cost + record.replication.cost(), seconds + record.seconds)
    usual = USUAL if compiled else USUAL * INTERPRETED
    total = 0.0
    for work in runs:
        cost, seconds = spent.get(work.algorithm, (0.0, 0.0))
        total += work.cost() * (seconds / cost if seconds > 0 else usual)
    return total / max(1, jobs)
