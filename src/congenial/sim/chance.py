"""Distributions of random times, and the numbers of the streams they are drawn from.

Every process draws its thinking, holding and groups from a stream of its own, so that two algorithms with equal seeds
meet the same requests.

A distribution is a value: it can be compared, pickled, and written as text. `str` gives the text that the command line
takes, and `parse_distribution` reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from math import cos, exp, inf, log, pi, sqrt
from typing import Any

from librt.random import Random
from mypy_extensions import mypyc_attr

from congenial.kernel.errors import ConfigError
from congenial.kernel.inputs import amount, shown

# streams besides those of the processes
NETWORK = -1
FAULTS = -2
CHOICES = -3


def exponential(rng: Random, mean: float) -> float:
    return -mean * log(1.0 - rng.random())


@mypyc_attr(allow_interpreted_subclasses=True)
class Distribution:
    """A distribution of numbers, none of them negative, with a known mean.

    `name` is the distribution as text. Distributions of one class with the same name are equal.

    >>> isinstance(Uniform(5, 15), Distribution), Uniform(5, 15).mean, str(Uniform(5, 15))
    (True, 10.0, 'uniform:5,15')
    """

    def __init__(self, name: str, mean: float) -> None:
        self.name = name
        self.mean = mean

    def draw(self, rng: Random) -> float:
        raise NotImplementedError

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name.partition(':')[2].replace(',', ', ')})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Distribution) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


class Constant(Distribution):
    """Always the same value.

    >>> str(Constant(5))
    'constant:5'
    """

    def __init__(self, value: float) -> None:
        _check("constant", value)
        super().__init__(f"constant:{plain(value)}", value)

    def draw(self, rng: Random) -> float:
        return self.mean

    def __reduce__(self) -> tuple[Any, ...]:
        return (Constant, (self.mean,))


class Exponential(Distribution):
    """Exponential, by its mean.

    >>> str(Exponential(50))
    'exponential:50'
    """

    def __init__(self, mean: float) -> None:
        _check("exponential", mean)
        super().__init__(f"exponential:{plain(mean)}", mean)

    def draw(self, rng: Random) -> float:
        return exponential(rng, self.mean)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Exponential, (self.mean,))


class Uniform(Distribution):
    """Uniform between two bounds.

    >>> Uniform(5, 15).mean
    10.0
    """

    def __init__(self, low: float, high: float) -> None:
        _check("uniform", low, high)
        if low > high:
            raise ConfigError(f"uniform: the lower bound {plain(low)} exceeds the upper one, {plain(high)}")
        super().__init__(f"uniform:{plain(low)},{plain(high)}", (low + high) / 2)
        self.low = low
        self.high = high

    def draw(self, rng: Random) -> float:
        return self.low + (self.high - self.low) * rng.random()

    def __reduce__(self) -> tuple[Any, ...]:
        return (Uniform, (self.low, self.high))


class LogNormal(Distribution):
    """Log-normal, by its mean and the standard deviation of the logarithm.

    >>> str(LogNormal(mean=10, sigma=1.5))
    'lognormal:10,1.5'
    """

    def __init__(self, mean: float, sigma: float) -> None:
        _check("lognormal", mean, sigma)
        super().__init__(f"lognormal:{plain(mean)},{plain(sigma)}", mean)
        self.sigma = sigma
        self.mu = log(mean) - sigma * sigma / 2 if mean > 0 else 0.0

    def draw(self, rng: Random) -> float:
        radius = sqrt(-2.0 * log(1.0 - rng.random()))
        return exp(self.mu + self.sigma * radius * cos(2.0 * pi * rng.random())) if self.mean > 0 else 0.0

    def __reduce__(self) -> tuple[Any, ...]:
        return (LogNormal, (self.mean, self.sigma))


class Measured(Distribution):
    """Values from a file, separated by spaces, commas or lines; each is as likely as any other.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "delays.csv")
    ...     _ = path.write_text("1.5, 2.5, 8")
    ...     print(Measured(str(path)).mean)
    4.0
    """

    def __init__(self, path: str) -> None:
        try:
            with open(path, encoding="utf-8") as file:
                values = [float(word) for word in file.read().replace(",", " ").split()]
        except OSError as error:
            raise ConfigError(f"cannot read the delays in {path}: {error.strerror}") from error
        except ValueError as error:
            raise ConfigError(f"{path} should hold numbers only: {error}") from error
        if not values or not all([0 <= value < inf for value in values]):
            raise ConfigError(f"{path} should hold at least one number, all of them finite and none negative")
        super().__init__(f"file:{path}", sum(values) / len(values))
        self.path = path
        self.values = values

    def draw(self, rng: Random) -> float:
        return self.values[rng.randrange(len(self.values))]

    def __repr__(self) -> str:
        return f"Measured({self.path!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Measured, (self.path,))


DistributionLike = float | str | Distribution
"""A distribution, the text of one such as 'uniform:5,15', or a mean."""

FORMS = "a number (the mean), exponential:MEAN, uniform:LOW,HIGH, constant:VALUE, lognormal:MEAN,SIGMA, file:PATH"


def parse_distribution(text: str, what: str, bare: str = "exponential") -> Distribution:
    """Read a distribution. A bare number is the mean of the `bare` kind; a mean x of the uniform kind is 0..2x. An
    error begins with `what`.

    >>> parse_distribution("uniform:5,15", "delay")
    Uniform(5, 15)
    >>> parse_distribution("5", "delay")
    Exponential(5)
    """
    kind, _, rest = text.partition(":")
    if not rest:
        kind, rest = (bare, text) if bare != "uniform" else (bare, f"0,{_twice(text)}")
    if kind == "file":
        try:
            return Measured(rest)
        except ConfigError as error:
            raise ConfigError(f"{what}: {error}") from None
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
    if kind not in makers or len(values) != makers[kind][0]:
        raise ConfigError(f"{what} {shown(text)} is none of: {FORMS} (nothing negative)")
    try:
        return makers[kind][1](*values)
    except ConfigError as error:
        raise ConfigError(f"{what} {shown(text)}: {error}") from None


def as_distribution(value: Any, what: str, bare: str = "exponential") -> Distribution:
    """A distribution in any of its forms."""
    if isinstance(value, Distribution):
        return value
    if isinstance(value, str):
        return parse_distribution(value, what, bare)
    return parse_distribution(repr(amount(value, what)), what, bare)


def plain(value: float) -> str:
    """A number as text, exactly and without an exponent.

    >>> plain(5.0), plain(0.1), plain(1e-7)
    ('5', '0.1', '0.0000001')
    """
    if value == inf:
        return "inf"
    text = format(Decimal(repr(float(value))), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _check(kind: str, *values: Any) -> None:
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < inf:
            raise ConfigError(f"{kind}: {shown(value)} should be a number, finite and not negative")


def _twice(text: str) -> str:
    try:
        return str(2 * float(text))
    except ValueError:
        return text
