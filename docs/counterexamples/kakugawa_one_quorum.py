"""Kakugawa et al.'s algorithm as the survey describes it: a process asks the members of one quorum, and waits for them.

Then two processes whose quorums have a common member keep each other out, though fewer than k are inside.
"""

from __future__ import annotations

from congenial.algorithms.kmutex.kakugawa import Kakugawa
from congenial.kernel.out import Out


class OneQuorum(Kakugawa):
    def _look_elsewhere(self, out: Out) -> None:
        pass
