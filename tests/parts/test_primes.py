"""Primes, and products of ratios."""

from __future__ import annotations

from congenial.parts.primes import first_primes, product


def test_the_first_primes() -> None:
    assert first_primes(0) == ()
    assert first_primes(10) == (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)
    assert first_primes(3) == (2, 3, 5)
    assert first_primes(1000)[-1] == 7919


def test_products_are_in_lowest_terms() -> None:
    assert product([]) == (1, 1)
    assert product([(2, 3), (9, 5), (25, 2)]) == (15, 1)
    assert product([(4, 9), (3, 2)]) == (2, 3)
