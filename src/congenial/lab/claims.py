"""A paper's claims about its experiments, as data, and the verdicts on them.

A claim rests on a criterion: what is measured, and the range that counts as reproduced, fixed before the runs. The
verdict is

- *reproduced* if our mean lies in that range (of a trend: if the ends differ by more than their intervals, and no
  step goes the other way by more than its interval),
- *undecided* if the mean does not, but its 95% interval reaches into the range: more precise runs would tell,
- *partly* if it is at least on the right side of 1, and no further from the range than that is wide (of a trend: if
  the ends differ as claimed, and no step goes back by more than half of that; of a claim about all points: if it holds
  at more than half of them, and nowhere fails by more; of a cost: the same, by no more than a fifth, or if a bound that
  is claimed tight is kept, but not reached; of growth: if it is at most twice as fast),
- *not reproduced* otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from congenial.lab.parameters import METRICS
from congenial.lab.replication import Value
from congenial.lab.results import Results
from congenial.lab.rows import markdown
from congenial.view.table import new_table

if TYPE_CHECKING:
    from rich.table import Table

REPRODUCED = "reproduced"
UNDECIDED = "undecided"
PARTLY = "partly"
NOT_REPRODUCED = "not reproduced"
NOT_RUN = "not run"
HOLDS = "true"  # the verdicts on our own findings
FAILS = "not true"


@dataclass(frozen=True)
class Finding:
    """What was measured, in words (and as a number, where it is one), and the verdict.

    >>> finding = reproduce("wme").claims[0].finding
    >>> print(finding.ours)
    2 steps, 30 messages at n = 16, growing as n^1.04
    >>> finding.verdict
    'reproduced'
    """

    ours: str
    verdict: str
    value: float | None = None
    half_width: float | None = None


@dataclass(frozen=True)
class Range:
    """What counts as reproduced, for drawing: low..high at these values of the varied parameter. Without values it is
    said of the least or the largest one only, wherever that is."""

    low: float
    high: float
    values: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Criterion:
    """What is measured, in which figures, and what counts as reproduced."""

    figures: tuple[str, ...]
    metric: str

    def judge(self, results: Results) -> Finding:
        raise NotImplementedError

    def needs(self) -> dict[str, float]:
        """How close the ratios of each figure have to be for a verdict, as in `Sweep.within`."""
        return {}

    def ranges(self, figure: str, metric: str, values: Sequence[Value]) -> list[Range]:
        """The ranges for a metric in a figure, whose parameter has these values."""
        return []


@dataclass(frozen=True)
class Claim:
    """Something that a paper says about its experiments: what about (`text`), in which section (`where`), and what
    (`paper`). `reason` explains why our runs disagree, where they do.

    >>> claim = reproduce("wme").claims[0].claim
    >>> print(f"{claim.where}: {claim.text}: {claim.paper}, {claim.metric}")
    table 1: WME-1: enter: 2 steps, O(N), steps and messages
    """

    text: str
    where: str
    paper: str
    criterion: Criterion
    reason: str = ""

    @property
    def metric(self) -> str:
        """The name of what is measured, as on axes and in tables."""
        return METRICS.get(self.criterion.metric, self.criterion.metric)

    def judge(self, results: Results) -> Judged:
        missing = [figure for figure in self.criterion.figures if figure not in results or not results[figure].runs]
        if missing:
            return Judged(self, Finding(f"figure {', '.join(missing)} was not run", NOT_RUN))
        return Judged(self, self.criterion.judge(results))


@dataclass(frozen=True)
class Judged:
    """A claim, and the verdict on it.

    >>> judged = reproduce("wme").claims[0]
    >>> judged.claim.paper, judged.verdict, judged.reason
    ('2 steps, O(N)', 'reproduced', '')
    """

    claim: Claim
    finding: Finding

    @property
    def verdict(self) -> str:
        return self.finding.verdict

    @property
    def reason(self) -> str:
        return self.claim.reason if self.verdict in (PARTLY, NOT_REPRODUCED) else ""

    @property
    def explained(self) -> str:
        """The verdict, with the reason if there is one."""
        return f"{self.verdict}: {self.reason}" if self.reason else self.verdict

    def as_dict(self) -> dict[str, object]:
        claim, finding = self.claim, self.finding
        return {
            "claim": claim.text,
            "where": claim.where,
            "figures": list(claim.criterion.figures),
            "metric": claim.criterion.metric,
            "paper": claim.paper,
            "ours": finding.ours,
            "value": finding.value,
            "half_width": finding.half_width,
            "verdict": finding.verdict,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Tally:
    """How many claims got which verdict."""

    judged: Sequence[Judged] = field(default_factory=list)

    def __str__(self) -> str:
        verdicts = [item.verdict for item in self.judged]
        kinds = (REPRODUCED, UNDECIDED, PARTLY, NOT_REPRODUCED, HOLDS, FAILS, NOT_RUN)
        counts = [f"{verdicts.count(kind)} {kind}" for kind in kinds if kind in verdicts]
        return ", ".join(counts) or "no claims"


def claims_markdown(judged: Sequence[Judged]) -> str:
    """A paper's claims beside our numbers."""
    return markdown(
        [
            {
                "claim": f"{item.claim.text} ({item.claim.metric})",
                "section": item.claim.where,
                "the paper": item.claim.paper,
                "ours (95%)": item.finding.ours,
                "verdict": f"**{item.verdict}**" + (f": {item.reason}" if item.reason else ""),
            }
            for item in judged
        ]
    )


def findings_markdown(judged: Sequence[Judged]) -> str:
    """Our own findings, and whether they still hold."""
    return markdown(
        [
            {
                "what we found": item.claim.text,
                "measured": f"{item.claim.metric}: {item.finding.ours}",
                "verdict": item.verdict,
            }
            for item in judged
        ]
    )


def claims_table(judged: Sequence[Judged], markdown: bool = False) -> Table:
    """Claims and verdicts, for a terminal."""
    table = new_table("claim", "of", "section", "the paper", "ours", "verdict", markdown=markdown)
    for item in judged:
        claim = item.claim
        table.add_row(claim.text, claim.metric, claim.where, claim.paper, item.finding.ours, item.explained)
    return table
