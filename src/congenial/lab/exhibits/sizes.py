"""What counts as the size of a message: the ratio of two algorithms' messages, for every way to count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING

from congenial.lab.exhibits.exhibit import Evidence, Exhibit
from congenial.lab.parameters import show_value
from congenial.lab.replication import Replication, Value
from congenial.lab.rows import TableRow, markdown, table, write_csv
from congenial.lab.sweep import Sweep

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Traffic:
    """The messages of one kind in a run: how many, the integers in their vectors, and all other integers."""

    count: int
    vectors: int
    others: int


@dataclass(frozen=True)
class Sizes(Exhibit):
    """Integers per message of `algorithm`, in which every field counts, to those of `other`, of which each of `ways`
    (in words) counts the fields without vectors, or not, and the vectors in messages of some kinds. `paper` has what
    the paper says, for some numbers of processes. One run each, with the parameters `fixed`."""

    algorithm: str
    other: str
    nodes: tuple[int, ...]
    fixed: Mapping[str, Value]
    ways: Mapping[str, tuple[bool, tuple[str, ...]]]
    paper: Mapping[int, str]

    def sweeps(self, quick: bool) -> dict[str, Sweep]:
        return {}

    def algorithms(self) -> set[str]:
        return {self.algorithm, self.other}

    def shown(self, evidence: Evidence, markdown: bool) -> list[Table | str]:
        return [table(self.ratios(), markdown), table(self.kinds(), markdown)]

    def write_results(self, evidence: Evidence, folder: Path, reference: str, command: str) -> None:
        write_csv(folder / "kinds.csv", self.kinds())

    def page(self, evidence: Evidence, folder: Path, pictures: Path) -> list[str]:
        copyfile(folder / "kinds.csv", pictures / f"{self.name}.csv")
        fixed = ", ".join([f"{name} {show_value(value)}" for name, value in self.fixed.items()])
        return [
            f"## {self.title}",
            f"Integers per message, {self.algorithm} / {self.other}, if only a part of the messages of {self.other}"
            f" counts; those of {self.algorithm} count in full. One run each: {fixed}.",
            markdown(self.ratios()),
            f"The messages of {self.other} by kind ([data]({pictures.name}/{self.name}.csv)):",
            markdown(self.kinds()),
        ]

    def ratios(self) -> list[TableRow]:
        """A row for every way to count, and one for the paper."""
        rows: list[TableRow] = []
        for way, (plain, kinds) in self.ways.items():
            row: TableRow = {"what counts": way}
            for n in self.nodes:
                whole = list(self._traffic(self.algorithm, n).values())
                mine = sum([kind.vectors + kind.others for kind in whole]) / sum([kind.count for kind in whole])
                counted = self._traffic(self.other, n)
                total = sum([kind.others for kind in counted.values()]) if plain else 0
                total += sum([counted[kind].vectors for kind in kinds if kind in counted])
                theirs = total / sum([kind.count for kind in counted.values()])
                row[f"n = {n}"] = f"{mine / theirs:.2g}"
            rows.append(row)
        said: TableRow = {f"n = {n}": self.paper.get(n, "") for n in self.nodes}
        return [*rows, {"what counts": "the paper", **said}]

    def kinds(self) -> list[TableRow]:
        """A row for every kind of message: how many there are, and how long their vectors and the rest are."""
        rows: list[TableRow] = []
        for n in self.nodes:
            found = self._traffic(self.other, n)
            total = sum([kind.count for kind in found.values()])
            for name, kind in found.items():
                row: TableRow = {"processes": n, "kind": name, "of all messages": f"{kind.count / total:.0%}"}
                row["vector"] = f"{kind.vectors / kind.count:.1f}"
                row["other integers"] = f"{kind.others / kind.count:.1f}"
                rows.append(row)
        return rows

    def _traffic(self, algorithm: str, nodes: int) -> dict[str, Traffic]:
        return traffic(algorithm, tuple({**self.fixed, "nodes": nodes}.items()))


@cache
def traffic(algorithm: str, parameters: tuple[tuple[str, Value], ...]) -> dict[str, Traffic]:
    """The messages of a run, by kind."""
    engine = Replication(algorithm, parameters, 1).scenario().engine(1)
    engine.run()
    found: dict[str, Traffic] = {}
    for kind in engine.meter.kinds.values():
        if kind.count:
            others = int(kind.count) * kind.measure.scalars
            found[kind.name] = Traffic(int(kind.count), int(kind.integers) - others, others)
    return dict(sorted(found.items()))
