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
    return _weighed(wanted, [1 + age for age in ages])


def priority(wanted: list[Groups], ages: list[int]) -> int:
    """The group with the highest priority; among equals, the one whose oldest request is the oldest."""
    return _heaviest(priorities(wanted, ages))


def fifo(wanted: list[Groups], ages: list[int]) -> int:
    """The group of the oldest request (the first it names), as in Mittal & Mohan 2007, section 4."""
    return wanted[0][0]


# Schemes of our own, between the largest group, which waits least on average, and FIFO. With each of them every request
# is served: its weight grows without bound, or it becomes overdue.


def weighted(wanted: list[Groups], ages: list[int]) -> int:
    """As priority, but the size of a group counts eight times as much."""
    return _heaviest(_weighed(wanted, [8 + age for age in ages]))


def squared(wanted: list[Groups], ages: list[int]) -> int:
    """As priority, with the squares of the ages."""
    return _heaviest(_weighed(wanted, [1 + age * age for age in ages]))


def doubled(wanted: list[Groups], ages: list[int]) -> int:
    """The weight of a request doubles with every session that passes it over."""
    return _heaviest(_weighed(wanted, [1 << age for age in ages]))


def product(wanted: list[Groups], ages: list[int]) -> int:
    """The size of the group times the age of its oldest request."""
    sizes = _weighed(wanted, [1] * len(wanted))
    oldest = _oldest(wanted, ages)
    return _heaviest({group: size * (1 + oldest[group]) for group, size in sizes.items()})


def overdue(wanted: list[Groups], ages: list[int]) -> int:
    """The largest group, unless a request is overdue: passed over as often as there are groups that are waited for.
    Then the oldest request's."""
    sizes = _weighed(wanted, [1] * len(wanted))
    oldest = _oldest(wanted, ages)
    waiting = {group: age for group, age in oldest.items() if age >= len(sizes)}
    return _heaviest(waiting) if waiting else _heaviest(sizes)


def _weighed(wanted: list[Groups], weights: list[int]) -> dict[int, int]:
    table: dict[int, int] = {}
    for at in range(len(wanted)):  # compiles better than zip
        for group in wanted[at]:
            table[group] = table.get(group, 0) + weights[at]
    return table


def _oldest(wanted: list[Groups], ages: list[int]) -> dict[int, int]:
    table: dict[int, int] = {}
    for at in range(len(wanted)):
        for group in wanted[at]:
            table[group] = max(table.get(group, 0), ages[at])
    return table


def _heaviest(table: dict[int, int]) -> int:
    """The first of the groups with the highest value, which is positive."""
    best = -1
    highest = 0
    for group, value in table.items():
        if value > highest:
            best = group
            highest = value
    return best


SELECTIONS: dict[str, Callable[[list[Groups], list[int]], int]] = {
    "priority": priority,
    "fifo": fifo,
    "weighted": weighted,
    "squared": squared,
    "doubled": doubled,
    "product": product,
    "overdue": overdue,
}


def select_group(policy: str, wanted: list[Groups], ages: list[int]) -> int:
    """The group of the next session."""
    return SELECTIONS[policy](wanted, ages)


def build_selection(text: str, n: int) -> str:
    """The name of a policy, as a user writes it."""
    if text not in SELECTIONS:
        raise ConfigError(f"selection must be one of {', '.join(SELECTIONS)}, not {text!r}")
    return text
