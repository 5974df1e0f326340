"""Weights: one, given away in halves and gathered again, exactly.

A process that holds a weight can give half of it away without asking anybody. A process that has gathered the whole
weight knows that no other process holds any of it (Huang 1989). A weight is a numerator and a power of two that divides
it, in lowest terms: (3, 2) is three quarters. It is always two integers, and is never rounded.
"""

from __future__ import annotations

from typing import Final, TypeAlias

Weight: TypeAlias = tuple[int, int]

ONE: Final[Weight] = (1, 0)
NOTHING: Final[Weight] = (0, 0)


def half(weight: Weight) -> Weight:
    """Half of a weight that is in lowest terms and not nothing: an odd numerator, or one."""
    numerator, power = weight
    return (numerator, power + 1)


def plus(one: Weight, other: Weight) -> Weight:
    """The sum of two weights, in lowest terms.

    >>> plus((1, 1), (1, 2))
    (3, 2)
    """
    power = max(one[1], other[1])
    numerator = (one[0] << (power - one[1])) + (other[0] << (power - other[1]))
    while power > 0 and numerator % 2 == 0:
        numerator //= 2
        power -= 1
    return (numerator, power)


def at_most_one(weight: Weight) -> bool:
    return weight[0] <= 1 << weight[1]
