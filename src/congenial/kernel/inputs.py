"""Checks of what users give. Each returns the value, or raises a `ConfigError` that names the parameter.

The functions take anything: where they are compiled, a parameter with a type would be refused without its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from congenial.kernel.errors import ConfigError

MOST = 1_000_000_000  # of anything that is counted: more would not end in this life
MOST_GROUPS = 1_000_000
MOST_JOBS = 1024
LONGEST = 80  # characters of a value in an error


def shown(value: Any) -> str:
    """A value as an error shows it: always in one short line."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a number with too many digits, or a class with a mistake of its own
        text = f"a {type(value).__name__}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def whole(value: Any, name: str, least: int, most: int = MOST) -> int:
    """A whole number. True and False are refused, although Python counts them as integers."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(f"{name} must be a whole number, not {shown(value)}")
    if value < 0 == least:
        raise ConfigError(f"{name} must not be negative, and is {shown(value)}")
    if value < least:
        raise ConfigError(f"{name} must be at least {least}, not {shown(value)}")
    if value > most:
        raise ConfigError(f"{name} must be at most {most}, not {shown(value)}")
    return value


def amount(value: Any, name: str, endless: bool = False) -> float:
    """A number that is not negative; infinite only if it may be `endless`."""
    number = _number(value, name)
    if not number >= 0:
        raise ConfigError(f"{name} must not be negative, and is {shown(value)}")
    if number == inf and not endless:
        raise ConfigError(f"{name} must be finite, and is {shown(value)}")
    return number


def seed(value: Any, runs: int = 1) -> int:
    """The seed of the first of several runs; all must fit into 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(f"seed must be a whole number, not {shown(value)}")
    if not -(2**63) <= value <= 2**63 - runs:
        raise ConfigError(f"seed must fit into 64 bits, and is {shown(value)}")
    return value


def flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{name} must be True or False, not {shown(value)}")
    return value


def text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{name} must be a text, not {shown(value)}")
    return value


def algorithm_options(value: Any) -> dict[str, str]:
    """The parameter `options`: names and values, all of them texts; numbers are taken as their text."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"options must be a dict of names and values, not {shown(value)}")
    found: dict[str, str] = {}
    for name, given in value.items():
        if not isinstance(name, str) or isinstance(given, bool) or not isinstance(given, (str, int, float)):
            raise ConfigError(f"options must be names and values as texts, not {shown(name)}: {shown(given)}")
        found[name] = str(given)
    return found


def callback(value: Any, name: str) -> None:
    """A function to call, or None."""
    if value is not None and not callable(value):
        raise ConfigError(f"{name} must be a function, not {shown(value)}")


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigError(f"{name} must be a number, not {shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        raise ConfigError(f"{name} must be a smaller number than {shown(value)}") from None
    if number != number:
        raise ConfigError(f"{name} must be a number, not nan")
    return number
