"""Random schedules with everything at the same time (`view_schedules.py`): some of them, and that they can fail."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from view_schedules import drawn, run_batch

from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.parts.views import View


def test_nothing_is_wrong() -> None:
    batch = run_batch(range(1, 301))
    assert batch.failed == []
    assert batch.entries > 1000


@pytest.mark.parametrize("seed", [333, 585, 933, 2072, 5878, 27056, 41030, 166042, 251637, 3012362])
def test_schedules_that_once_failed(seed: int) -> None:
    """A voter that could not be let go, a report from an earlier view, a vote that was passed on forever; a ballot for
    which others waited, an answer that an earlier life had not given; a report that was taken back at the leader alone,
    votes that went to founders that had stopped; an object whose home knew that nothing had happened."""
    assert drawn(seed).run().fault == ""


def test_they_differ_and_equal_seeds_give_equal_schedules() -> None:
    schedules = [drawn(seed) for seed in range(200)]
    assert {schedule.system.n for schedule in schedules} == {3, 4, 5, 6, 7}
    assert {schedule.rules.lasting for schedule in schedules} == {True, False}
    assert {schedule.rules.recovery for schedule in schedules} == {True, False}
    for seed in range(10):
        assert drawn(seed).run().actions == drawn(seed).run().actions


def alone(algorithm: type[Node]) -> type[Node]:
    """Processes that decide on views alone."""
    base: Any = algorithm

    class Alone(base):  # type: ignore[misc]
        def on_suspect(self, peer: int, out: Out) -> None:
            super().on_suspect(peer, out)
            view = self.views.view
            members = tuple([member for member in view.members if member[0] != peer])
            if members:
                self.views._install(View(view.number + 1, members, view.voters), self.me, True, out)
                self._follow(out)

    return Alone


def test_processes_that_decide_alone_are_found_by_what_they_believe() -> None:
    faults: Counter[str] = Counter()
    for seed in range(60):
        walk = drawn(seed, alone).run()
        faults[walk.fault] += 1
        if "is View(" in walk.text:
            faults["two views"] += 1
    assert faults["two views"] > 0, faults
