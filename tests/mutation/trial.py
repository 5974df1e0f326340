"""What a trial is, and how each kind of them is written down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

LIMIT = 10_000  # states of a check
RUNS = 40  # of a fuzz


@dataclass(frozen=True)
class Trial:
    """One call of `check` or `fuzz`, or a scenario, or a test. `settings` are attributes of the algorithm's class that
    have other values in this trial."""

    call: str
    parameters: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        return f"{self.call} {', '.join([f'{name}={value}' for name, value in self.parameters])}"

    def with_options(self, options: dict[str, str]) -> Trial:
        """The same with more options."""
        before = dict(self.parameters).get("options", ())
        rest = [(name, value) for name, value in self.parameters if name != "options"]
        return Trial(self.call, (*rest, ("options", (*before, *options.items()))))


def check(limit: int = LIMIT, **parameters: Any) -> Trial:
    return Trial("check", (*parameters.items(), ("limit", limit)))


def fuzz(runs: int = RUNS, **parameters: Any) -> Trial:
    return Trial("fuzz", (*parameters.items(), ("runs", runs)))


def scenario(name: str) -> Trial:
    return Trial("scenario", (("name", name), ("nodes", 3)))


def tested(file: str, name: str) -> Trial:
    return Trial("test", (("file", file), ("name", name), ("nodes", 3)))
