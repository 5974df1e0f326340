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
class Row:
    """A line of a table of costs: `says` is what the paper prints, `test` what that means, `reason` what we found where
    it does not come out so."""

    label: str
    algorithm: str
    says: str
    test: Test
    reason: str = ""


@dataclass(frozen=True)
class Table(Exhibit):
    """A table of costs, measured at several loads. `shown` names the loads that have columns beside the formula; the
    least and the most that any run cost have columns, too. What grows slowly is also measured at the sizes `grown`."""

    rows: tuple[Row, ...]
    loads: Mapping[str, Mapping[str, Value]]
    shown: tuple[str, ...]
    nodes: tuple[int, ...]
    where: str
    growing: tuple[str, ...] = ()
    grown: tuple[int, ...] = ()

    def sweeps(self, quick: bool) -> dict[str, Sweep]:
        names = tuple(dict.fromkeys([row.algorithm for row in self.rows]))
        made = {self.part(load): self._sweep(load, names, self.nodes, quick) for load in self.loads}
        if self.growing:
            made[self.part(GROWING)] = self._sweep(self.shown[0], self.growing, self.grown, quick)
        return made

    def _sweep(self, load: str, names: tuple[str, ...], sizes: tuple[int, ...], quick: bool) -> Sweep:
        runs = 2 if quick else 5
        return Sweep(names, {"nodes": sizes}, self.loads[load], (COST,), least=runs, most=runs, name=self.part(load))

    def part(self, load: str) -> str:
        return f"{self.name}, {load}"

    def claims(self) -> tuple[Claim, ...]:
        made = []
        for row in self.rows:
            parts = tuple([self.part(load) for load in self.loads])
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
                few = replace(sweep, vary={"nodes": (sizes[0], sizes[-1])}, least=2, most=2)
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
class Paper:
    """`assumptions` say what the paper leaves open, and how we took it."""

    name: str
    title: str
    reference: str
    exhibits: tuple[Exhibit, ...]
    claims: tuple[Claim, ...]
    assumptions: tuple[str, ...]

    def all_claims(self) -> tuple[Claim, ...]:
        """What it states in words, and the lines of its tables."""
        return self.claims + tuple([claim for exhibit in self.exhibits for claim in exhibit.claims()])
