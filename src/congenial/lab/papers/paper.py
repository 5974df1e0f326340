"""What a paper's experiments are: figures, each a sweep, and claims about them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from congenial.lab.claims import Claim
from congenial.lab.replication import Value
from congenial.lab.sweep import Sweep


@dataclass(frozen=True)
class Figure:
    """`coarse` are the values of the varied parameter that a quick version keeps."""

    name: str
    title: str
    sweep: Sweep
    coarse: tuple[Value, ...]

    def quick(self) -> Sweep:
        """A version for the impatient: fewer values, shorter runs, always three of them."""
        (varied,) = self.sweep.vary
        return replace(self.sweep, vary={varied: self.coarse}, most_entries=QUICK_ENTRIES, least=3, most=3)


QUICK_ENTRIES = 8000


@dataclass(frozen=True)
class Paper:
    """`assumptions` say what the paper leaves open, and how we took it."""

    name: str
    title: str
    reference: str
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
    assumptions: tuple[str, ...]
