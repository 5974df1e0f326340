"""Bounded numbers for Suzuki and Kasami's algorithm with one round of numbers, 1..L, used again and again.

Two requests of a process have been served, L = 2. Whoever has had the first of them only, and then the token, sees
request 1 and that 2 was served last; and after 2 comes 1. So it sends the token to one who has not asked.

    congenial check docs/counterexamples/suzuki_kasami_one_round.py:OneRound --nodes 3 --requests 2 --set round=2
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from congenial import Spec
from congenial.algorithms.token.suzuki_kasami_bounded import SuzukiKasamiBounded


class OneRound(SuzukiKasamiBounded):
    """A process begins a new round when all have had the old one, as in ours; but all rounds are numbered alike."""

    spec: ClassVar[Spec] = replace(SuzukiKasamiBounded.spec, name="suzuki-kasami-one-round")

    def _successor(self, number: int) -> int:
        return number % self.round + 1
