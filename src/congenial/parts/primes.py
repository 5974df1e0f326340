"""Prime numbers, and products of ratios of them."""

from __future__ import annotations

from math import gcd

Ratio = tuple[int, int]
"""A positive rational number: numerator and denominator, in lowest terms."""

KNOWN = [2]


def first_primes(count: int) -> tuple[int, ...]:
    """The first `count` primes, in order."""
    candidate = KNOWN[-1]
    while len(KNOWN) < count:
        candidate += 1
        if is_prime(candidate):
            KNOWN.append(candidate)
    return tuple(KNOWN[:count])


def is_prime(candidate: int) -> bool:
    """All smaller primes must be known."""
    for prime in KNOWN:
        if prime * prime > candidate:
            return True
        if candidate % prime == 0:
            return False
    return True


def times(ratio: Ratio, above: int, below: int) -> Ratio:
    """A ratio, multiplied by that of two different primes: quicker than `product`, since only they can be common.

    >>> times((10, 3), 3, 5), times((10, 3), 7, 11)
    ((2, 1), (70, 33))
    """
    numerator, denominator = ratio
    if denominator % above == 0:
        denominator //= above
    else:
        numerator *= above
    if numerator % below == 0:
        numerator //= below
    else:
        denominator *= below
    return numerator, denominator


def product(ratios: list[Ratio]) -> Ratio:
    numerator = denominator = 1
    for above, below in ratios:
        numerator *= above
        denominator *= below
    common = gcd(numerator, denominator)
    return numerator // common, denominator // common
