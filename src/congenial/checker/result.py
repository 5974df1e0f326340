"""What a check found."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from congenial.checker.counterexample import Counterexample


@dataclass(frozen=True)
class CheckResult:
    """What `check` found. `complete` means that all states within the bounds were seen, so that nothing else can be
    found there. `violations` counts illegal steps and broken bounds, too. The messages are per entry: the least and the
    most that any complete run takes.

    >>> from congenial.checker.check import check
    >>> result = check("ricart-agrawala", nodes=2, requests=1)
    >>> (result.ok, result.states, result.most_messages)
    (True, 35, 2.0)
    >>> print(result)
    ricart-agrawala, 2 processes, 1 request each: nothing wrong: every state within the bounds was seen
    """

    algorithm: str
    nodes: int
    requests: int
    states: int
    transitions: int
    depth: int
    complete: bool
    reduced: bool
    violations: int
    deadlocks: int
    starvation: int
    seconds: float
    states_per_second: float
    least_messages: float | None
    most_messages: float | None
    counterexample: Counterexample | None
    fifo: bool = False

    @property
    def ok(self) -> bool:
        return self.counterexample is None

    def as_dict(self) -> dict[str, object]:
        data = asdict(replace(self, counterexample=None))
        if self.counterexample is not None:
            data["counterexample"] = self.counterexample.as_dict()
        return data

    def without_events(self) -> CheckResult:
        """Small enough to be sent to another process."""
        if self.counterexample is None:
            return self
        return replace(self, counterexample=replace(self.counterexample, actions=(), events=()))

    def __str__(self) -> str:
        return f"{self._title()}: {self.verdict()}" if self.ok else f"{self._title()}:\n{self.counterexample}"

    def _title(self) -> str:
        return f"{self.algorithm}, {self.nodes} processes, {self.requests} request{'s' * (self.requests != 1)} each"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from congenial.view.notebook import block, table

        rows = [
            ("states", f"{self.states}{'' if self.complete else ', not all'}"), ("transitions", str(self.transitions)),
            ("depth", str(self.depth)), ("states per second", f"{self.states_per_second:.4g}"),
        ]  # fmt: skip
        if self.least_messages is not None and self.most_messages is not None:
            rows.append(("messages per entry", f"{self.least_messages:g} to {self.most_messages:g}"))
        title = f"{self._title()}:"
        found = "" if self.counterexample is None else self.counterexample._repr_html_()
        return block(title, self.verdict(), self.ok, table(("", ""), rows), found)

    def verdict(self) -> str:
        if self.counterexample is not None:
            return self.counterexample.verdict()
        if self.complete:
            but = ", except interleavings that make no difference" if self.reduced else ""
            return f"nothing wrong: every state within the bounds was seen{but}"
        return f"nothing wrong so far: the limit was reached after {self.states} states, not all were seen"
