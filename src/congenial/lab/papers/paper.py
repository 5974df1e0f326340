"""What a paper's experiments are: figures and tables, each made of sweeps, and claims about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from congenial.lab.claims import Claim, Test
from congenial.lab.replication import Value
from congenial.lab.sweep import Sweep
from congenial.lab.tables import Outcome

COST = "messages_per_entry"
GROWING = "growing"


@dataclass(frozen=True)
class Exhibit:
    """Something a paper shows. Its outcomes are kept under its name, or under its name and a part's."""

    name: str
    title: str

    def sweeps(self, quick: bool) -> dict[str, Sweep]:
        """What to run, by name of outcome; `quick` asks for a version for the impatient."""
        raise NotImplementedError

    def claims(self) -> tuple[Claim, ...]:
        """What it says by itself."""
        return ()


@dataclass(frozen=True)
class Figure(Exhibit):
    """`coarse` are the values of the varied parameter that a quick version keeps, `window` the parameters by which
    its runs end early: at a time in the midst of things, since the end of a run, when one process after the other
    has made its last request, must not weigh more in a short one."""

    sweep: Sweep
    coarse: tuple[Value, ...]
    window: Mapping[str, Value]

    def sweeps(self, quick: bool) -> dict[str, Sweep]:
        return {self.name: self.quick() if quick else self.sweep}

    def quick(self) -> Sweep:
        """Fewer values, shorter runs, always three of them."""
        (varied,) = self.sweep.vary
        fixed = {**self.sweep.fixed, **self.window}
        return replace(self.sweep, vary={varied: self.coarse}, fixed=fixed, if_many={}, least=3, most=3)


@dataclass(frozen=True)
class Contest(Figure):
    """Many algorithms, by family, on the same loads: not how one compares to another, but who is best where. Those of
    the families `outside` are yardsticks, and cannot win. At the value `usual`, if there is one, a page shows all."""

    families: Mapping[str, tuple[str, ...]]
    outside: tuple[str, ...]
    usual: Value | None = None

    def quick(self) -> Sweep:
        return replace(super().quick(), least=2, most=2)

    def entrants(self) -> tuple[str, ...]:
        return tuple([name for family, names in self.families.items() if family not in self.outside for name in names])

    def yardsticks(self) -> tuple[str, ...]:
        return tuple([name for family in self.outside for name in self.families[family]])


@dataclass(frozen=True)
class Row:
    """A line of a table of costs: `says` is what the paper prints, `test` what that means, `reason` what we found where
    it does not come out so. With `requests`, no process makes more than so many: for what takes too long otherwise. A
    line with a `load` is about that load alone, which the other lines are not."""

    label: str
    algorithm: str
    says: str
    test: Test
    reason: str = ""
    requests: int = 0
    load: str = ""


@dataclass(frozen=True)
class Table(Exhibit):
    """A table of costs, measured at several loads. `shown` names the loads that have columns beside the formula; the
    least and the most that any run cost have columns, too. What grows slowly is also measured at the sizes `grown`,
    at the first of these loads."""

    rows: tuple[Row, ...]
    loads: Mapping[str, Mapping[str, Value]]
    shown: tuple[str, ...]
    nodes: tuple[int, ...]
    where: str
    growing: tuple[str, ...] = ()
    grown: tuple[int, ...] = ()

    def sweeps(self, quick: bool) -> dict[str, Sweep]:
        made: dict[str, Sweep] = {}
        for requests in dict.fromkeys([row.requests for row in self.rows]):
            rows = [row for row in self.rows if row.requests == requests]
            for load, fixed in self.loads.items():
                names = dict.fromkeys([row.algorithm for row in rows if load in self.loads_of(row)])
                part = self.part(load, requests)
                fewer = {"requests": min(requests, int(fixed["requests"]))} if requests and "requests" in fixed else {}
                if names:
                    made[part] = self._sweep(part, tuple(names), self.nodes, {**fixed, **fewer}, quick)
        if self.growing:
            part = self.part(GROWING)
            made[part] = self._sweep(
                part, self.growing, self.grown, {**self.loads[self.shown[0]], "requests": 10}, True
            )
        return made

    def _sweep(
        self, part: str, names: tuple[str, ...], sizes: tuple[int, ...], fixed: Mapping[str, Value], quick: bool
    ) -> Sweep:
        runs = 2 if quick else 5
        return Sweep(names, {"nodes": sizes}, fixed, (COST,), least=runs, most=runs, name=part)

    def part(self, load: str, requests: int = 0) -> str:
        return f"{self.name}, {requests} requests, {load}" if requests else f"{self.name}, {load}"

    def loads_of(self, row: Row) -> list[str]:
        special = {other.load for other in self.rows}
        return [row.load] if row.load else [load for load in self.loads if load not in special]

    def claims(self) -> tuple[Claim, ...]:
        made = []
        for row in self.rows:
            parts = tuple([self.part(load, row.requests) for load in self.loads_of(row)])
            if row.algorithm in self.growing:
                parts += (self.part(GROWING),)
            made.append(Claim(row.label, self.where, row.says, replace(row.test, figures=parts), row.reason))
        return tuple(made)


@dataclass(frozen=True)
class Chart(Exhibit):
    """Curves of one measure over the processes, from sweeps that need not have the same sizes."""

    panels: Mapping[str, tuple[Sweep, ...]]

    def sweeps(self, quick: bool) -> dict[str, Sweep]:
        made = {}
        for panel, sweeps in self.panels.items():
            for number, sweep in enumerate(sweeps):
                sizes = sweep.vary["nodes"]
                few = replace(sweep, vary={"nodes": (sizes[0], sizes[len(sizes) // 2])}, least=2, most=2)
                made[self._part(panel, number)] = few if quick else sweep
        return made

    def _part(self, panel: str, number: int) -> str:
        return f"{self.name}, {panel} {number}"

    def outcomes(self, outcomes: Mapping[str, Outcome]) -> dict[str, list[Outcome]]:
        """By panel."""
        return {
            panel: [outcomes[self._part(panel, number)] for number in range(len(sweeps))]
            for panel, sweeps in self.panels.items()
        }


@dataclass(frozen=True)
class StepTable(Exhibit):
    """A table of steps and messages: exact, so nothing is swept; its cells measure for themselves."""

    cells: tuple[Claim, ...]

    def sweeps(self, quick: bool) -> dict[str, Sweep]:
        return {}

    def claims(self) -> tuple[Claim, ...]:
        return self.cells


@dataclass(frozen=True)
class Paper:
    """`assumptions` say what the paper leaves open, and how we took it. With `ours` it is no paper but an experiment of
    our own, and its claims are what we found."""

    name: str
    title: str
    reference: str
    exhibits: tuple[Exhibit, ...]
    claims: tuple[Claim, ...]
    assumptions: tuple[str, ...]
    ours: bool = False

    def all_claims(self) -> tuple[Claim, ...]:
        """What it states in words, and the lines of its tables."""
        return self.claims + tuple([claim for exhibit in self.exhibits for claim in exhibit.claims()])
