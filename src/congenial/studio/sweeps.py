"""Sweeps that a page starts, in a process of their own (`tasks.py`), which tells what it has measured so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from congenial.kernel.errors import ConfigError
from congenial.kernel.inputs import shown, whole
from congenial.lab.parameters import PARAMETERS, clean_value
from congenial.lab.results import SweepResult
from congenial.lab.runner import Status, run_sweeps
from congenial.lab.store import Store
from congenial.lab.sweep import Sweep
from congenial.lab.workers import workers
from congenial.studio.measured import of_sweep
from congenial.studio.tasks import Pace, Task, carry_out, tell
from congenial.systems.catalogue import ALGORITHMS, TRANSFORMS

MOST_PROCESSES = 500
MOST_POINTS = 200
MOST_REPEATED = 200
JUDGED = ("messages_per_entry", "waiting_time_mean")
"""What must be as precise as asked. Everything else is measured as well."""
FIXED = ("nodes", "groups", "requests", "think", "hold", "delay", "skew", "loss")
FILES = "file:"


class RunningSweep(Task):
    """A sweep under way, or what came of it."""

    def __init__(self, order: dict[str, object]) -> None:
        super().__init__("sweeps", order, {"done": 0, "total": 0, "table": None, "points": 0})


def sweep_order(wish: Any, own: Sequence[str]) -> dict[str, object]:
    """The sweep that a page wishes. `ConfigError` says what is wrong with it."""
    if not isinstance(wish, dict):
        raise ConfigError("a sweep must be a JSON object")
    algorithms = wish.get("algorithms")
    if not isinstance(algorithms, list) or not algorithms or not all([isinstance(name, str) for name in algorithms]):
        raise ConfigError("choose at least one algorithm")
    for text in algorithms:
        name, _, suffix = (text.split() or [""])[0].partition("+")
        known = name in ALGORITHMS or name in own
        if not known or (suffix and suffix not in TRANSFORMS) or FILES in text:
            raise ConfigError(f"unknown algorithm {shown(text)}: choose among those of the list")
    vary, fixed = wish.get("vary"), wish.get("fixed", {})
    if not isinstance(vary, dict) or not isinstance(fixed, dict):
        raise ConfigError("what is varied and what is fixed must be JSON objects")
    made = Sweep(
        algorithms,
        {name: _values(name, text) for name, text in vary.items()},
        {name: _value(name, text) for name, text in fixed.items() if str(text).strip() and name not in vary},
        metrics=JUDGED,
        precision=_number(wish.get("precision", 0.05), "precision"),
        least=min(3, whole(wish.get("most", 10), "most", 2, MOST_REPEATED)),
        most=whole(wish.get("most", 10), "most", 2, MOST_REPEATED),
        name="sweep",
    )
    if len(made.points()) > MOST_POINTS:
        raise ConfigError(f"vary: at most {MOST_POINTS} points on a page, not {len(made.points())}")
    for point in made.points():
        whole(int(made.parameters(point).get("nodes", 10)), "nodes", 1, MOST_PROCESSES)
    made.validate()
    return {"sweep": made.to_toml()}


def _values(name: str, text: Any) -> list[Any]:
    """'4, 9, 16'; values that contain commas are separated by semicolons."""
    given = str(text)
    parts = [part.strip() for part in given.split(";" if ";" in given else ",")]
    return [_value(name, part) for part in parts if part]


def _value(name: str, text: Any) -> Any:
    if name not in FIXED:
        raise ConfigError(f"unknown parameter {shown(name)}: {', '.join(FIXED)}")
    if str(text).startswith(FILES):
        raise ConfigError(f"{name}: a page cannot name files")
    return clean_value(name, str(text).strip())


def _number(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ConfigError(f"{name} must be a number, not {shown(value)}") from None


def parameters() -> list[dict[str, str]]:
    """What a page may vary or fix."""
    return [{"name": name, "label": PARAMETERS[name]} for name in FIXED]


# -- the process -----------------------------------------------------------------------------------------------


class Reporter:
    """Tells how far a sweep is; and what it has measured, when a point is finished."""

    def __init__(self, sweep: Sweep, store: Store) -> None:
        self.sweep = sweep
        self.store = store
        self.pace = Pace()
        self.points = 0

    def __call__(self, status: Status) -> None:
        if not self.pace.due():
            return
        told: dict[str, object] = {"done": status.done, "total": status.total, "secondsLeft": status.seconds_left}
        result = SweepResult.of(self.sweep, self.store)
        if len(result.runs) > self.points:
            self.points = len(result.runs)
            told |= {"table": of_sweep(result, TITLE), "points": self.points}
        tell(told)


TITLE = "The sweep of this page"


def work(order: dict[str, Any]) -> dict[str, object]:
    import tomllib

    sweep = Sweep.from_dict(tomllib.loads(order["sweep"]), "the sweep", "sweep")
    store = Store()
    with workers(0) as pool:
        run_sweeps([sweep], store, pool, Reporter(sweep, store))
    result = SweepResult.of(sweep, store)
    runs = len(store.records)
    return {
        "done": runs, "total": runs, "secondsLeft": 0, "points": len(result.runs), "table": of_sweep(result, TITLE),
        "note": result.imprecise(),
    }  # fmt: skip


if __name__ == "__main__":
    carry_out(work)
