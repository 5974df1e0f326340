"""Options of algorithms that are numbers or times."""

from __future__ import annotations

from congenial.kernel.errors import ConfigError


def whole_number(text: str, name: str, least: int) -> int:
    """The value of the option `name`, which must be at least `least`."""
    try:
        number = int(text)
    except ValueError:
        raise ConfigError(f"{name} must be a whole number, not {text!r}") from None
    if number < least:
        raise ConfigError(f"{name} must be at least {least}, not {number}")
    return number


def build_time(text: str, n: int) -> float:
    """Units of time: '500', or '1000n' for that many for each process."""
    number = text.removesuffix("n")
    try:
        time = float(number) * (n if number != text else 1)
    except ValueError:
        time = -1.0
    if not 0 < time < float("inf"):
        raise ConfigError(f"a time-out must be a number above 0, like 500, or 1000n for n processes, not {text!r}")
    return time
