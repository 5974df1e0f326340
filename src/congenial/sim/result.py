"""The result of a run, or of several runs of one scenario."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from congenial.kernel.trace import Event

MEASURES = (
    "messages_per_entry",
    "integers_per_entry",
    "waiting_time_mean",
    "waiting_time_p50",
    "waiting_time_p90",
    "waiting_time_p99",
    "waiting_time_max",
    "sync_delay_mean",
    "sync_delay_min",
    "sync_delay_max",
    "throughput",
    "concurrency_mean",
    "concurrency_max",
    "fairness",
    "simulated_time",
    "lone_entries",
    "free_entries",
    "lone_cost_min",
    "lone_cost_max",
)
"""The measures that are averaged over several runs, each with an interval."""


@dataclass(frozen=True)
class Result:
    """What came of a simulation. Counts are sums over all runs, measures are means over them.

    `fairness` is Jain's index of the processes' mean waiting times. `concurrency_mean` is averaged over the time when
    any process is inside. `sync_delay` is the time from the end of a session to the next one, while a process waits.
    `lone_entries` are those with which no other process competes, and `free_entries` those of them that cost no
    messages. Each of the others costs `lone_cost_min` to `lone_cost_max` messages.
    `intervals` holds half the width of each measure's 95% confidence interval, if there are several runs.

    >>> from congenial.sim.simulate import simulate
    >>> simulate("suzuki-kasami", nodes=4, requests=5).verdict()
    'all 20 requests served, no violation'
    """

    algorithm: str
    nodes: int
    groups: int
    requests: int
    entries: int
    messages: int
    messages_per_entry: float
    messages_by_kind: dict[str, int]
    integers_per_entry: float
    waiting_time_mean: float
    waiting_time_p50: float
    waiting_time_p90: float
    waiting_time_p99: float
    waiting_time_max: float
    sync_delay_mean: float
    sync_delay_min: float
    sync_delay_max: float
    throughput: float
    concurrency_mean: float
    concurrency_max: float
    sessions: int
    fairness: float
    simulated_time: float
    lone_entries: float
    free_entries: float
    lone_cost_min: float
    lone_cost_max: float
    deliveries: int
    deliveries_per_second: float
    violations: int
    seed: int
    runs: int = 1
    waiting: tuple[int, ...] = ()
    """The processes that still waited when nothing more could happen: a deadlock."""
    violation: str = ""
    trace: tuple[Event, ...] = field(default=(), repr=False)
    """The last events before a violation or a deadlock."""
    intervals: dict[str, float] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Nothing forbidden happened, and every request was served."""
        return self.violations == 0 and not self.waiting

    def as_dict(self) -> dict[str, object]:
        """Everything, ready for JSON."""
        data = {**asdict(self), "waiting": list(self.waiting)}
        data["trace"] = [event.as_dict() for event in self.trace]
        return data

    def as_row(self) -> dict[str, object]:
        """One flat row for a data frame or a CSV file: the plain values, and one column per interval."""
        row: dict[str, object] = {
            name: value for name, value in self.as_dict().items() if isinstance(value, (int, float, str))
        }
        row["waiting"] = len(self.waiting)
        for name, width in self.intervals.items():
            row[f"{name}_ci95"] = width
        return row

    def verdict(self) -> str:
        """One line: all is well, or what went wrong."""
        if self.violations:
            return f"VIOLATION: {self.violation}"
        if self.waiting:
            names = ", ".join([str(process) for process in self.waiting])
            return f"DEADLOCK: nothing more can happen, and these wait: {names}"
        if self.entries < self.requests:  # time was up, crashes interrupted some, or they were during the warm-up
            return f"{self.entries} entries counted of {self.requests} requests, no violation"
        return f"all {self.entries} requests served, no violation"

    def lines(self) -> list[tuple[str, str]]:
        """The result for people: names and values."""
        rows = [("processes", str(self.nodes)), ("entries", f"{self.entries} of {self.requests} requests")]
        rows.append(("messages", f"{self.messages} ({self._with_interval('messages_per_entry')} per entry)"))
        for kind, count in self.messages_by_kind.items():
            rows.append((f"  {kind}", str(count)))
        rows.append(("integers per entry", self._with_interval("integers_per_entry")))
        spread = f"p50 {self.waiting_time_p50:.4g}, p99 {self.waiting_time_p99:.4g}, max {self.waiting_time_max:.4g}"
        rows.append(("waiting time", f"{self._with_interval('waiting_time_mean')} ({spread})"))
        rows.append(("synchronisation delay", self._with_interval("sync_delay_mean")))
        rows.append(("throughput", f"{self._with_interval('throughput')} entries per unit of time"))
        rows.append(("concurrency", f"{self._with_interval('concurrency_mean')} (most {self.concurrency_max:g})"))
        rows.append(("sessions", str(self.sessions)))
        rows.append(("fairness", f"{self.fairness:.4f}"))
        rows.append(("simulated time", f"{self.simulated_time:.6g}"))
        rows.append(("deliveries", f"{self.deliveries} ({self.deliveries_per_second / 1e6:.2f} M per CPU second)"))
        return rows

    def _with_interval(self, measure: str) -> str:
        value: float = getattr(self, measure)
        if measure not in self.intervals:
            return f"{value:.5g}"
        return f"{value:.5g} ± {self.intervals[measure]:.2g}"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from congenial.view.notebook import bars, block, diagram, table

        runs = f", {self.runs} runs" if self.runs > 1 else ""
        kinds = {f"  {kind}" for kind in self.messages_by_kind}
        parts = [table(("", ""), [row for row in self.lines() if row[0] not in kinds])]
        if self.messages_by_kind:
            parts.append('<p style="margin: 10px 0 2px"><b>messages</b></p>')
            parts.append(bars([(kind, float(count)) for kind, count in self.messages_by_kind.items()]))
        if self.trace:
            parts.append(diagram(self.trace, self.nodes, self.verdict()))
        return block(f"{self.algorithm} (seed {self.seed}{runs}):", self.verdict(), self.ok, *parts)

    def __str__(self) -> str:
        rows = self.lines()
        width = max([len(name) for name, _ in rows])
        body = "\n".join([f"  {name:<{width}}  {value}" for name, value in rows])
        runs = f", {self.runs} runs" if self.runs > 1 else ""
        return f"{self.algorithm} (seed {self.seed}{runs}): {self.verdict()}\n{body}"
