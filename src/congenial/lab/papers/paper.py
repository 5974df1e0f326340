"""A paper: what it shows, what it claims, and what we had to assume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from congenial.lab.claims import Claim, Judged, claims_markdown, findings_markdown
from congenial.lab.exhibits import Exhibit
from congenial.lab.sources import code_behind
from congenial.systems.catalogue import find_algorithm


@dataclass(frozen=True)
class Paper:
    """`assumptions` say what the paper leaves open, and what we chose. With `ours` it is not a paper but an experiment
    of our own, and its claims are our findings. `shares` names papers that make some of the same runs. `module` is the
    module that says all this."""

    name: str
    title: str
    reference: str
    exhibits: tuple[Exhibit, ...]
    claims: tuple[Claim, ...]
    assumptions: tuple[str, ...]
    ours: bool = False
    shares: tuple[str, ...] = ()
    module: str = ""

    def all_claims(self) -> tuple[Claim, ...]:
        """The claims it makes in words, and those of its exhibits."""
        return self.claims + tuple([claim for exhibit in self.exhibits for claim in exhibit.claims()])

    def verdicts(self, judged: Sequence[Judged]) -> str:
        """Claims or findings with their verdicts, as Markdown."""
        return findings_markdown(judged) if self.ours else claims_markdown(judged)

    def code(self) -> str:
        """A hash of the code that its numbers come from."""
        names = sorted({name.split()[0] for exhibit in self.exhibits for name in exhibit.algorithms()})
        modules = [find_algorithm(name).__module__ for name in names]
        return code_behind([self.module, *modules] if self.module else modules)

    def page_in(self, docs: Path) -> Path:
        """Where its page is: papers have a folder of their own."""
        return (docs if self.ours else docs / "reproductions") / f"{self.name}.md"
