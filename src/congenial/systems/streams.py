"""Streams of random numbers that depend on nothing but a seed: the same on every machine, compiled or not."""

from __future__ import annotations

from librt.random import Random


def stream(seed: int, index: int) -> Random:
    """Stream number `index` of a seed: that of a process, or one of a few below 0.

    Neighbouring seeds and indices must not give related streams, so both go through a mixing function (the finaliser
    of splitmix64).
    """
    word = (seed * 0x9E3779B97F4A7C15 + (index + 4) * 0xD1B54A32D192ED03) & 0xFFFFFFFFFFFFFFFF
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
    return Random((word ^ (word >> 31)) >> 1)
