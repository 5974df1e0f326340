"""Surrogate where three processes inside together count as a fault: a counterexample is a run in which they are.

Atreya, Mittal & Peri 2007, theorem 14: "The maximum concurrency of Surrogate is n." In a grid of three processes the
checker finds all three inside, and with three requests each in the plane of three points, too; with a central member
there is no such run.

    congenial check docs/counterexamples/surrogate_all_together.py:NeverThree --nodes 3 --requests 2 --set quorums=grid
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from congenial import Spec
from congenial.algorithms.group.surrogate import SPEC, Surrogate
from congenial.kernel.problem import Problem


class AtMostTwo(Problem):
    def __init__(self) -> None:
        super().__init__("at most two", groups=True, concurrent_entry=False)

    def admits(self, inside: int, current: int, group: int) -> bool:
        return inside < 2


class NeverThree(Surrogate):
    spec: ClassVar[Spec] = replace(SPEC, name="surrogate-never-three", problem=AtMostTwo())
