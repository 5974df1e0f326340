"""Toyomura, Kamei and Kakugawa's algorithm: Maekawa_M over an ordinary coterie.

Any two quorums meet, also those of one group. So the number of groups need not be known, and groups may come and go. As
locks are shared, all that ask for one group still enter together. A member is asked by b processes, in a grid 2 sqrt(n)
- 1, and an older request may have to take that many locks back: O(qb), at most O(nq) messages.

Toyomura, Kamei & Kakugawa 2003, as described in Atreya, Mittal & Peri 2007, section I ("similar to Maekawa_M", with "a
traditional quorum system"). We had no other source: the locking is that of our Maekawa_M.
"""

from __future__ import annotations

from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.algorithms.group.maekawa_m import SharedLocks
from congenial.kernel.spec import Law, Option, Spec
from congenial.parts.quorums.constructions import CONSTRUCTIONS, build_quorums
from congenial.parts.quorums.system import Quorums
from congenial.problems.group import GROUP

SPEC = Spec(
    name="toyomura",
    title="Toyomura et al.",
    problem=GROUP,
    reference="Toyomura, Kamei & Kakugawa 2003; Atreya, Mittal & Peri 2007, section I",
    fifo=True,
    fences=True,
    messages=Law("3*(q_min-1)", "q*(4+6*b)"),
    size="2",
    waiting=Law("2"),
    sync_delay=Law("1", "4"),
    concurrency="n",
    options=(
        Option(
            "quorums", "auto", "plane, grid, majority, singleton or auto", build_quorums, choices=tuple(CONSTRUCTIONS)
        ),
    ),
)


@mypyc_attr(allow_interpreted_subclasses=True)
class Toyomura(SharedLocks):
    spec: ClassVar[Spec] = SPEC

    def __init__(self, me: int, n: int, quorums: Quorums) -> None:
        super().__init__(me, n)
        self.quorum = quorums.of(me)

    def _quorum_of(self, group: int) -> tuple[int, ...]:
        return self.quorum
