"""Workloads: when processes ask, for what, and how long they stay."""

from __future__ import annotations

from collections.abc import Sequence

from librt.random import Random
from mypy_extensions import mypyc_attr

from congenial.kernel.errors import ConfigError
from congenial.kernel.inputs import shown
from congenial.kernel.problem import Groups
from congenial.sim.arrivals import Arrival
from congenial.sim.chance import Distribution

NEVER = -1.0


@mypyc_attr(allow_interpreted_subclasses=True)
class Workload:
    """Says for n processes when they ask, for which groups, and how long they stay. Each process draws from its own
    stream, `rng`."""

    def think(self, process: int, now: float, rng: Random) -> float:
        """How long until the process asks (again), or `NEVER`. Called at the start, and whenever it has left."""
        raise NotImplementedError

    def groups(self, process: int, rng: Random) -> Groups:
        """The groups, any one of which it asks for. Called when it asks."""
        raise NotImplementedError

    def hold(self, process: int, rng: Random) -> float:
        """How long it stays inside. Called when it enters."""
        raise NotImplementedError

    def total(self) -> int:
        """How many requests there will be if all are served."""
        raise NotImplementedError


class ClosedLoop(Workload):
    """Every process thinks, asks and holds, `requests` times over (Mittal & Mohan 2007, section 4.1).

    The processes before `first` never ask.
    """

    def __init__(
        self, n: int, requests: int, think: Distribution, hold: Distribution, choice: GroupChoice, first: int = 0
    ) -> None:
        self.thinking = think
        self.holding = hold
        self.choice = choice
        self.left = [0] * first + [requests] * (n - first)
        self.requests = sum(self.left)

    def think(self, process: int, now: float, rng: Random) -> float:
        if self.left[process] == 0:
            return NEVER
        self.left[process] -= 1
        return self.thinking.draw(rng)

    def groups(self, process: int, rng: Random) -> Groups:
        return self.choice.draw(rng)

    def hold(self, process: int, rng: Random) -> float:
        return self.holding.draw(rng)

    def total(self) -> int:
        return self.requests


class Turns(Workload):
    """One request at a time: process 0 asks and leaves, process 1 long after that, and so on, `rounds` times over.

    No process ever competes, so this measures waiting times without contention.
    """

    def __init__(self, n: int, rounds: int, gap: float, hold: Distribution, choice: GroupChoice) -> None:
        self.n = n
        self.rounds = rounds
        self.gap = gap
        self.holding = hold
        self.choice = choice
        self.done = [0] * n

    def think(self, process: int, now: float, rng: Random) -> float:
        if self.done[process] == self.rounds:
            return NEVER
        start = (self.done[process] * self.n + process + 1) * self.gap
        self.done[process] += 1
        if now > start:
            raise ConfigError(f"one request at a time: {self.gap:g} between requests is too short")
        return start - now

    def groups(self, process: int, rng: Random) -> Groups:
        return self.choice.draw(rng)

    def hold(self, process: int, rng: Random) -> float:
        return self.holding.draw(rng)

    def total(self) -> int:
        return self.n * self.rounds


class Recorded(Workload):
    """Given arrivals. A request that arrives while its process is still busy waits there for its turn."""

    def __init__(self, arrivals: Sequence[Arrival], n: int, hold: Distribution) -> None:
        self.arrivals: list[list[tuple[float, Groups, float]]] = [[] for _ in range(n)]
        self.present: list[tuple[float, Groups, float]] = [(0.0, (0,), 0.0)] * n
        self.holding = hold
        self.count = len(arrivals)
        for arrival in arrivals:
            stay = -1.0 if arrival.hold is None else arrival.hold
            self.arrivals[arrival.process].append((arrival.time, tuple(arrival.groups), stay))
        for mine in self.arrivals:
            mine.sort()

    def think(self, process: int, now: float, rng: Random) -> float:
        if not self.arrivals[process]:
            return NEVER
        self.present[process] = self.arrivals[process].pop(0)
        return max(0.0, self.present[process][0] - now)

    def groups(self, process: int, rng: Random) -> Groups:
        return self.present[process][1]

    def hold(self, process: int, rng: Random) -> float:
        hold = self.present[process][2]
        return hold if hold >= 0 else self.holding.draw(rng)

    def total(self) -> int:
        return self.count


class GroupChoice:
    """Chooses one of m groups; with a skew, `hot` of them draw the share `heat` of all requests."""

    def __init__(self, m: int, skew: str = "") -> None:
        if m < 1:
            raise ConfigError(f"groups must be at least 1, not {m}")
        self.m = m
        self.heat = 1.0
        self.hot = m
        if skew:
            groups, requests = parse_skew(skew)
            self.hot = min(m, max(1, round(m * groups / 100)))
            self.heat = requests / 100 if self.hot < m else 1.0
        self._all: list[Groups] = [(group,) for group in range(m)]

    def draw(self, rng: Random) -> Groups:
        if self.m == 1:
            return self._all[0]
        if self.hot == self.m or rng.random() < self.heat:
            return self._all[rng.randrange(self.hot)]
        return self._all[self.hot + rng.randrange(self.m - self.hot)]


def parse_skew(text: str) -> tuple[float, float]:
    """'20/80': 20% of the groups draw 80% of the requests."""
    try:
        groups, requests = [float(part) for part in text.split("/")]
    except ValueError:
        groups = requests = -1.0
    if not (0 < groups <= 100 and 0 <= requests <= 100):
        raise ConfigError(f"skew {shown(text)} is not like 20/80 (20% of the groups draw 80% of the requests)")
    return groups, requests
