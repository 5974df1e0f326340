"""A system: an algorithm made concrete for n processes, ready to be driven."""

from __future__ import annotations

from collections.abc import Mapping

from congenial.kernel.errors import ConfigError
from congenial.kernel.node import Node
from congenial.kernel.problem import Problem
from congenial.kernel.spec import Settings, Spec
from congenial.problems.mutex import MUTEX
from congenial.problems.weak import Resource


class System:
    """Makes the nodes of an algorithm. `options` are those of its `Spec`, as a user writes them."""

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
        """The algorithms that options put inside this one."""
        return tuple([value for value in self.arguments.values() if isinstance(value, type)])

    def operation(self, process: int, number: int) -> object:
        """What a process issues as its `number`-th operation where no user says."""
        resource = self.arguments.get("resource")
        return resource.example(process, number) if isinstance(resource, Resource) else (process, number)

    def operations(self, wanted: int) -> int:
        """How many operations are issued in each stay, as far as the problem knows any."""
        if wanted < 0 or (wanted and not self.problem.operations):
            why = "must not be negative" if wanted < 0 else f"is for weak exclusion, and {self.name} is not weak"
            raise ConfigError(f"operations {why}")
        return wanted

    def node(self, process: int) -> Node:
        node: Node = self.algorithm(process, self.n, **self.arguments)
        return node

    def nodes(self) -> list[Node]:
        return [self.node(process) for process in range(self.n)]
