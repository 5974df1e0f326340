"""Session selection: which group is served next, given the requests that wait.

A policy is a function of the waiting requests, oldest first: the groups that each accepts, and its age, the number of
sessions that have begun since it was queued. It returns a group that some request waits for. To add a policy, put it
into `SELECTIONS`; nodes refer to policies by name.
"""

from __future__ import annotations

from collections.abc import Callable

from congenial.kernel.errors import ConfigError
from congenial.kernel.problem import Groups


def priorities(wanted: list[Groups], ages: list[int]) -> dict[int, int]:
    """For every group waited for, its requests plus the sum of their ages (Mittal & Mohan 2007, section 3.2.1).

    The groups stand in the order of their oldest requests. A request for any of several groups counts for each.
    """
    table: dict[int, int] = {}
    for groups, age in zip(wanted, ages, strict=True):
        for group in groups:
            table[group] = table.get(group, 0) + 1 + age
    return table


def priority(wanted: list[Groups], ages: list[int]) -> int:
    """The group with the highest priority; among equals, the one whose oldest request is the oldest."""
    best = -1
    highest = 0
    for group, value in priorities(wanted, ages).items():
        if value > highest:
            best = group
            highest = value
    return best


def fifo(wanted: list[Groups], ages: list[int]) -> int:
    """The group of the oldest request (the first it names), as in Mittal & Mohan 2007, section 4."""
    return wanted[0][0]


SELECTIONS: dict[str, Callable[[list[Groups], list[int]], int]] = {"priority": priority, "fifo": fifo}


def select_group(policy: str, wanted: list[Groups], ages: list[int]) -> int:
    """The group of the next session."""
    return SELECTIONS[policy](wanted, ages)


def build_selection(text: str, n: int) -> str:
    """The name of a policy, as a user writes it."""
    if text not in SELECTIONS:
        raise ConfigError(f"selection must be one of {', '.join(SELECTIONS)}, not {text!r}")
    return text
