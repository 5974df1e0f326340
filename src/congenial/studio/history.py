"""How a cluster's counters have changed while a page looked: rates, waiting times, and what looking costs."""

from __future__ import annotations

from collections import deque
from statistics import median

from congenial.net.histogram import BUCKETS
from congenial.net.reports import NodeStatus

MOST_POINTS = 600
GAP = 20.0  # seconds without a look, after which curves start again
LOSSES_FOR = 60.0  # seconds for which it is told that locks were lost
COUNTERS = ("entries", "messages", "waits", "waits_total", "timeouts", "losses", "cost")
COLUMNS = ("at", "entries", "messages", "mean", "most", "waiting", "inside", "timeouts")


class History:
    def __init__(self) -> None:
        self.at = 0.0
        self.last: dict[str, dict[str, float]] = {}  # counters, by node
        self.counts: dict[str, list[int]] = {}  # of waiting times, by node
        self.rates: dict[str, dict[str, float]] = {}  # a second, by node
        self.points: deque[tuple[float | None, ...]] = deque(maxlen=MOST_POINTS)
        self.lost: deque[tuple[float, str, int]] = deque(maxlen=100)  # when, at which node, how many locks
        self.costs: deque[float] = deque(maxlen=9)  # of the last looks, each to the node that it cost most

    def add(self, now: float, there: dict[str, NodeStatus]) -> None:
        """What the nodes tell now."""
        seconds = now - self.at
        goes_on = bool(self.last) and 0 < seconds < GAP
        if not goes_on and self.points:
            self.points.append((now - 0.001, *[None] * (len(COLUMNS) - 1)))  # a gap in the curves
        before, self.last = self.last, {name: counters(status) for name, status in there.items()}
        counts, self.counts = self.counts, {name: list(status["wait_counts"]) for name, status in there.items()}
        self.at, self.rates = now, {}
        if not goes_on:
            return
        changes = {
            name: {what: count - before[name][what] for what, count in self.last[name].items()}
            for name in self.last
            if name in before and self.last[name]["entries"] >= before[name]["entries"]  # it was not restarted
        }
        self.rates = {name: {what: change[what] / seconds for what in change} for name, change in changes.items()}
        self.costs.append(max([change["cost"] for change in changes.values()], default=0.0))
        self.lost += [(now, name, int(change["losses"])) for name, change in changes.items() if change["losses"] > 0]
        if changes:
            waits = [
                sum(place)
                for place in zip(*[differences(self.counts[name], counts[name]) for name in changes], strict=True)
            ]
            self.points.append(self._point(now, there, changes, seconds, waits))

    def _point(
        self,
        now: float,
        there: dict[str, NodeStatus],
        changes: dict[str, dict[str, float]],
        seconds: float,
        waits: list[int],
    ) -> tuple[float | None, ...]:
        def total(what: str) -> float:
            return sum([change[what] for change in changes.values()])

        mean = total("waits_total") / total("waits") if total("waits") > 0 else None
        return (
            round(now, 3),
            round(total("entries") / seconds, 2),
            round(total("messages") / seconds, 2),
            None if mean is None else round(mean, 6),
            bound_of(waits, 0.99),
            sum([status["waiting"] for status in there.values()]),
            sum([status["inside"] for status in there.values()]),
            round(total("timeouts") / seconds, 2),
        )

    @property
    def cost_of_a_look(self) -> float:
        """Seconds, as a rule: that a look at all locks takes longer does not count, for nodes make it rarely."""
        return median(self.costs) if self.costs else 0.0

    def columns(self) -> dict[str, list[float | None]]:
        return {name: [point[place] for point in self.points] for place, name in enumerate(COLUMNS)}

    def of_node(self, name: str) -> dict[str, float] | None:
        """What a node does in a second; None if it is not known yet."""
        rates = self.rates.get(name)
        if rates is None:
            return None
        mean = rates["waits_total"] / rates["waits"] if rates["waits"] > 0 else -1.0
        return {
            "entries": round(rates["entries"], 2),
            "messages": round(rates["messages"], 2),
            "mean": round(mean, 6),
            "cost": round(max(0.0, rates["cost"]), 6),
        }

    def lost_lately(self, now: float) -> dict[str, int]:
        """How many locks were lost while they were held, in the last minute, by node."""
        found: dict[str, int] = {}
        for at, name, number in self.lost:
            if now - at <= LOSSES_FOR:
                found[name] = found.get(name, 0) + number
        return found


def counters(status: NodeStatus) -> dict[str, float]:
    return {
        **{what: status[what] for what in COUNTERS if what != "messages"},
        "messages": sum(status["messages"].values()),
    }


def differences(now: list[int], before: list[int]) -> list[int]:
    return [max(0, one - other) for one, other in zip(now, before, strict=True)]


def bound_of(counts: list[int], share: float) -> float | None:
    """At most so many seconds did this share of the tasks wait that had to; None if none had to. What is longer than
    the last bound is only known to be."""
    total, seen = sum(counts), 0
    for count, bound in zip(counts, (*BUCKETS, 1.1 * BUCKETS[-1]), strict=True):
        seen += count
        if total and seen >= share * total:
            return bound
    return None
