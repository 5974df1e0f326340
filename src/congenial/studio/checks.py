"""Checks and random runs that a page starts, in a process of their own (`tasks.py`)."""

from __future__ import annotations

from typing import Any

from congenial.checker.check import check
from congenial.checker.counterexample import Counterexample
from congenial.checker.fuzz import fuzz
from congenial.studio.explore import as_json
from congenial.studio.tasks import Pace, Task, carry_out, tell

MOST_STATES = 3_000_000


class Check(Task):
    """A check or random runs under way, or what came of them."""

    def __init__(self, order: dict[str, object]) -> None:
        super().__init__("checks", order, {"seen": 0, "pending": 0})


class ProgressWriter:
    """Writes how far it is, not too often."""

    def __init__(self) -> None:
        self.pace = Pace()

    def states(self, seen: int, pending: int) -> None:
        if self.pace.due():
            tell({"seen": seen, "pending": pending})

    def runs(self, done: int) -> None:
        self.states(done, 0)


def work(order: dict[str, Any]) -> dict[str, object]:
    """Do what was ordered; what came of it."""
    common = {"nodes": order["nodes"], "options": order["options"], **order["bounds"]}
    found: Counterexample | None
    if order["kind"] == "fuzz":
        random = fuzz(order["algorithm"], runs=order["runs"], progress=ProgressWriter().runs, **common)
        found = random.counterexample
        told: dict[str, object] = {"verdict": random.verdict(), "seen": random.runs, "seconds": random.seconds}
    else:
        result = check(order["algorithm"], limit=MOST_STATES, progress=ProgressWriter().states, **common)
        found = result.counterexample
        told = {
            "verdict": result.verdict(), "seen": result.states, "seconds": result.seconds, "depth": result.depth,
            "transitions": result.transitions,
        }  # fmt: skip
    path = None if found is None else [as_json(step) for step in found.actions]
    return {"ok": found is None, "path": path, **told}


if __name__ == "__main__":
    carry_out(work)
