"""Readings of a paper that leaves something open: under which one do its claims come out best?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp, log
from pathlib import Path
from shutil import copyfile

from congenial.lab.claims import NOT_REPRODUCED, PARTLY, REPRODUCED, UNDECIDED, Claim, Judged
from congenial.lab.exhibits.exhibit import Evidence
from congenial.lab.exhibits.overview import Overview
from congenial.lab.replication import Replication
from congenial.lab.results import Results, SweepResult
from congenial.lab.rows import Row, markdown
from congenial.sim.simulate import run_once
from congenial.sim.statistics import mean

VERDICTS = (REPRODUCED, UNDECIDED, PARTLY, NOT_REPRODUCED)


@dataclass(frozen=True)
class Readings(Overview):
    """The sweeps of `parts` run the same algorithm under every one of `readings` (what the paper may mean, and what is
    run for it), against the last algorithm. Each reading is judged by the claims `stated` about these figures. Their
    names are those of the parts without `prefix`, since the figures themselves show one reading only."""

    readings: Mapping[str, str]
    stated: tuple[Claim, ...]
    prefix: str

    def page(self, evidence: Evidence, folder: Path, pictures: Path) -> list[str]:
        copyfile(folder / "means.csv", pictures / f"{self.name}.csv")
        runs = self.parts[0].sweep.least
        return [
            f"## {self.title}",
            f"The claims above that are about figures {', '.join(self._figures())}, judged for every reading, at fewer"
            f" values and with {runs} runs each. 'Off by' is the factor between our ratio and the paper's number, over"
            f" all claims that give one (geometric mean). [All means]({pictures.name}/{self.name}.csv).",
            markdown(self.standing(evidence.results)),
            "Messages per entry by kind, in one run with the usual parameters:",
            markdown(self.kinds()),
        ]

    def standing(self, results: Results) -> list[Row]:
        """A row for every reading: the verdicts that it gets, and how far its numbers are from the paper's."""
        rows: list[Row] = []
        for reading, algorithm in self.readings.items():
            judged = self.judged(results, algorithm)
            row: Row = {"reading": reading, "run as": algorithm}
            for verdict in VERDICTS:
                row[verdict] = len([item for item in judged if item.verdict == verdict])
            off = [abs(log(found / said)) for found, said in [_numbers(item) for item in judged] if found and said]
            row["off by"] = f"{exp(mean(off)):.2f}" if off else "-"
            rows.append(row)
        return rows

    def judged(self, results: Results, algorithm: str) -> list[Judged]:
        """The claims, if this is what is run."""
        seen = {}
        for part in self.parts:
            if part.name in results:
                result = results[part.name]
                pair = (algorithm, result.sweep.baseline)
                sweep = replace(result.sweep, algorithms=pair)
                runs = {point: {name: records[name] for name in pair} for point, records in result.runs.items()}
                seen[part.name.removeprefix(self.prefix)] = SweepResult(sweep, runs)
        return [claim.judge(seen) for claim in self.stated if set(claim.criterion.figures) <= set(seen)]

    def kinds(self) -> list[Row]:
        """A row for every reading, and for the algorithm that they are compared with."""
        sweep = self.parts[0].sweep
        point = sweep.points()[len(sweep.points()) // 2]
        rows: list[Row] = []
        for name, algorithm in (*self.readings.items(), ("compared with", sweep.baseline)):
            work: Replication = sweep.replication(algorithm, point, 0)
            result = run_once(work.scenario(), work.seed)
            row: Row = {"reading": name, "run as": algorithm, "all": f"{result.messages_per_entry:.1f}"}
            counts = result.messages_by_kind
            row["of these"] = ", ".join([f"{kind} {counts[kind] / result.entries:.1f}" for kind in counts])
            rows.append(row)
        return rows

    def _figures(self) -> list[str]:
        return [name.removeprefix(self.prefix) for name in self.figures()]


def _numbers(item: Judged) -> tuple[float | None, float | None]:
    """What we found, and what the paper says, where both are one number."""
    low, high = getattr(item.claim.criterion, "low", 0.0), getattr(item.claim.criterion, "high", 0.0)
    try:
        said = float(item.claim.paper)
    except ValueError:
        return None, None
    found = item.finding.value
    if found is None:  # a claim about many points: the middle of what was found there
        ends = [float(word) for word in item.finding.ours.partition(";")[0].split(" to ")]
        found = (ends[0] * ends[-1]) ** 0.5
    return (found, said) if low <= said <= high else (None, None)
