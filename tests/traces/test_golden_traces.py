"""Small runs, line by line. `pytest --rewrite` writes them again: read the difference before keeping it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from congenial.kernel.trace import Trace
from congenial.sim.scenario import Scenario
from congenial.systems.catalogue import ALGORITHMS

HERE = Path(__file__).parent

SMALL: dict[str, Any] = {"nodes": 4, "requests": 2, "think": 5, "hold": 4, "delay": "uniform:1,3"}
RUNS: dict[str, dict[str, Any]] = {name: {"algorithm": name, **SMALL} for name in ALGORITHMS}
RUNS["a-lost-token"] = {
    "algorithm": "suzuki-kasami", "nodes": 3, "load": "burst", "hold": "constant:20", "delay": "constant:1",
    "loss": ("1@19-21",),
}  # fmt: skip
RUNS["a-crash-seen-by-a-detector"] = {
    "algorithm": "raymond-tree", "nodes": 3, "requests": 1, "delay": "constant:1", "crash": ("2@10-30",),
    "pause": ("1@20-25",), "detection": 2.0, "think": 20,
}  # fmt: skip


def told(parameters: dict[str, Any]) -> str:
    trace = Trace()
    problem = ALGORITHMS[parameters["algorithm"]].spec.problem
    settings = {**parameters, "groups": 2} if problem is not None and problem.groups else parameters
    engine = Scenario(**settings).engine(seed=1, trace=trace)
    engine.run()
    heading = ", ".join([f"{name} {value}" for name, value in settings.items()])
    ending = "".join([f"{process} waits in vain\n" for process in engine.judge.waiters()])
    return f"# {heading}\n" + "".join([f"{event}\n" for event in trace.events]) + ending


@pytest.mark.parametrize("name", RUNS)
def test_the_run_is_as_it_was(name: str, rewrite: bool) -> None:
    path = HERE / f"{name}.txt"
    now = told(RUNS[name])
    if rewrite:
        path.write_text(now, encoding="utf-8")
    assert path.exists(), f"{path.name} is missing: pytest --rewrite writes it"
    assert now == path.read_text(encoding="utf-8")


def test_no_trace_is_left_over() -> None:
    assert {path.stem for path in HERE.glob("*.txt")} == set(RUNS)
