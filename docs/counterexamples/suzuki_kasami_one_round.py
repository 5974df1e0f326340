"""Bounded numbers for Suzuki and Kasami's algorithm with one round of numbers, 1..L, used again and again.

Two requests of a process have been served, L = 2. A process that has received only the first of them, and then the
token, sees request 1 and that 2 was served last; and after 2 comes 1. So it sends the token to a process that has not
asked.

    congenial check docs/counterexamples/suzuki_kasami_one_round.py:OneRound --nodes 3 --requests 2 --set round=2
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from congenial import Spec
from congenial.algorithms.token.suzuki_kasami_bounded import SuzukiKasamiBounded


class OneRound(SuzukiKasamiBounded):
    """A process starts a round when all have received the old one, as in ours; but all rounds use the same numbers."""

    spec: ClassVar[Spec] = replace(SuzukiKasamiBounded.spec, name="suzuki-kasami-one-round")

    def _successor(self, number: int) -> int:
        return number % self.round + 1
