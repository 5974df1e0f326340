"""A frontier: one algorithm beside all others, at many points, in several measures at the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile

from congenial.lab.dominance import distinct, dominates, dominators, limit_at
from congenial.lab.exhibits.contest import standings
from congenial.lab.exhibits.exhibit import Evidence
from congenial.lab.exhibits.overview import Overview
from congenial.lab.frontier_plots import Panel, plot_frontier
from congenial.lab.parameters import METRICS, PARAMETERS, show_value
from congenial.lab.rankings import place
from congenial.lab.replication import Value
from congenial.lab.results import Results, SweepResult
from congenial.lab.rows import TableRow, markdown
from congenial.lab.sweep import Point


@dataclass(frozen=True)
class Frontier(Overview):
    """The sweeps of `parts`, and the place of the algorithm `ours` among all others in them.

    `metrics` are what an algorithm must be better in, all at the same time; the picture shows `drawn`, two of them, of
    which less is better. What was aimed at: at most `most` of the first, a formula in n, and of the second at most
    `times` as much as `rival`. The page shows all algorithms at the points `shown_whole`; the picture has those in
    `panels`. Each is a part and a value.
    """

    ours: str
    rival: str
    metrics: tuple[str, ...]
    drawn: tuple[str, str]
    most: str
    times: float
    panels: tuple[tuple[str, Value], ...]
    shown_whole: tuple[tuple[str, Value], ...]
    families: Mapping[str, tuple[str, ...]]
    outside: tuple[str, ...]

    def write_results(self, evidence: Evidence, folder: Path, reference: str, command: str) -> None:
        super().write_results(evidence, folder, reference, command)
        drawn = self._here(evidence.results, self.panels)
        names = (METRICS[self.drawn[0]], METRICS[self.drawn[1]])
        panels = [self.panel(result, point) for result, point in drawn]
        plot_frontier(panels, self.families, self.outside, self.ours, names, self.title, folder / "frontier")

    def page(self, evidence: Evidence, folder: Path, pictures: Path) -> list[str]:
        copyfile(folder / "frontier.svg", pictures / f"{self.name}.svg")
        copyfile(folder / "means.csv", pictures / f"{self.name}.csv")
        where = f"{pictures.name}/{self.name}"
        parts = [
            f"## {self.title}",
            f"![{self.title}: every algorithm at {len(self.panels)} loads]({where}.svg)",
            f"The line is the front: an algorithm above or to the right of it is both dearer and slower than"
            f" another one. In the shaded corner are at most {self.most} messages per entry and at most {self.times:g}"
            f" times the waiting of {self.rival}. [The means of all algorithms at all points]({where}.csv).",
            f"{self.ours} at every point. Ratios are to {self.rival}. The last two columns say which algorithms are"
            f" better than {self.ours} in all of {self.in_words()}, and how many it is better than:",
            markdown(self.standing(evidence.results)),
        ]
        for result, point in self._here(evidence.results, self.shown_whole):
            parts += [f"All algorithms with {in_words(result, point)}:", markdown(standings(result, point[0]))]
        return parts

    def in_words(self) -> str:
        names = [METRICS[metric] for metric in self.metrics]
        return f"{', '.join(names[:-1])} and {names[-1]}"

    def standing(self, results: Results) -> list[TableRow]:
        """A row for every point: what `ours` costs, beside the limit and the rival."""
        first, second = self.drawn
        rows: list[TableRow] = []
        for result, point in distinct(results, self.figures()):
            row: TableRow = {"load": place(result, point)}
            for metric in self.metrics:
                row[METRICS[metric]] = f"{result.mean(point, self.ours, metric).value:.3g}"
                if metric == first:
                    row["at most"] = f"{limit_at(result, point, self.most):.3g}"
            for metric in (second, "waiting_time_p99", "throughput"):
                ratio = result.versus(point, self.ours, self.rival, metric)
                row[f"{METRICS[metric]}, ratio"] = "-" if ratio is None else f"{ratio.value:.3f} ± {ratio.half:.2g}"
            others = [name for name in result.sweep.algorithms if name != self.ours]
            worse = [name for name in others if dominates(result, point, self.ours, name, self.metrics)]
            row["better"] = ", ".join(dominators(result, point, self.ours, self.metrics)) or "none"
            row["worse"] = f"{len(worse)} of {len(others)}"
            rows.append(row)
        return rows

    def panel(self, result: SweepResult, point: Point) -> Panel:
        first, second = self.drawn
        places = {
            name: (result.mean(point, name, first).value, result.mean(point, name, second).value)
            for name in result.sweep.algorithms
        }
        aim = (limit_at(result, point, self.most), self.times * places[self.rival][1])
        return Panel(in_words(result, point), places, aim)

    def _here(self, results: Results, wanted: Sequence[tuple[str, Value]]) -> list[tuple[SweepResult, Point]]:
        """Those of the wanted points that were run: the quick version has few."""
        return [(results[figure], (value,)) for figure, value in wanted if (value,) in results[figure].runs]


def in_words(result: SweepResult, point: Point) -> str:
    """The varied parameter and its value: '25 processes', 'mean time inside 500'."""
    (parameter,) = result.sweep.vary
    value = show_value(point[0])
    return (
        f"{value} {PARAMETERS[parameter]}" if parameter in ("nodes", "groups") else f"{PARAMETERS[parameter]} {value}"
    )
