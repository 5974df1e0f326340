"""Readings of a paper that leaves something open: under which one do its claims come out best?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp, log
from pathlib import Path
from shutil import copyfile

from congenial.lab.claims import NOT_REPRODUCED, PARTLY, REPRODUCED, UNDECIDED, Claim, Judged
from congenial.lab.exhibits.exhibit import Evidence
from congenial.lab.exhibits.figure import Figure
from congenial.lab.exhibits.overview import Overview, means_of
from congenial.lab.replication import Replication
from congenial.lab.results import Results, SweepResult
from congenial.lab.rows import TableRow, markdown, write_csv
from congenial.sim.simulate import run_once
from congenial.sim.statistics import mean

VERDICTS = (REPRODUCED, UNDECIDED, PARTLY, NOT_REPRODUCED)


@dataclass(frozen=True)
class Reading:
    """What is run for a reading, in those parts whose names begin with `prefix`."""

    algorithm: str
    prefix: str


@dataclass(frozen=True)
class Readings(Overview):
    """The sweeps of `parts` run the same algorithm under every one of `readings` (by what the paper may mean), against
    the last algorithm. Each reading is judged by the claims `stated` about these figures. Their names are those of the
    parts without the prefix, since the figures themselves show one reading only."""

    readings: Mapping[str, Reading]
    stated: tuple[Claim, ...]
    note: str = ""

    def page(self, evidence: Evidence, folder: Path, pictures: Path) -> list[str]:
        copyfile(folder / "means.csv", pictures / f"{self.name}.csv")
        runs = self.parts[0].sweep.least
        return [
            f"## {self.title}",
            f"The claims above that are about figures {', '.join(self._figures())}, judged for every reading, at fewer"
            f" values and with {runs} runs each. 'Off by' is the factor between our ratio and the paper's number, over"
            f" all claims that give one (geometric mean). {self.note}[All means]({pictures.name}/{self.name}.csv).",
            markdown(self.standing(evidence.results)),
            *self._left_over(evidence.results),
            "Messages per entry by kind, in one run with the usual parameters:",
            markdown(self.kinds()),
        ]

    def write_results(self, evidence: Evidence, folder: Path, reference: str, command: str) -> None:
        rows: list[TableRow] = []
        for part in self.parts:
            nodes = part.sweep.fixed["nodes"]
            rows += [{"nodes": nodes, **row} for row in means_of(evidence.results, [part.name])]
        write_csv(folder / "means.csv", rows)

    def standing(self, results: Results) -> list[TableRow]:
        """A row for every reading: the verdicts that it gets, and how far its numbers are from the paper's."""
        rows: list[TableRow] = []
        for name, reading in self.readings.items():
            judged = self.judged(results, reading)
            row: TableRow = {"reading": name, "run as": reading.algorithm}
            for verdict in VERDICTS:
                row[verdict] = len([item for item in judged if item.verdict == verdict])
            off = [abs(log(found / said)) for found, said in [_numbers(item) for item in judged] if found and said]
            row["off by"] = f"{exp(mean(off)):.2f}" if off else "-"
            rows.append(row)
        return rows

    def best(self, results: Results) -> str:
        """The reading under which most claims are reproduced, and fewest are not."""
        counts: dict[str, tuple[int, int]] = {}
        for name, reading in self.readings.items():
            verdicts = [item.verdict for item in self.judged(results, reading)]
            counts[name] = (verdicts.count(REPRODUCED), -verdicts.count(NOT_REPRODUCED))
        return max(counts, key=lambda name: counts[name])

    def _left_over(self, results: Results) -> list[str]:
        """The claims that even the best reading does not reproduce."""
        name = self.best(results)
        judged = self.judged(results, self.readings[name])
        rows: list[TableRow] = [
            {"claim": f"{claim.text} ({claim.metric})", "the paper": claim.paper, "ours": item.finding.ours}
            for claim, item in [(item.claim, item) for item in judged]
            if item.verdict == NOT_REPRODUCED
        ]
        if not rows:
            return [f"'{name}' fits best: all claims are reproduced, at least partly or within the intervals."]
        return [f"'{name}' fits best. Not reproduced even so:", markdown(rows)]

    def judged(self, results: Results, reading: Reading) -> list[Judged]:
        """The claims, if this is what is run."""
        seen = {}
        for part in self._parts(reading.prefix):
            if part.name in results:
                result = results[part.name]
                pair = (reading.algorithm, result.sweep.baseline)
                sweep = replace(result.sweep, algorithms=pair)
                runs = {point: {name: records[name] for name in pair} for point, records in result.runs.items()}
                seen[part.name.removeprefix(reading.prefix)] = SweepResult(sweep, runs)
        return [claim.judge(seen) for claim in self.stated if set(claim.criterion.figures) <= set(seen)]

    def kinds(self) -> list[TableRow]:
        """A row for every reading, and for the algorithm that they are compared with."""
        work = {name: self._usual(reading) for name, reading in self.readings.items()}
        for reading in self.readings.values():
            first = self._parts(reading.prefix)[0].sweep
            name = f"compared with, {first.fixed['nodes']} processes"
            work.setdefault(name, self._usual(replace(reading, algorithm=first.baseline)))
        rows: list[TableRow] = []
        for name, replication in work.items():
            result = run_once(replication.scenario(), replication.seed)
            row: TableRow = {
                "reading": name,
                "run as": replication.algorithm,
                "all": f"{result.messages_per_entry:.1f}",
            }
            counts = result.messages_by_kind
            row["of these"] = ", ".join([f"{kind} {counts[kind] / result.entries:.1f}" for kind in counts])
            rows.append(row)
        return rows

    def _usual(self, reading: Reading) -> Replication:
        """A run in the middle of the first figure."""
        sweep = self._parts(reading.prefix)[0].sweep
        return sweep.replication(reading.algorithm, sweep.points()[len(sweep.points()) // 2], 0)

    def _parts(self, prefix: str) -> list[Figure]:
        return [part for part in self.parts if part.name.startswith(prefix)]

    def _figures(self) -> list[str]:
        prefix = next(iter(self.readings.values())).prefix
        return [part.name.removeprefix(prefix) for part in self._parts(prefix)]


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
