"""Constructions of quorum systems, by name.

| name | size of a quorum | for |
| --- | --- | --- |
| plane | q+1 where n = q^2+q+1, q a prime power: the least possible | n = 7, 13, 21, 31, 57, 73, 91, ... |
| grid | about 2 sqrt(n) - 1 | every n |
| majority | floor(n/2) + 1 | every n |
| singleton | 1: process 0 decides alone (a central lock server, for comparison) | every n |
| auto | plane where n allows it, else grid | every n |
"""

from __future__ import annotations

from math import isqrt

from congenial.kernel.errors import ConfigError
from congenial.parts.quorums.system import Quorums


def plane(n: int) -> Quorums:
    """Lines of a finite projective plane (Maekawa 1985, section 3).

    Singer (1938): a plane of order q has a cyclic form, with quorum i = {i + d mod n} for d in a difference
    set, a set of q+1 residues whose differences are all of 1..n-1. Process i is a member of its own quorum, and
    every process is a member of equally many.
    """
    order = plane_order(n)
    if order < 0:
        raise ConfigError(
            f"no projective plane with {n} points is known here: n must be q*q+q+1 for a prime power q (7, 13, 21, 31, "
            f"57, 73, 91, ...); use quorums=grid"
        )
    differences = difference_set(order)
    return Quorums("plane", [[(i + d) % n for d in differences] for i in range(n)])


def grid(n: int) -> Quorums:
    """Row and column of a process in a square grid (Maekawa 1985, section 4).

    If n is no square the last row is short. Of two processes at least one is in a full row, and that row meets the
    other's column.
    """
    side = isqrt(n - 1) + 1
    sets = []
    for process in range(n):
        start = process - process % side
        row = range(start, min(start + side, n))
        sets.append([*row, *range(process % side, n, side)])
    return Quorums("grid", sets)


def majority(n: int) -> Quorums:
    """A process and the n/2 after it in a circle (Thomas 1979)."""
    return Quorums("majority", [[(i + k) % n for k in range(n // 2 + 1)] for i in range(n)])


def singleton(n: int) -> Quorums:
    return Quorums("singleton", [[0] for _ in range(n)])


def auto(n: int) -> Quorums:
    return plane(n) if plane_order(n) >= 0 else grid(n)


CONSTRUCTIONS = {"auto": auto, "plane": plane, "grid": grid, "majority": majority, "singleton": singleton}


def build_quorums(name: str, n: int) -> Quorums:
    if name not in CONSTRUCTIONS:
        raise ConfigError(f"unknown quorum system {name!r}: choose from {', '.join(CONSTRUCTIONS)}")
    return CONSTRUCTIONS[name](n)


def plane_order(n: int) -> int:
    """The prime power q with n = q^2+q+1 (1 counts, for the triangle n = 3), or -1."""
    q = (isqrt(4 * n - 3) - 1) // 2
    return q if q >= 1 and q * q + q + 1 == n and (q == 1 or prime_base(q) > 0) else -1


def prime_base(q: int) -> int:
    """The prime p of which q is a power, or -1."""
    for p in range(2, q + 1):
        if q % p == 0:
            while q % p == 0:
                q //= p
            return p if q == 1 else -1
    return -1


def difference_set(q: int) -> list[int]:
    """Singer's planar difference set for a prime power q (1 gives the triangle), starting with 0.

    Let x generate the multiplicative group of the field of q^3 elements. The powers of x that lie in one fixed
    plane through 0, here the span of 1 and x over the field of q elements, give the set, taken mod q^2+q+1.
    """
    if q == 1:
        return [0, 1]
    p = prime_base(q)
    degree = 3
    while p ** (degree // 3) < q:
        degree += 3
    powers = powers_of_generator(p, degree)
    n = q * q + q + 1
    logarithm = {element: exponent for exponent, element in enumerate(powers)}
    subfield = powers[::n]  # the q-1 powers of x^n: the non-zero elements of the field of q elements
    chosen = {0}
    for factor in subfield:  # the points 1 * y and x + y, for y in the small field
        shifted = tuple([(a + b) % p for a, b in zip(factor, powers[1], strict=True)])
        chosen.add(logarithm[shifted] % n)
    chosen.add(1)
    return sorted(chosen)


def powers_of_generator(p: int, degree: int) -> list[tuple[int, ...]]:
    """1, x, x^2, ... : all non-zero elements of the field of p^degree elements, as polynomials in x over 0..p-1.

    The field is the polynomials modulo a primitive one, found by trying them in order.
    """
    size = int(p**degree) - 1
    for code in range(size + 1):
        modulus = [code // p**i % p for i in range(degree)]  # x^degree = -modulus
        element = [1] + [0] * (degree - 1)
        one = tuple(element)
        powers = [one]
        while len(powers) <= size:
            carry = element[-1]
            element = [(low - carry * m) % p for low, m in zip([0, *element[:-1]], modulus, strict=True)]
            power = tuple(element)
            if power == one or not any(element):
                break
            powers.append(power)
        if len(powers) == size:
            return powers
    raise AssertionError("every finite field has a primitive element")
