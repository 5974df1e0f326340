"""What a mutant is: an algorithm with one thing broken, and the small system in which the checker must find it.

A mutant is a short subclass that overrides one step. Its docstring says what is broken, its decorator which verdict
kills it, and where.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from congenial.kernel.node import Node

N = TypeVar("N", bound=type[Node])


@dataclass(frozen=True)
class Mutant:
    algorithm: type[Node]
    kind: str  # the verdict that kills it
    system: dict[str, Any]  # parameters of `check`

    @property
    def name(self) -> str:
        return f"{self.algorithm.spec.name}-{self.algorithm.__name__}"

    @property
    def original(self) -> type[Node]:
        original = self.algorithm.__mro__[1]
        assert issubclass(original, Node)
        return original


MUTANTS: list[Mutant] = []


def killed(kind: str, **system: Any) -> Callable[[N], N]:
    """Register a class as a mutant: `kind` is the verdict, `system` what to tell `check`."""

    def register(algorithm: N) -> N:
        assert algorithm.__doc__
        MUTANTS.append(Mutant(algorithm, kind, system))
        return algorithm

    return register
