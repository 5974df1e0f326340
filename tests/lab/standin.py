"""A sweep that takes a moment, and made-up outcomes whose ratios are known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from congenial.cli import main
from congenial.lab import papers
from congenial.lab.papers import Paper
from congenial.lab.parameters import METRICS
from congenial.lab.replication import RunRecord, Value
from congenial.lab.results import SweepResult
from congenial.lab.store import Store
from congenial.lab.sweep import Sweep

TINY = Sweep(
    algorithms=("suzuki-kasami", "raymond-tree tree=star", "ricart-agrawala"),
    vary={"nodes": (3, 5)},
    fixed={"requests": 10, "think": 100.0},
    precision=0.15,
    least=3,
    most=7,
)


def made_up(parameter: str, ratios: Mapping[Value, float], noise: float = 0.0) -> SweepResult:
    """An outcome of two algorithms in which every metric has these ratios, give or take some noise."""
    sweep = Sweep(("suzuki-kasami", "ricart-agrawala"), {parameter: tuple(ratios)}, least=3, most=3)
    records: dict[tuple[Value, ...], dict[str, list[RunRecord]]] = {}
    for point in sweep.points():
        wobble = (-noise, 0.0, noise)
        records[point] = {
            "suzuki-kasami": [_record(sweep, point, 0, k, ratios[point[0]] + wobble[k]) for k in range(3)],
            "ricart-agrawala": [_record(sweep, point, 1, k, 1.0) for k in range(3)],
        }
    return SweepResult(sweep, records)


def _record(sweep: Sweep, point: tuple[Value, ...], algorithm: int, number: int, value: float) -> RunRecord:
    work = sweep.replication(sweep.algorithms[algorithm], point, number)
    measures = {**dict.fromkeys(METRICS, value), "lone_entries": 0.0, "free_entries": 0.0}
    return RunRecord(work, measures, 1, 1, 0.0, "")


def recorded(sweep: Sweep, values: Mapping[str, list[float]]) -> Store:
    """A store in which the runs of every algorithm at every point measured these values, run by run."""
    store = Store()
    for point in sweep.points():
        for algorithm, measured in values.items():
            for number, value in enumerate(measured):
                work = sweep.replication(algorithm, point, number)
                store.add(RunRecord(work, dict.fromkeys(METRICS, value), 1, 1, 0.0, ""))
    return store


def page_of(paper: Paper, monkeypatch: pytest.MonkeyPatch, folder: Path) -> str:
    """Reproduce a paper that is not in the catalogue, in a folder, and read the page that is made there."""
    monkeypatch.setitem(papers.PAPERS, paper.name, paper)
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as end:
        main(["reproduce", paper.name, "--jobs", "1", "--docs", "docs"])
    assert not end.value.code
    return paper.page_in(folder / "docs").read_text()
