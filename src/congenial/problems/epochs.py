"""Exclusion in epochs: weak, because a process that is suspected to have crashed may still believe that it is inside.

The upper bits of a fence number the epoch. Within an epoch a problem holds unchanged. A process that enters in a later
epoch supersedes all that are inside since an earlier one. The resource that the lock protects has to check the fence,
and to refuse one lower than it has seen. That is necessary wherever a process may be paused without noticing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from congenial.kernel.problem import Problem

EPOCH_BITS: Final = 20  # the lower bits of a fence, which count within an epoch
LAST_FENCE: Final = (1 << EPOCH_BITS) - 1  # within an epoch; from the middle on, the next epoch is called for


class InEpochs(Problem):
    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.name} in epochs", problem.groups, problem.concurrent_entry, problem.capacity)
        self.problem = problem

    def sized(self, sizes: Mapping[str, int]) -> Problem:
        return InEpochs(self.problem.sized(sizes))

    def admits(self, inside: int, current: int, group: int) -> bool:
        return self.problem.admits(inside, current, group)

    def may_follow(self, last_fence: int, last_group: int, fence: int, group: int) -> bool:
        return self.problem.may_follow(last_fence, last_group, fence, group)

    def era(self, fence: int) -> int:
        return fence >> EPOCH_BITS


def within_epoch(problem: Problem) -> Problem:
    """What holds within one epoch; of a problem without epochs, the problem itself."""
    return problem.problem if isinstance(problem, InEpochs) else problem
