"""Distributions of random numbers, and the streams they are drawn from.

Every process draws its thinking, holding and groups from a stream of its own, so that two algorithms with equal seeds
meet the same requests.
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, exp, log, pi, sqrt

from librt.random import Random
from mypy_extensions import mypyc_attr

from congenial.kernel.errors import ConfigError

NETWORK = -1
FAULTS = -2
CHOICES = -3


def exponential(rng: Random, mean: float) -> float:
    return -mean * log(1.0 - rng.random())


@mypyc_attr(allow_interpreted_subclasses=True)
class Distribution:
    """A distribution of non-negative numbers with a known mean."""

    def __init__(self, name: str, mean: float) -> None:
        self.name = name
        self.mean = mean

    def draw(self, rng: Random) -> float:
        raise NotImplementedError

    def __str__(self) -> str:
        return self.name


class Constant(Distribution):
    def __init__(self, value: float) -> None:
        super().__init__(f"constant:{value:g}", value)

    def draw(self, rng: Random) -> float:
        return self.mean


class Exponential(Distribution):
    def __init__(self, mean: float) -> None:
        super().__init__(f"exponential:{mean:g}", mean)

    def draw(self, rng: Random) -> float:
        return exponential(rng, self.mean)


class Uniform(Distribution):
    def __init__(self, low: float, high: float) -> None:
        super().__init__(f"uniform:{low:g},{high:g}", (low + high) / 2)
        self.low = low
        self.high = high

    def draw(self, rng: Random) -> float:
        return self.low + (self.high - self.low) * rng.random()


class LogNormal(Distribution):
    """By its mean and the standard deviation of the logarithm."""

    def __init__(self, mean: float, sigma: float) -> None:
        super().__init__(f"lognormal:{mean:g},{sigma:g}", mean)
        self.sigma = sigma
        self.mu = log(mean) - sigma * sigma / 2 if mean > 0 else 0.0

    def draw(self, rng: Random) -> float:
        radius = sqrt(-2.0 * log(1.0 - rng.random()))
        return exp(self.mu + self.sigma * radius * cos(2.0 * pi * rng.random())) if self.mean > 0 else 0.0


class Measured(Distribution):
    """Values from a file, each as likely as any other."""

    def __init__(self, path: str) -> None:
        try:
            with open(path, encoding="utf-8") as file:
                values = [float(word) for word in file.read().replace(",", " ").split()]
        except OSError as error:
            raise ConfigError(f"cannot read the delays in {path}: {error.strerror}") from error
        except ValueError as error:
            raise ConfigError(f"{path} should hold numbers only: {error}") from error
        if not values or min(values) < 0:
            raise ConfigError(f"{path} should hold at least one number and no negative one")
        super().__init__(f"file:{path}", sum(values) / len(values))
        self.values = values

    def draw(self, rng: Random) -> float:
        return self.values[rng.randrange(len(self.values))]


FORMS = "a number (the mean), exponential:MEAN, uniform:LOW,HIGH, constant:VALUE, lognormal:MEAN,SIGMA, file:PATH"


def parse_distribution(text: str, what: str, bare: str = "exponential") -> Distribution:
    """A distribution as users write it; a bare number is the mean of the `bare` one (uniform: on 0..2x)."""
    kind, _, rest = text.partition(":")
    if not rest:
        kind, rest = (bare, text) if bare != "uniform" else (bare, f"0,{_twice(text)}")
    if kind == "file":
        return Measured(rest)
    try:
        values = [float(part) for part in rest.split(",")]
    except ValueError:
        values = []
    makers: dict[str, tuple[int, Callable[..., Distribution]]] = {
        "exponential": (1, Exponential),
        "uniform": (2, Uniform),
        "constant": (1, Constant),
        "lognormal": (2, LogNormal),
    }
    if kind not in makers or len(values) != makers[kind][0] or not all([0 <= value < float("inf") for value in values]):
        raise ConfigError(f"{what} {text!r} is none of: {FORMS} (nothing negative)")
    if kind == "uniform" and values[0] > values[1]:
        raise ConfigError(f"{what} {text!r}: the lower bound exceeds the upper one")
    return makers[kind][1](*values)


def _twice(text: str) -> str:
    try:
        return str(2 * float(text))
    except ValueError:
        return text
