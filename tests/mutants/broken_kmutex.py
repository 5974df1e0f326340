"""Mutants of the algorithms that let in k."""

from __future__ import annotations

from mutant import killed

from congenial.algorithms.kmutex.raymond_k import RaymondK, Reply
from congenial.kernel.node import IDLE
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups

# -- Raymond (k) -------------------------------------------------------------------------------------------


@killed("safety", nodes=3, requests=1)
class OneTooMany(RaymondK):
    """One reply fewer is enough."""

    def __init__(self, me: int, n: int, k: int) -> None:
        super().__init__(me, n, k + 1)


@killed("concurrent entry", nodes=3, requests=1)
class OneTooFew(RaymondK):
    """One reply more is waited for, so that one process fewer gets in."""

    def __init__(self, me: int, n: int, k: int) -> None:
        super().__init__(me, n, k - 1)


@killed("safety", nodes=2, requests=2, options={"k": "1"})
class TieWonByNeither(RaymondK):
    """A tie is won by neither side."""

    def _mine_comes_first(self, src: int, number: int) -> bool:
        return self.phase != IDLE and self.number < number


@killed("deadlock", nodes=3, requests=1)
class DebtsForgotten(RaymondK):
    """Replies that were deferred are never sent."""

    def release(self, out: Out) -> None:
        self.owed_by_me = [0] * self.n
        super().release(out)


@killed("illegal step", nodes=3, requests=2)
class LateRepliesCount(RaymondK):
    """What was owed for an earlier request is forgotten, so that a late reply passes for one to the latest."""

    def request(self, groups: Groups, out: Out) -> None:
        self.owed_to_me = [0] * self.n
        super().request(groups, out)


@killed("illegal step", nodes=2, requests=1)
class RepliesToTooMany(RaymondK):
    """A reply that is not deferred counts for two requests."""

    def _on_request(self, src: int, number: int, out: Out) -> None:
        if self._mine_comes_first(src, number):
            super()._on_request(src, number, out)
        else:
            out.send(src, Reply(2))
