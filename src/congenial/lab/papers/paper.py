"""A paper: what it shows, what it claims, and what we had to assume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from congenial.lab.claims import Claim, Judged, claims_markdown, findings_markdown
from congenial.lab.exhibits import Exhibit


@dataclass(frozen=True)
class Paper:
    """`assumptions` say what the paper leaves open, and what we chose. With `ours` it is no paper but an experiment of
    our own, and its claims are our findings. `shares` names papers that make some of the same runs."""

    name: str
    title: str
    reference: str
    exhibits: tuple[Exhibit, ...]
    claims: tuple[Claim, ...]
    assumptions: tuple[str, ...]
    ours: bool = False
    shares: tuple[str, ...] = ()

    def all_claims(self) -> tuple[Claim, ...]:
        """The claims it makes in words, and those of its exhibits."""
        return self.claims + tuple([claim for exhibit in self.exhibits for claim in exhibit.claims()])

    def verdicts(self, judged: Sequence[Judged]) -> str:
        """Claims or findings with their verdicts, as Markdown."""
        return findings_markdown(judged) if self.ours else claims_markdown(judged)
