"""Waiting time and synchronisation delay in hops, as papers state them: every message takes one unit of time.

To measure waiting without contention, one process asks at a time. To measure the synchronisation delay, all processes
always ask, and a holder stays inside until all requests have arrived everywhere. So the time from its exit to the next
entry is that of the handover alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from congenial.kernel.errors import CongenialError
from congenial.kernel.inputs import algorithm_options
from congenial.kernel.node import Node
from congenial.kernel.spec import Law
from congenial.sim.engine import Engine
from congenial.sim.scenario import Scenario
from congenial.sim.statistics import mean

ROUNDS = 4  # requests of each process
ROUNDING = 1e-6  # times are sums of floats


@dataclass(frozen=True)
class Spread:
    """The least, mean and most of some measured hops, and the law that they should obey."""

    least: float
    mean: float
    most: float
    law: Law | None
    sizes: dict[str, int]

    @property
    def kept(self) -> bool | None:
        """True if the hops obey the law; None if there is no law."""
        if self.law is None:
            return None
        least, most = self.law.least_for(self.sizes), self.law.most_for(self.sizes)
        return least - ROUNDING <= self.least and self.most <= most + ROUNDING

    def as_dict(self) -> dict[str, object]:
        law = None if self.law is None else str(self.law)
        return {"least": self.least, "mean": self.mean, "most": self.most, "law": law, "law_kept": self.kept}


@dataclass(frozen=True)
class Hops:
    """What `measure_hops` measures."""

    algorithm: str
    nodes: int
    waiting: Spread | None
    """From request to entry, when no other process asks."""
    sync_delay: Spread | None
    """From the end of one session to the beginning of the next, when all processes ask; None if that never happened."""

    def as_dict(self) -> dict[str, object]:
        """Everything, ready for JSON."""
        return {
            "algorithm": self.algorithm,
            "nodes": self.nodes,
            "waiting_hops": None if self.waiting is None else self.waiting.as_dict(),
            "sync_delay_hops": None if self.sync_delay is None else self.sync_delay.as_dict(),
        }


def measure_hops(
    algorithm: str | type[Node], nodes: int, groups: int = 1, options: Mapping[str, str] | None = None
) -> Hops:
    """Measure an algorithm's hops.

    >>> measure_hops("ricart-agrawala", 5).waiting.most
    2.0
    """
    given = algorithm_options(options)
    calm = _run(Scenario(algorithm, nodes, groups, ROUNDS, 0, "constant:1", "constant:1", load="turns", options=given))
    hold = f"constant:{10 * (nodes + 1)}"  # longer than any request travels
    busy = _run(Scenario(algorithm, nodes, groups, ROUNDS, "constant:0", hold, "constant:1", options=given))
    spec, sizes = calm.system.spec, {**calm.system.sizes, "m": groups}
    return Hops(
        algorithm=calm.system.name,
        nodes=nodes,
        waiting=_spread(list(calm.meter.waits), spec.waiting, sizes),
        sync_delay=_spread(list(busy.meter.sync_delays), spec.sync_delay, sizes),
    )


def _run(scenario: Scenario) -> Engine:
    engine = scenario.engine(seed=1)
    engine.run()
    waiters = engine.judge.waiters()
    if waiters:
        names = ", ".join([str(process) for process in waiters])
        raise CongenialError(f"{engine.system.name} deadlocks: nothing more can happen, and these wait: {names}")
    return engine


def _spread(values: list[float], law: Law | None, sizes: dict[str, int]) -> Spread | None:
    hops = [round(value, 6) for value in values]
    return Spread(min(hops), mean(hops), max(hops), law, sizes) if hops else None
