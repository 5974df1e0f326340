"""A figure: the ratio of two algorithms over one parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING

from congenial.lab.claims import Claim
from congenial.lab.exhibits.exhibit import Evidence, Exhibit, describe
from congenial.lab.folder import write_folder
from congenial.lab.replication import Value
from congenial.lab.sweep import Sweep

if TYPE_CHECKING:
    from rich.table import Table

ON_THE_PAGE = ("ratio.svg", "absolute.svg", "ratios.csv", "results.csv")


@dataclass(frozen=True)
class Figure(Exhibit):
    """A sweep over one parameter, with a quick version.

    The quick version keeps only the values `coarse` of the varied parameter, and its runs have the parameters `window`,
    which end them early: at a fixed time, while all processes are still busy. At the end of a whole run one process
    after the other has made its last request, and that phase must not weigh more in a short run than in a long one.
    """

    sweep: Sweep
    coarse: tuple[Value, ...]
    window: Mapping[str, Value]

    def sweeps(self, quick: bool) -> dict[str, Sweep]:
        return {self.name: self.quick() if quick else self.sweep}

    def quick(self) -> Sweep:
        """Fewer values and shorter runs, always three of them."""
        (varied,) = self.sweep.vary
        fixed = {**self.sweep.fixed, **self.window}
        return replace(self.sweep, vary={varied: self.coarse}, fixed=fixed, if_many={}, least=3, most=3, within={})

    def sharpened(self, claims: Sequence[Claim]) -> Figure:
        """The figure, run as precisely as the claims about it need it: ranges are of different widths, and with
        intervals wider than a range there would be no verdict."""
        bounds: dict[str, float] = {}
        for claim in claims:
            if self.name in claim.criterion.figures:
                for key, bound in claim.criterion.needs().items():
                    bounds[key] = min(bound, bounds.get(key, bound))
        return replace(self, sweep=replace(self.sweep, within=bounds))

    @property
    def is_in_paper(self) -> bool:
        """The paper's figures have numbers; those that show what it says in words have names."""
        return self.name[0].isdigit()

    def heading(self) -> str:
        return f"Figure {self.name}: {self.title}" if self.is_in_paper else self.title

    def shown(self, evidence: Evidence, markdown: bool) -> list[Table | str]:
        result = evidence.results[self.name]
        return [*result.tables(markdown), *filter(None, [result.imprecise()])]

    def write_results(self, evidence: Evidence, folder: Path, reference: str, command: str) -> None:
        paper = reference.split(", section")[0]
        title = f"{self.title} ({paper}, fig. {self.name})" if self.is_in_paper else f"{self.title} ({paper})"
        claims = [claim for claim in evidence.claims if self.name in claim.criterion.figures]
        write_folder(folder, evidence.results[self.name], title, command, self.name, claims)

    def page(self, evidence: Evidence, folder: Path, pictures: Path) -> list[str]:
        for name in ON_THE_PAGE:
            copyfile(folder / name, pictures / f"{self.name}-{name}")
        place = f"{pictures.name}/{self.name}"
        data = f"[ratios]({place}-ratios.csv), [means]({place}-results.csv)"
        drawn = f"[the means, drawn]({place}-absolute.svg)"
        sharp = ""
        if self.sweep.within:
            sharp = " Where a claim has a narrow range, there are more runs, until half an interval is a quarter of it."
        return [
            f"## {self.heading()}",
            f"{describe(evidence.results[self.name])}{sharp} Data: {data}; {drawn}.",
            f"![{self.title}: ratios]({place}-ratio.svg)",
        ]
