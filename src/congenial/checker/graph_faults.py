"""What is wrong with the graph of explored states as a whole: starvation, and runs that cost more or less than the
algorithm's spec says."""

from __future__ import annotations

from dataclasses import dataclass

from congenial.checker.counterexample import path_to
from congenial.checker.events import HEADER
from congenial.checker.explore import Explorer
from congenial.checker.faults import BOUND, STARVATION, Fault
from congenial.checker.graph import StateGraph
from congenial.kernel.judge import listed
from congenial.kernel.node import WAITING
from congenial.systems.system import System


def starvation(explorer: Explorer, graph: StateGraph, cycles: list[list[int]]) -> Fault | None:
    """A cycle that a fair schedule can follow forever while a process waits."""
    world = explorer.world
    for cycle in cycles:
        state = path_to(explorer, cycle[0])[1]
        waiting = [p for p in range(world.system.n) if world.phases[state[HEADER + p]] == WAITING]
        if waiting and graph.is_fair(cycle):
            text = f"a fair schedule can go on forever from here while these wait: {listed(waiting)}"
            return Fault(STARVATION, text, cycle[0])
    return None


@dataclass(frozen=True)
class Costs:
    """Messages per entry of the cheapest and of the dearest complete run, and the states in which these runs end."""

    least: float
    most: float
    cheapest: int
    dearest: int


def costs_of(explorer: Explorer, graph: StateGraph) -> Costs | None:
    """What complete runs cost, if there are any. The graph must have no cycle."""
    entries = explorer.world.system.n * explorer.world.rules.requests
    fewest, most = graph.messages()
    ends = [index for index in explorer.terminal if _all_served(explorer, index)]
    if not ends:
        return None
    cheapest = min(ends, key=lambda end: int(fewest[end]))
    dearest = max(ends, key=lambda end: int(most[end]))
    return Costs(int(fewest[cheapest]) / entries, int(most[dearest]) / entries, cheapest, dearest)


def _all_served(explorer: Explorer, index: int) -> bool:
    """True if each process has asked as often as allowed: then nothing more can happen."""
    return int(explorer.edges.first(index + 1)) == int(explorer.edges.first(index))


def broken_law(costs: Costs, system: System) -> Fault | None:
    """A run that costs more or less than the algorithm's spec says."""
    law = system.spec.messages
    if law is None:
        return None
    least, most = law.least_for(system.sizes), law.most_for(system.sizes)
    if costs.most > most:
        cost, end = costs.most, costs.dearest
    elif costs.least < least:
        cost, end = costs.least, costs.cheapest
    else:
        return None
    return Fault(BOUND, f"a run costs {cost:.4g} messages per entry; its spec says {law} ({least:g} .. {most:g})", end)
