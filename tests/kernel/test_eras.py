"""Weak exclusion: a process that enters in a later epoch supersedes those inside; within an epoch all is as usual."""

from __future__ import annotations

import pytest

from congenial.kernel.errors import SafetyViolation
from congenial.kernel.judge import Judge
from congenial.problems.epochs import EPOCH_BITS, InEpochs
from congenial.problems.group import GROUP
from congenial.problems.mutex import MUTEX


def fence(epoch: int, number: int) -> int:
    return epoch << EPOCH_BITS | number


def books(n: int = 4) -> Judge:
    occupancy = Judge(InEpochs(GROUP), n)
    for process in range(n):
        occupancy.ask(process, (process % 2,))
    return occupancy


def test_within_an_epoch_nothing_is_weak() -> None:
    occupancy = books()
    occupancy.enter(0, 0, fence(1, 1))
    occupancy.enter(2, 0, fence(1, 1))
    with pytest.raises(SafetyViolation, match="process 1 enters group 1 while processes 0, 2 are inside for group 0"):
        occupancy.enter(1, 1, fence(1, 2))


def test_a_later_epoch_supersedes_who_is_inside() -> None:
    occupancy = books()
    occupancy.enter(0, 0, fence(1, 1))
    occupancy.enter(1, 1, fence(2, 1))
    assert occupancy.inside == 1
    with pytest.raises(SafetyViolation, match="process 2 enters group 0 while process 1 is inside"):
        occupancy.enter(2, 0, fence(2, 2))
    occupancy.leave(0)
    assert occupancy.inside == 1
    occupancy.leave(1)
    assert occupancy.inside == 0


def test_who_is_superseded_already_does_not_count() -> None:
    occupancy = books()
    occupancy.enter(1, 1, fence(2, 5))
    occupancy.enter(0, 0, fence(1, 9))
    assert (occupancy.inside, occupancy.current, occupancy.fence) == (1, 1, fence(2, 5))
    occupancy.enter(3, 1, fence(2, 5))
    assert occupancy.inside == 2


def test_fences_grow_within_an_epoch() -> None:
    occupancy = books()
    occupancy.enter(0, 0, fence(1, 2))
    occupancy.leave(0)
    with pytest.raises(SafetyViolation, match="with fence"):
        occupancy.enter(1, 1, fence(1, 1))


def test_where_exclusion_is_not_weak_there_is_one_era() -> None:
    occupancy = Judge(MUTEX, 2)
    occupancy.ask(0, (0,))
    occupancy.ask(1, (0,))
    occupancy.enter(0, 0, fence(1, 1))
    with pytest.raises(SafetyViolation, match="while process 0 is inside"):
        occupancy.enter(1, 0, fence(2, 1))
