"""A system: an algorithm with its options, for n processes, ready to be driven."""

from __future__ import annotations

from collections.abc import Mapping

from congenial.kernel.errors import ConfigError
from congenial.kernel.node import Node
from congenial.kernel.problem import Problem
from congenial.kernel.spec import Settings, Spec
from congenial.problems.mutex import MUTEX
from congenial.problems.weak import Resource


class System:
    """Makes the nodes of an algorithm. `options` are those of its `Spec`, as text."""

    def __init__(self, algorithm: type[Node], n: int, options: Mapping[str, str] | None = None) -> None:
        if n < 1:
            raise ConfigError(f"a system needs at least one process, not {n}")
        self.algorithm = algorithm
        self.n = n
        self.spec: Spec = algorithm.spec
        settings = Settings(self.spec, self.name, n, options or {})
        self.arguments = settings.arguments
        self.sizes = settings.sizes
        self.problem: Problem = (self.spec.problem or MUTEX).sized(self.sizes)

    @property
    def name(self) -> str:
        return self.spec.name if self.spec.problem is not None else self.algorithm.__name__

    @property
    def inner(self) -> tuple[type, ...]:
        """The algorithms that this one uses inside, as its options say."""
        return tuple([value for value in self.arguments.values() if isinstance(value, type)])

    @property
    def concurrent_entry(self) -> bool:
        """Does the problem promise concurrent entry, and the algorithm keep that promise?"""
        return self.problem.concurrent_entry and self.spec.concurrent_entry

    def operation(self, process: int, number: int) -> object:
        """What a process issues as its `number`-th operation, where no user decides."""
        resource = self.arguments.get("resource")
        return resource.example(process, number) if isinstance(resource, Resource) else (process, number)

    def operations(self, wanted: int) -> int:
        """How many operations a process issues in each stay: as many as wanted, if the problem knows operations."""
        if wanted < 0:
            raise ConfigError(f"operations must not be negative, and is {wanted}")
        if wanted and not self.problem.operations:
            raise ConfigError(f"operations are for weak exclusion, and {self.name} is not weak")
        return wanted

    def node(self, process: int) -> Node:
        node: Node = self.algorithm(process, self.n, **self.arguments)
        return node

    def nodes(self) -> list[Node]:
        return [self.node(process) for process in range(self.n)]
