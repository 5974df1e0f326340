"""What a paper's experiments are: figures, each a sweep, and claims about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from congenial.lab.claims import Claim
from congenial.lab.replication import Value
from congenial.lab.sweep import Sweep


@dataclass(frozen=True)
class Figure:
    """`coarse` are the values of the varied parameter that a quick version keeps, `window` the parameters by which
    its runs end early: at a time in the midst of things, since the end of a run, when one process after the other
    has made its last request, must not weigh more in a short one."""

    name: str
    title: str
    sweep: Sweep
    coarse: tuple[Value, ...]
    window: Mapping[str, Value]

    def quick(self) -> Sweep:
        """A version for the impatient: fewer values, shorter runs, always three of them."""
        (varied,) = self.sweep.vary
        fixed = {**self.sweep.fixed, **self.window}
        return replace(self.sweep, vary={varied: self.coarse}, fixed=fixed, if_many={}, least=3, most=3)


@dataclass(frozen=True)
class Paper:
    """`assumptions` say what the paper leaves open, and how we took it."""

    name: str
    title: str
    reference: str
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
    assumptions: tuple[str, ...]
